/* Imports: declarations for all importers, and buffer_interface() itself. */
#ifndef BIP_IMPORT_IMPORT_H
#define BIP_IMPORT_IMPORT_H

#include "extension.h"

struct bip_protocol; /* an entry of the table of protocols in order.c */

/* The arguments of buffer_interface() that concern importers. All references are borrowed. */
struct bip_request {
	PyObject *stream; /* NULL: not given */
	PyObject *producer_stream; /* NULL: not given, so the stream that the producer names is used, if any */
	int sync; /* 0: sync=False */
	int writable; /* -1: as the producer says; 0: make the view read-only; 1: refuse a read-only array */
	int keep_mask;
	int check; /* 0: pointers are not checked by the driver */
	int trust; /* 1: handles are accepted even if they cannot be checked */
	const struct bip_protocol *protocol; /* the only protocol to try; NULL: all protocols in their order */
	int has_cai; /* 1: cai.c tries the object's CUDA dictionary if DLPack returns 0 */
	int cai_raised; /* 1: getting the CUDA dictionary raised; only __dlpack__ may describe the object then */
};

/* The result of an importer. The references are owned. */
struct bip_found {
	struct bi_view *view;
	struct bi_view *mask; /* or NULL */
	unsigned flags; /* enum bip_flag */
};

/*
 * An importer. Returns 1 if it imported the object, 0 without an exception if the object does not support the protocol,
 * or -1 with an exception. It reads each attribute once, and takes only AttributeError as a missing attribute [C14].
 * The memory of the view keeps the producer alive until it is released (lifetime.h). The view is as the producer
 * describes it; import.c applies `writable`, `stream` and `copy`.
 */
typedef int bip_importer(PyObject *object, const struct bip_request *request, struct bip_found *found);

bip_importer bip_import_native; /* native.c: a BufferInterface, or an object whose type has __buffer_interface_c__ */
bip_importer bip_import_pyopencl; /* pyopencl.c: arrays, buffers and SVM of pyopencl */
bip_importer bip_import_cai; /* cai.c: __cuda_array_interface__ */
bip_importer bip_import_dlpack; /* dlpack.c: DLPack's C table on the type, __dlpack__, a bare capsule */
bip_importer bip_import_draft; /* draft.c: an object with buffer, offset, shape, strides, and dtype or typestr */
bip_importer bip_import_buffer; /* host.c: the buffer protocol (PEP 3118) */
bip_importer bip_import_array_struct; /* host.c: __array_struct__ */
bip_importer bip_import_array_interface; /* host.c: __array_interface__ */

/*
 * cai.c: imports by the CUDA Array Interface or by DLPack. If the dictionary names a stream, tries the dictionary
 * first, otherwise DLPack. Reads the dictionary once, and its stream again if another context than that of the array is
 * current.
 */
bip_importer bip_import_cai_or_dlpack;

/*
 * host.c: raises UnsupportedError if the object has a mask (numpy.ma), because the protocols of host memory would lose
 * it [H5].
 */
int bip_refuse_masked(PyObject *object);

/*
 * lazy.c: refuses an imported tensor whose conjugation or negation is still to be done: raises BufferError and releases
 * both views. `object` has exported it.
 */
int bip_check_resolved(PyObject *object, struct bip_found *found);

/* import.c: replaces *view by a read-only view of the same memory. */
int bip_make_readonly(struct bi_view **view);

/* ndarray.c: returns true if an array of NumPy with these flags is read-only. */
int bip_is_readonly_ndarray(unsigned flags);

/* host.c: returns true for types derived from numpy.generic. */
int bip_is_numpy_scalar(const PyTypeObject *type);

/*
 * order.c: returns true if the type has an attribute of an array protocol, or the buffer protocol. Runs no code of the
 * type.
 */
int bip_has_protocol(PyTypeObject *type);

/* order.c: returns true for numpy.ndarray and types derived from it. */
int bip_is_ndarray(PyTypeObject *type);
/*
 * order.c: returns numpy.ndarray if it is already known, or if `type` or one of its bases has that name. Otherwise
 * returns NULL.
 */
PyTypeObject *bip_find_ndarray(PyTypeObject *type);

bip_method bip_buffer_interface; /* import.c: buffer_interface(obj, ...) */
/*
 * import.c: returns buffer_interface(obj), or the object itself if it is a BufferInterface. The result is a new
 * reference.
 */
PyObject *bip_as_object(PyObject *object);

#endif
