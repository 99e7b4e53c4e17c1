/* The module buffer_interface._core. */
#include <limits.h>

#include "contexts.h"
#include "devices.h"
#include "handle.h"
#include "type.h"
#include "base/errors.h"
#include "base/names.h"
#include "import/import.h"
#include "operations/operations.h"

static PyObject *close_contexts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
	bip_contexts_close(1);
	Py_RETURN_NONE;
}

static PyObject *trim(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
	bip_contexts_close(0);
	Py_RETURN_NONE;
}

static PyObject *threads(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
	return PyLong_FromLong(bi_threads());
}

static PyObject *set_threads(PyObject *Py_UNUSED(module), PyObject *count)
{
	struct bi_error err;
	int overflow, rc;
	long number = PyLong_AsLongAndOverflow(count, &overflow);

	if (number == -1 && PyErr_Occurred() && bip_refuse_range(PyExc_ValueError, "count", count, ""))
		return NULL;
	if (overflow || number < INT_MIN || number > INT_MAX)
		return PyErr_Format(PyExc_ValueError, "%S threads are not in 0..%d", bip_printable(count),
				    BI_MAX_THREADS);
	rc = bi_set_threads((int)number, &err);
	return rc ? bip_raise(rc, &err) : Py_NewRef(Py_None);
}

/* Returns True if the type of the object has an attribute of an array protocol, or the buffer protocol. */
static PyObject *has_protocol(PyObject *Py_UNUSED(module), PyObject *object)
{
	return PyBool_FromLong(bip_has_protocol(Py_TYPE(object)));
}

/* clang-format off */
static PyMethodDef functions[] = {
	{ "buffer_interface", FAST(bip_buffer_interface), FAST_WORDS,
	  "buffer_interface($module, obj, /, *, stream=None, producer_stream=None, sync=True, writable=None, "
	  "mask='refuse', check=True, trust=False, protocol=None, copy=False)\n--\n\n"
	  "Returns an array of host, OpenCL or CUDA memory as a BufferInterface, without a copy unless copy=True, or for\n"
	  "a NumPy scalar. The array may be of any library that supports one of the protocols below. The memory is kept\n"
	  "as long as the result or an export that holds a reference. If obj keeps the result, both are freed only after\n"
	  "release(), because the garbage collector does not see this cycle.\n\n"
	  "stream           work enqueued on it from now on waits for the producer's work; at the end of a\n"
	  "                 `with` block the producer's later work waits for the work on the stream\n"
	  "producer_stream  the stream of the producer's work, in place of the one that the producer names\n"
	  "sync             False: the library orders nothing; the caller orders the work\n"
	  "writable         True: refuse a read-only array; False: return a read-only view\n"
	  "mask             'refuse': UnsupportedError for a masked array; 'keep': the mask becomes .mask. An array\n"
	  "                 of numpy.ma that has a mask is always refused, because its masks are True for the\n"
	  "                 elements that do not count\n"
	  "check            False: the driver does not check pointers, except those of 'native'\n"
	  "trust            True: accept handles that cannot be checked\n"
	  "protocol         use this protocol only: 'native', 'pyopencl', 'cuda_array_interface', 'dlpack', 'draft',\n"
	  "                 'buffer', 'array_struct' or 'array_interface'. Without it they are tried in this order,\n"
	  "                 but DLPack comes before a CUDA dictionary that names neither a stream nor a mask. 'draft' is\n"
	  "                 __buffer_interface__(), or the attributes of the specification, section 2\n"
	  "copy             True: return a dense copy on the same device\n\n"
	  "A numpy.ndarray needs no protocol call: its C struct is read, or its buffer. A NumPy scalar is copied, so the result\n"
	  "is read-only; a structured one is not copied. A DLPack capsule is accepted as well. The strides and the\n"
	  "offset of the result are in bytes.\n\n"
	  "TypeError: obj supports no protocol. InvalidArrayError: obj is described wrongly. UnsupportedError: the\n"
	  "library does not support the array.\n\n"
	  ">>> numbers = numpy.arange(6.0)\n"
	  ">>> view = buffer_interface.buffer_interface(numbers)\n"
	  ">>> view[::2].fill(9)\n"
	  ">>> numbers\n"
	  "array([9., 1., 9., 3., 9., 5.])" },
	{ "devices", bip_devices, METH_NOARGS,
	  "devices($module, /)\n--\n\n"
	  "Returns a list of Device: the usable devices, the best first, then backends and devices that cannot be\n"
	  "used, each with its reason." },
	{ "threads", threads, METH_NOARGS,
	  "threads($module, /)\n--\n\nReturns how many threads share a large copy on the CPU." },
	{ "set_threads", set_threads, METH_O,
	  "set_threads($module, count, /)\n--\n\n"
	  "Sets how many threads share a large copy on the CPU, from the next copy on: 1 to 64, or 0 for the default,\n"
	  "which is the environment variable BI_THREADS, else the CPUs of this process up to 8. ValueError for other\n"
	  "counts." },
	{ "empty", FAST(bip_empty), FAST_WORDS,
	  "empty(shape, dtype='float64', *, device='auto', stream=None)\n--\n\n"
	  "Returns a dense array in C order whose elements are undefined. `device` is a device string, a CUDA ordinal,\n"
	  "(platform, ordinal) of OpenCL, an entry of devices() or a BufferInterface; 'auto' is the device that the\n"
	  "environment variable BI_DEVICE names, else the best one. Work enqueued on the stream from now on may use\n"
	  "the array. DriverError if the device cannot be opened." },
	{ "zeros", FAST(bip_zeros), FAST_WORDS,
	  "zeros(shape, dtype='float64', *, device='auto', stream=None)\n--\n\n"
	  "Like empty(), with every byte set to 0. The fill is enqueued." },
	{ "full", FAST(bip_full), FAST_WORDS,
	  "full(shape, value, dtype=None, *, device='auto', stream=None)\n--\n\n"
	  "Like empty(), with every element set to the value: a number, or an array of one element. Without a dtype the\n"
	  "type is NumPy's for the value: that of an array or a NumPy scalar, else bool, int64, float64 or complex128. The\n"
	  "fill is enqueued. OverflowError for an integer that does not fit.\n\n"
	  ">>> buffer_interface.full((2, 3), 7, device='host').tolist()\n"
	  "[[7, 7, 7], [7, 7, 7]]" },
	{ "empty_like", FAST(bip_empty_like), FAST_WORDS,
	  "empty_like(x, *, device=None)\n--\n\n"
	  "Returns a dense array in C order with the shape and element type of the array `x`, on its device or\n"
	  "on `device`." },
	{ "copyto", FAST(bip_copyto), FAST_WORDS,
	  "copyto(dst, src, *, stream=None)\n--\n\n"
	  "Copies dst[...] = src between any arrays on any devices. `src` is broadcast to the shape of `dst`, or is a\n"
	  "scalar. TypeError if the element types differ: bytes are copied, not converted. The copy is enqueued on the\n"
	  "stream, one of dst's device, or of src's device if dst is in host memory. Host memory has been read when\n"
	  "this returns. An array that is not a BufferInterface is copied completely before this returns, unless a\n"
	  "stream is given.\n\n"
	  ">>> target = numpy.zeros((2, 2))\n"
	  ">>> buffer_interface.copyto(target, buffer_interface.full(2, 5.0, device='opencl'))\n"
	  ">>> target.tolist()\n"
	  "[[5.0, 5.0], [5.0, 5.0]]" },
	{ "asarray", FAST(bip_asarray), FAST_WORDS,
	  "asarray(obj, *, dtype=None, device=None, copy=None)\n--\n\n"
	  "Returns any array as a BufferInterface. It is copied if it is not on `device`, or if copy is True.\n"
	  "ValueError if a copy is necessary and copy is False. TypeError if the element type is not `dtype`." },
	{ "shares_memory", FAST(bip_shares_memory), FAST_WORDS,
	  "shares_memory(a, b)\n--\n\n"
	  "Returns True if an element of one array shares a byte with an element of the other. Also returns True if the\n"
	  "search exceeds 2**20 steps. Slices of dense arrays below 1 TiB never reach it." },
	{ "join", FAST(bip_join_streams), FAST_WORDS,
	  "join(streams, into, device)\n--\n\n"
	  "Work enqueued on the stream `into` from now on waits for the work that is now on each of the streams." },
	{ "trim", trim, METH_NOARGS,
	  "trim()\n--\n\nReturns unused memory to the drivers and closes unused adopted contexts." },
	{ "_has_protocol", has_protocol, METH_O, NULL },
	{ "_mark", bip_mark, METH_O, NULL },
	{ "_is_complete", bip_is_complete, METH_O, NULL },
	{ "_close_contexts", close_contexts, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
/* clang-format on */

static int is_loaded; /* 1: fill_module has succeeded */

/*
 * Refuses a sub-interpreter, and a second load in one process: the types, the exceptions and the cache of contexts are
 * static. A load that fails may be repeated.
 */
static int check_interpreter(void)
{
	if (PyInterpreterState_Get() != PyInterpreterState_Main())
		return bip_refuse(PyExc_ImportError, "buffer_interface cannot be imported in a sub-interpreter");
	return is_loaded ? bip_refuse(PyExc_ImportError, "buffer_interface._core can be loaded only once in a process")
			 : 0;
}

static int fill_module(PyObject *module)
{
	if (check_interpreter() || bip_names_init() || bip_errors_init(module) || bip_type_ready(module) ||
	    bip_handle_ready(module) || PyModule_AddType(module, &bip_map_type) || bip_devices_ready(module) ||
	    PyModule_AddStringConstant(module, "__version__", bi_version()))
		return -1;
	is_loaded = 1;
	return 0;
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, fill_module },
#if PY_VERSION_HEX >= 0x030C0000
	{ Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED },
#endif
#if PY_VERSION_HEX >= 0x030D0000
	{ Py_mod_gil, Py_MOD_GIL_NOT_USED },
#endif
	{ 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "buffer_interface._core",
	.m_methods = functions,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
	return PyModuleDef_Init(&definition);
}
