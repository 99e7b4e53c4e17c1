/*
 * Plain NumPy arrays of numbers, read from their members
 *
 * The buffer protocol is slow for NumPy arrays, because NumPy writes a format. The members of numpy.ndarray are part of
 * NumPy's binary interface: extensions read them, for example by PyArray_DATA. This file is compiled without NumPy, and
 * does not import NumPy. The members of the first array of numbers are compared with its __array_struct__. If they
 * differ, the buffer protocol is used from then on. Only an array of numbers is compared: NumPy writes wrong flags into
 * the __array_struct__ of a structured array.
 */
#include <stdatomic.h>
#include <string.h>

#include "host_memory.h"
#include "base/names.h"
#include "import/format.h"
#include "import/import.h"
#include "import/values.h"

/* The first members of NumPy's structs PyArray_Descr and PyArrayObject_fields. They are the same in NumPy 1 and 2. */
struct descr {
	PyObject_HEAD PyTypeObject *type;
	char kind, letter, byteorder, flags;
	int number;
};

struct ndarray {
	PyObject_HEAD char *data;
	int nd;
	Py_ssize_t *shape;
	Py_ssize_t *strides;
	PyObject *base;
	struct descr *descr;
	int flags;
};

#define WARN_ON_WRITE 0x80000000u

/* Element types, indexed by NumPy's type number. Size 0: this file does not read the type. */
static const struct bi_dtype types[] = {
	[0] = { 1, 1, BI_BOOL, 0 },
	[1] = { 1, 1, BI_INT8, 0 },
	[2] = { 1, 1, BI_UINT8, 0 },
	[3] = { sizeof(short), 1, BIP_SIGNED(short), 0 },
	[4] = { sizeof(short), 1, BIP_UNSIGNED(short), 0 },
	[5] = { sizeof(int), 1, BIP_SIGNED(int), 0 },
	[6] = { sizeof(int), 1, BIP_UNSIGNED(int), 0 },
	[7] = { sizeof(long), 1, BIP_SIGNED(long), 0 },
	[8] = { sizeof(long), 1, BIP_UNSIGNED(long), 0 },
	[9] = { sizeof(long long), 1, BIP_SIGNED(long long), 0 },
	[10] = { sizeof(long long), 1, BIP_UNSIGNED(long long), 0 },
	[11] = { 4, 1, BI_FLOAT32, 0 },
	[12] = { 8, 1, BI_FLOAT64, 0 },
	[14] = { 8, 1, BI_COMPLEX64, 0 },
	[15] = { 16, 1, BI_COMPLEX128, 0 },
	[23] = { 2, 1, BI_FLOAT16, 0 },
};

/* The type numpy.ndarray; NULL until its members have been found at the expected places. */
static _Atomic(PyTypeObject *) known;
static atomic_int has_other_members; /* 1: the members of numpy.ndarray are at other places */

/* Returns the element type. Returns NULL for a type that this file does not read, and for the other byte order. */
static const struct bi_dtype *dtype_of(const struct ndarray *array)
{
	unsigned number = (unsigned)array->descr->number;

	if (number >= Py_ARRAY_LENGTH(types) || !types[number].item_size)
		return NULL;
	return array->descr->byteorder == '=' || array->descr->byteorder == '|' ? &types[number] : NULL;
}

int bip_is_readonly_ndarray(unsigned flags)
{
	return !(flags & BIP_ARRAY_WRITEABLE) || flags & WARN_ON_WRITE;
}

static int is_readonly(const struct ndarray *array)
{
	return bip_is_readonly_ndarray((unsigned)array->flags);
}

/* Returns true if the members have the values of the array's __array_struct__. */
static int members_agree(const struct ndarray *array, const struct bip_array_struct *described)
{
	size_t nbytes;

	if (array->nd != described->nd || array->data != described->data || array->descr->kind != described->typekind)
		return 0;
	if (is_readonly(array) != !(described->flags & BIP_ARRAY_WRITEABLE))
		return 0;
	if (dtype_of(array)->item_size != (uint32_t)described->itemsize)
		return 0;
	nbytes = (size_t)array->nd * sizeof(Py_ssize_t);
	return !nbytes || (memcmp(array->shape, described->shape, nbytes) == 0 &&
			   memcmp(array->strides, described->strides, nbytes) == 0);
}

/*
 * If the object is an array of numbers, compares its members with its __array_struct__, and stores the result. A
 * failure to get __array_struct__ counts as a difference.
 */
static void check_first_array(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);
	const struct bip_array_struct *described;
	PyObject *capsule;

	if (bip_find_ndarray(type) != type || type->tp_basicsize < (Py_ssize_t)sizeof(struct ndarray) ||
	    !dtype_of((const struct ndarray *)object))
		return;
	capsule = PyObject_GetAttr(object, bip_name.__array_struct__);
	described = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
	if (described && members_agree((const struct ndarray *)object, described))
		atomic_store(&known, type);
	else
		atomic_store(&has_other_members, 1);
	PyErr_Clear();
	Py_XDECREF(capsule);
}

static void read_layout(const struct ndarray *array, const struct bi_dtype *dtype, struct bi_layout *out)
{
	out->dtype = *dtype;
	out->ndim = array->nd;
	out->offset = 0;
	out->descr = NULL;
	out->descr_length = 0;
	for (int i = 0; i < array->nd; i++) {
		out->shape[i] = array->shape[i];
		out->strides[i] = array->strides[i];
	}
}

int bip_import_ndarray(PyObject *object, struct bip_found *found)
{
	const struct ndarray *array = (const struct ndarray *)object;
	const struct bi_dtype *dtype;
	struct bi_layout layout;

	if (!atomic_load_explicit(&known, memory_order_relaxed) && !atomic_load(&has_other_members))
		check_first_array(object);
	if (Py_TYPE(object) != atomic_load_explicit(&known, memory_order_relaxed))
		return 0;
	dtype = dtype_of(array);
	if (!dtype || array->nd > BI_MAX_NDIM)
		return 0;
	read_layout(array, dtype, &layout);
	return bip_wrap_host((uintptr_t)array->data, is_readonly(array), &layout, object, &found->view) ? -1 : 1;
}
