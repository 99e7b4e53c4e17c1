/* The CUDA Array Interface as a producer: what bi_cai_export says, as a dictionary. */
#include <stdatomic.h>
#include <string.h>

#include "arguments.h"
#include "dtype.h"
#include "errors.h"
#include "lifetime.h"
#include "names.h"
#include "object.h"
#include "shapes.h"
#include "export/export.h"
#include "export/pattern.h"

/* Everything that __cuda_array_interface__ raises is AttributeError, so that hasattr() tells the truth [P14]. */
static PyObject *raise_missing(int rc, const struct bi_error *err)
{
	if (rc != BI_EUNSUPPORTED && rc != BI_EDTYPE)
		return bip_raise_export(rc, err);
	PyErr_SetString(PyExc_AttributeError, err->message);
	return NULL;
}

static int put(PyObject *dict, PyObject *key, PyObject *value)
{
	int rc = value ? PyDict_SetItem(dict, key, value) : -1;

	Py_XDECREF(value);
	return rc;
}

/* A copy of a dictionary that has the keys already is faster than one that grows. */
static PyObject *make_pattern(void)
{
	return Py_BuildValue("{OOOOOOOOOiOO}", bip_name.shape, Py_None, bip_name.typestr, Py_None, bip_name.data,
			     Py_None, bip_name.strides, Py_None, bip_name.version, BI_CAI_VERSION, bip_name.stream,
			     Py_None);
}

/* Of threads that make one at once the first keeps his, for ever. */
static PyObject *new_dict(void)
{
	static _Atomic(PyObject *) kept;
	PyObject *pattern = atomic_load_explicit(&kept, memory_order_acquire), *first = NULL;

	if (!pattern) {
		pattern = make_pattern();
		if (!pattern)
			return NULL;
		if (!atomic_compare_exchange_strong(&kept, &first, pattern)) {
			Py_DECREF(pattern);
			pattern = first;
		}
	}
	return PyDict_Copy(pattern);
}

static PyObject *address_pair(const struct bi_cai *cai)
{
	PyObject *address = PyLong_FromUnsignedLongLong(cai->data);
	PyObject *pair = address ? PyTuple_Pack(2, address, cai->readonly ? Py_True : Py_False) : NULL;

	Py_XDECREF(address);
	return pair;
}

static int put_version(PyObject *dict, const struct bi_cai *cai)
{
	if (cai->stream_kind == BI_CAI_STREAM_GIVEN)
		return put(dict, bip_name.stream, PyLong_FromUnsignedLongLong(cai->stream));
	if (cai->version == BI_CAI_VERSION)
		return 0;
	if (PyDict_DelItem(dict, bip_name.stream))
		return -1;
	return put(dict, bip_name.version, PyLong_FromLong(cai->version));
}

static int put_all(PyObject *dict, const struct bi_cai *cai)
{
	if (put(dict, bip_name.shape, bip_tuple(cai->shape, cai->ndim)) ||
	    put(dict, bip_name.typestr, PyUnicode_FromString(cai->typestr)) ||
	    put(dict, bip_name.data, address_pair(cai)) || put_version(dict, cai))
		return -1;
	return cai->strides ? put(dict, bip_name.strides, bip_tuple(cai->strides, cai->ndim)) : 0;
}

static PyObject *make_dict(PyObject *mask, const struct bi_view *view, const struct bi_cai *cai)
{
	PyObject *dict = new_dict();

	if (!dict || put_all(dict, cai) || (cai->descr && put(dict, bip_name.descr, bip_dtype_descr(view))) ||
	    (mask && PyDict_SetItem(dict, bip_name.mask, mask)))
		Py_CLEAR(dict);
	return dict;
}

/* A thread that waits for a device may have the lock of memory that is not idle; and the host may have to wait. */
static int fill_in(const struct bi_view *view, int version, unsigned flags, struct bi_cai *cai, struct bi_error *err)
{
	int rc = bi_cai_export(view, version, flags | BI_CAI_NONBLOCKING, cai, err);

	if (rc != BI_EBUSY)
		return rc;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_cai_export(view, version, flags, cai, err);
	Py_END_ALLOW_THREADS
	return rc;
}

/* As long as the object has the view, which is the rule, this is not the last reference to it. */
static void end_of_hold(PyObject *self, struct bi_view *view)
{
	int is_kept;

	BIP_LOCK(self)
	is_kept = ((const struct bip_object *)self)->view == view;
	if (is_kept)
		bi_view_release(view);
	BIP_UNLOCK()
	if (!is_kept)
		bip_release_view(view);
}

/* The dictionary is taken, also on failure. */
static PyObject *with_stream(PyObject *dict, const struct bi_cai *cai)
{
	if (put_version(dict, cai))
		Py_CLEAR(dict);
	return dict;
}

static PyObject *make_or_copy(PyObject *self, PyObject *mask, const struct bi_view *view, const struct bi_cai *cai)
{
	PyObject *dict = bip_copy_pattern(self, 1);

	if (dict)
		return with_stream(dict, cai);
	dict = make_dict(mask, view, cai);
	if (dict)
		bip_keep_pattern(self, dict, 1);
	return dict;
}

/* The mask first: who releases the array meanwhile takes both. */
static PyObject *get_slowly(PyObject *self)
{
	PyObject *mask = bip_mask(self), *dict = NULL;
	struct bi_view *view = bip_hold(self);
	struct bi_error err;
	struct bi_cai cai;
	int rc;

	if (view) {
		rc = fill_in(view, BI_CAI_VERSION, 0, &cai, &err);
		dict = rc ? raise_missing(rc, &err) : make_or_copy(self, mask, view, &cai);
		end_of_hold(self, view);
	}
	Py_XDECREF(mask);
	return dict;
}

PyObject *bip_get_cuda_array_interface(PyObject *self, void *closure)
{
	PyObject *dict = bip_copy_idle_pattern(self, 1);

	(void)closure;
	return dict ? dict : get_slowly(self);
}

/* The method, with its options */

struct options {
	int version;
	int sync; /* 0: no stream is named and nothing is waited for */
	int synchronize; /* 1: host wait first */
	int bfloat16_as_void;
};

enum word { VERSION, SYNC, SYNCHRONIZE, BFLOAT16_AS_VOID, WORDS };

static int read_version(PyObject *value, int *out)
{
	long version = value ? PyLong_AsLong(value) : BI_CAI_VERSION;

	if (version == -1 && PyErr_Occurred())
		return -1;
	if (version < 0 || version > BI_CAI_VERSION) {
		PyErr_Format(PyExc_ValueError, "version is %ld, not in 0..%d [P17]", version, BI_CAI_VERSION);
		return -1;
	}
	*out = (int)version;
	return 0;
}

static int read_truth(PyObject *value, int otherwise, int *out)
{
	*out = value ? PyObject_IsTrue(value) : otherwise;
	return *out < 0 ? -1 : 0;
}

static int read_options(PyObject *const *args, Py_ssize_t count, PyObject *names, struct options *out)
{
	static const struct bip_signature signature = {
		.function = "cuda_array_interface",
		.positional = 1,
		.names = { "version", "sync", "synchronize", "bfloat16_as_void" },
	};
	PyObject *values[WORDS];

	if (bip_arguments(&signature, args, count, names, values) || read_version(values[VERSION], &out->version) ||
	    read_truth(values[SYNC], 1, &out->sync) || read_truth(values[SYNCHRONIZE], 0, &out->synchronize) ||
	    read_truth(values[BFLOAT16_AS_VOID], 0, &out->bfloat16_as_void))
		return -1;
	if (out->sync || !out->synchronize)
		return 0;
	PyErr_SetString(PyExc_ValueError, "synchronize is True, which asks for a wait, and sync False, for none");
	return -1;
}

static int export(const struct bi_view *view, const struct options *options, struct bi_cai *cai)
{
	unsigned flags = !options->sync ? BI_CAI_UNORDERED : options->synchronize ? BI_CAI_SYNCHRONIZE : 0;
	struct bi_error err;
	int rc = fill_in(view, options->version, flags, cai, &err);
	if (rc)
		bip_raise_export(rc, &err);
	return rc ? -1 : 0;
}

/* Two bytes without a meaning, in the byte order that they have: what PyTorch says of bfloat16 too [P12]. */
static struct bi_view *as_void(struct bi_view *view)
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

static PyObject *dict_with(PyObject *mask, struct bi_view *view, const struct options *options)
{
	struct bi_dtype dtype = bi_view_dtype(view);
	int is_bfloat16 = options->bfloat16_as_void && dtype.type == BI_BFLOAT16 && dtype.lanes == 1;
	PyObject *dict = NULL;
	struct bi_cai cai;

	if (is_bfloat16)
		view = as_void(view);
	if (!view)
		return NULL;
	if (export(view, options, &cai) == 0) {
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
		PyErr_SetString(bip_UnsupportedError, "version 0 cannot say that the array is masked [P17]");
		bip_release_view(view);
	} else if (view)
		dict = dict_with(mask, view, &options);
	Py_XDECREF(mask);
	return dict;
}
