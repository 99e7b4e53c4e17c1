/*
 * The CUDA Array Interface as a consumer
 *
 * The dictionary is read into a struct bi_cai, which the library checks and imports. This file checks the types of the
 * Python objects, and refuses numbers that do not fit into the struct.
 */
#include <stdatomic.h>
#include <string.h>

#include "contexts.h"
#include "lifetime.h"
#include "object.h"
#include "streams.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"
#include "import/values.h"

/* The keys of the dictionary, as indices of struct members. */
enum member { SHAPE, TYPESTR, DATA, STRIDES, VERSION, STREAM, DESCR, MASK, MEMBERS };

/* The dictionary and its values, owned. A value is NULL if the dictionary does not have the key. */
struct members {
	PyObject *values[MEMBERS];
	PyObject *dict;
};

/* The dictionary as struct bi_cai. `cai` borrows from the other members. */
struct description {
	struct bi_cai cai;
	PyObject *descr; /* the text of the fields, owned; or NULL */
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
};

/* Reading the dictionary */

static PyObject *const *const names[MEMBERS] = { &bip_name.shape,   &bip_name.typestr, &bip_name.data,
						 &bip_name.strides, &bip_name.version, &bip_name.stream,
						 &bip_name.descr,   &bip_name.mask };

static void release_members(struct members *members)
{
	for (int i = 0; i < MEMBERS; i++)
		Py_CLEAR(members->values[i]);
	Py_CLEAR(members->dict);
}

/* Returns the member whose interned name is this object, or MEMBERS if there is none. */
static int member_of(const PyObject *key)
{
	int i = 0;

	while (i < MEMBERS && key != *names[i])
		i++;
	return i;
}

/*
 * Reads the whole dictionary in one pass, which is faster than a look-up for each key. Returns 1, or 0 if a key is not
 * an interned str: such a key may be equal to a name and not be the same object.
 */
static int read_entries_locked(PyObject *dict, PyObject *values[MEMBERS])
{
	PyObject *key, *value;
	Py_ssize_t at = 0;
	int i;

	while (PyDict_Next(dict, &at, &key, &value)) {
		i = member_of(key);
		if (i < MEMBERS)
			Py_XSETREF(values[i], Py_NewRef(value));
		else if (!PyUnicode_CheckExact(key) || !PyUnicode_CHECK_INTERNED(key))
			return 0;
	}
	return 1;
}

/* Calls read_entries_locked. Returns 0 for a mapping that is not exactly a dict. Runs no Python code. */
static int read_in_one_pass(PyObject *dict, PyObject *values[MEMBERS])
{
	int is_done;

	if (!PyDict_CheckExact(dict))
		return 0;
	BIP_LOCK(dict)
	is_done = read_entries_locked(dict, values);
	BIP_UNLOCK()
	return is_done;
}

static int read_one_by_one(PyObject *dict, PyObject *values[MEMBERS])
{
	for (int i = 0; i < MEMBERS; i++) {
		Py_CLEAR(values[i]);
		if (bip_item_of(dict, *names[i], &values[i]))
			return -1;
	}
	return 0;
}

/* Returns the value of a key, borrowed. Returns NULL if the key is missing or its value is None. */
static PyObject *value_of(const struct members *members, enum member member)
{
	PyObject *value = members->values[member];

	return value == Py_None ? NULL : value;
}

/* Returns the value of a required key, borrowed. Returns NULL with KeyError if the key is missing. */
static PyObject *required_value(const struct members *members, enum member member)
{
	PyObject *value = members->values[member];

	if (!value)
		PyErr_Format(PyExc_KeyError, "__cuda_array_interface__ has no '%U' [C2]", *names[member]);
	return value;
}

static int read_version(const struct members *members, int32_t *out)
{
	PyObject *value = value_of(members, VERSION);
	int64_t version;

	*out = 0;
	if (!value)
		return 0;
	if (bip_number(value, "version", " [C1]", &version))
		return -1;
	if (version < 0 || version > BI_CAI_VERSION)
		return bip_refuse(bip_InvalidArrayError,
				  "version %lld of the CUDA Array Interface is not in 0..%d [C1]", (long long)version,
				  BI_CAI_VERSION);
	*out = (int32_t)version;
	return 0;
}

/* Refuses an object that is no mapping. check_dict refuses mappings that the version does not allow. */
static int check_mapping(PyObject *dict)
{
	if (PyDict_Check(dict) ||
	    (PyMapping_Check(dict) && !PyList_Check(dict) && !PyTuple_Check(dict) && !PyUnicode_Check(dict)))
		return 0;
	return bip_refuse(PyExc_TypeError, "__cuda_array_interface__ is of type %.100s, not a dict [C2]",
			  Py_TYPE(dict)->tp_name);
}

static int check_dict(PyObject *dict, int version)
{
	if (version < 2 || PyDict_Check(dict))
		return 0;
	return bip_refuse(PyExc_TypeError, "__cuda_array_interface__ of version %d is of type %.100s, not a dict [C2]",
			  version, Py_TYPE(dict)->tp_name);
}

static int read_shape(const struct members *members, struct description *out)
{
	PyObject *shape = required_value(members, SHAPE), *strides = value_of(members, STRIDES);

	if (!shape || bip_numbers(shape, "shape", " [C11]", out->shape, &out->cai.ndim))
		return -1;
	out->cai.shape = out->shape;
	if (!strides)
		return 0;
	out->cai.strides = out->strides;
	return bip_strides(strides, out->cai.ndim, " [C10]", out->strides);
}

static int read_descr(PyObject *list, struct description *out)
{
	Py_ssize_t length;

	if (bip_descr_for(list, out->cai.typestr, " [C13]", &out->descr))
		return -1;
	if (!out->descr)
		return 0;
	out->cai.descr = PyUnicode_AsUTF8AndSize(out->descr, &length);
	out->cai.descr_length = (size_t)length;
	return out->cai.descr ? 0 : -1;
}

static int read_type(const struct members *members, struct description *out)
{
	PyObject *value = required_value(members, TYPESTR), *list = value_of(members, DESCR);
	const char *text;
	size_t length;

	if (!value || bip_text(value, "typestr", " [C12]", &text))
		return -1;
	length = strlen(text);
	if (length >= BI_CAI_TYPESTR)
		return bip_refuse(bip_InvalidArrayError, "typestr '%.100s' has more than %d characters [C12]", text,
				  BI_CAI_TYPESTR - 1);
	memcpy(out->cai.typestr, text, length + 1);
	return list ? read_descr(list, out) : 0;
}

static int read_data(const struct members *members, struct description *out)
{
	PyObject *pair = required_value(members, DATA);
	int readonly = 0, rc = pair ? bip_data_pair(pair, " [C4]", &out->cai.data, &readonly) : -1;

	out->cai.readonly = readonly;
	return rc;
}

static int read_stream(const struct members *members, struct description *out)
{
	PyObject *stream = value_of(members, STREAM);

	out->cai.stream_kind = members->values[STREAM] ? BI_CAI_STREAM_NONE : BI_CAI_STREAM_ABSENT;
	if (!stream)
		return 0;
	out->cai.stream_kind = BI_CAI_STREAM_GIVEN;
	if (!PyBool_Check(stream))
		return bip_address(stream, "stream", " [C6]", &out->cai.stream);
	return bip_refuse(PyExc_TypeError, "stream is %R, not an int [C6]", stream);
}

/* Converts the values of the dictionary. The caller releases out->descr, also on failure. */
static int read_members(const struct members *members, struct description *out)
{
	memset(&out->cai, 0, sizeof(out->cai));
	out->descr = NULL;
	if (read_version(members, &out->cai.version) || check_dict(members->dict, out->cai.version))
		return -1;
	return read_shape(members, out) || read_type(members, out) || read_data(members, out) ||
			       read_stream(members, out)
		       ? -1
		       : 0;
}

/*
 * Reads the attribute and the values of the dictionary. Returns 1, 0 if the object does not have the attribute, -1 with
 * an exception. After -1, out->dict is NULL if getting the attribute raised. The caller releases the members in each of
 * these cases.
 */
static int read_attribute(PyObject *object, struct members *out)
{
	memset(out, 0, sizeof(*out));
	if (bip_attribute(object, bip_name.__cuda_array_interface__, &out->dict))
		return -1;
	if (!out->dict)
		return 0;
	if (check_mapping(out->dict))
		return -1;
	return read_in_one_pass(out->dict, out->values) || !read_one_by_one(out->dict, out->values) ? 1 : -1;
}

/*
 * The device of the last import, or -1. An import with check=True and without producer_stream tries this device first,
 * which saves a query of the driver. The library refuses the device if the pointer does not belong to it.
 */
static atomic_int last_device = -1;

static int ask_driver(const struct bi_cai *cai, int *ordinal, struct bi_error *err)
{
	int rc = bi_cai_device(cai, ordinal, err);

	return !rc && *ordinal < 0 && cai->mask ? bi_cai_device(cai->mask, ordinal, err) : rc;
}

/*
 * Finds the device of the array. If neither the array nor its mask has elements, any device will do. The GIL is dropped
 * until an import has succeeded, because the first query opens the driver.
 */
static int find_device(const struct bi_cai *cai, int *ordinal)
{
	int last = atomic_load(&last_device), rc;
	struct bi_error err;

	if (last < 0) {
		Py_BEGIN_ALLOW_THREADS
		rc = ask_driver(cai, ordinal, &err);
		Py_END_ALLOW_THREADS
	} else {
		rc = ask_driver(cai, ordinal, &err);
	}
	if (rc)
		return bip_check(rc, &err, bip_raise_import);
	if (*ordinal < 0)
		*ordinal = last < 0 ? 0 : last;
	return 0;
}

/* The result of an import by the library. */
struct outcome {
	int status;
	struct bi_error err;
};

/* Returns true if the stream of the dictionary is a handle, not 1 or 2, and a mask, if any, has the same stream. */
static int names_one_stream(const struct bi_cai *cai)
{
	const struct bi_cai *mask = cai->mask;

	return cai->stream_kind == BI_CAI_STREAM_GIVEN && cai->stream > 2 &&
	       (!mask || (mask->stream_kind == BI_CAI_STREAM_GIVEN && mask->stream == cai->stream));
}

/*
 * Sets *out to the argument producer_stream. Without the argument, sets *out to the stream object whose handle the
 * dictionary names (bip_stream_behind), which *out keeps alive. If there is no such object, *out is NULL, and the
 * library uses the stream of the dictionary. The library uses *out for the mask too.
 */
static int find_stream(const struct bi_cai *cai, const struct bip_request *request, PyObject *owner,
		       struct bi_context *context, struct bi_stream **out)
{
	PyObject *array = PyTuple_CheckExact(owner) ? PyTuple_GET_ITEM(owner, 0) : owner;
	PyObject *behind = NULL;
	int rc;

	if (!request->producer_stream && request->sync && names_one_stream(cai)) {
		behind = bip_stream_behind(array, cai->stream);
		if (!behind && PyErr_Occurred())
			return -1;
	}
	rc = bip_stream_named("producer_stream", behind ? behind : request->producer_stream, context, out);
	/* The library refuses such a stream itself, or ignores it if BI_CAI_SYNC is 0. */
	if (rc && behind && PyErr_ExceptionMatches(PyExc_ValueError)) {
		PyErr_Clear();
		rc = 0;
	}
	Py_XDECREF(behind);
	return rc;
}

/* Reads the attribute again and replaces the stream. */
static int read_stream_again(PyObject *object, struct bi_cai *cai)
{
	struct description again = { .cai = *cai };
	struct members members;
	int rc = read_attribute(object, &members);

	if (rc == 1 && !read_stream(&members, &again)) {
		cai->stream_kind = again.cai.stream_kind;
		cai->stream = again.cai.stream;
	}
	release_members(&members);
	return PyErr_Occurred() ? -1 : 0;
}

/* Reads the streams of the array and of its mask again. `owner` is the array, or the tuple of both. */
static int read_streams_again(PyObject *owner, struct bi_cai *cai, struct bi_cai *mask)
{
	if (!PyTuple_CheckExact(owner))
		return read_stream_again(owner, cai);
	return read_stream_again(PyTuple_GET_ITEM(owner, 0), cai) || read_stream_again(PyTuple_GET_ITEM(owner, 1), mask)
		       ? -1
		       : 0;
}

/* Status beside 0 and -1: the second read of the attribute failed, with an exception. */
#define PRODUCER_RAISED (-2)

/*
 * Sets *out as find_stream does. CuPy names the current stream of the current device, which may be another device than
 * that of the array. So a stream that was read while another context was current is read again with the context of the
 * array current. Then the streams of `cai` and of its mask are replaced. Returns 0, or -1 or PRODUCER_RAISED with an
 * exception.
 */
static int find_current_stream(struct bi_cai *cai, struct bi_cai *mask, const struct bip_request *request,
			       PyObject *owner, struct bi_context *context, struct bi_stream **out)
{
	int pushed = 0, rc = 0;

	/* A failure is ignored, because a producer may not depend on the current context. */
	if (request->sync && !request->producer_stream && cai->stream_kind == BI_CAI_STREAM_GIVEN)
		bi_context_push_current(context, &pushed, NULL);
	if (pushed && read_streams_again(owner, cai, mask))
		rc = PRODUCER_RAISED;
	if (!rc)
		rc = find_stream(cai, request, owner, context, out);
	bi_context_pop_current(context, pushed);
	return rc;
}

/*
 * Imports on one device. Returns 0 and writes the library's status to *outcome, or returns -1 or PRODUCER_RAISED with
 * an exception. After an import that succeeds, the memory keeps a new reference to `owner`.
 */
static int import_on(int ordinal, const struct bi_cai *cai, const struct bip_request *request, PyObject *owner,
		     struct bip_found *found, struct outcome *outcome)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_cai here = *cai, mask = cai->mask ? *cai->mask : *cai;
	struct bi_context *context;
	int rc;

	outcome->status = BI_OK;
	if (bip_context_cuda(ordinal, &context))
		return -1;
	options.flags = (request->sync ? 0 : BI_CAI_UNORDERED) | (request->check ? 0 : BI_CAI_UNCHECKED) |
			(request->producer_stream ? 0 : BI_CAI_SAME_STREAM);
	options.mask = request->keep_mask ? &found->mask : NULL;
	options.release = bip_release_owner;
	options.release_data = owner;
	here.mask = cai->mask ? &mask : NULL;
	rc = find_current_stream(&here, &mask, request, owner, context, &options.producer_stream);
	if (rc) {
		bi_context_release(context);
		return rc;
	}
	Py_INCREF(owner);
	outcome->status = bi_cai_import(context, &here, &options, &found->view, &outcome->err);
	if (outcome->status)
		Py_DECREF(owner);
	bi_stream_release(options.producer_stream);
	bi_context_release(context);
	return 0;
}

/*
 * Imports on the device of the last import, if last_device may be tried. If that fails, queries the driver for the
 * device and imports there: the array or its stream may belong to another device than the last one. An exception of the
 * producer's attribute is final.
 */
static int import_anywhere(const struct bi_cai *cai, const struct bip_request *request, PyObject *owner,
			   struct bip_found *found)
{
	int ordinal = request->check && !request->producer_stream ? atomic_load(&last_device) : -1;
	struct outcome outcome = { .status = BI_EINVAL };
	int rc = ordinal < 0 ? 0 : import_on(ordinal, cai, request, owner, found, &outcome);

	if (rc) {
		if (rc == PRODUCER_RAISED || bip_clear_error())
			return -1;
		outcome.status = BI_EINVAL;
	}
	if (outcome.status) {
		if (find_device(cai, &ordinal) || import_on(ordinal, cai, request, owner, found, &outcome))
			return -1;
	}
	if (outcome.status)
		return bip_check(outcome.status, &outcome.err, bip_raise_import);
	if (atomic_load_explicit(&last_device, memory_order_relaxed) != ordinal)
		atomic_store(&last_device, ordinal);
	if (cai->stream_kind != BI_CAI_STREAM_GIVEN && !request->producer_stream)
		found->flags |= BIP_WAIT_AT_EXIT;
	return 0;
}

/* Checks the mask `object`. `has_cai` is the result of read_attribute for it. Refuses a mask that has a mask itself. */
static int check_mask(PyObject *object, int has_cai, const struct members *members)
{
	if (has_cai < 0)
		return -1;
	if (!has_cai)
		return bip_refuse(PyExc_TypeError, "mask is of type %.100s, which has no __cuda_array_interface__ [C3]",
				  Py_TYPE(object)->tp_name);
	return value_of(members, MASK) ? bip_refuse(bip_UnsupportedError, "the mask has a mask of its own [C3]") : 0;
}

/* Imports an array and its mask. Both objects are kept until both memories are released. */
static int import_with_mask(PyObject *object, PyObject *mask_object, const struct members *mask_members,
			    struct description *array, const struct bip_request *request, struct bip_found *found)
{
	struct description mask;
	PyObject *owner = NULL;
	int rc = -1;

	if (!read_members(mask_members, &mask))
		owner = PyTuple_Pack(2, object, mask_object);
	array->cai.mask = &mask.cai;
	if (owner)
		rc = import_anywhere(&array->cai, request, owner, found);
	Py_XDECREF(owner);
	Py_XDECREF(mask.descr);
	return rc;
}

static int import_masked(PyObject *object, PyObject *mask, struct description *array, const struct bip_request *request,
			 struct bip_found *found)
{
	struct members members;
	int rc;

	if (!request->keep_mask)
		return bip_refuse(bip_UnsupportedError,
				  "the array is masked, and its mask would be lost: mask='keep' imports both [C3]");
	rc = check_mask(mask, read_attribute(mask, &members), &members);
	if (!rc)
		rc = import_with_mask(object, mask, &members, array, request, found);
	release_members(&members);
	return rc;
}

static int import_members(PyObject *object, const struct members *members, const struct bip_request *request,
			  struct bip_found *found)
{
	PyObject *mask = value_of(members, MASK);
	struct description array;
	int rc = read_members(members, &array);

	if (!rc)
		rc = mask ? import_masked(object, mask, &array, request, found)
			  : import_anywhere(&array.cai, request, object, found);
	Py_XDECREF(array.descr);
	return rc || bip_check_resolved(object, found) ? -1 : 1;
}

int bip_import_cai(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct members members;
	int rc = read_attribute(object, &members);

	if (rc == 1)
		rc = import_members(object, &members, request, found);
	release_members(&members);
	return rc;
}

/*
 * Imports by DLPack. `has_cai` is the result of read_attribute. If it is 1, an object whose __dlpack__ does not accept
 * a stream is no failure, because the dictionary is tried next. If it is -1, DLPack's C table is not used.
 */
static int import_dlpack_first(PyObject *object, const struct bip_request *request, int has_cai,
			       struct bip_found *found)
{
	struct bip_request with_next;

	if (!has_cai)
		return bip_import_dlpack(object, request, found);
	with_next = *request;
	with_next.has_cai = has_cai > 0;
	with_next.cai_raised = has_cai < 0;
	return bip_import_dlpack(object, &with_next, found);
}

/*
 * Decides what follows an exception of the property. __dlpack__ is tried if the type has it, because DLPack may
 * describe what the dictionary cannot: PyTorch's property raises KeyError for element types without a typestr.
 * Otherwise the exception stays [C14].
 */
static int import_after_exception(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct bip_raised raised;
	int rc = 0;

	if (!PyErr_ExceptionMatches(PyExc_Exception))
		return -1;
	raised = bip_put_aside();
	if (bip_type_has(Py_TYPE(object), bip_name.__dlpack__))
		rc = import_dlpack_first(object, request, -1, found);
	if (rc) {
		bip_drop_raised(&raised);
		return rc;
	}
	bip_put_back(raised);
	return -1;
}

int bip_import_cai_or_dlpack(PyObject *object, const struct bip_request *request, struct bip_found *found)
{
	struct members members;
	int has_cai = read_attribute(object, &members);
	int rc = 0;

	if (has_cai < 0)
		rc = members.dict ? -1 : import_after_exception(object, request, found);
	/* A dictionary with a stream or a mask is imported itself, because DLPack has neither. */
	if (!rc && !value_of(&members, STREAM) && !value_of(&members, MASK))
		rc = import_dlpack_first(object, request, has_cai, found);
	if (!rc && has_cai > 0)
		rc = import_members(object, &members, request, found);
	release_members(&members);
	return rc;
}
