/* Imports: declarations for all importers, and buffer_interface() itself. */
#ifndef BIP_IMPORT_IMPORT_H
#define BIP_IMPORT_IMPORT_H

#include "extension.h"

struct bip_protocol; /* an entry of the table of protocols in order.c */

/*
 * The arguments of buffer_interface() except `copy`, and two members that only cai.c sets. All references are borrowed.
 */
struct bip_request {
	PyObject *stream; /* NULL: not given or None */
	PyObject *producer_stream; /* NULL: not given or None; then, with `sync`, the stream that the producer names */
	int sync; /* 0: sync=False */
	/*
	 * -1: as the producer says; 0: the view is read-only; 1: a read-only array is refused, and a DLPack tensor
	 * without version counts as writable.
	 */
	int writable;
	int keep_mask;
	int check; /* 0: the driver does not check pointers */
	int trust; /* 1: handles are accepted even if they cannot be checked */
	const struct bip_protocol *protocol; /* the only protocol to try; NULL: all protocols in their order */
	int has_cai; /* 1: cai.c imports by __cuda_array_interface__ if bip_import_dlpack returns 0 */
	int cai_raised; /* 1: getting __cuda_array_interface__ raised; then DLPack's C table is not used */
};

/* The result of an importer. The references are owned, also those that a failure leaves; import.c releases them. */
struct bip_found {
	struct bi_view *view;
	struct bi_view *mask; /* or NULL */
	unsigned flags; /* enum bip_flag */
};

/*
 * An importer. Returns 1 if it imported the object, 0 without an exception if the next protocol is to be tried, or -1
 * with an exception. Only AttributeError counts as a missing attribute [C14]; draft.c also accepts ImportError and
 * TypeError of a `dtype` beside a typestr. The memory of the view keeps the producer, or a reference that the producer
 * gave, until the memory is released (lifetime.h). New memory for an array without elements keeps nothing. import.c
 * applies `writable`, `stream` and `copy` afterwards; dlpack.c also reads `writable`.
 */
typedef int bip_importer(PyObject *object, const struct bip_request *request, struct bip_found *found);

bip_importer bip_import_native; /* native.c: a BufferInterface, or an object whose type has __buffer_interface_c__ */
bip_importer bip_import_pyopencl; /* pyopencl.c: arrays, buffers and SVM of pyopencl */
bip_importer bip_import_cai; /* cai.c: __cuda_array_interface__ */
bip_importer bip_import_dlpack; /* dlpack.c: DLPack's C table on the type, __dlpack__, a bare capsule */
bip_importer bip_import_draft; /* draft.c: __buffer_interface__(), or the attributes buffer, offset, shape ... */
bip_importer bip_import_buffer; /* host.c: the buffer protocol (PEP 3118) */
bip_importer bip_import_array_struct; /* host.c: __array_struct__ */
bip_importer bip_import_array_interface; /* host.c: __array_interface__ */

/*
 * cai.c: imports by the CUDA Array Interface or by DLPack. If the dictionary has a stream or a mask, DLPack is not
 * tried. Otherwise DLPack is tried first. The attribute is read once. If it names a stream that the import uses, it is
 * read again for each device that is tried and whose context is not current.
 */
bip_importer bip_import_cai_or_dlpack;

/*
 * host.c: raises UnsupportedError if the type has an attribute `mask` (numpy.ma) and the mask of the object is not
 * false. The protocols of host memory would lose the mask [H5].
 */
int bip_refuse_masked(PyObject *object);

/*
 * lazy.c: raises BufferError if the conjugation or negation of the imported tensor is still to be done. `object` is the
 * exporter.
 */
int bip_check_resolved(PyObject *object, const struct bip_found *found);

/* import.c: replaces *view by a read-only view of the same memory. */
int bip_make_readonly(struct bi_view **view);

/* ndarray.c: returns true if a NumPy array with these flags counts as read-only. */
int bip_is_readonly_ndarray(unsigned flags);

/*
 * order.c: returns true if the type has the buffer protocol, or an attribute of another protocol. Does not look for the
 * types of pyopencl. Runs no code of the type.
 */
int bip_has_protocol(PyTypeObject *type);

/* order.c: returns true for numpy.ndarray and types derived from it. */
int bip_is_ndarray(PyTypeObject *type);
/*
 * order.c: returns numpy.ndarray, borrowed, or NULL without an exception. The type is found if an earlier call has
 * stored it, or if NumPy is imported and `type` or one of its bases is named so.
 */
PyTypeObject *bip_find_ndarray(PyTypeObject *type);

bip_method bip_buffer_interface; /* import.c: buffer_interface(obj, ...) */
/* import.c: returns buffer_interface(object), or a new reference to the object if it is a BufferInterface. */
PyObject *bip_as_object(PyObject *object);

#endif
