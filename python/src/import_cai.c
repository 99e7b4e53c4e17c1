/*
 * The CUDA Array Interface: a dictionary becomes a struct bi_cai, which the library checks and makes an array of
 *
 * Here is what is about Python alone: which objects may stand where, and numbers that no struct can hold.
 */
#include <stdatomic.h>
#include <string.h>

#include "import_values.h"

/* A dictionary, looked through. The struct borrows from the other members. */
struct described {
	struct bi_cai cai;
	PyObject *descr; /* text, owned, or NULL */
	PyObject *mask; /* owned, or NULL */
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
};

/* A value, or NULL without exception if there is no key or, unless `none` is given, if it is None. */
static int get(PyObject *dict, PyObject *key, int *none, PyObject **out)
{
	if (bip_item_of(dict, key, out))
		return -1;
	if (none)
		*none = *out == Py_None;
	if (*out == Py_None)
		Py_CLEAR(*out);
	return 0;
}

static PyObject *get_required(PyObject *dict, PyObject *key)
{
	PyObject *value;

	if (bip_item_of(dict, key, &value))
		return NULL;
	if (!value)
		PyErr_Format(PyExc_KeyError, "__cuda_array_interface__ has no '%U' [C2]", key);
	return value;
}

static int read_version(PyObject *dict, int32_t *out)
{
	PyObject *value;
	int64_t version;
	int rc;

	*out = 0;
	if (get(dict, bip_name.version, NULL, &value) || !value)
		return PyErr_Occurred() ? -1 : 0;
	rc = bip_number(value, "version", " [C1]", &version);
	Py_DECREF(value);
	if (rc)
		return -1;
	if (version < 0 || version > BI_CAI_VERSION) {
		PyErr_Format(bip_InvalidArrayError, "version %lld of the CUDA Array Interface is not in 0..%d [C1]",
			     (long long)version, BI_CAI_VERSION);
		return -1;
	}
	*out = (int32_t)version;
	return 0;
}

/* The first version asked for something like a dictionary, the later ones for a dict. */
static int check_mapping(PyObject *dict)
{
	if (PyDict_Check(dict) ||
	    (PyMapping_Check(dict) && !PyList_Check(dict) && !PyTuple_Check(dict) && !PyUnicode_Check(dict)))
		return 0;
	PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ is of type %.100s, not a dict [C2]",
		     Py_TYPE(dict)->tp_name);
	return -1;
}

static int check_dict(PyObject *dict, int version)
{
	if (version < 2 || PyDict_Check(dict))
		return 0;
	PyErr_Format(PyExc_TypeError, "__cuda_array_interface__ of version %d is of type %.100s, not a dict [C2]",
		     version, Py_TYPE(dict)->tp_name);
	return -1;
}

static int read_shape(PyObject *dict, struct described *out)
{
	PyObject *shape = get_required(dict, bip_name.shape), *strides;
	int rc = shape ? bip_numbers(shape, "shape", " [C11]", out->shape, &out->cai.ndim) : -1;

	Py_XDECREF(shape);
	if (rc || get(dict, bip_name.strides, NULL, &strides))
		return -1;
	out->cai.shape = out->shape;
	if (!strides)
		return 0;
	rc = bip_strides(strides, out->cai.ndim, " [C10]", out->strides);
	Py_DECREF(strides);
	out->cai.strides = out->strides;
	return rc;
}

static int read_descr(PyObject *dict, struct described *out)
{
	PyObject *list;
	Py_ssize_t length;
	int rc;

	if (get(dict, bip_name.descr, NULL, &list) || !list)
		return PyErr_Occurred() ? -1 : 0;
	rc = bip_descr_for(list, out->cai.typestr, " [C13]", &out->descr);
	Py_DECREF(list);
	if (rc || !out->descr)
		return rc;
	out->cai.descr = PyUnicode_AsUTF8AndSize(out->descr, &length);
	out->cai.descr_length = (size_t)length;
	return out->cai.descr ? 0 : -1;
}

static int read_type(PyObject *dict, struct described *out)
{
	PyObject *value = get_required(dict, bip_name.typestr);
	const char *text;
	int rc = value ? bip_text(value, "typestr", " [C12]", &text) : -1;

	if (!rc && strlen(text) >= BI_CAI_TYPESTR) {
		PyErr_Format(bip_InvalidArrayError, "typestr '%.100s' has more than %d characters [C12]", text,
			     BI_CAI_TYPESTR - 1);
		rc = -1;
	}
	if (!rc)
		memcpy(out->cai.typestr, text, strlen(text) + 1);
	Py_XDECREF(value);
	return rc ? -1 : read_descr(dict, out);
}

static int read_data(PyObject *dict, struct described *out)
{
	PyObject *pair = get_required(dict, bip_name.data);
	int readonly = 0, rc = pair ? bip_data_pair(pair, " [C4]", &out->cai.data, &readonly) : -1;

	Py_XDECREF(pair);
	out->cai.readonly = readonly;
	return rc;
}

static int read_stream(PyObject *dict, struct described *out)
{
	PyObject *stream;
	int is_none, rc;

	if (get(dict, bip_name.stream, &is_none, &stream))
		return -1;
	out->cai.stream_kind = is_none ? BI_CAI_STREAM_NONE : BI_CAI_STREAM_ABSENT;
	if (!stream)
		return 0;
	out->cai.stream_kind = BI_CAI_STREAM_GIVEN;
	if (PyBool_Check(stream)) {
		PyErr_Format(PyExc_TypeError, "stream is %R, not an int [C6]", stream);
		rc = -1;
	} else
		rc = bip_address(stream, "stream", " [C6]", &out->cai.stream);
	Py_DECREF(stream);
	return rc;
}

/* What fails leaves everything to forget(). */
static int read_all(PyObject *dict, struct described *out)
{
	memset(&out->cai, 0, sizeof(out->cai));
	out->descr = out->mask = NULL;
	if (check_mapping(dict) || read_version(dict, &out->cai.version) || check_dict(dict, out->cai.version))
		return -1;
	if (read_shape(dict, out) || read_type(dict, out) || read_data(dict, out) || read_stream(dict, out))
		return -1;
	return get(dict, bip_name.mask, NULL, &out->mask);
}

static void forget(struct described *array)
{
	Py_XDECREF(array->descr);
	Py_XDECREF(array->mask);
}

/* The device of the last import; a guess for the next one, which the library then finds right or wrong. -1: none. */
static atomic_int last_device = -1;

/* Where neither array nor mask has an element no device is asked, and any will do. */
static int find_device(const struct bi_cai *cai, int *ordinal)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = bi_cai_device(cai, ordinal, &err);
	if (!rc && *ordinal < 0 && cai->mask)
		rc = bi_cai_device(cai->mask, ordinal, &err);
	Py_END_ALLOW_THREADS
	if (rc) {
		bip_raise_import(rc, &err);
		return -1;
	}
	if (*ordinal < 0)
		*ordinal = atomic_load(&last_device) < 0 ? 0 : atomic_load(&last_device);
	return 0;
}

/* 0, -1 with an exception, or the library's status in *status where that is what failed. `owner` is not taken. */
static int import_on(int ordinal, const struct bi_cai *cai, const struct bip_request *request, PyObject *owner,
		     struct bip_found *found, int *status, struct bi_error *err)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_context *context;

	*status = BI_OK;
	if (bip_context_cuda(ordinal, &context))
		return -1;
	options.flags = (request->sync ? 0 : BI_CAI_UNORDERED) | (request->check ? 0 : BI_CAI_UNCHECKED);
	options.mask = request->keep_mask ? &found->mask : NULL;
	options.release = bip_drop;
	options.release_data = owner;
	if (bip_stream_named("producer_stream", request->producer_stream, context, &options.producer_stream)) {
		bip_release_context(context);
		return -1;
	}
	Py_INCREF(owner);
	*status = bi_cai_import(context, cai, &options, &found->view, err);
	if (*status)
		Py_DECREF(owner);
	bi_stream_release(options.producer_stream);
	bip_release_context(context);
	return 0;
}

/* A context is opened only for a device that is known to have the memory. */
static int import_anywhere(const struct bi_cai *cai, const struct bip_request *request, PyObject *owner,
			   struct bip_found *found)
{
	int ordinal = request->check && !request->producer_stream ? atomic_load(&last_device) : -1;
	int status = BI_EINVAL;
	struct bi_error err;

	if (ordinal >= 0 && import_on(ordinal, cai, request, owner, found, &status, &err))
		return -1;
	if (status) {
		if (find_device(cai, &ordinal) || import_on(ordinal, cai, request, owner, found, &status, &err))
			return -1;
	}
	if (status) {
		bip_raise_import(status, &err);
		return -1;
	}
	atomic_store(&last_device, ordinal);
	if (cai->stream_kind != BI_CAI_STREAM_GIVEN && !request->producer_stream)
		found->flags |= BIP_WAIT_AT_EXIT;
	return 0;
}

static int refuse_mask(void)
{
	PyErr_SetString(bip_UnsupportedError,
			"the array is masked, and would be wrong without its mask; mask='keep' takes "
			"both [C3]");
	return -1;
}

/* The dictionary of a mask: masks have none of their own. */
static int read_mask(PyObject *object, struct described *mask)
{
	PyObject *dict;
	int rc;

	mask->descr = mask->mask = NULL;
	if (bip_attribute(object, bip_name.__cuda_array_interface__, &dict))
		return -1;
	if (!dict) {
		PyErr_Format(PyExc_TypeError, "mask is of type %.100s, which has no __cuda_array_interface__ [C3]",
			     Py_TYPE(object)->tp_name);
		return -1;
	}
	rc = read_all(dict, mask);
	Py_DECREF(dict);
	if (rc || !mask->mask)
		return rc;
	PyErr_SetString(bip_UnsupportedError, "the mask has a mask of its own [C3]");
	return -1;
}

/* Both objects live as long as either array. */
static int import_masked(PyObject *object, struct described *array, const struct bip_request *request,
			 struct bip_found *found)
{
	struct described mask;
	PyObject *owner = NULL;
	int rc = -1;

	if (!request->keep_mask)
		return refuse_mask();
	if (!read_mask(array->mask, &mask))
		owner = PyTuple_Pack(2, object, array->mask);
	array->cai.mask = &mask.cai;
	if (owner)
		rc = import_anywhere(&array->cai, request, owner, found);
	Py_XDECREF(owner);
	forget(&mask);
	return rc;
}

int bip_import_cai_dict(PyObject *object, PyObject *dict, const struct bip_request *request, struct bip_found *found)
{
	struct described array;
	int rc = read_all(dict, &array);

	if (!rc)
		rc = array.mask ? import_masked(object, &array, request, found)
				: import_anywhere(&array.cai, request, object, found);
	forget(&array);
	return rc ? -1 : 1;
}

int bip_import_cai(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	PyObject *dict;
	int rc;

	if (bip_attribute(object, bip_name.__cuda_array_interface__, &dict))
		return -1;
	if (!dict)
		return 0;
	rc = bip_import_cai_dict(object, dict, request, found);
	Py_DECREF(dict);
	return rc;
}

int bip_import_cai_with_stream(PyObject *object, const struct bip_request *request, struct bip_found *found,
			       PyObject **dict)
{
	PyObject *stream = NULL;
	int rc = 0;

	if (bip_attribute(object, bip_name.__cuda_array_interface__, dict))
		return -1;
	if (!*dict)
		return 0;
	if (check_mapping(*dict) || get(*dict, bip_name.stream, NULL, &stream))
		rc = -1;
	else if (stream)
		rc = bip_import_cai_dict(object, *dict, request, found);
	Py_XDECREF(stream);
	return rc;
}
