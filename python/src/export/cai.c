/* The CUDA Array Interface as a producer: the result of bi_cai_export as a dictionary. */
#include <string.h>

#include "lifetime.h"
#include "object.h"
#include "base/arguments.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"
#include "base/shapes.h"
#include "export/export.h"
#include "export/pattern.h"

/*
 * Raises the exception of a failed export. It is AttributeError if the array cannot have the attribute, so that
 * hasattr() returns False [P14].
 */
static PyObject *raise_missing(int rc, const struct bi_error *err)
{
	if (rc != BI_EUNSUPPORTED && rc != BI_EDTYPE)
		return bip_raise_export(rc, err);
	return PyErr_Format(PyExc_AttributeError, "%s", err->message);
}

/* Sets an item. Takes ownership of the value, also on failure. A value of NULL, with an exception set, is a failure. */
static int put_item(PyObject *dict, PyObject *key, PyObject *value)
{
	int rc = value ? PyDict_SetItem(dict, key, value) : -1;

	Py_XDECREF(value);
	return rc;
}

/* Sets the key "stream". Version 3 always has the key. Older versions never have it. */
static int put_stream(PyObject *dict, const struct bi_cai *cai)
{
	if (cai->stream_kind == BI_CAI_STREAM_GIVEN)
		return put_item(dict, bip_name.stream, PyLong_FromUnsignedLongLong(cai->stream));
	return cai->version == BI_CAI_VERSION ? PyDict_SetItem(dict, bip_name.stream, Py_None) : 0;
}

static PyObject *strides_of(const struct bi_cai *cai)
{
	return cai->strides ? bip_tuple(cai->strides, cai->ndim) : Py_NewRef(Py_None);
}

static PyObject *make_dict(PyObject *mask, const struct bi_view *view, const struct bi_cai *cai)
{
	PyObject *shape = bip_tuple(cai->shape, cai->ndim);
	PyObject *dict = Py_BuildValue("{ONOsO(KO)ONOi}", bip_name.shape, shape, bip_name.typestr, cai->typestr,
				       bip_name.data, (unsigned long long)cai->data, cai->readonly ? Py_True : Py_False,
				       bip_name.strides, strides_of(cai), bip_name.version, (int)cai->version);

	if (dict && (put_stream(dict, cai) || (cai->descr && put_item(dict, bip_name.descr, bip_dtype_descr(view))) ||
		     (mask && PyDict_SetItem(dict, bip_name.mask, mask))))
		Py_CLEAR(dict);
	return dict;
}

/*
 * Describes the view. Drops the GIL only if the call may block, for example because work is pending, or because another
 * thread works on the memory.
 */
static int describe_view(const struct bi_view *view, int version, unsigned flags, struct bi_cai *cai,
			 struct bi_error *err)
{
	int rc = bi_cai_export(view, version, flags | BI_CAI_NONBLOCKING, cai, err);

	if (rc != BI_EBUSY)
		return rc;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_cai_export(view, version, flags, cai, err);
	Py_END_ALLOW_THREADS
	return rc;
}

/* Sets the key "stream". Returns the dictionary, or on failure releases it and returns NULL. */
static PyObject *set_stream(PyObject *dict, const struct bi_cai *cai)
{
	if (put_stream(dict, cai))
		Py_CLEAR(dict);
	return dict;
}

static PyObject *make_or_copy(PyObject *self, PyObject *mask, const struct bi_view *view, const struct bi_cai *cai)
{
	PyObject *dict = bip_copy_pattern(self, 1);

	if (dict)
		return set_stream(dict, cai);
	dict = make_dict(mask, view, cai);
	if (dict)
		bip_keep_pattern(self, dict, 1);
	return dict;
}

/*
 * Returns a dictionary for the present state of the memory. Reads the mask before the view: if another thread releases
 * the array in between, the view is missing, and the export fails instead of losing the mask.
 */
static PyObject *make_current(PyObject *self)
{
	PyObject *mask = bip_mask(self), *dict = NULL;
	struct bi_view *view = bip_hold(self);
	struct bi_error err;
	struct bi_cai cai;
	int rc;

	if (view) {
		rc = describe_view(view, BI_CAI_VERSION, 0, &cai, &err);
		dict = rc ? raise_missing(rc, &err) : make_or_copy(self, mask, view, &cai);
		bip_release_view(view);
	}
	Py_XDECREF(mask);
	return dict;
}

PyObject *bip_get_cuda_array_interface(PyObject *self, void *Py_UNUSED(closure))
{
	PyObject *dict = bip_copy_idle_pattern(self, 1);

	return dict ? dict : make_current(self);
}

/* The method cuda_array_interface() */

struct options {
	int version;
	int sync; /* 0: no stream is named, and nothing waits */
	int synchronize; /* 1: the calling thread is blocked until pending work is complete, and no stream is named */
	int bfloat16_as_void;
};

enum word { VERSION, SYNC, SYNCHRONIZE, BFLOAT16_AS_VOID, WORDS };

static int read_version(PyObject *value, int *out)
{
	long version = value ? PyLong_AsLong(value) : BI_CAI_VERSION;

	if (version == -1 && PyErr_Occurred())
		return bip_refuse_range(PyExc_ValueError, "version", value, "0..3 [P17]");
	if (version < 0 || version > BI_CAI_VERSION)
		return bip_refuse(PyExc_ValueError, "version is %ld, not in 0..%d [P17]", version, BI_CAI_VERSION);
	*out = (int)version;
	return 0;
}

static int read_options(PyObject *const *args, Py_ssize_t count, PyObject *names, struct options *out)
{
	static const struct bip_signature signature = {
		.function = "cuda_array_interface",
		.positional = 1,
		.names = { "version", "sync", "synchronize", "bfloat16_as_void" },
	};
	PyObject *values[WORDS];

	out->sync = 1;
	out->synchronize = out->bfloat16_as_void = 0;
	if (bip_arguments(&signature, args, count, names, values) || read_version(values[VERSION], &out->version) ||
	    bip_truth("sync", values[SYNC], &out->sync) ||
	    bip_truth("synchronize", values[SYNCHRONIZE], &out->synchronize) ||
	    bip_truth("bfloat16_as_void", values[BFLOAT16_AS_VOID], &out->bfloat16_as_void))
		return -1;
	if (out->sync || !out->synchronize)
		return 0;
	return bip_refuse(PyExc_ValueError,
			  "synchronize=True waits for pending work, and sync=False does not: they exclude each other");
}

static int describe_with_options(const struct bi_view *view, const struct options *options, struct bi_cai *cai)
{
	unsigned flags = !options->sync ? BI_CAI_UNORDERED : options->synchronize ? BI_CAI_SYNCHRONIZE : 0;
	struct bi_error err;
	int rc = describe_view(view, options->version, flags, cai, &err);
	return bip_check(rc, &err, bip_raise_export);
}

/*
 * Returns a view of bfloat16 elements as two bytes without a type, as PyTorch exports them [P12]. Takes ownership of
 * `view`, also on failure.
 */
static struct bi_view *view_as_void(struct bi_view *view)
{
	struct bi_view *pairs;
	struct bi_dtype dtype;
	struct bi_error err;
	int rc = bi_dtype_make(BI_VOID, 1, 2, &dtype, &err);

	if (!rc)
		rc = bi_view_reinterpret(view, dtype, NULL, &pairs, &err);
	bip_release_view(view);
	return rc ? bip_raise_export(rc, &err) : pairs;
}

/* Waits for the mask where the export of the array waits. The mask has its own dictionary, which may name a stream. */
static int wait_for_mask(PyObject *mask, const struct options *options)
{
	struct bi_view *view = bip_hold(mask);
	struct bi_cai cai;
	int rc = view ? describe_with_options(view, options, &cai) : -1;

	bip_release_view(view);
	return rc;
}

/* Makes the dictionary of cuda_array_interface(). Takes ownership of the view, also on failure. */
static PyObject *make_with_options(PyObject *mask, struct bi_view *view, const struct options *options)
{
	struct bi_dtype dtype = bi_view_dtype(view);
	int is_bfloat16 = options->bfloat16_as_void && dtype.type == BI_BFLOAT16 && dtype.lanes == 1;
	int waits = options->synchronize || options->version < BI_CAI_VERSION;
	PyObject *dict = NULL;
	struct bi_cai cai;

	if (is_bfloat16)
		view = view_as_void(view);
	if (!view)
		return NULL;
	if (!(mask && waits && wait_for_mask(mask, options)) && !describe_with_options(view, options, &cai)) {
		if (is_bfloat16)
			strcpy(cai.typestr, PY_LITTLE_ENDIAN ? "<V2" : ">V2");
		dict = make_dict(mask, view, &cai);
	}
	bip_release_view(view);
	return dict;
}

PyObject *bip_cuda_array_interface(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	struct options options;
	PyObject *mask, *dict = NULL;
	struct bi_view *view;

	if (read_options(args, count, names, &options))
		return NULL;
	mask = bip_mask(self);
	view = bip_hold(self);
	if (view && mask && options.version == 0) {
		PyErr_SetString(bip_UnsupportedError, "version 0 has no key for the mask of a masked array [P17]");
		bip_release_view(view);
	} else if (view)
		dict = make_with_options(mask, view, &options);
	Py_XDECREF(mask);
	return dict;
}
