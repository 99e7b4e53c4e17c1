/* Host memory as a producer: the buffer protocol, __array_interface__ and __array_struct__. */
#include <stdlib.h>
#include <string.h>

#include "host_memory.h"
#include "lifetime.h"
#include "object.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "base/shapes.h"
#include "export/export.h"
#include "export/format.h"
#include "export/pattern.h"

/*
 * Message for a masked array. The protocols of host memory have no masks, so a consumer would use the masked elements.
 */
#define MASKED "the array is masked, and this protocol would lose its mask [H5]"

static int is_contiguous(const struct bi_view *view, char order)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	return bi_layout_is_contiguous(&layout, order);
}

/* The buffer protocol */

/* The member `internal` of an exported Py_buffer. Owns a reference to the view, because the array may be released. */
struct exported_buffer {
	struct bi_view *view;
	Py_ssize_t size; /* number of elements */
	char *format; /* in the same allocation, behind the strides; or NULL */
	Py_ssize_t dims[]; /* ndim extents, followed by ndim strides */
};

static int has_flags(int flags, int wanted)
{
	return (flags & wanted) == wanted;
}

/* Returns the reason why the array cannot satisfy the request, or NULL if it can. */
static const char *find_refusal(const struct bi_view *view, int flags)
{
	if (has_flags(flags, PyBUF_WRITABLE) && bi_view_flags(view) & BI_VIEW_READONLY)
		return "the array is read-only, and the request is for a writable buffer";
	if (has_flags(flags, PyBUF_FORMAT) && bip_format_is_raw(view))
		return "raw bytes have no format that NumPy reads: use view('u1'), tobytes(), numpy() or np.asarray()";
	if (has_flags(flags, PyBUF_FORMAT) && !has_flags(flags, PyBUF_ND))
		return "the request is for a format without a shape";
	if (!has_flags(flags, PyBUF_STRIDES) && !is_contiguous(view, 'C'))
		return "the array is not C-contiguous, and the request is for a buffer without strides: copy() "
		       "returns a C-contiguous array";
	if (has_flags(flags, PyBUF_C_CONTIGUOUS) && !is_contiguous(view, 'C'))
		return "the array is not C-contiguous: copy() returns a C-contiguous array";
	if (has_flags(flags, PyBUF_F_CONTIGUOUS) && !is_contiguous(view, 'F'))
		return "the array is not Fortran-contiguous";
	if (has_flags(flags, PyBUF_ANY_CONTIGUOUS) && !is_contiguous(view, 'C') && !is_contiguous(view, 'F'))
		return "the array is not contiguous: copy() returns a C-contiguous array";
	return NULL;
}

static int check_request(const struct bi_view *view, int flags)
{
	const char *text;

	if (!bip_is_host(view))
		return bip_refuse(bip_UnsupportedError,
				  "the CPU cannot use memory of %s: use numpy(), map() or to('host') [H1]",
				  bi_context_device(bi_memory_context(bi_view_memory(view)))->spec);
	text = find_refusal(view, flags);
	if (text)
		PyErr_Format(PyExc_BufferError, "%s [H2]", text);
	return text ? -1 : 0;
}

/* Makes the data of a buffer. Takes ownership of the view, also on failure. */
static struct exported_buffer *export_buffer(struct bi_view *view, int flags)
{
	int ndim = bi_view_ndim(view);
	const int64_t *shape = bi_view_shape(view), *strides = bi_view_strides(view);
	size_t nbytes = sizeof(struct exported_buffer) + 2 * (size_t)ndim * sizeof(Py_ssize_t);
	char format[BIP_FORMAT_TEXT];
	int length = has_flags(flags, PyBUF_FORMAT) ? bip_format_write(view, format) : 0;
	struct exported_buffer *exported = length < 0 ? NULL : malloc(nbytes + (size_t)length + 1);

	if (!exported) {
		if (length >= 0)
			PyErr_NoMemory();
		bip_release_view(view);
		return NULL;
	}
	exported->view = view;
	exported->size = 1;
	exported->format = length ? memcpy((char *)exported + nbytes, format, (size_t)length + 1) : NULL;
	for (int i = 0; i < ndim; i++) {
		exported->dims[i] = (Py_ssize_t)shape[i];
		exported->dims[ndim + i] = (Py_ssize_t)strides[i];
		exported->size *= exported->dims[i];
	}
	return exported;
}

/* Fills in the members that describe the elements. If the request is for no shape, the buffer has one dimension. */
static void fill_layout(struct exported_buffer *exported, int flags, Py_buffer *buffer)
{
	int ndim = bi_view_ndim(exported->view);
	int has_shape = has_flags(flags, PyBUF_ND);

	buffer->itemsize = (Py_ssize_t)bi_view_dtype(exported->view).item_size;
	buffer->len = exported->size * buffer->itemsize;
	buffer->ndim = has_shape ? ndim : 1;
	buffer->format = exported->format;
	buffer->shape = has_shape && ndim ? exported->dims : NULL;
	buffer->strides = has_flags(flags, PyBUF_STRIDES) && ndim ? exported->dims + ndim : NULL;
	buffer->suboffsets = NULL;
}

static struct exported_buffer *export_if_possible(PyObject *self, int flags)
{
	int has_mask = bip_has_mask(self);
	struct bi_view *view = has_mask ? NULL : bip_hold(self);

	if (has_mask > 0)
		bip_refuse(bip_UnsupportedError, "%s", MASKED);
	if (!view)
		return NULL;
	if (check_request(view, flags) == 0 && bip_settle(view) == 0)
		return export_buffer(view, flags);
	bip_release_view(view);
	return NULL;
}

int bip_getbuffer(PyObject *self, Py_buffer *buffer, int flags)
{
	struct exported_buffer *exported;

	buffer->obj = NULL;
	exported = export_if_possible(self, flags);
	if (!exported)
		return -1;
	fill_layout(exported, flags, buffer);
	buffer->buf = bip_host_address(exported->view);
	buffer->readonly = (bi_view_flags(exported->view) & BI_VIEW_READONLY) != 0;
	buffer->internal = exported;
	buffer->obj = Py_NewRef(self);
	return 0;
}

void bip_releasebuffer(PyObject *Py_UNUSED(self), Py_buffer *buffer)
{
	struct exported_buffer *exported = buffer->internal;

	bip_release_view(exported->view);
	free(exported);
}

/* Shared by __array_interface__ and __array_struct__ */

/*
 * Raises AttributeError if the array cannot have the attribute, so that hasattr() returns False. Otherwise waits for
 * pending work.
 */
static int check_attribute(PyObject *self, const struct bi_view *view)
{
	int has_mask = bip_has_mask(self);

	if (has_mask)
		return has_mask < 0 ? -1 : bip_refuse(PyExc_AttributeError, "%s", MASKED);
	if (bip_is_host(view))
		return bip_settle(view);
	return bip_refuse(PyExc_AttributeError, "memory of %s is not host memory: use numpy(), map() or to('host')",
			  bi_context_device(bi_memory_context(bi_view_memory(view)))->spec);
}

static int read_typestr(const struct bi_view *view, char text[BI_DTYPE_TEXT])
{
	struct bi_error err;

	if (bi_dtype_typestr(bi_view_dtype(view), text, &err) == BI_OK)
		return 0;
	return bip_refuse(PyExc_AttributeError, "%s", err.message);
}

/* __array_interface__ */

static PyObject *strides_of(const struct bi_view *view)
{
	if (is_contiguous(view, 'C'))
		return Py_NewRef(Py_None);
	return bip_tuple(bi_view_strides(view), bi_view_ndim(view));
}

/* Sets the key "descr" for a structured type. */
static int put_descr(const struct bi_view *view, PyObject *dict)
{
	PyObject *descr = bip_dtype_descr(view);
	int rc = descr ? PyDict_SetItem(dict, bip_name.descr, descr) : 0;

	Py_XDECREF(descr);
	return rc || PyErr_Occurred() ? -1 : 0;
}

static PyObject *make_interface(const struct bi_view *view, const char *typestr)
{
	PyObject *shape = bip_tuple(bi_view_shape(view), bi_view_ndim(view));
	PyObject *address = PyLong_FromVoidPtr(bip_host_address(view));
	PyObject *readonly = bi_view_flags(view) & BI_VIEW_READONLY ? Py_True : Py_False;
	PyObject *dict =
		Py_BuildValue("{ONOsO(NO)ONOi}", bip_name.shape, shape, bip_name.typestr, typestr, bip_name.data,
			      address, readonly, bip_name.strides, strides_of(view), bip_name.version, 3);

	if (dict && put_descr(view, dict))
		Py_CLEAR(dict);
	return dict;
}

/* Makes a new dictionary. Waits for pending work. */
static PyObject *make_current(PyObject *self)
{
	struct bi_view *view = bip_hold(self);
	PyObject *dict = NULL;
	char typestr[BI_DTYPE_TEXT];

	if (!view)
		return NULL;
	if (check_attribute(self, view) == 0 && read_typestr(view, typestr) == 0)
		dict = make_interface(view, typestr);
	if (dict)
		bip_keep_pattern(self, dict, 0);
	bip_release_view(view);
	return dict;
}

PyObject *bip_get_array_interface(PyObject *self, void *Py_UNUSED(closure))
{
	PyObject *dict = bip_copy_idle_pattern(self, 0);

	return dict ? dict : make_current(self);
}

/* __array_struct__ */

/* The struct of __array_struct__, followed by its shape and strides. */
struct exported_struct {
	struct bip_array_struct array;
	struct bi_view *view;
	Py_ssize_t dims[];
};

/*
 * Returns true only if the address of every element is a multiple of the largest power of two up to 16 that divides the
 * element size. No type of that size needs a larger alignment. Counts the strides of axes of one element as well.
 */
static int is_aligned(const struct bi_view *view)
{
	uint64_t bits = (uintptr_t)bip_host_address(view);
	uint64_t size = bi_view_dtype(view).item_size;
	uint64_t alignment = size & (~size + 1);

	for (int i = 0; i < bi_view_ndim(view); i++)
		bits |= (uint64_t)bi_view_strides(view)[i];
	return !size || (bits & ((alignment > 16 ? 16 : alignment) - 1)) == 0;
}

static int flags_of(const struct bi_view *view)
{
	int flags = bi_view_flags(view) & BI_VIEW_READONLY ? 0 : BIP_ARRAY_WRITEABLE;

	if (is_contiguous(view, 'C'))
		flags |= BIP_ARRAY_C_CONTIGUOUS;
	if (is_contiguous(view, 'F'))
		flags |= BIP_ARRAY_F_CONTIGUOUS;
	if (is_aligned(view))
		flags |= BIP_ARRAY_ALIGNED;
	return bi_view_dtype(view).swapped ? flags : flags | BIP_ARRAY_NOT_SWAPPED;
}

static void free_struct(PyObject *capsule)
{
	struct exported_struct *exported = PyCapsule_GetPointer(capsule, NULL);

	Py_XDECREF(exported->array.descr);
	bip_release_view(exported->view);
	free(exported);
}

/*
 * Makes the struct of __array_struct__. The struct owns a reference to the view. Returns NULL without an exception if
 * memory is exhausted.
 */
static struct exported_struct *make_struct(struct bi_view *view)
{
	int ndim = bi_view_ndim(view);
	struct exported_struct *exported = malloc(sizeof(*exported) + 2 * (size_t)ndim * sizeof(exported->dims[0]));

	if (!exported)
		return NULL;
	exported->array = (struct bip_array_struct){
		.two = 2,
		.nd = ndim,
		.typekind = bi_dtype_kind(bi_view_dtype(view)),
		.itemsize = (int)bi_view_dtype(view).item_size,
		.flags = flags_of(view),
		.shape = exported->dims,
		.strides = exported->dims + ndim,
		.data = bip_host_address(view),
	};
	exported->view = bi_view_retain(view);
	for (int i = 0; i < ndim; i++) {
		exported->dims[i] = (Py_ssize_t)bi_view_shape(view)[i];
		exported->dims[ndim + i] = (Py_ssize_t)bi_view_strides(view)[i];
	}
	return exported;
}

static PyObject *struct_capsule(struct bi_view *view)
{
	struct exported_struct *exported = make_struct(view);
	PyObject *capsule = exported ? PyCapsule_New(&exported->array, NULL, free_struct) : PyErr_NoMemory();

	if (!capsule && exported) {
		bip_release_view(exported->view);
		free(exported);
	}
	if (!capsule)
		return NULL;
	exported->array.descr = bip_dtype_descr(view);
	if (exported->array.descr)
		exported->array.flags |= BIP_ARRAY_HAS_DESCR;
	if (PyErr_Occurred())
		Py_CLEAR(capsule);
	return capsule;
}

/*
 * Refuses texts of kind 'U': NumPy takes the item size of the struct for their number of characters, and reads four
 * times the bytes. Refuses elements whose size does not fit into the struct, which has an int for it.
 */
static int check_struct_type(const struct bi_view *view)
{
	uint32_t size = bi_view_dtype(view).item_size;

	if (bi_view_dtype(view).type == BI_UNICODE)
		return bip_refuse(PyExc_AttributeError, "NumPy reads texts of kind 'U' wrongly from __array_struct__: "
							"use the buffer protocol or __array_interface__");
	if (size <= INT_MAX)
		return 0;
	return bip_refuse(PyExc_AttributeError, "an element has %u bytes, and __array_struct__ can say at most %d",
			  (unsigned)size, INT_MAX);
}

PyObject *bip_get_array_struct(PyObject *self, void *Py_UNUSED(closure))
{
	struct bi_view *view = bip_hold(self);
	PyObject *capsule = NULL;
	char typestr[BI_DTYPE_TEXT];

	if (!view)
		return NULL;
	if (check_attribute(self, view) == 0 && read_typestr(view, typestr) == 0 && check_struct_type(view) == 0)
		capsule = struct_capsule(view);
	bip_release_view(view);
	return capsule;
}
