/*
 * map(): the bytes of an array for the CPU, as an object with the buffer protocol
 *
 * NumPy, memoryview and everything else that reads buffers see the elements where they are, with the strides of the
 * array. The mapping cannot end under an export: as PEP 3118 wants it, that is a BufferError, and the array stays
 * mapped.
 */
#include <string.h>

#include "arguments.h"
#include "dtype.h"
#include "errors.h"
#include "lifetime.h"
#include "object.h"
#include "shapes.h"
#include "export/format.h"
#include "operations/operations.h"

struct mapping {
	PyObject_HEAD struct bi_view *view;
	struct bi_map *map; /* NULL once closed */
	Py_ssize_t exports;
	int is_readonly;
	int is_bytes; /* the protocol cannot name the type: there is an axis more, for the bytes of an element */
	int ndim; /* of buffers */
	Py_ssize_t *dims; /* shape and strides of buffers */
	char mode[3];
	char format[BIP_FORMAT_TEXT];
};

/* Where arrays without elements are said to be. */
static char nowhere;

static const char closed[] = "the mapping is closed";

/* Making */

static int read_mode(PyObject *object, struct mapping *self, unsigned *mode)
{
	static const struct {
		const char *name;
		unsigned mode;
	} modes[] = {
		{ "r", BI_MAP_READ },
		{ "w", BI_MAP_WRITE | BI_MAP_DISCARD },
		{ "rw", BI_MAP_READ | BI_MAP_WRITE },
	};
	const char *name = "r";

	if (object && !PyUnicode_Check(object)) {
		PyErr_Format(PyExc_TypeError, "mode is %R, not 'r', 'w' or 'rw'", object);
		return -1;
	}
	if (object)
		name = PyUnicode_AsUTF8(object);
	for (size_t i = 0; name && i < Py_ARRAY_LENGTH(modes); i++) {
		if (strcmp(name, modes[i].name))
			continue;
		memcpy(self->mode, name, strlen(name) + 1);
		self->is_readonly = !(modes[i].mode & BI_MAP_WRITE);
		*mode = modes[i].mode;
		return 0;
	}
	if (name)
		PyErr_Format(PyExc_ValueError, "mode is %R, not 'r', 'w' or 'rw'", object);
	return -1;
}

/* NumPy reads the format of an element of which nothing is known, and then copies no byte of it. */
static int is_void(const struct bi_view *view)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	return layout.dtype.type == BI_VOID && !layout.descr;
}

static int write_format(struct mapping *self)
{
	self->is_bytes = is_void(self->view);
	if (!self->is_bytes && bip_format_write(self->view, self->format)) {
		if (!PyErr_ExceptionMatches(bip_UnsupportedError))
			return -1;
		PyErr_Clear();
		self->is_bytes = 1;
	}
	if (self->is_bytes)
		memcpy(self->format, "B", 2);
	return 0;
}

static int write_dims(struct mapping *self)
{
	struct bi_layout layout;

	bi_view_layout(self->view, &layout);
	self->ndim = layout.ndim + self->is_bytes;
	self->dims = PyMem_New(Py_ssize_t, 2 * (size_t)self->ndim);
	if (!self->dims) {
		PyErr_NoMemory();
		return -1;
	}
	for (int i = 0; i < layout.ndim; i++) {
		self->dims[i] = (Py_ssize_t)layout.shape[i];
		self->dims[self->ndim + i] = (Py_ssize_t)layout.strides[i];
	}
	if (self->is_bytes) {
		self->dims[layout.ndim] = (Py_ssize_t)layout.dtype.item_size;
		self->dims[self->ndim + layout.ndim] = 1;
	}
	return 0;
}

static int map_view(struct mapping *self, unsigned mode)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_map(self->view, mode, &self->map, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

static int set_up(struct mapping *self, PyObject *mode_object)
{
	unsigned mode = 0;

	if (!self->view || read_mode(mode_object, self, &mode) || write_format(self) || write_dims(self))
		return -1;
	return map_view(self, mode);
}

PyObject *bip_map(PyObject *array, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	static const struct bip_signature signature = { "map", 0, 1, { "mode", NULL } };
	struct mapping *self;
	PyObject *mode;

	if (bip_arguments(&signature, args, count, names, &mode) || bip_refuse_mask(array, "map"))
		return NULL;
	self = PyObject_New(struct mapping, &bip_map_type);
	if (!self)
		return NULL;
	self->map = NULL;
	self->dims = NULL;
	self->exports = 0;
	self->view = bip_hold(array);
	if (set_up(self, mode))
		Py_CLEAR(self);
	return (PyObject *)self;
}

/* Ending */

/* Takes the mapping out, so that one thread unmaps. -1: there are exports. */
static int take_map(struct mapping *self, struct bi_map **out)
{
	Py_ssize_t exports;

	BIP_LOCK(self)
	exports = self->exports;
	*out = exports ? NULL : self->map;
	if (!exports)
		self->map = NULL;
	BIP_UNLOCK()
	if (!exports)
		return 0;
	PyErr_Format(PyExc_BufferError,
		     "%zd buffers of the mapping are in use, for example by arrays made of it: it stays mapped",
		     exports);
	return -1;
}

static int unmap(struct mapping *self)
{
	struct bi_map *map;
	struct bi_error err;
	int rc;

	if (take_map(self, &map))
		return -1;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_unmap(map, &err);
	Py_END_ALLOW_THREADS
	/* During a capture the memory stays mapped. */
	if (rc == BI_ECAPTURE)
		self->map = map;
	if (rc)
		bip_raise(rc, &err);
	return rc ? -1 : 0;
}

static PyObject *close_mapping(PyObject *self, PyObject *none)
{
	(void)none;
	return unmap((struct mapping *)self) ? NULL : Py_NewRef(Py_None);
}

/* An exception that is on its way keeps the block's arrays alive, and is not replaced by one about them. */
static PyObject *leave(PyObject *self, PyObject *args)
{
	int is_raising = PyTuple_GET_SIZE(args) && PyTuple_GET_ITEM(args, 0) != Py_None;

	if (unmap((struct mapping *)self) == 0)
		Py_RETURN_NONE;
	if (!is_raising || !PyErr_ExceptionMatches(PyExc_BufferError))
		return NULL;
	PyErr_Clear();
	Py_RETURN_NONE;
}

static void dealloc(PyObject *object)
{
	struct mapping *self = (struct mapping *)object;
	PyObject *type, *value, *traceback;

	if (self->map) {
		PyErr_Fetch(&type, &value, &traceback);
		if (unmap(self))
			PyErr_WriteUnraisable(NULL);
		PyErr_Restore(type, value, traceback);
	}
	bip_release_view(self->view);
	PyMem_Free(self->dims);
	PyObject_Free(self);
}

/* The mapping as an object */

static int check_open(const struct mapping *self)
{
	if (self->map)
		return 0;
	PyErr_SetString(bip_InvalidArrayError, closed);
	return -1;
}

static PyObject *enter(PyObject *self, PyObject *none)
{
	(void)none;
	return check_open((struct mapping *)self) ? NULL : Py_NewRef(self);
}

static PyObject *repr(PyObject *object)
{
	const struct mapping *self = (struct mapping *)object;
	PyObject *shape = bip_tuple(bi_view_shape(self->view), bi_view_ndim(self->view));
	PyObject *text;
	char name[BI_DTYPE_TEXT];

	if (!shape)
		return NULL;
	bi_dtype_name(bi_view_dtype(self->view), name);
	text = PyUnicode_FromFormat("<Mapping '%s' %s %S%s>", self->mode, name, shape, self->map ? "" : ", closed");
	Py_DECREF(shape);
	return text;
}

/* Elements of no bytes need no memory. */
static PyObject *without_bytes(const struct bi_view *view, PyObject *numpy, PyObject *dtype)
{
	PyObject *shape = bip_tuple(bi_view_shape(view), bi_view_ndim(view));
	PyObject *array = shape ? PyObject_CallMethod(numpy, "empty", "OO", shape, dtype) : NULL;

	Py_XDECREF(shape);
	return array;
}

/* ndarray.view(dtype) makes one of the bytes of each element. */
static PyObject *name_bytes(PyObject *bytes, PyObject *dtype)
{
	PyObject *elements = PyObject_CallMethod(bytes, "view", "O", dtype);
	PyObject *key = Py_BuildValue("(Oi)", Py_Ellipsis, 0);
	PyObject *result = elements && key ? PyObject_GetItem(elements, key) : NULL;

	Py_XDECREF(key);
	Py_XDECREF(elements);
	return result;
}

static PyObject *name_elements(const struct mapping *self, PyObject *numpy, PyObject *bytes)
{
	PyObject *dtype = bip_dtype_numpy(self->view), *array = NULL;

	if (dtype && bi_view_dtype(self->view).item_size)
		array = name_bytes(bytes, dtype);
	else if (dtype)
		array = without_bytes(self->view, numpy, dtype);
	Py_XDECREF(dtype);
	return array;
}

/* From a memoryview: of an object that lends none NumPy would ask for __array__, and so come here again. */
static PyObject *make_array(PyObject *object, PyObject *numpy)
{
	const struct mapping *self = (struct mapping *)object;
	PyObject *memory = PyMemoryView_FromObject(object);
	PyObject *array = memory ? PyObject_CallMethod(numpy, "asarray", "O", memory) : NULL;

	Py_XDECREF(memory);
	if (array && self->is_bytes)
		Py_SETREF(array, name_elements(self, numpy, array));
	return array;
}

static PyObject *to_numpy(PyObject *self, PyObject *none)
{
	PyObject *numpy = PyImport_ImportModule("numpy");
	PyObject *array = numpy ? make_array(self, numpy) : NULL;

	(void)none;
	Py_XDECREF(numpy);
	return array;
}

/* ndarray.__array__ knows what dtype= and copy= mean in this version of NumPy. */
static PyObject *as_array(PyObject *self, PyObject *args, PyObject *words)
{
	PyObject *array = to_numpy(self, NULL);
	PyObject *method = array ? PyObject_GetAttrString(array, "__array__") : NULL;
	PyObject *result = method ? PyObject_Call(method, args, words) : NULL;

	Py_XDECREF(method);
	Py_XDECREF(array);
	return result;
}

static PyObject *get_closed(PyObject *self, void *closure)
{
	(void)closure;
	return PyBool_FromLong(!((struct mapping *)self)->map);
}

static PyObject *get_mode(PyObject *self, void *closure)
{
	(void)closure;
	return PyUnicode_FromString(((struct mapping *)self)->mode);
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
	(void)closure;
	return bip_dtype_numpy(((struct mapping *)self)->view);
}

static PyObject *get_shape(PyObject *self, void *closure)
{
	const struct bi_view *view = ((struct mapping *)self)->view;

	(void)closure;
	return bip_tuple(bi_view_shape(view), bi_view_ndim(view));
}

static PyObject *get_strides(PyObject *self, void *closure)
{
	const struct bi_view *view = ((struct mapping *)self)->view;

	(void)closure;
	return bip_tuple(bi_view_strides(view), bi_view_ndim(view));
}

/* The buffer protocol */

/* Everything that a consumer can ask for. */
static void fill_buffer(const struct mapping *self, Py_buffer *buffer)
{
	struct bi_layout layout;
	void *data = bi_map_data(self->map);

	bi_view_layout(self->view, &layout);
	buffer->buf = data ? data : &nowhere;
	buffer->len = (Py_ssize_t)bi_layout_nbytes(&layout);
	buffer->itemsize = self->is_bytes ? 1 : (Py_ssize_t)layout.dtype.item_size;
	buffer->readonly = self->is_readonly;
	buffer->ndim = self->ndim;
	buffer->format = (char *)(uintptr_t)self->format;
	buffer->shape = self->dims;
	buffer->strides = self->dims + self->ndim;
	buffer->suboffsets = NULL;
	buffer->internal = NULL;
}

static int asks(int flags, int for_what)
{
	return (flags & for_what) == for_what;
}

/* Why the buffer is not what a consumer asks for, or NULL. */
static const char *find_fault(const Py_buffer *buffer, int flags)
{
	if (buffer->ndim > PyBUF_MAX_NDIM)
		return "a buffer has no more than 64 dimensions, and the bytes of an element are one";
	if (asks(flags, PyBUF_WRITABLE) && buffer->readonly)
		return "the array is mapped for reading, and a writable buffer is asked for";
	if (asks(flags, PyBUF_C_CONTIGUOUS) && !PyBuffer_IsContiguous(buffer, 'C'))
		return "the array is not C-contiguous, and a buffer that is one is asked for";
	if (asks(flags, PyBUF_F_CONTIGUOUS) && !PyBuffer_IsContiguous(buffer, 'F'))
		return "the array is not Fortran-contiguous, and a buffer that is one is asked for";
	if (asks(flags, PyBUF_ANY_CONTIGUOUS) && !PyBuffer_IsContiguous(buffer, 'A'))
		return "the array is not contiguous, and a buffer that is one is asked for";
	if (!asks(flags, PyBUF_STRIDES) && !PyBuffer_IsContiguous(buffer, 'C'))
		return "the array is not C-contiguous, and a buffer without strides is asked for";
	return NULL;
}

static void leave_out(Py_buffer *buffer, int flags)
{
	if (!asks(flags, PyBUF_FORMAT))
		buffer->format = NULL;
	if (!asks(flags, PyBUF_ND))
		buffer->shape = NULL;
	if (!asks(flags, PyBUF_STRIDES))
		buffer->strides = NULL;
}

/* Locked. */
static const char *lend(struct mapping *self, Py_buffer *buffer, int flags)
{
	const char *fault;

	if (!self->map)
		return closed;
	fill_buffer(self, buffer);
	fault = find_fault(buffer, flags);
	if (fault)
		return fault;
	leave_out(buffer, flags);
	buffer->obj = Py_NewRef((PyObject *)self);
	self->exports++;
	return NULL;
}

static int getbuffer(PyObject *object, Py_buffer *buffer, int flags)
{
	const char *fault;

	buffer->obj = NULL;
	BIP_LOCK(object)
	fault = lend((struct mapping *)object, buffer, flags);
	BIP_UNLOCK()
	if (!fault)
		return 0;
	PyErr_SetString(fault == closed ? bip_InvalidArrayError : PyExc_BufferError, fault);
	return -1;
}

static void releasebuffer(PyObject *object, Py_buffer *buffer)
{
	(void)buffer;
	BIP_LOCK(object)
	((struct mapping *)object)->exports--;
	BIP_UNLOCK()
}

static PyMethodDef methods[] = {
	{ "close", close_mapping, METH_NOARGS,
	  "close($self, /)\n--\n\nEnds the mapping; what was written comes before later work on the array. "
	  "BufferError, and "
	  "the array\n"
	  "stays mapped, while a buffer of it is in use." },
	{ "numpy", to_numpy, METH_NOARGS,
	  "numpy($self, /)\n--\n\nThe mapped elements as a numpy.ndarray of `dtype`, without a copy." },
	{ "__array__", (PyCFunction)(void (*)(void))as_array, METH_VARARGS | METH_KEYWORDS,
	  "__array__($self, dtype=None, *, copy=None)\n--\n\nnumpy(), of another type or copied if that is asked "
	  "for." },
	{ "__enter__", enter, METH_NOARGS, "The mapping itself; InvalidArrayError if it is closed." },
	{ "__exit__", leave, METH_VARARGS, "close(); an exception that is on its way is not replaced." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef getset[] = {
	{ "closed", get_closed, NULL, "True once the mapping has ended.", NULL },
	{ "mode", get_mode, NULL, "'r', 'w' or 'rw'.", NULL },
	{ "dtype", get_dtype, NULL,
	  "numpy.dtype of the elements. Where the buffer protocol cannot name it, a buffer is one of bytes, with an "
	  "axis more.",
	  NULL },
	{ "shape", get_shape, NULL, "Extents, a tuple of int.", NULL },
	{ "strides", get_strides, NULL, "Bytes from one element to the next along each axis, a tuple of int.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyBufferProcs buffer_procs = { getbuffer, releasebuffer };

PyTypeObject bip_map_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "buffer_interface.Mapping",
	.tp_doc = "The bytes of an array for the CPU. Speaks the buffer protocol until it is closed.",
	.tp_basicsize = sizeof(struct mapping),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
	.tp_dealloc = dealloc,
	.tp_repr = repr,
	.tp_methods = methods,
	.tp_getset = getset,
	.tp_as_buffer = &buffer_procs,
};
