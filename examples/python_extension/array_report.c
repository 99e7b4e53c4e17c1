/*
 * A CPython extension that takes arrays of any kind
 *
 *     >>> import numpy, array_report
 *     >>> array_report.describe(numpy.zeros((2, 3), "f4"))
 *     {'device': 'CPU', 'ordinal': 0, 'type': 'f4', 'lanes': 1, 'shape': (2, 3), 'strides': (12, 4), ...}
 *     >>> array_report.total(numpy.arange(10.0)[::-2])
 *     25.0
 *
 * It is compiled with the header <buffer_interface/python.h> and linked to no library. describe() treats arrays of all
 * libraries (NumPy, CuPy, PyTorch, pyopencl, ...) and all devices alike. total() adds with the CPU, so it requires
 * memory that the CPU can read.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include <buffer_interface/python.h>

/* describe() */

static const char *device_name(int32_t type)
{
	switch (type) {
	case BI_EXCHANGE_DEVICE_CPU:
		return "CPU";
	case BI_EXCHANGE_DEVICE_CUDA:
		return "CUDA";
	case BI_EXCHANGE_DEVICE_CUDA_HOST:
		return "CUDA, pinned host memory";
	case BI_EXCHANGE_DEVICE_OPENCL:
		return "OpenCL";
	case BI_EXCHANGE_DEVICE_CUDA_MANAGED:
		return "CUDA, managed memory";
	default:
		return "unknown";
	}
}

static PyObject *tuple_of(const int64_t *numbers, int64_t count)
{
	PyObject *tuple = PyTuple_New((Py_ssize_t)count);

	for (Py_ssize_t i = 0; tuple && i < (Py_ssize_t)count; i++) {
		PyObject *number = PyLong_FromLongLong(numbers[i]);

		if (!number)
			Py_CLEAR(tuple);
		else
			PyTuple_SET_ITEM(tuple, i, number);
	}
	return tuple;
}

/* Texts, structures and swapped bytes are no vectors; their lanes express their size. */
static unsigned lanes_of(const struct bi_exchange *array)
{
	return array->type_code == 3 || !array->type_lanes ? 1 : array->type_lanes;
}

/* Returns "f4": the letter of DLPack's type code, and the bytes of one lane. Codes without a letter are '?'. */
static PyObject *type_name(const struct bi_exchange *array)
{
	static const char letters[] = "iuf??cb";

	if (array->descr)
		return PyUnicode_FromString(array->descr);
	return PyUnicode_FromFormat("%c%u", array->type_code < sizeof(letters) - 1 ? letters[array->type_code] : '?',
				    array->item_size / lanes_of(array));
}

/* A handle is not always an address, so the offset of the first element is reported separately. */
static PyObject *make_report(const struct bi_exchange *array)
{
	return Py_BuildValue("{sssisNsIsNsNsNsisKsKsK}", "device", device_name(array->device_type), "ordinal",
			     array->device_id, "type", type_name(array), "lanes", lanes_of(array), "shape",
			     tuple_of(array->shape, array->ndim), "strides", tuple_of(array->strides, array->ndim),
			     "readonly", PyBool_FromLong((array->flags & BI_READONLY) != 0), "order_kind",
			     (int)array->order_kind, "stream", (unsigned long long)array->stream, "handle",
			     (unsigned long long)array->handle, "offset", (unsigned long long)array->offset);
}

/* Nothing is kept after the call, so it is enough to borrow. */
static PyObject *describe(PyObject *module, PyObject *argument)
{
	struct bi_exchange array;
	PyObject *report;

	(void)module;
	if (bi_python_borrow(argument, &array) < 0)
		return NULL;
	report = make_report(&array);
	array.release(&array);
	return report;
}

/* total() */

static double read_number(const char *element, uint8_t code, uint32_t size)
{
	union {
		float f4;
		double f8;
		int32_t i4;
		int64_t i8;
	} number;

	memcpy(&number, element, size);
	if (code == 2)
		return size == 4 ? (double)number.f4 : number.f8;
	return size == 4 ? (double)number.i4 : (double)number.i8;
}

/* Adds along any strides, from the outermost dimension to the innermost. */
static double add(const struct bi_exchange *array, const char *element, int64_t dimension)
{
	double sum = 0;

	if (dimension == array->ndim)
		return read_number(element, array->type_code, array->item_size);
	for (int64_t i = 0; i < array->shape[dimension]; i++)
		sum += add(array, element + i * array->strides[dimension], dimension + 1);
	return sum;
}

static int check(const struct bi_exchange *array)
{
	if (array->handle_kind != BI_HANDLE_HOST) {
		PyErr_Format(PyExc_TypeError, "the array is in memory of %s; copy it to the host first",
			     device_name(array->device_type));
		return -1;
	}
	if ((array->type_code != 2 && array->type_code != 0) || (array->item_size != 4 && array->item_size != 8) ||
	    array->type_lanes != 1) {
		PyErr_SetString(PyExc_TypeError, "the elements are not float or int of 4 or 8 bytes");
		return -1;
	}
	return 0;
}

/*
 * The buffer is acquired: it stays valid without the GIL, even if the object is changed meanwhile. Host memory can have
 * pending work too, such as a copy of a GPU into pinned memory. The CPU knows no streams, so it asks for memory that is
 * ready, for reading.
 */
static PyObject *total(PyObject *module, PyObject *argument)
{
	struct bi_exchange array;
	double sum = 0;
	int rc;

	(void)module;
	if (bi_python_acquire(argument, BI_ACQUIRE_READY | BI_ACQUIRE_READING, &array) < 0)
		return NULL;
	rc = check(&array);
	if (!rc) {
		Py_BEGIN_ALLOW_THREADS
		sum = add(&array, (const char *)(uintptr_t)(array.handle + array.offset), 0);
		Py_END_ALLOW_THREADS
	}
	array.release(&array);
	return rc ? NULL : PyFloat_FromDouble(sum);
}

/* same_shape(): two arguments of any kind in one line. */
static PyObject *same_shape(PyObject *module, PyObject *args)
{
	struct bi_exchange a, b;
	int is_same;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&:same_shape", bi_python_converter, &a, bi_python_converter, &b))
		return NULL;
	is_same = a.ndim == b.ndim && (!a.ndim || memcmp(a.shape, b.shape, (size_t)a.ndim * sizeof(a.shape[0])) == 0);
	a.release(&a);
	b.release(&b);
	return PyBool_FromLong(is_same);
}

/* The module */

static PyMethodDef functions[] = {
	{ "describe", describe, METH_O, "describe(array)\n--\n\nWhere an array is and how it lies there, as a dict." },
	{ "total", total, METH_O, "total(array)\n--\n\nThe sum of the elements of an array in host memory." },
	{ "same_shape", same_shape, METH_VARARGS, "same_shape(a, b)\n--\n\nTrue if two arrays have the same shape." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, .m_name = "array_report", .m_size = 0,
					 .m_methods = functions };

PyMODINIT_FUNC PyInit_array_report(void);

PyMODINIT_FUNC PyInit_array_report(void)
{
	return PyModuleDef_Init(&definition);
}
