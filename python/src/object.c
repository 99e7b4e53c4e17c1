/* The type BufferInterface: what an array is, when it is let go. */
#include <stddef.h>
#include <string.h>

#include "extension.h"
#include "producer.h"

/* Making and letting go */

/* Where the GIL is the lock of them, a few objects that were let go are kept to be made again. */
#ifndef Py_GIL_DISABLED
#define SPARES 16

static struct bip_object *spares[SPARES];
static int spare_count;

static struct bip_object *allocate(void)
{
	if (!spare_count)
		return PyObject_New(struct bip_object, &bip_type);
	return (struct bip_object *)PyObject_Init((PyObject *)spares[--spare_count], &bip_type);
}

static void deallocate(struct bip_object *self)
{
	if (spare_count < SPARES)
		spares[spare_count++] = self;
	else
		PyObject_Free(self);
}
#else
static struct bip_object *allocate(void)
{
	return PyObject_New(struct bip_object, &bip_type);
}

static void deallocate(struct bip_object *self)
{
	PyObject_Free(self);
}
#endif

PyObject *bip_new(struct bi_view *view)
{
	struct bip_object *self = allocate();

	if (!self) {
		bip_release_view(view);
		return NULL;
	}
	self->view = view;
	self->acquired = NULL;
	self->mask = NULL;
	self->pattern = NULL;
	self->weakrefs = NULL;
	self->flags = 0;
	self->was_asked = self->is_cuda = 0;
	self->spare = 0;
	return (PyObject *)self;
}

PyObject *bip_derive(const struct bip_object *parent, struct bi_view *view)
{
	PyObject *self = bip_new(view);

	if (self)
		((struct bip_object *)self)->flags = parent->flags;
	return self;
}

static void raise_released(void)
{
	PyErr_SetString(bip_InvalidArrayError, "this BufferInterface was released [L1]");
}

struct bi_view *bip_view(PyObject *self)
{
	struct bi_view *view = ((struct bip_object *)self)->view;

	if (!view)
		raise_released();
	return view;
}

/* Few: the view's count of 32 bits is enough for 400 million objects that share it. */
#define LENT_AT_ONCE 8

struct bi_view *bip_lend(PyObject *self)
{
	struct bip_object *object = (struct bip_object *)self;

	if (object->view && !object->spare) {
		bi_view_retain_many(object->view, LENT_AT_ONCE);
		object->spare = LENT_AT_ONCE;
	}
	if (object->view)
		object->spare--;
	return object->view;
}

void bip_lend_back(PyObject *self)
{
	((struct bip_object *)self)->spare++;
}

struct bi_view *bip_hold(PyObject *self)
{
	struct bi_view *view;

	BIP_LOCK(self)
	view = bip_lend(self);
	BIP_UNLOCK()
	if (!view)
		raise_released();
	return view;
}

/* The object still has a reference of its own. */
static void drop_spare(struct bip_object *self)
{
	if (self->spare)
		bi_view_release_many(self->view, self->spare);
	self->spare = 0;
}

PyObject *bip_mask(PyObject *self)
{
	PyObject *mask;

	BIP_LOCK(self)
	mask = Py_XNewRef(((struct bip_object *)self)->mask);
	BIP_UNLOCK()
	return mask;
}

/* What release() takes out of the object, so that it is let go once whoever asks. */
struct holdings {
	struct bi_view *view;
	struct bi_stream *acquired;
	PyObject *mask;
	PyObject *pattern;
};

static struct holdings empty_out(struct bip_object *self)
{
	struct holdings held;

	BIP_LOCK(self)
	drop_spare(self);
	held = (struct holdings){ self->view, self->acquired, self->mask, self->pattern };
	self->view = NULL;
	self->acquired = NULL;
	self->mask = NULL;
	self->pattern = NULL;
	BIP_UNLOCK()
	return held;
}

/*
 * What the user enqueued on the stream that he named comes before everything later, and before the memory is let go; if
 * that cannot be said, it is waited for.
 */
static int hand_back(const struct holdings *held, int waits, struct bi_error *err)
{
	int rc = BI_OK;

	Py_BEGIN_ALLOW_THREADS
	if (held->acquired) {
		rc = bi_view_hand_back(held->view, held->acquired, err);
		if (rc)
			bi_stream_synchronize(held->acquired, NULL);
	}
	if (waits && !rc)
		rc = bi_view_synchronize(held->view, err);
	Py_END_ALLOW_THREADS
	return rc;
}

/* The order of work ends for array and mask; the mask itself stays with whoever else has it. */
static int hand_back_mask(PyObject *mask, int waits, struct bi_error *err)
{
	struct bip_object *self = (struct bip_object *)mask;
	struct holdings held = { NULL, NULL, NULL, NULL };
	int rc = BI_OK;

	BIP_LOCK(mask)
	if (self->view) {
		held.view = bi_view_retain(self->view);
		held.acquired = self->acquired;
		self->acquired = NULL;
	}
	BIP_UNLOCK()
	if (held.acquired || (held.view && waits))
		rc = hand_back(&held, waits, err);
	bi_stream_release(held.acquired);
	bip_release_view(held.view);
	return rc;
}

/* Returned is what failed first. */
static int let_go(struct bip_object *self, int waits, struct bi_error *err)
{
	struct holdings held = empty_out(self);
	int rc = BI_OK, rc_mask = BI_OK;

	if (held.view && (held.acquired || waits))
		rc = hand_back(&held, waits, err);
	if (held.mask)
		rc_mask = hand_back_mask(held.mask, waits, rc ? NULL : err);
	bi_stream_release(held.acquired);
	bip_release_view(held.view);
	Py_XDECREF(held.mask);
	Py_XDECREF(held.pattern);
	return rc ? rc : rc_mask;
}

static void let_go_quietly(struct bip_object *self)
{
	struct bip_raised raised = bip_put_aside();

	let_go(self, 0, NULL);
	bip_put_back(raised);
}

static void dealloc(PyObject *object)
{
	struct bip_object *self = (struct bip_object *)object;

	if (self->weakrefs)
		PyObject_ClearWeakRefs(object);
	drop_spare(self);
	if (self->acquired)
		let_go_quietly(self);
	else if (self->view && self->flags & BIP_GIVES_BACK)
		bip_release_kept(self->view);
	else
		bip_release_view(self->view);
	Py_XDECREF(self->mask);
	Py_XDECREF(self->pattern);
	deallocate(self);
}

static PyObject *release(PyObject *self, PyObject *none)
{
	struct bi_error err;
	int rc = let_go((struct bip_object *)self, 0, &err);

	(void)none;
	return rc ? bip_raise(rc, &err) : Py_NewRef(Py_None);
}

static PyObject *enter(PyObject *self, PyObject *none)
{
	(void)none;
	return bip_view(self) ? Py_NewRef(self) : NULL;
}

/* Producers that named no stream cannot wait for our work, and who reads host memory does not. */
static int waits_at_exit(struct bip_object *self)
{
	int waits = 0;

	if (self->flags & BIP_UNORDERED)
		return 0;
	BIP_LOCK((PyObject *)self)
	if (self->view)
		waits = self->flags & BIP_WAIT_AT_EXIT ||
			(bi_memory_is_host(bi_view_memory(self->view)) && !bi_view_is_idle(self->view));
	BIP_UNLOCK()
	return waits;
}

static PyObject *leave(PyObject *object, PyObject *args)
{
	struct bip_object *self = (struct bip_object *)object;
	struct bi_error err;
	int rc = let_go(self, waits_at_exit(self), &err);

	(void)args;
	return rc ? bip_raise(rc, &err) : Py_NewRef(Py_None);
}

/* Attributes */

/* Getters read the view under the lock of the object. */
#define GETTER(name, expression) \
	static PyObject *get_##name(PyObject *self, void *closure) \
	{ \
		PyObject *result = NULL; \
		const struct bi_view *view; \
\
		(void)closure; \
		BIP_LOCK(self) \
		view = bip_view(self); \
		if (view) \
			result = (expression); \
		BIP_UNLOCK() \
		return result; \
	}

static PyObject *make_offset(const struct bi_view *view)
{
	return PyLong_FromSize_t(bip_native(view).offset);
}

static const struct bi_device *device_of(const struct bi_view *view)
{
	return bi_context_device(bi_memory_context(bi_view_memory(view)));
}

static const char *backend_of(const struct bi_view *view)
{
	return bi_memory_is_host(bi_view_memory(view)) ? "host" : device_of(view)->backend;
}

static PyObject *make_device(const struct bi_view *view)
{
	const char *backend = backend_of(view);

	if (strcmp(backend, "host") == 0)
		return Py_NewRef(Py_None);
	if (strcmp(backend, "cuda") == 0)
		return PyLong_FromLong(device_of(view)->ordinal);
	return Py_BuildValue("(ii)", device_of(view)->platform, device_of(view)->ordinal);
}

static PyObject *make_device_name(const struct bi_view *view)
{
	return PyUnicode_FromString(strcmp(backend_of(view), "host") ? device_of(view)->name : "host");
}

static PyObject *make_context(const struct bi_view *view)
{
	if (bi_memory_is_host(bi_view_memory(view)))
		return Py_NewRef(Py_None);
	return PyLong_FromSize_t(bi_context_handle(bi_memory_context(bi_view_memory(view))));
}

/* *stream is 0 if nothing is pending. A thread that waits for a device may have the lock of memory that is not idle. */
static int find_stream(const struct bi_view *view, uint64_t *stream)
{
	struct bi_exchange exchange;
	struct bi_error err;
	int rc;

	*stream = 0;
	if (bi_view_is_idle(view))
		return 0;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_describe(view, &exchange, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise(rc, &err);
	else if (exchange.stream_kind != BI_STREAM_KIND_NONE)
		*stream = exchange.stream;
	return rc ? -1 : 0;
}

/* The view is one that is held. */
static PyObject *make_stream(const struct bi_view *view)
{
	uint64_t stream;

	if (bi_memory_is_host(bi_view_memory(view)))
		return Py_NewRef(Py_None);
	if (find_stream(view, &stream))
		return NULL;
	return stream ? PyLong_FromUnsignedLongLong(stream) : Py_NewRef(Py_None);
}

/* OpenCL has names of its own for context and stream [O7]. */
static int check_opencl(const struct bi_view *view, const char *name)
{
	if (strcmp(backend_of(view), "opencl") == 0)
		return 0;
	PyErr_Format(PyExc_AttributeError, "%s: this is memory of %s, not of OpenCL [O7]", name, backend_of(view));
	return -1;
}

static PyObject *make_cl_context(const struct bi_view *view)
{
	return check_opencl(view, "cl_context") ? NULL : make_context(view);
}

/* What is enqueued on the queue comes after what is pending, if anything is. The view is one that is held. */
static PyObject *make_cl_command_queue(const struct bi_view *view)
{
	uint64_t stream;

	if (check_opencl(view, "cl_command_queue") || find_stream(view, &stream))
		return NULL;
	if (!stream)
		stream = bi_stream_handle(bi_context_stream(bi_memory_context(bi_view_memory(view))));
	return PyLong_FromUnsignedLongLong(stream);
}

static PyObject *make_host_pointer(const struct bi_view *view)
{
	void *pointer = bi_view_host_pointer(view);

	return pointer ? PyLong_FromVoidPtr(pointer) : Py_NewRef(Py_None);
}

/* Elements, or the bytes of as many dense ones. They fit: the library has checked them. */
static int64_t count_elements(const struct bi_view *view)
{
	int64_t count = 1;

	for (int i = 0; i < bi_view_ndim(view); i++)
		count *= bi_view_shape(view)[i];
	return count;
}

static PyObject *make_descr(const struct bi_view *view)
{
	PyObject *descr = bip_dtype_descr(view);

	return descr || PyErr_Occurred() ? descr : Py_NewRef(Py_None);
}

static int is_readonly(const struct bi_view *view)
{
	return (bi_view_flags(view) & BI_VIEW_READONLY) != 0;
}

GETTER(buffer, bip_handle(view))
GETTER(offset, make_offset(view))
GETTER(shape, bip_tuple(bi_view_shape(view), bi_view_ndim(view)))
GETTER(strides, bip_tuple(bi_view_strides(view), bi_view_ndim(view)))
GETTER(typestr, bip_dtype_text(bi_view_dtype(view)))
GETTER(descr, make_descr(view))
GETTER(itemsize, PyLong_FromUnsignedLong(bi_view_dtype(view).item_size))
GETTER(ndim, PyLong_FromLong(bi_view_ndim(view)))
GETTER(size, PyLong_FromLongLong(count_elements(view)))
GETTER(nbytes, PyLong_FromLongLong(count_elements(view) * bi_view_dtype(view).item_size))
GETTER(readonly, PyBool_FromLong(is_readonly(view)))
GETTER(backend, PyUnicode_FromString(backend_of(view)))
GETTER(device, make_device(view))
GETTER(device_name, make_device_name(view))
GETTER(device_spec, PyUnicode_FromString(strcmp(backend_of(view), "host") ? device_of(view)->spec : "host"))
GETTER(context, make_context(view))
GETTER(cl_context, make_cl_context(view))
GETTER(host_pointer, make_host_pointer(view))

/* What runs code, such as an import of NumPy, or drops the GIL goes without the lock. */
static PyObject *get_held(PyObject *self, PyObject *(*make)(const struct bi_view *view))
{
	struct bi_view *view = bip_hold(self);
	PyObject *result = view ? make(view) : NULL;

	bip_release_view(view);
	return result;
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
	(void)closure;
	return get_held(self, bip_dtype_numpy);
}

static PyObject *get_stream(PyObject *self, void *closure)
{
	const struct bi_view *view;
	int is_ready;

	(void)closure;
	BIP_LOCK(self)
	view = ((struct bip_object *)self)->view;
	is_ready = view && bi_view_is_idle(view);
	BIP_UNLOCK()
	return is_ready ? Py_NewRef(Py_None) : get_held(self, make_stream);
}

static PyObject *get_cl_command_queue(PyObject *self, void *closure)
{
	(void)closure;
	return get_held(self, make_cl_command_queue);
}

static PyObject *get_released(PyObject *self, void *closure)
{
	(void)closure;
	return PyBool_FromLong(!((struct bip_object *)self)->view);
}

static PyObject *get_mask(PyObject *self, void *closure)
{
	PyObject *mask = bip_mask(self);

	(void)closure;
	if (mask)
		return mask;
	return bip_view(self) ? Py_NewRef(Py_None) : NULL;
}

/* The name of the type, or its typestr where no name says the same in fewer words than the other. */
static void write_type(struct bi_dtype dtype, char text[BI_DTYPE_TEXT])
{
	int has_size = dtype.type == BI_BYTES || dtype.type == BI_UNICODE || dtype.type == BI_VOID;

	if (!has_size || bi_dtype_typestr(dtype, text, NULL))
		bi_dtype_name(dtype, text);
}

static PyObject *repr_of(const struct bi_view *view, int is_masked)
{
	PyObject *shape = bip_tuple(bi_view_shape(view), bi_view_ndim(view));
	PyObject *offset = make_offset(view);
	PyObject *result = NULL;
	char name[BI_DTYPE_TEXT];

	write_type(bi_view_dtype(view), name);
	if (shape && offset)
		result = PyUnicode_FromFormat("<BufferInterface %s %S on %s, offset %S%s%s>", name, shape,
					      strcmp(backend_of(view), "host") ? device_of(view)->spec : "host", offset,
					      is_readonly(view) ? ", read-only" : "", is_masked ? ", masked" : "");
	Py_XDECREF(shape);
	Py_XDECREF(offset);
	return result;
}

static PyObject *repr(PyObject *self)
{
	int is_masked = ((struct bip_object *)self)->mask != NULL;
	struct bi_view *view = ((struct bip_object *)self)->view ? bip_hold(self) : NULL;
	PyObject *result;

	if (!view) {
		PyErr_Clear();
		return PyUnicode_FromString("<BufferInterface, released>");
	}
	result = repr_of(view, is_masked);
	bip_release_view(view);
	return result;
}

/* Numbers are asked for by name: int() would otherwise read the bytes as text, and bool() the length. */

static PyObject *refuse_number(PyObject *self)
{
	(void)self;
	PyErr_SetString(PyExc_TypeError, "a BufferInterface is no number, also if it has one element: use item()");
	return NULL;
}

static int refuse_truth(PyObject *self)
{
	refuse_number(self);
	return -1;
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
	(void)type;
	(void)args;
	(void)words;
	PyErr_SetString(PyExc_TypeError,
			"a BufferInterface is not made of nothing: buffer_interface(x) gives one of x, "
			"and empty(), zeros() and full() a new one");
	return NULL;
}

/* The type */

#define FAST(function) ((PyCFunction)(void (*)(void))(function))
#define FAST_WORDS (METH_FASTCALL | METH_KEYWORDS)

static PyMethodDef methods[] = {
	{ "release", release, METH_NOARGS,
	  "release($self)\n--\n\nLets the memory go, once; later calls do nothing. Exports that were handed out keep "
	  "it. A "
	  "stream\n"
	  "that was acquired is handed back first. Afterwards whatever would touch the memory raises "
	  "InvalidArrayError." },
	{ "__enter__", enter, METH_NOARGS, "__enter__($self)\n--\n\nThe array itself." },
	{ "__exit__", leave, METH_VARARGS,
	  "__exit__($self, *args)\n--\n\nHands an acquired stream back, then releases." },
	{ "acquire", bip_acquire, METH_O,
	  "acquire($self, stream, /)\n--\n\nWork enqueued on the stream from now on comes after all work on the "
	  "memory." },
	{ "hand_back", bip_hand_back, METH_O,
	  "hand_back($self, stream, /)\n--\n\nLater work on the memory comes after all that is now on the stream." },
	{ "synchronize", bip_synchronize, METH_NOARGS,
	  "synchronize($self)\n--\n\nWaits until all work on the memory is done. DriverError if some of it failed." },
	{ "join", FAST(bip_join), FAST_WORDS,
	  "join($self, *streams)\n--\n\nLater work on the memory comes after what is now on each of the streams." },
	{ "copy", FAST(bip_copy), FAST_WORDS,
	  "copy($self, *, stream=None)\n--\n\nA dense C-order copy on the same device, enqueued." },
	{ "to", FAST(bip_to), FAST_WORDS,
	  "to($self, device, *, stream=None)\n--\n\nThe array on another device: a dense copy, or the array itself if "
	  "it is "
	  "there." },
	{ "fill", FAST(bip_fill), FAST_WORDS,
	  "fill($self, value, *, stream=None)\n--\n\nEvery element becomes the value. Enqueued." },
	{ "item", FAST(bip_item), METH_FASTCALL,
	  "item($self, *index)\n--\n\nOne element as a Python object; waits for the work on the memory." },
	{ "map", FAST(bip_map), FAST_WORDS,
	  "map($self, mode='r')\n--\n\nThe bytes as an object with the buffer protocol, for a `with` block: 'r' to "
	  "read, 'w' "
	  "to write all,\n"
	  "'rw' both. Waits for the work on the memory." },
	{ "transpose", FAST(bip_transpose), METH_FASTCALL,
	  "transpose($self, *axes)\n--\n\nThe same memory with its axes in another order, reversed without "
	  "arguments." },
	{ "reshape", FAST(bip_reshape), METH_FASTCALL,
	  "reshape($self, *shape)\n--\n\nThe same memory in another shape, in C order; one extent may be -1. "
	  "ValueError if it "
	  "needs a copy." },
	{ "view", bip_view_as, METH_O, "view($self, dtype, /)\n--\n\nThe same bytes as another type." },
	{ "broadcast_to", bip_broadcast_to, METH_O,
	  "broadcast_to($self, shape, /)\n--\n\nThe same memory repeated to a larger shape, read-only." },
	{ "cuda_array_interface", FAST(bip_cuda_array_interface), FAST_WORDS,
	  "cuda_array_interface($self, version=3, *, sync=True, synchronize=False, bfloat16_as_void=False)\n--\n\n"
	  "The dictionary in one of its versions. Below 3 pending work is waited for." },
	{ "__dlpack__", FAST(bip_dlpack), FAST_WORDS,
	  "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nA DLPack capsule." },
	{ "__dlpack_device__", bip_dlpack_device, METH_NOARGS,
	  "__dlpack_device__($self)\n--\n\nDevice type and ordinal, in DLPack's numbers." },
	{ "__array__", FAST(bip_array), METH_VARARGS | METH_KEYWORDS,
	  "__array__($self, dtype=None, *, copy=None)\n--\n\nHost memory as a numpy.ndarray; TypeError for memory of a "
	  "device." },
	{ NULL, NULL, 0, NULL },
};

#define ATTRIBUTE(name, doc) \
	{ \
#name, get_##name, NULL, doc, NULL \
	}

static PyGetSetDef getset[] = {
	ATTRIBUTE(
		buffer,
		"The handle: .int_ptr is the cl_mem (OpenCL); int() the cl_mem, or the address of the first element."),
	ATTRIBUTE(offset, "Bytes from the start of the cl_mem to the first element; 0 elsewhere."),
	ATTRIBUTE(shape, "Extents, a tuple of int."),
	ATTRIBUTE(strides, "Bytes from one element to the next along each axis, a tuple of int; may be negative or 0."),
	ATTRIBUTE(dtype, "numpy.dtype. Imports NumPy, and ml_dtypes for the types that only it has."),
	ATTRIBUTE(typestr,
		  "Type as text, '<f4'; the name of a type for which the array interface has no text, 'bfloat16'."),
	ATTRIBUTE(descr, "Fields of a structured type as the array interface lists them, else None."),
	ATTRIBUTE(itemsize, "Bytes of one element."),
	ATTRIBUTE(ndim, "Number of dimensions."),
	ATTRIBUTE(size, "Number of elements."),
	ATTRIBUTE(nbytes, "Bytes of as many dense elements."),
	ATTRIBUTE(readonly, "True if the memory or its producer forbids writing."),
	ATTRIBUTE(backend, "'host', 'opencl' or 'cuda'."),
	ATTRIBUTE(device, "OpenCL: (platform, ordinal), with -1 for what is not known; CUDA: ordinal; host: None."),
	ATTRIBUTE(device_name, "Name of the device."),
	ATTRIBUTE(device_spec, "Device string, as `device=` takes it."),
	ATTRIBUTE(context, "cl_context or CUcontext as an int; None on the host."),
	ATTRIBUTE(stream, "The stream on which pending work is: a cl_command_queue, or CUDA's 1 or handle, as an int; "
			  "None if nothing is pending."),
	ATTRIBUTE(cl_context, "OpenCL: the cl_context as an int. AttributeError elsewhere."),
	ATTRIBUTE(cl_command_queue,
		  "OpenCL: the queue on which the memory is ready, as an int. AttributeError elsewhere."),
	ATTRIBUTE(host_pointer,
		  "Address of the first element if the CPU can use the memory as it stands, else None. Does not wait."),
	ATTRIBUTE(mask, "Another BufferInterface that tells which elements count, or None."),
	ATTRIBUTE(released, "True after release()."),
	{ "T", bip_get_T, NULL, "The same memory with its axes reversed.", NULL },
	{ "__cuda_array_interface__", bip_get_cuda_array_interface, NULL, "Version 3; for memory of CUDA only.", NULL },
	{ "__array_interface__", bip_get_array_interface, NULL, "For host memory only.", NULL },
	{ "__array_struct__", bip_get_array_struct, NULL, "For host memory only.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyNumberMethods number = { .nb_bool = refuse_truth, .nb_int = refuse_number, .nb_float = refuse_number };
static PyMappingMethods mapping = { .mp_length = bip_length,
				    .mp_subscript = bip_subscript,
				    .mp_ass_subscript = bip_ass_subscript };
static PyBufferProcs buffer = { .bf_getbuffer = bip_getbuffer, .bf_releasebuffer = bip_releasebuffer };

PyTypeObject bip_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "buffer_interface.BufferInterface",
	.tp_doc = "An n-dimensional array in host, OpenCL or CUDA memory that somebody made. buffer_interface() gives "
		  "one.",
	.tp_basicsize = sizeof(struct bip_object),
	.tp_weaklistoffset = offsetof(struct bip_object, weakrefs),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.tp_new = refuse_new,
	.tp_dealloc = dealloc,
	.tp_repr = repr,
	.tp_methods = methods,
	.tp_getset = getset,
	.tp_as_number = &number,
	.tp_as_mapping = &mapping,
	.tp_as_buffer = &buffer,
};

/* The capsule is stored under a name of the type; the reference is taken. */
static int add_member(PyObject *dict, const char *name, PyObject *capsule)
{
	int rc = capsule ? PyDict_SetItemString(dict, name, capsule) : -1;

	Py_XDECREF(capsule);
	return rc;
}

int bip_type_ready(PyObject *module)
{
	PyObject *dict = PyDict_New();

	if (!dict)
		return -1;
	bip_type.tp_dict = dict;
	if (add_member(dict, "__buffer_interface_c__", bip_native_capsule()) ||
	    add_member(dict, "__dlpack_c_exchange_api__", bip_dlpack_capsule()) ||
	    add_member(dict, "__c_dlpack_exchange_api__", bip_dlpack_capsule()))
		return -1;
	if (PyType_Ready(&bip_type) || bip_handle_ready(module))
		return -1;
	return PyModule_AddObjectRef(module, "BufferInterface", (PyObject *)&bip_type);
}
