/* The module buffer_interface._core. */
#include "contexts.h"
#include "devices.h"
#include "errors.h"
#include "handle.h"
#include "names.h"
#include "threads.h"
#include "type.h"
#include "import/import.h"
#include "operations/operations.h"

#define FAST(function) ((PyCFunction)(void (*)(void))(function))
#define FAST_WORDS (METH_FASTCALL | METH_KEYWORDS)

static PyObject *close_contexts(PyObject *module, PyObject *none)
{
	(void)module;
	(void)none;
	bip_contexts_close(1);
	Py_RETURN_NONE;
}

static PyObject *trim(PyObject *module, PyObject *none)
{
	(void)module;
	(void)none;
	bip_contexts_close(0);
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{ "buffer_interface", FAST(bip_buffer_interface), FAST_WORDS,
	  "buffer_interface($module, obj, /, *, stream=None, producer_stream=None, sync=True, writable=None, "
	  "mask='refuse', "
	  "check=True, trust=False, protocol=None, copy=False)\n--\n\n"
	  "Any array of host, OpenCL or CUDA memory as a BufferInterface, without a copy.\n\n"
	  "stream           acquired for this stream: what is enqueued on it from now on comes after the producer's "
	  "work,\n"
	  "                 and leaving a `with` block hands it back\n"
	  "producer_stream  where the producer works, whatever it says\n"
	  "sync             False: nobody waits for anybody; the order of work is the caller's\n"
	  "writable         True: refuse what is read-only; False: a read-only view\n"
	  "mask             'keep': a masked array comes with .mask; 'refuse': it is UnsupportedError\n"
	  "check            False: pointers are not looked up in the driver. Exchange structures ('native') are "
	  "checked "
	  "all the same\n"
	  "trust            True: take handles that cannot be checked\n"
	  "protocol         'native', 'draft', 'pyopencl', 'cuda_array_interface', 'dlpack', 'buffer', "
	  "'array_interface'\n"
	  "                 or 'array_struct': this one only\n"
	  "copy             True: a dense copy on the same device\n\n"
	  "A NumPy array is always read by the buffer protocol. A bare DLPack capsule is taken as well.\n\n"
	  "TypeError: obj speaks no protocol. InvalidArrayError: what it says cannot be. UnsupportedError: it cannot "
	  "be taken." },
	{ "devices", bip_devices, METH_NOARGS,
	  "devices($module, /)\n--\n\nAll devices, the best first, then backends and devices that cannot be used, with "
	  "the "
	  "reason." },
	{ "threads", bip_threads, METH_NOARGS,
	  "threads($module, /)\n--\n\nHow many threads share a large copy on the processor." },
	{ "set_threads", bip_set_threads, METH_O,
	  "set_threads($module, count, /)\n--\n\n"
	  "How many threads share a large copy on the processor, from the next copy on; 0: what the environment "
	  "variable\n"
	  "BI_THREADS says, else as many as this process may use, at most 8. ValueError for any other count than "
	  "0..64." },
	{ "empty", FAST(bip_empty), FAST_WORDS,
	  "empty(shape, dtype, *, device='auto', stream=None)\n--\n\n"
	  "A dense C-order array whose elements are not set. `device` is a device string, an ordinal of CUDA, an entry "
	  "of\n"
	  "devices() or another BufferInterface; 'auto' is what the environment variable BI_DEVICE names, or else the "
	  "best\n"
	  "that there is. With a stream, what is enqueued on it from now on may use the "
	  "array." },
	{ "zeros", FAST(bip_zeros), FAST_WORDS,
	  "zeros(shape, dtype, *, device='auto', stream=None)\n--\n\nLike empty(), and every byte becomes 0. "
	  "Enqueued." },
	{ "full", FAST(bip_full), FAST_WORDS,
	  "full(shape, value, dtype, *, device='auto', stream=None)\n--\n\n"
	  "Like empty(), and every element becomes the value. Enqueued. OverflowError for an integer that does not "
	  "fit." },
	{ "empty_like", FAST(bip_empty_like), FAST_WORDS,
	  "empty_like(x, *, device=None)\n--\n\nA dense array with the shape and type of any array, on its device or "
	  "another." },
	{ "from_numpy", FAST(bip_from_numpy), FAST_WORDS,
	  "from_numpy(array, *, device='auto')\n--\n\n"
	  "A dense copy of any array on a device. An array that is not a BufferInterface has been read when this "
	  "returns." },
	{ "copyto", FAST(bip_copyto), FAST_WORDS,
	  "copyto(dst, src, *, stream=None)\n--\n\n"
	  "dst[...] = src between any arrays of any devices; src is broadcast, or a scalar. Bytes are moved, nothing "
	  "is\n"
	  "converted: TypeError if the types differ. Enqueued where both are BufferInterfaces; host memory has been "
	  "read\n"
	  "when this returns. The stream is one of dst's device, or of src's if dst is in host memory." },
	{ "asarray", FAST(bip_asarray), FAST_WORDS,
	  "asarray(obj, *, dtype=None, device=None, copy=None)\n--\n\n"
	  "Any array as a BufferInterface, copied if it is elsewhere than on `device`, or if copy is True. ValueError "
	  "if\n"
	  "copy is False and it must be copied, TypeError if it is not of the given type." },
	{ "shares_memory", FAST(bip_shares_memory), FAST_WORDS,
	  "shares_memory(a, b)\n--\n\nTrue if an element of one array shares a byte with one of the other. Exact." },
	{ "join", FAST(bip_join_streams), FAST_WORDS,
	  "join(streams, into, device)\n--\n\n"
	  "What is enqueued on the stream `into` from now on comes after what is now on each of the streams." },
	{ "trim", trim, METH_NOARGS, "trim()\n--\n\nGives memory and contexts that nothing uses back to the drivers." },
	{ "_close_contexts", close_contexts, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

/* Types and exceptions are static: there is one of each in a process. */
static int check_interpreter(void)
{
	static int is_loaded;

	if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
		PyErr_SetString(PyExc_ImportError, "buffer_interface cannot be imported in a sub-interpreter");
		return -1;
	}
	if (is_loaded) {
		PyErr_SetString(PyExc_ImportError, "buffer_interface._core is imported already, and once in a process");
		return -1;
	}
	is_loaded = 1;
	return 0;
}

static int execute(PyObject *module)
{
	if (check_interpreter() || bip_names_init() || bip_errors_init(module) || bip_type_ready(module) ||
	    bip_handle_ready(module) || PyModule_AddType(module, &bip_map_type) || bip_devices_ready(module))
		return -1;
	return PyModule_AddStringConstant(module, "__version__", bi_version());
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, execute },
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
