/*
 * map(): makes the elements of an array available to the CPU, as an object with the buffer protocol
 *
 * Consumers of buffers see the elements with the strides of the array. A mapping whose buffers are in use cannot end,
 * as PEP 3118 demands: close() raises BufferError, and the array stays mapped.
 */
#include <string.h>

#include "lifetime.h"
#include "object.h"
#include "base/arguments.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/shapes.h"
#include "export/format.h"
#include "operations/operations.h"

struct mapping {
	PyObject_HEAD struct bi_view *view;
	struct bi_map *map; /* NULL after the mapping was closed */
	Py_ssize_t exports; /* number of buffers in use; guarded by BIP_LOCK, as is `map` */
	int is_ending; /* 1: the `with` block has ended; the last buffer ends the mapping; guarded by BIP_LOCK */
	int is_unmapping; /* 1: a thread has taken the map, and ends it; guarded by BIP_LOCK */
	int is_readonly;
	int is_bytes; /* 1: the buffer protocol cannot name the element type, so buffers have one more axis for the
			 bytes of an element */
	int ndim; /* number of axes of exported buffers */
	Py_ssize_t *dims; /* shape and strides of exported buffers: 2 * ndim numbers */
	char mode[3];
	char *format; /* owned */
};

/* The address in the buffers of an array without elements. */
static char nowhere;

static const char closed[] = "the mapping is closed";
static const char unmapping[] = "another thread is closing the mapping: call map() when the mapping is closed";
static const char ending[] = "the `with` block of the mapping has ended, and a buffer of the mapping is still in use: "
			     "delete the array that was made from it (del v), then call map() again";

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

	if (object && !PyUnicode_Check(object))
		return bip_refuse(PyExc_TypeError, "mode is %R, not 'r', 'w' or 'rw'", bip_printable(object));
	for (size_t i = 0; i < Py_ARRAY_LENGTH(modes); i++) {
		if (object && PyUnicode_CompareWithASCIIString(object, modes[i].name) != 0)
			continue;
		memcpy(self->mode, modes[i].name, strlen(modes[i].name) + 1);
		self->is_readonly = !(modes[i].mode & BI_MAP_WRITE);
		*mode = modes[i].mode;
		return 0;
	}
	return bip_refuse(PyExc_ValueError, "mode is %R, not 'r', 'w' or 'rw'", object);
}

static int write_format(struct mapping *self)
{
	char format[BIP_FORMAT_TEXT];
	int length = 1;

	self->is_bytes = bip_format_is_raw(self->view);
	if (!self->is_bytes && (length = bip_format_write(self->view, format)) < 0) {
		if (!PyErr_ExceptionMatches(bip_UnsupportedError))
			return -1;
		PyErr_Clear();
		self->is_bytes = 1;
		length = 1;
	}
	if (self->is_bytes)
		memcpy(format, "B", 2);
	self->format = PyMem_Malloc((size_t)length + 1);
	if (!self->format)
		return bip_no_memory();
	memcpy(self->format, format, (size_t)length + 1);
	return 0;
}

static int write_dims(struct mapping *self)
{
	struct bi_layout layout;

	bi_view_layout(self->view, &layout);
	self->ndim = layout.ndim + self->is_bytes;
	self->dims = PyMem_New(Py_ssize_t, 2 * (size_t)self->ndim);
	if (!self->dims)
		return bip_no_memory();
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
	return bip_check(rc, &err, bip_raise);
}

static int open_mapping(struct mapping *self, PyObject *mode_object)
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
	self->format = NULL;
	self->exports = 0;
	self->is_ending = 0;
	self->is_unmapping = 0;
	self->view = bip_hold(array);
	if (open_mapping(self, mode))
		Py_CLEAR(self);
	return (PyObject *)self;
}

/* Ending */

/*
 * Takes the map out of the mapping. If several threads close the mapping, one thread gets the map, and the others get
 * NULL. If buffers are in use: at the end of the `with` block, *out is NULL, and the last buffer ends the mapping.
 * Elsewhere raises BufferError.
 */
static int take_map(struct mapping *self, int is_exit, struct bi_map **out)
{
	Py_ssize_t exports;

	BIP_LOCK(self)
	exports = self->exports;
	if (is_exit)
		self->is_ending = exports > 0;
	*out = exports ? NULL : self->map;
	if (*out) {
		self->map = NULL;
		self->is_unmapping = 1;
	}
	BIP_UNLOCK()
	if (!exports || is_exit)
		return 0;
	return bip_refuse(
		PyExc_BufferError,
		"%zd buffers of the mapping are in use, so it stays mapped: delete the arrays and memoryviews "
		"that were made from it (del v), then call close() again",
		exports);
}

static int unmap(struct mapping *self, int is_exit)
{
	struct bi_map *map;
	struct bi_error err;
	int rc;

	if (take_map(self, is_exit, &map))
		return -1;
	if (!map)
		return 0;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_unmap(map, &err);
	Py_END_ALLOW_THREADS
	/* While a stream is captured into a graph, the memory cannot be unmapped and stays mapped. */
	BIP_LOCK((PyObject *)self)
	if (rc == BI_ECAPTURE)
		self->map = map;
	self->is_unmapping = 0;
	BIP_UNLOCK()
	return bip_check(rc, &err, bip_raise);
}

static PyObject *close_mapping(PyObject *self, PyObject *Py_UNUSED(none))
{
	return unmap((struct mapping *)self, 0) ? NULL : Py_NewRef(Py_None);
}

/*
 * Ends the mapping at the end of the `with` block. An array that was made from the mapping may outlive the block, and
 * keeps its address. So the mapping then ends when the last such array is freed.
 */
static PyObject *mapping_exit(PyObject *self, PyObject *Py_UNUSED(args))
{
	return unmap((struct mapping *)self, 1) ? NULL : Py_NewRef(Py_None);
}

/* Ends the mapping outside of a call that can raise. An exception is written to sys.unraisablehook. */
static void unmap_unraisable(struct mapping *self)
{
	struct bip_raised raised = bip_put_aside();

	if (unmap(self, 0))
		PyErr_WriteUnraisable(NULL);
	bip_put_back(raised);
}

static void mapping_dealloc(PyObject *object)
{
	struct mapping *self = (struct mapping *)object;

	if (self->map)
		unmap_unraisable(self);
	/* A capture has refused the unmapping, and no later call can repeat it. */
	if (self->map) {
		bi_map_abandon(self->map);
		unmap_unraisable(self);
	}
	bip_release_view(self->view);
	PyMem_Free(self->dims);
	PyMem_Free(self->format);
	PyObject_Free(self);
}

/* The mapping as an object */

/* Returns the reason why the mapping exports no more buffers: `unmapping`, `closed`, `ending`. NULL: there is none. */
static const char *find_end_locked(const struct mapping *self)
{
	return self->is_unmapping ? unmapping : !self->map ? closed : self->is_ending ? ending : NULL;
}

static const char *find_end(PyObject *self)
{
	const char *end;

	BIP_LOCK(self)
	end = find_end_locked((struct mapping *)self);
	BIP_UNLOCK()
	return end;
}

static int check_open(PyObject *self)
{
	const char *end = find_end(self);

	return end ? bip_refuse(bip_InvalidArrayError, "%s", end) : 0;
}

static PyObject *mapping_enter(PyObject *self, PyObject *Py_UNUSED(none))
{
	return check_open(self) ? NULL : Py_NewRef(self);
}

static PyObject *mapping_repr(PyObject *object)
{
	const struct mapping *self = (struct mapping *)object;
	PyObject *shape = bip_tuple(bi_view_shape(self->view), bi_view_ndim(self->view));
	const char *end = find_end(object);
	PyObject *text;
	char name[BI_DTYPE_TEXT];

	if (!shape)
		return NULL;
	bi_dtype_name(bi_view_dtype(self->view), name);
	text = PyUnicode_FromFormat("<Mapping '%s' %s %S%s>", self->mode, name, shape,
				    end == closed      ? ", closed"
				    : end == unmapping ? ", still mapped: a thread is closing it"
				    : end == ending    ? ", still mapped: a buffer is in use"
						       : "");
	Py_DECREF(shape);
	return text;
}

static PyObject *to_numpy(PyObject *self, PyObject *Py_UNUSED(none))
{
	return bip_call_python("mapped_numpy", self, NULL, 0, NULL);
}

static PyObject *as_array(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	return bip_call_python("mapped_array", self, args, count, names);
}

static PyObject *get_closed(PyObject *self, void *Py_UNUSED(closure))
{
	return PyBool_FromLong(find_end(self) == closed);
}

static PyObject *get_mode(PyObject *self, void *Py_UNUSED(closure))
{
	return PyUnicode_FromString(((struct mapping *)self)->mode);
}

static PyObject *get_dtype(PyObject *self, void *Py_UNUSED(closure))
{
	return bip_dtype_numpy(((struct mapping *)self)->view);
}

static PyObject *get_shape(PyObject *self, void *Py_UNUSED(closure))
{
	const struct bi_view *view = ((struct mapping *)self)->view;

	return bip_tuple(bi_view_shape(view), bi_view_ndim(view));
}

static PyObject *get_strides(PyObject *self, void *Py_UNUSED(closure))
{
	const struct bi_view *view = ((struct mapping *)self)->view;

	return bip_tuple(bi_view_strides(view), bi_view_ndim(view));
}

/* The buffer protocol */

/* Fills in all members of the buffer except `obj`, as for a request with PyBUF_FULL. */
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
	buffer->format = self->format;
	buffer->shape = self->dims;
	buffer->strides = self->dims + self->ndim;
	buffer->suboffsets = NULL;
	buffer->internal = NULL;
}

static int has_flags(int flags, int wanted)
{
	return (flags & wanted) == wanted;
}

/* Returns the reason why the buffer does not satisfy the request, or NULL if it does. */
static const char *find_refusal(const Py_buffer *buffer, int flags)
{
	if (buffer->ndim > PyBUF_MAX_NDIM)
		return "a buffer has at most 64 dimensions, and the bytes of an element need one more";
	if (has_flags(flags, PyBUF_WRITABLE) && buffer->readonly)
		return "the array is mapped for reading, and the request is for a writable buffer";
	if (has_flags(flags, PyBUF_C_CONTIGUOUS) && !PyBuffer_IsContiguous(buffer, 'C'))
		return "the array is not C-contiguous, and the request is for a C-contiguous buffer";
	if (has_flags(flags, PyBUF_F_CONTIGUOUS) && !PyBuffer_IsContiguous(buffer, 'F'))
		return "the array is not Fortran-contiguous, and the request is for a Fortran-contiguous buffer";
	if (has_flags(flags, PyBUF_ANY_CONTIGUOUS) && !PyBuffer_IsContiguous(buffer, 'A'))
		return "the array is not contiguous, and the request is for a contiguous buffer";
	if (!has_flags(flags, PyBUF_STRIDES) && !PyBuffer_IsContiguous(buffer, 'C'))
		return "the array is not C-contiguous, and the request is for a buffer without strides";
	return NULL;
}

static void clear_unrequested(Py_buffer *buffer, int flags)
{
	if (!has_flags(flags, PyBUF_FORMAT))
		buffer->format = NULL;
	if (!has_flags(flags, PyBUF_ND)) {
		buffer->shape = NULL;
		buffer->ndim = 1; /* all bytes along one axis, as memoryview does */
	}
	if (!has_flags(flags, PyBUF_STRIDES))
		buffer->strides = NULL;
	if (!buffer->ndim)
		buffer->shape = buffer->strides = NULL;
}

/* Exports a buffer. Returns NULL, or the reason why there is no buffer. */
static const char *export_buffer_locked(struct mapping *self, Py_buffer *buffer, int flags)
{
	const char *fault = find_end_locked(self);

	if (fault)
		return fault;
	fill_buffer(self, buffer);
	fault = find_refusal(buffer, flags);
	if (fault)
		return fault;
	clear_unrequested(buffer, flags);
	buffer->obj = Py_NewRef((PyObject *)self);
	self->exports++;
	return NULL;
}

static int mapping_getbuffer(PyObject *object, Py_buffer *buffer, int flags)
{
	const char *fault;
	int is_ended;

	buffer->obj = NULL;
	BIP_LOCK(object)
	fault = export_buffer_locked((struct mapping *)object, buffer, flags);
	BIP_UNLOCK()
	if (!fault)
		return 0;
	is_ended = fault == unmapping || fault == closed || fault == ending;
	return bip_refuse(is_ended ? bip_InvalidArrayError : PyExc_BufferError, "%s", fault);
}

static void mapping_releasebuffer(PyObject *object, Py_buffer *Py_UNUSED(buffer))
{
	struct mapping *self = (struct mapping *)object;
	int is_last;

	BIP_LOCK(object)
	is_last = --self->exports == 0 && self->is_ending;
	BIP_UNLOCK()
	if (is_last)
		unmap_unraisable(self);
}

/* clang-format off */
static PyMethodDef methods[] = {
	{ "close", close_mapping, METH_NOARGS,
	  "close($self, /)\n--\n\n"
	  "Ends the mapping. Later work on the array sees what was written. The array stays mapped, with BufferError\n"
	  "while a buffer of the mapping is in use, and with DriverError while a stream that the memory needs is captured\n"
	  "into a graph. While another thread closes the mapping, returns without waiting for it: `closed` is False." },
	{ "numpy", to_numpy, METH_NOARGS,
	  "numpy($self, /)\n--\n\nReturns the mapped elements as a numpy.ndarray of `dtype`, without a copy." },
	{ "__array__", (PyCFunction)(void (*)(void))as_array, METH_FASTCALL | METH_KEYWORDS,
	  "__array__($self, dtype=None, *, copy=None)\n--\n\nReturns numpy(), converted or copied if requested." },
	{ "__enter__", mapping_enter, METH_NOARGS, "Returns the mapping itself. InvalidArrayError if it is closed." },
	{ "__exit__", mapping_exit, METH_VARARGS,
	  "__exit__($self, *args)\n--\n\n"
	  "Ends the mapping. If an array that was made from it still exists, the last such array ends the mapping when it\n"
	  "is freed. Until then `closed` is False, and uses that a mapping excludes raise BufferError." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef getset[] = {
	{ "closed", get_closed, NULL,
	  "True when the array is no longer mapped: after close(), or after the `with` block and the last buffer.", NULL },
	{ "mode", get_mode, NULL, "'r', 'w' or 'rw'.", NULL },
	{ "dtype", get_dtype, NULL,
	  "Element type as a numpy.dtype. For a type that the buffer protocol cannot name, a buffer of the mapping has\n"
	  "elements of one byte and one more axis.",
	  NULL },
	{ "shape", get_shape, NULL, "Number of elements along each axis, a tuple of int.", NULL },
	{ "strides", get_strides, NULL, "Bytes from one element to the next along each axis, a tuple of int.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
/* clang-format on */

static PyBufferProcs buffer_procs = { mapping_getbuffer, mapping_releasebuffer };

PyTypeObject bip_map_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "buffer_interface.Mapping",
	.tp_doc = "The elements of an array in memory that the CPU can use. Exports buffers until it is closed, or its "
		  "`with`\n"
		  "block ends.",
	.tp_basicsize = sizeof(struct mapping),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
	.tp_dealloc = mapping_dealloc,
	.tp_repr = mapping_repr,
	.tp_methods = methods,
	.tp_getset = getset,
	.tp_as_buffer = &buffer_procs,
};
