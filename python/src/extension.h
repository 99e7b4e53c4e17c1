/*
 * The Python extension: what its files share
 *
 * buffer_interface._core is a translation between Python's objects and the public C headers. What an array is, who
 * waits for whom and what is checked is decided by the library; here values are moved, references are kept, and errors
 * become exceptions.
 *
 * Data flows one way: arguments -> struct request -> importer (import_*.c) -> struct found -> object. Exports
 * (export_*.c) start from an object and keep nothing of it but a reference to its view.
 *
 * Conventions
 *   - Functions that return PyObject * return a new reference, or NULL with an exception set. Functions that return int
 *     return 0, or -1 with an exception set, unless their comment says otherwise.
 *   - No borrowed reference is kept across a call that can run Python code.
 *   - The library is called without the GIL where it may wait for a device or run for long (copies, mappings,
 *     synchronisation, opening a device); the view involved is then held with bip_hold. Everything else keeps it.
 *   - Without a GIL (free-threaded Python) `object->view` is read inside BIP_LOCK/BIP_UNLOCK or through bip_hold.
 */
#ifndef BIP_EXTENSION_H
#define BIP_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#include "buffer_interface.h"
#include "buffer_interface/cai.h"
#include "buffer_interface/dlpack.h"

#if PY_VERSION_HEX >= 0x030D0000
#define BIP_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object);
#define BIP_UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define BIP_LOCK(object) {
#define BIP_UNLOCK() }
#endif

/* The object ---------------------------------------------------------------------------------------- object.c */

enum bip_flag {
	/* Foreign memory without a named stream: the end of a `with` block waits for our work on it. */
	BIP_WAIT_AT_EXIT = 1,
	BIP_UNORDERED = 2, /* sync=False: nothing is acquired or handed back */
	BIP_GIVES_BACK = 4 /* the memory's release callback is bip_give_back */
};

/* BufferInterface. Everything but `view`, `acquired`, `mask` and the pattern stays as it was made. */
struct bip_object {
	PyObject_HEAD struct bi_view *view; /* NULL once released */
	struct bi_stream *acquired; /* stream= of the import, until it is handed back; or NULL */
	PyObject *mask; /* another BufferInterface, or NULL; NULL once released */
	PyObject *pattern; /* a dict to copy (export.h), or NULL; NULL once released */
	PyObject *weakrefs;
	unsigned flags; /* enum bip_flag */
	char was_asked; /* 1: for a dictionary that could be kept */
	char is_cuda; /* 1: the pattern is that of __cuda_array_interface__ */
	unsigned short spare; /* references to the view beside its own, counted in advance (bip_lend) */
};

extern PyTypeObject bip_type;

/* Exact, because the type is final. */
#define BIP_CHECK(object) Py_IS_TYPE(object, &bip_type)

/* Wraps a view. It is taken, also on failure. No mask, no flag. */
PyObject *bip_new(struct bi_view *view);

/* A view made from that of `parent`: same flags; nothing acquired. The view is taken, also on failure. */
PyObject *bip_derive(const struct bip_object *parent, struct bi_view *view);

/* Borrowed: valid while the caller holds the object's lock (see above). NULL and an exception if it was released. */
struct bi_view *bip_view(PyObject *self);

/* Retained: for calls without the GIL. */
struct bi_view *bip_hold(PyObject *self);

/*
 * A reference to the view for somebody else, under the object's lock, which is cheaper than an atomic write: most are
 * counted in advance. NULL and no exception if it was released. What nobody took is given back by bip_lend_back.
 */
struct bi_view *bip_lend(PyObject *self);
void bip_lend_back(PyObject *self);

/* A new reference, or NULL without an exception: there is none, or the array was released. */
PyObject *bip_mask(PyObject *self);

/* Adds the static members of the type that are objects (capsules), and readies it. Once. */
int bip_type_ready(PyObject *module);

/* Handles ------------------------------------------------------------------------------------------- handle.c */

/* The handle of a view as it is told outside: addresses are those of the first element, and only a cl_mem has an
 * offset. */
struct bi_native bip_native(const struct bi_view *view);
/* The same as an object. */
PyObject *bip_handle(const struct bi_view *view);
int bip_handle_ready(PyObject *module);

/* Errors -------------------------------------------------------------------------------------------- errors.c */

/* BufferError and ValueError: what an import refuses, and what is asked of a released array. */
extern PyObject *bip_InvalidArrayError;
/* BufferError and NotImplementedError: an export that cannot be, a masked array. */
extern PyObject *bip_UnsupportedError;
/* RuntimeError, with `vendor`: the driver's own code. */
extern PyObject *bip_DriverError;

int bip_errors_init(PyObject *module);

/* Raises what `rc` stands for, for operations (EBOUNDS: IndexError, EDTYPE: TypeError, ...). Returns NULL. */
void *bip_raise(int rc, const struct bi_error *err);
/* The same for imports and exports: what is wrong with the array is InvalidArrayError or UnsupportedError. */
void *bip_raise_import(int rc, const struct bi_error *err);
void *bip_raise_export(int rc, const struct bi_error *err);

/* Lifetime ------------------------------------------------------------------------------------------ lifetime.c */

/*
 * Release callback that drops a reference to the PyObject `data`: on any thread, with or without the GIL, an exception
 * that is set stays set; once the interpreter finalises it leaks. Drops nothing in a process that has no interpreter.
 */
void bip_drop(void *data);

/* What host memory keeps alive for as long as it is wrapped, in one block with what the library makes of it. */
struct bip_kept {
	PyObject *owner; /* or NULL: the buffer, which stays where it was filled in, as it may point into itself */
	Py_buffer buffer;
	_Alignas(max_align_t) char room[BI_WRAP_ROOM];
};

/* The buffer of an object; or a reference to it. NULL with an exception. */
struct bip_kept *bip_borrow(PyObject *object, int flags);
struct bip_kept *bip_keep(PyObject *owner);
/* Release callback like bip_drop that lets go of either. */
void bip_give_back(void *data);

/*
 * Releases of the library's objects by who has the GIL, in deallocs too. An exception that is set stays set. The GIL is
 * dropped where the release may wait: if work is pending, or if it may be the last that holds a context. NULL is
 * nothing.
 */
void bip_release_view(struct bi_view *view);
/* The same for a view of memory whose release callback is bip_give_back; not NULL. */
void bip_release_kept(struct bi_view *view);
/* Nothing of that would be done: what holds the view may let it go by itself. */
int bip_releases_at_once(const struct bi_view *view);
/* Costs next to nothing as long as the context is in the cache. */
void bip_release_context(struct bi_context *context); /* contexts.c */
/* With the GIL it stays so until that is dropped. */
int bip_context_is_cached(const struct bi_context *context); /* contexts.c */

/* Contexts ------------------------------------------------------------------------------------------ contexts.c */

/* That of host memory, borrowed: kept for ever, because no driver stands behind it. NULL with an exception. */
struct bi_context *bip_host_context(void);
/* All owned; they live in a cache of the module until bip_contexts_close or trim(). */
int bip_context_host(struct bi_context **out);
/* The primary context of a CUDA device. */
int bip_context_cuda(int ordinal, struct bi_context **out);
/* By device string ("auto", "cuda:1", "opencl:0:0"). */
int bip_context_open(const char *device, struct bi_context **out);
/* Of a cl_context that somebody else made, by a queue or a memory of it. */
int bip_context_of_queue(uintptr_t queue, struct bi_context **out);
int bip_context_of_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_context **out);
/* A queue that somebody else made, as a stream of that context, which it holds. */
int bip_stream_of_queue(uintptr_t queue, struct bi_stream **out);
/*
 * The same by an object that is known to be the name of one queue as long as it lives: bip_name_stream holds it until
 * the cache lets go of the queue. Retained, or NULL without an exception.
 */
struct bi_stream *bip_stream_named_by(const PyObject *object);
void bip_name_stream(struct bi_stream *stream, PyObject *object);

/* Trims the cached contexts and lets them go; with `all` 0 only adopted ones, which hold the cl_context of somebody
 * else. */
void bip_contexts_close(int all);

/* Streams ------------------------------------------------------------------------------------------- streams.c */

/*
 * A stream for `context` from what a user gives: an int, __cuda_stream__(), the stream objects of CuPy (`ptr`), PyTorch
 * (`cuda_stream`), Numba and PyCUDA (`handle`), a pyopencl queue (`int_ptr`). None: *out is NULL. Owned. The object is
 * kept alive as long as the stream. int 0 is ValueError; -1 is no stream here.
 */
int bip_stream(PyObject *object, struct bi_context *context, struct bi_stream **out);
/* The same for an argument of another name, for messages. */
int bip_stream_named(const char *name, PyObject *object, struct bi_context *context, struct bi_stream **out);

/* Types --------------------------------------------------------------------------------------------- dtype.c */

/* From what a user gives: numpy.dtype, its type objects, a typestr or a name, a one of ml_dtypes. TypeError. */
int bip_dtype_from(PyObject *object, struct bi_dtype *out);
/*
 * Of a structured type: its descr text, else NULL. `descr` receives a new str that owns the text, or NULL for simple
 * types.
 */
int bip_dtype_from_with_descr(PyObject *object, struct bi_dtype *out, PyObject **descr);
/* numpy.dtype of a view; imports NumPy, and ml_dtypes where only that has the type. */
PyObject *bip_dtype_numpy(const struct bi_view *view);
/* typestr as str: "<f4"; types that have none: their name ("bfloat16"). */
PyObject *bip_dtype_text(struct bi_dtype dtype);
/* The descr of a structured view as a Python list; NULL without exception if it is simple. */
PyObject *bip_dtype_descr(const struct bi_view *view);
/* A descr list as the text that the library reads ("[('x', '<f4'), ...]"), a new str. */
PyObject *bip_descr_text(PyObject *list);

/* PEP 3118 formats ---------------------------------------------------------------------------------- format.c */

/* Reads a format ("f", "<i4"... as struct and NumPy write them, T{...} too). NULL means "B". As
 * bip_dtype_from_with_descr. */
int bip_format_read(const char *format, Py_ssize_t itemsize, struct bi_dtype *out, PyObject **descr);
/* Writes one into `text`; UnsupportedError if the type has none. */
#define BIP_FORMAT_TEXT 256
int bip_format_write(const struct bi_view *view, char text[BIP_FORMAT_TEXT]);

/* Imports ------------------------------------------------------------------------------------------- import.c */

enum bip_protocol {
	BIP_ANY,
	BIP_NATIVE, /* "native": __buffer_interface_c__ */
	BIP_DRAFT, /* "draft": buffer, offset, dtype or typestr, shape, strides */
	BIP_PYOPENCL, /* "pyopencl" */
	BIP_CAI, /* "cuda_array_interface" */
	BIP_DLPACK, /* "dlpack" */
	BIP_BUFFER, /* "buffer": PEP 3118 */
	BIP_ARRAY_INTERFACE, /* "array_interface" */
	BIP_ARRAY_STRUCT /* "array_struct" */
};

/* What the caller of buffer_interface() asks for. All references are borrowed. */
struct bip_request {
	PyObject *stream; /* NULL: none */
	PyObject *producer_stream; /* NULL: what the producer says */
	int sync; /* 0: sync=False */
	int writable; /* -1: as the producer says, 0: a read-only view, 1: refuse what is read-only */
	int keep_mask;
	int check; /* 0: pointers are believed */
	int trust; /* 1: handles are believed that cannot be checked */
	enum bip_protocol protocol;
};

/* What an importer makes of an object. All owned. */
struct bip_found {
	struct bi_view *view;
	struct bi_view *mask; /* or NULL */
	unsigned flags; /* BIP_WAIT_AT_EXIT, BIP_GIVES_BACK */
};

/*
 * An importer. Returns 1 if it imported, 0 if the object does not have the protocol (nothing is set), -1 with an
 * exception. Each looks an attribute up once, and takes AttributeError alone for "not there" [C14]. It keeps the
 * producing object alive through bip_drop. Views it makes are as the producer says; import.c applies `writable`,
 * `stream` and `copy`.
 */
typedef int bip_importer(PyObject *object, const struct bip_request *request, struct bip_found *found);

bip_importer bip_import_native; /* import_native.c: __buffer_interface_c__ of other modules and of ourselves */
bip_importer bip_import_draft; /* import_draft.c */
bip_importer bip_import_pyopencl; /* import_pyopencl.c */
bip_importer bip_import_cai; /* import_cai.c; all kinds */
/* import_cai.c: the dictionary is asked for once, and comes before DLPack if it names a stream, behind it otherwise. */
bip_importer bip_import_cai_or_dlpack;
bip_importer bip_import_dlpack; /* import_dlpack.c: exchange table, then __dlpack__ */
bip_importer bip_import_buffer; /* import_host.c */
bip_importer bip_import_array_interface;
bip_importer bip_import_array_struct;
/* numpy.ma and its like, whose protocols give the array without its mask: UnsupportedError if there is one [H5]. */
int bip_refuse_masked(PyObject *object);

/* The whole of buffer_interface(obj, ...): METH_FASTCALL | METH_KEYWORDS. */
PyObject *bip_buffer_interface(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
/* With defaults, for functions that take any array: a new reference; our own objects come back as they are. */
PyObject *bip_as_object(PyObject *object);

/* Exports ------------------------------------------------------------------------------------------- export_*.c */

/* Type-level capsules, new references. */
PyObject *bip_native_capsule(void); /* export_native.c: "__buffer_interface_c__" */
PyObject *bip_dlpack_capsule(void); /* export_dlpack_table.c: "dlpack_exchange_api" */

/* Members of the type. */
PyObject *bip_get_cuda_array_interface(PyObject *self, void *closure); /* export_cai.c */
PyObject *bip_cuda_array_interface(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names); /* export_dlpack.c */
PyObject *bip_dlpack_device(PyObject *self, PyObject *none);
PyObject *bip_get_array_interface(PyObject *self, void *closure); /* export_host.c */
PyObject *bip_get_array_struct(PyObject *self, void *closure);
PyObject *bip_array(PyObject *self, PyObject *args, PyObject *kwargs); /* __array__, H3 */
int bip_getbuffer(PyObject *self, Py_buffer *buffer, int flags);
void bip_releasebuffer(PyObject *self, Py_buffer *buffer);

/* Shapes and views ---------------------------------------------------------------------------------- views.c */

PyObject *bip_subscript(PyObject *self, PyObject *key);
int bip_ass_subscript(PyObject *self, PyObject *key, PyObject *value); /* a[key] = array or scalar */
Py_ssize_t bip_length(PyObject *self);
PyObject *bip_transpose(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *bip_get_T(PyObject *self, void *closure);
PyObject *bip_reshape(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *bip_view_as(PyObject *self, PyObject *dtype);
PyObject *bip_broadcast_to(PyObject *self, PyObject *shape);
/* An int or a sequence of them. *count <= BI_MAX_NDIM. */
int bip_shape_from(PyObject *object, int64_t shape[BI_MAX_NDIM], int *count);
PyObject *bip_tuple(const int64_t *numbers, int count);

/* Operations ---------------------------------------------------------------------------------------- operations.c */

PyObject *bip_copy(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_to(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_synchronize(PyObject *self, PyObject *none);
PyObject *bip_acquire(PyObject *self, PyObject *stream);
PyObject *bip_hand_back(PyObject *self, PyObject *stream);
PyObject *bip_fill(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_item(PyObject *self, PyObject *const *args, Py_ssize_t count);
/* join(streams, into, device): module function and method. */
PyObject *bip_join(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
/* A dense copy in a context, enqueued. The view is held by the caller; *out is NULL after a failure. */
int bip_copy_into(struct bi_context *context, const struct bi_view *view, struct bi_stream *stream,
		  struct bi_view **out);
/* The same on the same device. The view is borrowed. */
int bip_copy_view(struct bi_view *view, struct bi_stream *stream, struct bi_view **out);
extern PyMethodDef bip_operation_functions[]; /* module functions empty, zeros, full, from_numpy, copyto, ... */

/* map() ---------------------------------------------------------------------------------------------- map.c */

PyObject *bip_map(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
extern PyTypeObject bip_map_type;

/* Devices -------------------------------------------------------------------------------------------- devices.c */

PyObject *bip_devices(PyObject *module, PyObject *none);

/* Threads -------------------------------------------------------------------------------------------- threads.c */

PyObject *bip_threads(PyObject *module, PyObject *none);
PyObject *bip_set_threads(PyObject *module, PyObject *count);

/* Small things --------------------------------------------------------------------------------------- values.c */

/* A new reference into *out, or NULL there and no exception if the attribute is not there. */
int bip_attribute(PyObject *object, PyObject *name, PyObject **out);
/* A new reference or NULL without exception if the key is not there; for exact dicts and any mapping. */
int bip_item_of(PyObject *mapping, PyObject *key, PyObject **out);
/* Interned names. */
#define BIP_NAMES(X) \
	X(__cuda_array_interface__) \
	X(__array_interface__) \
	X(__array_struct__) \
	X(__dlpack__) \
	X(__dlpack_device__) \
	X(__dlpack_c_exchange_api__) X(__buffer_interface_c__) X(__cuda_stream__) X(shape) X(strides) X(typestr) \
		X(dtype) X(data) X(version) X(stream) X(descr) X(mask) X(offset) X(buffer) X(int_ptr) X(ptr) X(handle) \
			X(cuda_stream) X(max_version) X(dl_device) X(copy) X(queue) X(events) X(context) X(base_data) \
				X(device) X(readonly) X(backend) X(numpy) X(ndarray) X(value) \
					X(command_execution_status)
struct bip_names {
#define BIP_NAME_MEMBER(name) PyObject *name;
	BIP_NAMES(BIP_NAME_MEMBER)
#undef BIP_NAME_MEMBER
};
extern struct bip_names bip_name;
int bip_names_init(void);

#endif
