/* The type BufferInterface: the tables of its methods and protocols. */
#include "type.h"
#include "object.h"
#include "properties.h"
#include "export/export.h"
#include "operations/operations.h"

static PyObject *refuse_new(PyTypeObject *Py_UNUSED(type), PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(words))
{
	return PyErr_Format(PyExc_TypeError, "BufferInterface() makes no array: buffer_interface(x) imports x, and "
					     "empty(), zeros() and full() allocate");
}

/* clang-format off */
static PyMethodDef methods[] = {
	{ "release", bip_release, METH_NOARGS,
	  "release($self)\n--\n\n"
	  "Hands an acquired stream back and releases the memory. Exports that hold a reference keep the memory;\n"
	  "dictionaries do not. Afterwards the array raises InvalidArrayError, except for repr(), `released` and\n"
	  "release(), which does nothing." },
	{ "__enter__", bip_enter, METH_NOARGS,
	  "__enter__($self)\n--\n\nReturns the array itself. InvalidArrayError if it was released." },
	{ "__exit__", bip_exit, METH_VARARGS,
	  "__exit__($self, *args)\n--\n\n"
	  "release(). Waits first for pending work on memory whose producer named no stream, and on host memory.\n"
	  "After an import with sync=False it does not wait." },
	{ "__complex__", bip_complex, METH_NOARGS,
	  "__complex__($self)\n--\n\nReturns the only element. TypeError for an array with another number of elements." },
	{ "acquire", bip_acquire, METH_O,
	  "acquire($self, stream, /)\n--\n\n"
	  "Work that is enqueued on the stream from now on waits for the work that is pending on the memory.\n"
	  "TypeError for an object that is no stream, ValueError for a stream of another context or device." },
	{ "hand_back", bip_hand_back, METH_O,
	  "hand_back($self, stream, /)\n--\n\n"
	  "Later work on the memory waits for the work that is now on the stream.\n"
	  "TypeError for an object that is no stream, ValueError for a stream of another context or device." },
	{ "synchronize", bip_synchronize, METH_NOARGS,
	  "synchronize($self)\n--\n\n"
	  "Waits until all work on the memory is complete. DriverError if some of it failed." },
	{ "join", FAST(bip_join), FAST_WORDS,
	  "join($self, *streams)\n--\n\nCalls hand_back() for each of the streams." },
	{ "copy", FAST(bip_copy), FAST_WORDS,
	  "copy($self, *, stream=None)\n--\n\n"
	  "Enqueues a dense copy in C order on the same device and returns it. A mask is copied as well." },
	{ "to", FAST(bip_to), FAST_WORDS,
	  "to($self, device, *, stream=None)\n--\n\n"
	  "Returns the array on another device: a dense copy in C order, or the array itself if it is on the\n"
	  "device already. `device` is a device string, a CUDA ordinal, (platform, ordinal) of OpenCL, an entry\n"
	  "of devices() or a BufferInterface. The copy is enqueued.\n\n"
	  ">>> buffer_interface.zeros(2, device='opencl').to('host').backend\n"
	  "'host'" },
	{ "fill", FAST(bip_fill), FAST_WORDS,
	  "fill($self, value, *, stream=None)\n--\n\n"
	  "Enqueues a fill: every element becomes the value.\n\n"
	  "The value is converted to the element type: a float loses its fraction in an integer type, is rounded or\n"
	  "becomes inf in a smaller float type, and a text that is too long is truncated. OverflowError for an integer\n"
	  "that does not fit." },
	{ "item", FAST(bip_item), METH_FASTCALL,
	  "item($self, *index)\n--\n\n"
	  "Returns one element as a Python object, after the work that is pending on the memory. The index is\n"
	  "one int per dimension, or one int that counts in C order; an array of one element needs none." },
	{ "map", FAST(bip_map), FAST_WORDS,
	  "map($self, mode='r')\n--\n\n"
	  "Returns a Mapping: the elements in memory that the CPU can use, as an object with the buffer protocol\n"
	  "for a `with` block. mode 'r' reads, 'w' writes every element, 'rw' does both. Waits for pending work.\n"
	  "An array that was made from the mapping keeps it after the block: delete the array (del v) in the block.\n\n"
	  ">>> array = buffer_interface.zeros(3, device='opencl')\n"
	  ">>> with array.map('rw') as mapped:\n"
	  "...     mapped.numpy()[1:] = 8\n"
	  ">>> array.tolist()\n"
	  "[0.0, 8.0, 8.0]" },
	{ "transpose", FAST(bip_transpose), METH_FASTCALL,
	  "transpose($self, *axes)\n--\n\n"
	  "Returns a view with the axes in the given order, or in reverse order without arguments. ValueError if\n"
	  "the axes are not a permutation." },
	{ "reshape", FAST(bip_reshape), METH_FASTCALL,
	  "reshape($self, *shape)\n--\n\n"
	  "Returns a view with another shape and the same elements in C order. One extent may be -1. ValueError\n"
	  "if the number of elements differs or only a copy could have the shape.\n\n"
	  ">>> buffer_interface.arange(6, device='host').reshape(2, -1).tolist()\n"
	  "[[0, 1, 2], [3, 4, 5]]" },
	{ "view", FAST(bip_view_as), FAST_WORDS,
	  "view($self, dtype)\n--\n\n"
	  "Returns a view of the same bytes with another element type, whose size may change the last axis.\n\n"
	  ">>> buffer_interface.full(1, 258, 'u2', device='host').view('u1').tolist()\n"
	  "[2, 1]" },
	{ "broadcast_to", bip_broadcast_to, METH_O,
	  "broadcast_to($self, shape, /)\n--\n\n"
	  "Returns a read-only view that repeats the array to a larger shape. ValueError if the shapes do not fit." },
	{ "ravel", FAST(bip_ravel), FAST_WORDS,
	  "ravel($self)\n--\n\nReturns the elements along one axis in C order: a view if they are dense, else a copy." },
	{ "squeeze", FAST(bip_squeeze), FAST_WORDS,
	  "squeeze($self, axis=None)\n--\n\n"
	  "Returns a view without the axes of one element, or without those that `axis` names, an int or a tuple of\n"
	  "int. ValueError if a named axis has more elements." },
	{ "numpy", FAST(bip_numpy), FAST_WORDS,
	  "numpy($self)\n--\n\n"
	  "Returns the elements as a numpy.ndarray after pending work: host memory without a copy, memory of a device\n"
	  "as a copy." },
	{ "get", FAST(bip_numpy), FAST_WORDS, "get($self)\n--\n\nThe same as numpy(), by the name of CuPy and pyopencl." },
	{ "tolist", FAST(bip_tolist), FAST_WORDS,
	  "tolist($self)\n--\n\nReturns the elements as Python objects in nested lists, after pending work." },
	{ "tobytes", FAST(bip_tobytes), FAST_WORDS,
	  "tobytes($self)\n--\n\nReturns the bytes of the elements in C order, after pending work." },
	{ "to_device", FAST(bip_to_device), FAST_WORDS,
	  "to_device($self, device, /, *, stream=None)\n--\n\nThe same as to(), by the name of the Array API standard." },
	{ "ready", FAST(bip_ready), FAST_WORDS,
	  "ready($self)\n--\n\n"
	  "Returns an awaitable that ends when the work that is pending now is complete. asyncio goes on meanwhile.\n"
	  "DriverError if some of the work failed." },
	{ "__reversed__", FAST(bip_reversed), FAST_WORDS,
	  "__reversed__($self)\n--\n\nIterates backwards over what iteration gives." },
	{ "__format__", FAST(bip_format), FAST_WORDS,
	  "__format__($self, spec, /)\n--\n\nFormats the element of an array without axes. An array with axes: str() if\n"
	  "spec is empty, otherwise TypeError." },
	{ "__copy__", bip_copy_protocol, METH_NOARGS, "__copy__($self)\n--\n\nThe same as copy()." },
	{ "__deepcopy__", FAST(bip_deepcopy), FAST_WORDS, "__deepcopy__($self, memo)\n--\n\nThe same as copy()." },
	{ "__reduce_ex__", FAST(bip_reduce), FAST_WORDS,
	  "__reduce_ex__($self, protocol, /)\n--\n\n"
	  "For pickle. The contents of host memory go out of band with protocol 5. The contents of a device travel\n"
	  "through the host, and the device string with them: loading needs that device." },
	{ "_repr_html_", FAST(bip_html), FAST_WORDS,
	  "_repr_html_($self)\n--\n\nFor notebooks: a table with a picture of the memory." },
	{ "cuda_array_interface", FAST(bip_cuda_array_interface), FAST_WORDS,
	  "cuda_array_interface($self, version=3, *, sync=True, synchronize=False, bfloat16_as_void=False)\n--\n\n"
	  "Returns the dictionary of the CUDA Array Interface in version 0 to 3. Version 3 names the stream of\n"
	  "pending work; older versions wait for pending work, as synchronize=True does. sync=False names no\n"
	  "stream and does not wait. bfloat16_as_void=True names the type bfloat16 '<V2'. UnsupportedError for\n"
	  "memory that is not CUDA's." },
	{ "__buffer_interface__", FAST(bip_describe), METH_FASTCALL,
	  "__buffer_interface__($self, flags=0, /)\n--\n\n"
	  "Returns the array itself, or another object of the memory if `stream` of this one does not fit `flags`. `flags`\n"
	  "are BI_ACQUIRE_ bits of abi.h: 1 waits until the memory and the mask are ready, and both then name no stream.\n"
	  "UnsupportedError for other bits below 16, and for SVM of OpenCL." },
	{ "__dlpack__", FAST(bip_dlpack), FAST_WORDS,
	  "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
	  "Returns a DLPack capsule. `stream`: on CUDA 1, 2, a handle, -1 (no order) or None (1); the memory is ready on it.\n"
	  "On the host None (waits) or -1; on OpenCL None (waits).\n"
	  "UnsupportedError for an array that DLPack cannot describe. dl_device=(1, 0) copies an array of another device\n"
	  "to host memory; then only the copy must have a name in DLPack." },
	{ "__dlpack_device__", bip_dlpack_device, METH_NOARGS,
	  "__dlpack_device__($self)\n--\n\nReturns DLPack's device type and device id." },
	{ "__array__", FAST(bip_ndarray), FAST_WORDS,
	  "__array__($self, dtype=None, *, copy=None)\n--\n\n"
	  "Returns host memory as a numpy.ndarray, without a copy where the arguments allow it. TypeError for\n"
	  "memory of a device." },
	{ NULL, NULL, 0, NULL },
};
/* clang-format on */

/* With sq_item the type passes PySequence_Check, which other libraries call. x[i] uses `mapping`. */
static PySequenceMethods sequence = { .sq_length = bip_length,
				      .sq_item = bip_sequence_item,
				      .sq_contains = bip_contains };
static PyMappingMethods mapping = { .mp_length = bip_length,
				    .mp_subscript = bip_subscript,
				    .mp_ass_subscript = bip_ass_subscript };
static PyBufferProcs buffer = { .bf_getbuffer = bip_getbuffer, .bf_releasebuffer = bip_releasebuffer };

/*
 * Adds a constant to the attributes of the type. Takes ownership of the object, also on failure. `object` may be NULL
 * with an exception set, which is a failure.
 */
static int add_constant(PyObject *dict, const char *name, PyObject *object)
{
	int rc = object ? PyDict_SetItemString(dict, name, object) : -1;

	Py_XDECREF(object);
	return rc;
}

static int make_type_ready(void)
{
	PyObject *dict = PyDict_New();

	if (!dict)
		return -1;
	bip_type.tp_dict = dict;
	bip_type.tp_new = refuse_new;
	bip_type.tp_repr = bip_repr;
	bip_type.tp_iter = bip_iterate;
	bip_type.tp_richcompare = bip_compare;
	bip_type.tp_methods = methods;
	bip_type.tp_getset = bip_properties;
	bip_type.tp_as_number = &bip_number_methods;
	bip_type.tp_as_sequence = &sequence;
	bip_type.tp_as_mapping = &mapping;
	bip_type.tp_as_buffer = &buffer;
	if (add_constant(dict, "__buffer_interface_c__", bip_native_capsule()) ||
	    add_constant(dict, "buffer_interface_version", PyLong_FromLong(BI_ABI_VERSION)) ||
	    add_constant(dict, "__dlpack_c_exchange_api__", bip_dlpack_capsule()) ||
	    add_constant(dict, "__c_dlpack_exchange_api__", bip_dlpack_capsule()))
		return -1;
	return PyType_Ready(&bip_type);
}

int bip_type_ready(PyObject *module)
{
	if (!PyType_HasFeature(&bip_type, Py_TPFLAGS_READY) && make_type_ready())
		return -1;
	return PyModule_AddObjectRef(module, "BufferInterface", (PyObject *)&bip_type);
}
