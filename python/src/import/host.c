/*
 * Host memory as a consumer: the buffer protocol (PEP 3118), __array_interface__ and __array_struct__
 *
 * Some exporters count the users of their buffers: a bytearray with users cannot grow, a memoryview with users cannot
 * be released. So memory that is imported by the buffer protocol keeps the Py_buffer, and returns it to the exporter
 * when the memory is released. After the other imports of this file, and that of ndarray.c, the memory keeps the
 * object.
 */
#include <string.h>

#include "host_memory.h"
#include "lifetime.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/format.h"
#include "import/import.h"
#include "import/values.h"

/* The buffer protocol */

static int refuse_suboffsets(const Py_buffer *buffer)
{
	for (int i = 0; i < buffer->ndim; i++)
		if (buffer->suboffsets[i] >= 0)
			return bip_refuse(bip_InvalidArrayError,
					  "suboffsets[%d] is %zd: arrays of pointers are not supported", i,
					  buffer->suboffsets[i]);
	return 0;
}

static int read_shape(const Py_buffer *buffer, int64_t shape[BI_MAX_NDIM], int64_t strides[BI_MAX_NDIM])
{
	if (buffer->ndim < 0 || buffer->ndim > BI_MAX_NDIM || (buffer->ndim && !buffer->shape))
		return bip_refuse(bip_InvalidArrayError, "the buffer has %d dimensions%s, the limit is %d",
				  buffer->ndim, buffer->shape ? "" : " without a shape", BI_MAX_NDIM);
	for (int i = 0; i < buffer->ndim; i++)
		shape[i] = buffer->shape[i];
	for (int i = 0; buffer->strides && i < buffer->ndim; i++)
		strides[i] = buffer->strides[i];
	return buffer->suboffsets ? refuse_suboffsets(buffer) : 0;
}

/* Refuses a buffer that has fewer bytes than its elements. The layout refuses a negative extent later. */
static int check_length(const Py_buffer *buffer)
{
	Py_ssize_t needed = buffer->itemsize;
	int is_beyond = 0;

	for (int i = 0; i < buffer->ndim; i++) {
		if (buffer->shape[i] <= 0)
			return 0;
		is_beyond |= __builtin_mul_overflow(needed, buffer->shape[i], &needed);
	}
	if (!is_beyond && needed <= buffer->len)
		return 0;
	return bip_refuse(bip_InvalidArrayError,
			  "the buffer has %zd bytes, which is less than its shape and its item size %zd need",
			  buffer->len, buffer->itemsize);
}

/* Fills in the rest of the layout: ndim, offset, descr, and strides in C order if the buffer has no strides. */
static int complete_layout(const Py_buffer *buffer, PyObject *descr, struct bi_layout *layout)
{
	layout->ndim = buffer->ndim;
	layout->offset = 0;
	if (buffer->strides)
		return bip_set_descr(layout, descr);
	return bip_layout(layout, layout->dtype, descr, buffer->ndim, layout->shape, NULL);
}

/* Returns the object that exported a structured buffer, borrowed, or NULL. */
static PyObject *find_structured(const Py_buffer *buffer)
{
	if (!buffer->format || buffer->format[0] != 'T')
		return NULL;
	return PyMemoryView_Check(buffer->obj) ? PyMemoryView_GET_BASE(buffer->obj) : buffer->obj;
}

/*
 * Refuses a structure of ctypes with bit fields. The format lists each of them as an integer, so it is misleading, and
 * the size of all fields may be right by chance.
 */
static int check_bit_fields(PyObject *exporter)
{
	PyObject *module = PyImport_ImportModule("buffer_interface._array");
	PyObject *none = module ? PyObject_CallMethod(module, "check_bit_fields", "O", Py_TYPE(exporter)) : NULL;

	Py_XDECREF(module);
	Py_XDECREF(none);
	return none ? 0 : -1;
}

/*
 * Reads the attribute dtype of an array. Refuses a type whose size is not `item_size`, the size of the exported
 * elements: the attribute was set after the export.
 */
static int read_dtype(PyObject *dtype, Py_ssize_t item_size, struct bi_dtype *out, PyObject **descr)
{
	if (bip_dtype_from_with_descr(dtype, out, descr))
		return -1;
	if ((Py_ssize_t)out->item_size == item_size)
		return 0;
	Py_CLEAR(*descr);
	return bip_refuse(bip_InvalidArrayError,
			  "the dtype of the array has elements of %u bytes, but it exported elements of %zd bytes: the "
			  "dtype was set after the export",
			  out->item_size, item_size);
}

static int read_type_of_buffer(const Py_buffer *buffer, struct bi_dtype *out, PyObject **descr)
{
	PyObject *exporter = find_structured(buffer), *dtype;
	int rc;

	/* The formats that NumPy writes lack the padding at the end of a structure. */
	if (!exporter || !bip_is_ndarray(Py_TYPE(exporter)))
		return exporter && check_bit_fields(exporter)
			       ? -1
			       : bip_format_read(buffer->format, buffer->itemsize, out, descr);
	dtype = PyObject_GetAttr(exporter, bip_name.dtype);
	rc = dtype ? read_dtype(dtype, buffer->itemsize, out, descr) : -1;
	Py_XDECREF(dtype);
	return rc;
}

/* Reads the layout of a buffer, which borrows from *descr. The caller releases *descr, also on failure. */
static int read_buffer(const Py_buffer *buffer, struct bi_layout *layout, PyObject **descr)
{
	*descr = NULL;
	if (read_shape(buffer, layout->shape, layout->strides) || check_length(buffer) ||
	    read_type_of_buffer(buffer, &layout->dtype, descr))
		return -1;
	return complete_layout(buffer, *descr, layout);
}

/* Imports a buffer. Takes ownership of the buffer, also on failure. Returns 1, or -1 with an exception. */
static int keep_buffer(Py_buffer *buffer, struct bip_found *found)
{
	struct bi_layout layout;
	PyObject *descr;
	int rc = read_buffer(buffer, &layout, &descr);

	if (!rc)
		rc = bip_wrap_buffer(buffer, &layout, &found->view);
	if (rc)
		bip_return_buffer(buffer);
	Py_XDECREF(descr);
	return rc ? -1 : 1;
}

/*
 * Imports an array whose element type has no letter in the buffer protocol, such as bfloat16. Reads the attributes
 * `dtype` and __array_struct__. Returns 1, or -1 with an exception.
 */
static int import_typed(PyObject *object, struct bip_found *found);

/*
 * Returns true if the current exception may come from an array whose element type has no letter: NumPy then refuses the
 * buffer with ValueError.
 */
static int may_be_typed(PyObject *object)
{
	struct bip_raised raised;
	int is_array;

	if (!PyErr_ExceptionMatches(PyExc_ValueError))
		return 0;
	raised = bip_put_aside();
	is_array = bip_type_has(Py_TYPE(object), bip_name.dtype) &&
		   bip_type_has(Py_TYPE(object), bip_name.__array_struct__);
	bip_put_back(raised);
	return is_array;
}

static int import_exported(PyObject *object, struct bip_found *found)
{
	Py_buffer *buffer = bip_borrow_buffer(object, PyBUF_FULL_RO);

	if (buffer) {
		/* PyBuffer_Release calls bf_releasebuffer of the member obj, which an exporter may have left NULL. */
		if (!buffer->obj)
			buffer->obj = Py_NewRef(object);
		return keep_buffer(buffer, found);
	}
	if (!may_be_typed(object))
		return -1;
	PyErr_Clear();
	return import_typed(object, found);
}

int bip_refuse_masked(PyObject *object)
{
	PyObject *on_type = bip_type_attribute(Py_TYPE(object), bip_name.mask), *mask;
	int is_masked = 0;

	/* Only an attribute `mask` of the type counts. An attribute of the object may be a field of a record array. */
	if (!on_type)
		return 0;
	Py_DECREF(on_type);
	if (bip_attribute(object, bip_name.mask, &mask))
		return -1;
	/* PyObject_IsTrue raises ValueError for an array with several elements, which counts as a mask. */
	if (mask && mask != Py_None)
		is_masked = PyObject_IsTrue(mask);
	Py_XDECREF(mask);
	if (!is_masked)
		return 0;
	if (is_masked < 0 && !PyErr_ExceptionMatches(PyExc_ValueError))
		return -1;
	return bip_refuse(
		bip_UnsupportedError,
		"an array of type %.100s has a mask, which would be lost: import x.data and x.mask one by one [H5]",
		Py_TYPE(object)->tp_name);
}

/*
 * Makes the view read-only if the array is a copy of the scalar, because writes to a copy do not reach the scalar. The
 * array of a structured scalar is no copy: it uses the scalar's memory, and has a base. Returns 1, or -1 with an
 * exception.
 */
static int protect_copy(PyObject *array, struct bip_found *found)
{
	PyObject *base = PyObject_GetAttrString(array, "base");

	Py_XDECREF(base);
	if (!base)
		return -1;
	return base == Py_None && bip_make_readonly(&found->view) ? -1 : 1;
}

/*
 * Imports the array without axes that NumPy makes of a scalar. The buffer of the scalar itself may have another type: a
 * datetime64 is eight bytes, and the format of a packed structure reads as that of an aligned one.
 */
static int import_scalar(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	PyObject *array = PyObject_CallMethod(object, "__array__", NULL);
	int rc = -1;

	if (array && bip_is_ndarray(Py_TYPE(array)))
		rc = bip_import_buffer(array, request, found);
	else if (array)
		PyErr_Format(PyExc_TypeError,
			     "__array__() of type %.100s returned an object of type %.100s, not an array",
			     Py_TYPE(object)->tp_name, Py_TYPE(array)->tp_name);
	if (rc == 1)
		rc = protect_copy(array, found);
	Py_XDECREF(array);
	return rc;
}

int bip_import_buffer(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	const PyBufferProcs *procs = Py_TYPE(object)->tp_as_buffer;
	int rc;

	if (!procs || !procs->bf_getbuffer)
		return 0;
	rc = bip_import_ndarray(object, found);
	if (rc)
		return rc;
	if (bip_is_numpy_scalar(Py_TYPE(object)))
		return import_scalar(object, request, found);
	/* A class that Python code defines, a heap type, may have a mask that is missing in its buffer. */
	if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) && bip_refuse_masked(object))
		return -1;
	return import_exported(object, found);
}

/* __array_interface__ */

/* The contents of the dictionary __array_interface__. */
struct description {
	struct bi_layout layout;
	PyObject *descr; /* the text of the fields, owned; or NULL */
	uint64_t address;
	int64_t offset; /* bytes into `data`; used if `data` is a buffer */
	int readonly;
	PyObject *data; /* the object whose buffer has the elements, owned; or NULL */
};

/*
 * Reads a value of the dictionary. *out is a new reference. If the value is None or the key is missing, *out is NULL;
 * for a required value, KeyError is raised then.
 */
static int get_value(PyObject *dict, PyObject *key, int required, PyObject **out)
{
	if (bip_item_of(dict, key, out))
		return -1;
	if (*out && *out != Py_None)
		return 0;
	Py_CLEAR(*out);
	return required ? bip_refuse(PyExc_KeyError, "__array_interface__ has no '%U'", key) : 0;
}

static int read_type(PyObject *dict, struct bi_dtype *out, PyObject **descr)
{
	PyObject *typestr, *list = NULL;
	struct bi_error err;
	const char *text;
	int rc = -1;

	*descr = NULL;
	if (get_value(dict, bip_name.typestr, 1, &typestr))
		return -1;
	if (bip_text(typestr, "typestr", "", &text) || get_value(dict, bip_name.descr, 0, &list))
		goto done;
	rc = bi_dtype_parse(text, out, &err);
	if (rc)
		bip_raise_import(rc, &err);
	else if (list)
		rc = bip_descr_for(list, text, "", descr);
done:
	Py_DECREF(typestr);
	Py_XDECREF(list);
	return rc ? -1 : 0;
}

static int read_layout(PyObject *dict, struct description *out)
{
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	PyObject *extents, *steps = NULL;
	struct bi_dtype dtype;
	int ndim, rc = -1;

	if (get_value(dict, bip_name.shape, 1, &extents))
		return -1;
	if (bip_numbers(extents, "shape", " [H5]", shape, &ndim) || get_value(dict, bip_name.strides, 0, &steps) ||
	    (steps && bip_strides(steps, ndim, " [H5]", strides)) || read_type(dict, &dtype, &out->descr))
		goto done;
	rc = bip_layout(&out->layout, dtype, out->descr, ndim, shape, steps ? strides : NULL);
done:
	Py_DECREF(extents);
	Py_XDECREF(steps);
	return rc;
}

/*
 * Reads the key "data": a tuple with the address, or an object with a buffer. If the key is missing or None, `object`
 * itself has the buffer.
 */
static int read_data(PyObject *object, PyObject *dict, struct description *out)
{
	PyObject *data, *offset;
	int rc = 0;

	if (get_value(dict, bip_name.data, 0, &data))
		return -1;
	if (data && PyTuple_Check(data)) {
		rc = bip_data_pair(data, "", &out->address, &out->readonly);
		Py_DECREF(data);
		return rc;
	}
	if (!data && !PyObject_CheckBuffer(object))
		return bip_refuse(PyExc_KeyError,
				  "__array_interface__ has no 'data', and the object of type %.100s has no buffer [H5]",
				  Py_TYPE(object)->tp_name);
	out->data = data ? data : Py_NewRef(object);
	if (!PyObject_CheckBuffer(out->data))
		return bip_refuse(
			PyExc_TypeError,
			"data is of type %.100s, neither a tuple of address and read-only flag nor a buffer [H5]",
			Py_TYPE(out->data)->tp_name);
	if (get_value(dict, bip_name.offset, 0, &offset))
		return -1;
	if (offset)
		rc = bip_number(offset, "offset", " [H5]", &out->offset);
	Py_XDECREF(offset);
	return rc;
}

static int check_no_mask(PyObject *dict)
{
	PyObject *mask;

	if (get_value(dict, bip_name.mask, 0, &mask))
		return -1;
	if (!mask)
		return 0;
	Py_DECREF(mask);
	return bip_refuse(bip_UnsupportedError, "__array_interface__ has a mask, which would be lost [H5]");
}

/* Computes the address of element [0, ..., 0]. Checks that the buffer is contiguous and contains all elements. */
static int locate_in_buffer(const Py_buffer *buffer, struct description *array)
{
	int64_t first, end;

	bi_layout_extent(&array->layout, &first, &end);
	if (!PyBuffer_IsContiguous(buffer, 'C'))
		return bip_refuse(bip_InvalidArrayError,
				  "data is a buffer that is not contiguous, in which offset has no meaning [H5]");
	if (array->offset < -first || array->offset > buffer->len || end > buffer->len - array->offset)
		return bip_refuse(bip_InvalidArrayError,
				  "the array reaches bytes [%lld, %lld) from offset %lld in a buffer of %zd bytes [H5]",
				  (long long)first, (long long)end, (long long)array->offset, buffer->len);
	array->address = (uintptr_t)buffer->buf + (uint64_t)array->offset;
	array->readonly = buffer->readonly;
	return 0;
}

static int import_from_buffer(PyObject *object, struct description *array, struct bip_found *found)
{
	PyObject *memory = PyMemoryView_FromObject(array->data), *owner = NULL;
	int rc = -1;

	if (memory && !locate_in_buffer(PyMemoryView_GET_BUFFER(memory), array))
		owner = PyTuple_Pack(2, object, memory);
	if (owner)
		rc = bip_wrap_host(array->address, array->readonly, &array->layout, owner, &found->view);
	Py_XDECREF(owner);
	Py_XDECREF(memory);
	return rc;
}

static int import_dict(PyObject *object, PyObject *dict, struct bip_found *found)
{
	struct description array = { .descr = NULL, .address = 0, .offset = 0, .readonly = 0, .data = NULL };
	PyObject *owner = NULL;
	int rc = -1;

	if (!PyDict_Check(dict))
		return bip_refuse(PyExc_TypeError, "__array_interface__ is of type %.100s, not a dict",
				  Py_TYPE(dict)->tp_name);
	if (check_no_mask(dict) || read_layout(dict, &array) || read_data(object, dict, &array))
		goto done;
	if (array.data)
		rc = import_from_buffer(object, &array, found);
	else if ((owner = PyTuple_Pack(2, object, dict))) /* a NumPy scalar's dictionary keeps the elements */
		rc = bip_wrap_host(array.address, array.readonly, &array.layout, owner, &found->view);
done:
	Py_XDECREF(owner);
	Py_XDECREF(array.descr);
	Py_XDECREF(array.data);
	return rc;
}

int bip_import_array_interface(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	PyObject *dict;
	int rc;

	(void)request;
	if (bip_attribute(object, bip_name.__array_interface__, &dict))
		return -1;
	if (!dict)
		return 0;
	rc = import_dict(object, dict, found);
	Py_DECREF(dict);
	return rc ? -1 : 1;
}

/* __array_struct__ */

static const struct bip_array_struct *read_capsule(PyObject *capsule)
{
	const struct bip_array_struct *array;

	if (!PyCapsule_CheckExact(capsule)) {
		PyErr_Format(PyExc_TypeError, "__array_struct__ is of type %.100s, not a capsule [H6]",
			     Py_TYPE(capsule)->tp_name);
		return NULL;
	}
	if (!PyCapsule_IsValid(capsule, NULL)) {
		PyErr_SetString(bip_InvalidArrayError,
				"the capsule of __array_struct__ has a name, which is not allowed [H6]");
		return NULL;
	}
	array = PyCapsule_GetPointer(capsule, NULL);
	if (array && (array->two != 2 || array->nd < 0 || array->nd > BI_MAX_NDIM || (array->nd && !array->shape))) {
		PyErr_Format(bip_InvalidArrayError,
			     "__array_struct__ has two = %d, nd = %d and %s shape, not two = 2, nd in 0..%d and, "
			     "unless nd is 0, a shape [H6]",
			     array->two, array->nd, array->shape ? "a" : "no", BI_MAX_NDIM);
		return NULL;
	}
	return array;
}

/* Reads the element type from the members typekind, itemsize, flags and descr. */
static int read_struct_type(const struct bip_array_struct *array, struct bi_dtype *out, PyObject **descr)
{
	int is_native = (array->flags & BIP_ARRAY_NOT_SWAPPED) != 0;
	int units = array->typekind == 'U' ? array->itemsize / 4 : array->itemsize;
	char typestr[BI_DTYPE_TEXT];
	struct bi_error err;
	int rc;

	*descr = NULL;
	if (array->typekind == 'U' && array->itemsize % 4)
		return bip_refuse(bip_InvalidArrayError,
				  "itemsize is %d, and a text of kind 'U' has 4 bytes for each character [H6]",
				  array->itemsize);
	PyOS_snprintf(typestr, sizeof(typestr), "%c%c%d", is_native == PY_LITTLE_ENDIAN ? '<' : '>', array->typekind,
		      units);
	rc = bi_dtype_parse(typestr, out, &err);
	if (rc)
		return bip_check(rc, &err, bip_raise_import);
	return array->flags & BIP_ARRAY_HAS_DESCR && array->descr ? bip_descr_for(array->descr, typestr, "", descr) : 0;
}

/*
 * Imports an array by its struct. `dtype` is NULL, or the attribute dtype of the array, which describes more types than
 * the struct.
 */
static int import_struct(const struct bip_array_struct *array, PyObject *dtype, int is_readonly, PyObject *owner,
			 struct bip_found *found)
{
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	struct bi_layout layout;
	struct bi_dtype type;
	PyObject *descr;
	int rc;

	for (int i = 0; i < array->nd; i++) {
		shape[i] = array->shape[i];
		strides[i] = array->strides ? array->strides[i] : 0;
	}
	/* For dates and objects the struct is read, because the message of the refusal then has their typestr. */
	if (dtype && !strchr("MmO", array->typekind))
		rc = read_dtype(dtype, array->itemsize, &type, &descr);
	else
		rc = read_struct_type(array, &type, &descr);
	if (rc)
		return -1;
	rc = bip_layout(&layout, type, descr, array->nd, shape, array->strides ? strides : NULL);
	if (!rc)
		rc = bip_wrap_host((uintptr_t)array->data, is_readonly, &layout, owner, &found->view);
	Py_XDECREF(descr);
	return rc;
}

/*
 * Sets *out to 1 if the array is read-only, else to 0. NumPy clears the flags in the struct of a structured type. So if
 * the struct of a NumPy array lacks the flag for writing, the flags of the array itself are read.
 */
static int read_readonly(PyObject *object, const struct bip_array_struct *array, int *out)
{
	PyObject *flags, *number;

	*out = !(array->flags & BIP_ARRAY_WRITEABLE);
	if (!*out || !bip_is_ndarray(Py_TYPE(object)))
		return 0;
	flags = PyObject_GetAttrString(object, "flags");
	number = flags ? PyObject_GetAttrString(flags, "num") : NULL;
	if (number)
		*out = bip_is_readonly_ndarray((unsigned)PyLong_AsLong(number));
	Py_XDECREF(flags);
	Py_XDECREF(number);
	return number && !PyErr_Occurred() ? 0 : -1;
}

static int import_capsule(PyObject *object, PyObject *capsule, PyObject *dtype, struct bip_found *found)
{
	const struct bip_array_struct *array = read_capsule(capsule);
	PyObject *owner = array ? PyTuple_Pack(2, object, capsule) : NULL;
	int is_readonly, rc = -1;

	if (owner && read_readonly(object, array, &is_readonly) == 0)
		rc = import_struct(array, dtype, is_readonly, owner, found);

	Py_XDECREF(owner);
	return rc;
}

static int import_typed(PyObject *object, struct bip_found *found)
{
	PyObject *dtype = PyObject_GetAttr(object, bip_name.dtype);
	PyObject *capsule = dtype ? PyObject_GetAttr(object, bip_name.__array_struct__) : NULL;
	int rc = capsule ? import_capsule(object, capsule, dtype, found) : -1;

	Py_XDECREF(dtype);
	Py_XDECREF(capsule);
	return rc ? -1 : 1;
}

int bip_import_array_struct(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	PyObject *capsule;
	int rc;

	(void)request;
	if (bip_attribute(object, bip_name.__array_struct__, &capsule))
		return -1;
	if (!capsule)
		return 0;
	rc = import_capsule(object, capsule, NULL, found);
	Py_DECREF(capsule);
	return rc ? -1 : 1;
}
