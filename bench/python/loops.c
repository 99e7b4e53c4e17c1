/*
 * Loops in C around exchanges of an array with an extension, for bench/run
 *
 * Each function repeats its exchange n times as an extension would do it, from the argument to the pointer and back,
 * and returns (seconds, address): the duration of all of them, and the address of the first element. An exchange that
 * fails ends the loop with its exception.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <time.h>

#include <buffer_interface/dlpack.h>
#include <buffer_interface/python.h>

/* DLPackExchangeAPI of dlpack.h 1.3. */
struct dl_table {
	struct bi_dl_version version;
	struct dl_table *previous;
	int (*allocate)(struct bi_dl_tensor *prototype, struct bi_dl_managed_versioned **out, void *context,
			void (*set_error)(void *context, const char *kind, const char *message));
	int (*from_object)(void *object, struct bi_dl_managed_versioned **out);
	int (*to_object)(struct bi_dl_managed_versioned *tensor, void **out);
	int (*tensor_from_object)(void *object, struct bi_dl_tensor *out);
	int (*work_stream)(int32_t device_type, int32_t device_id, void **out);
};

/* One exchange of an object. Writes the address of its first element. */
typedef int exchange_fn(PyObject *object, const struct dl_table *table, uintptr_t *address);

static int borrow(PyObject *object, const struct dl_table *table, uintptr_t *address)
{
	struct bi_exchange array;

	(void)table;
	if (bi_python_borrow(object, &array) < 0)
		return -1;
	*address = (uintptr_t)(array.handle + array.offset);
	array.release(&array);
	return 0;
}

static int take(PyObject *object, const struct dl_table *table, uintptr_t *address)
{
	struct bi_exchange array;

	(void)table;
	if (bi_python_take(object, &array) < 0)
		return -1;
	*address = (uintptr_t)(array.handle + array.offset);
	array.release(&array);
	return 0;
}

static int dl_tensor(PyObject *object, const struct dl_table *table, uintptr_t *address)
{
	struct bi_dl_tensor tensor;

	if (table->tensor_from_object(object, &tensor))
		return -1;
	*address = (uintptr_t)tensor.data + (uintptr_t)tensor.byte_offset;
	return 0;
}

static int dl_managed(PyObject *object, const struct dl_table *table, uintptr_t *address)
{
	struct bi_dl_managed_versioned *managed;

	if (table->from_object(object, &managed))
		return -1;
	*address = (uintptr_t)managed->tensor.data + (uintptr_t)managed->tensor.byte_offset;
	managed->deleter(managed);
	return 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Inlined into each caller, so that the exchange is not called through a pointer. */
static inline __attribute__((always_inline)) PyObject *repeat(exchange_fn *exchange, PyObject *object,
							      const struct dl_table *table, Py_ssize_t n)
{
	uintptr_t address = 0;
	double start = now();

	for (Py_ssize_t i = 0; i < n; i++)
		if (exchange(object, table, &address))
			return NULL;
	return Py_BuildValue("dK", now() - start, (unsigned long long)address);
}

static PyObject *time_borrow(PyObject *module, PyObject *args)
{
	PyObject *object;
	Py_ssize_t n;

	(void)module;
	return PyArg_ParseTuple(args, "On", &object, &n) ? repeat(borrow, object, NULL, n) : NULL;
}

static PyObject *time_take(PyObject *module, PyObject *args)
{
	PyObject *object;
	Py_ssize_t n;

	(void)module;
	return PyArg_ParseTuple(args, "On", &object, &n) ? repeat(take, object, NULL, n) : NULL;
}

/* Returns the table on the type of an object. It is valid for the life of the process, as DLPack requires. */
static const struct dl_table *find_table(PyObject *object)
{
	PyObject *capsule = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
	const struct dl_table *table = capsule ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;

	Py_XDECREF(capsule);
	if (!table || table->version.major == BI_DLPACK_MAJOR)
		return table;
	PyErr_Format(PyExc_BufferError, "the exchange table has major version %u, not %d", table->version.major,
		     BI_DLPACK_MAJOR);
	return NULL;
}

static PyObject *time_dl_tensor(PyObject *module, PyObject *args)
{
	const struct dl_table *table;
	PyObject *object;
	Py_ssize_t n;

	(void)module;
	if (!PyArg_ParseTuple(args, "On", &object, &n))
		return NULL;
	table = find_table(object);
	if (table && !table->tensor_from_object)
		PyErr_SetString(PyExc_BufferError, "the exchange table has no dltensor_from_py_object_no_sync");
	return table && table->tensor_from_object ? repeat(dl_tensor, object, table, n) : NULL;
}

static PyObject *time_dl_managed(PyObject *module, PyObject *args)
{
	const struct dl_table *table;
	PyObject *object;
	Py_ssize_t n;

	(void)module;
	if (!PyArg_ParseTuple(args, "On", &object, &n))
		return NULL;
	table = find_table(object);
	return table ? repeat(dl_managed, object, table, n) : NULL;
}

/* A producer of the exchange structure: 3 x 4 numbers in static memory, so a release has nothing to do. */

static float numbers[3][4];

static void release_numbers(struct bi_exchange *self)
{
	self->release = NULL;
}

static int acquire_numbers(PyObject *object, uint32_t wishes, struct bi_exchange *out)
{
	static const int64_t shape[2] = { 3, 4 }, strides[2] = { sizeof(numbers[0]), sizeof(float) };

	(void)object;
	if (out->version != BI_ABI_VERSION || out->struct_size != sizeof(*out) || wishes & 0xffff) {
		PyErr_SetString(PyExc_BufferError, "an unknown version, size or demand");
		out->release = NULL;
		return -1;
	}
	*out = (struct bi_exchange){ .version = BI_ABI_VERSION,
				     .struct_size = sizeof(*out),
				     .release = release_numbers,
				     .shape = shape,
				     .strides = strides,
				     .handle = (uintptr_t)numbers,
				     .size = sizeof(numbers),
				     .flags = BI_C_CONTIGUOUS,
				     .device_type = BI_EXCHANGE_DEVICE_CPU,
				     .item_size = sizeof(float),
				     .type_code = 2,
				     .type_bits = 32,
				     .type_lanes = 1,
				     .ndim = 2,
				     .handle_kind = BI_HANDLE_HOST };
	return 0;
}

static PyType_Slot no_slots[] = { { 0, NULL } };
static PyType_Spec producer = { "loops.Producer", 0, 0, Py_TPFLAGS_DEFAULT, no_slots };

/* Adds a reference of the object to the type, or returns -1 with an exception. */
static int add_to_type(PyObject *type, const char *name, PyObject *value)
{
	int rc = value ? PyObject_SetAttrString(type, name, value) : -1;

	Py_XDECREF(value);
	return rc;
}

static int add_producer(PyObject *module)
{
	static const struct bi_python_api api = { BI_ABI_VERSION, sizeof(api), acquire_numbers };
	PyObject *type = PyType_FromSpec(&producer);
	int rc = -1;

	if (type && !add_to_type(type, BI_PYTHON_ATTRIBUTE, PyCapsule_New((void *)&api, BI_PYTHON_CAPSULE, NULL)) &&
	    !add_to_type(type, "address", PyLong_FromVoidPtr(numbers)))
		rc = PyModule_AddObjectRef(module, "Producer", type);
	Py_XDECREF(type);
	return rc;
}

static PyMethodDef functions[] = {
	{ "borrow", time_borrow, METH_VARARGS, "borrow(array, n)\n--\n\nbi_python_borrow and release." },
	{ "take", time_take, METH_VARARGS, "take(array, n)\n--\n\nbi_python_take and release." },
	{ "dl_tensor", time_dl_tensor, METH_VARARGS, "dl_tensor(array, n)\n--\n\ndltensor_from_py_object_no_sync." },
	{ "dl_managed", time_dl_managed, METH_VARARGS,
	  "dl_managed(array, n)\n--\n\nmanaged_tensor_from_py_object_no_sync and the tensor's deleter." },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "loops",
	.m_size = 0,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit_loops(void);

PyMODINIT_FUNC PyInit_loops(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (module && add_producer(module))
		Py_CLEAR(module);
	return module;
}
