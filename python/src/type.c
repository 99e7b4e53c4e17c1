/* The type BufferInterface: its methods, attributes and protocols, by name. The roof: everything else is below. */
#include "type.h"
#include "object.h"
#include "properties.h"
#include "export/export.h"
#include "operations/operations.h"

/* Numbers are asked for by name: int() would otherwise read the bytes as text, and bool() the length. */

static PyObject *refuse_number(PyObject *self)
{
	(void)self;
	PyErr_SetString(PyExc_TypeError, "a BufferInterface is no number, also if it has one element: use item()");
	return NULL;
}

static int refuse_truth(PyObject *self)
{
	refuse_number(self);
	return -1;
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
	(void)type;
	(void)args;
	(void)words;
	PyErr_SetString(PyExc_TypeError,
			"a BufferInterface is not made of nothing: buffer_interface(x) gives one of x, "
			"and empty(), zeros() and full() a new one");
	return NULL;
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))
#define FAST_WORDS (METH_FASTCALL | METH_KEYWORDS)

static PyMethodDef methods[] = {
	{ "release", bip_release, METH_NOARGS,
	  "release($self)\n--\n\nLets the memory go, once; later calls do nothing. Exports that were handed out keep "
	  "it. A "
	  "stream\n"
	  "that was acquired is handed back first. Afterwards whatever would touch the memory raises "
	  "InvalidArrayError." },
	{ "__enter__", bip_enter, METH_NOARGS, "__enter__($self)\n--\n\nThe array itself." },
	{ "__exit__", bip_exit, METH_VARARGS,
	  "__exit__($self, *args)\n--\n\nHands an acquired stream back, then releases." },
	{ "acquire", bip_acquire, METH_O,
	  "acquire($self, stream, /)\n--\n\nWork enqueued on the stream from now on comes after all work on the "
	  "memory." },
	{ "hand_back", bip_hand_back, METH_O,
	  "hand_back($self, stream, /)\n--\n\nLater work on the memory comes after all that is now on the stream." },
	{ "synchronize", bip_synchronize, METH_NOARGS,
	  "synchronize($self)\n--\n\nWaits until all work on the memory is done. DriverError if some of it failed." },
	{ "join", FAST(bip_join), FAST_WORDS,
	  "join($self, *streams)\n--\n\nLater work on the memory comes after what is now on each of the streams." },
	{ "copy", FAST(bip_copy), FAST_WORDS,
	  "copy($self, *, stream=None)\n--\n\nA dense C-order copy on the same device, enqueued." },
	{ "to", FAST(bip_to), FAST_WORDS,
	  "to($self, device, *, stream=None)\n--\n\nThe array on another device: a dense copy, or the array itself if "
	  "it is "
	  "there." },
	{ "fill", FAST(bip_fill), FAST_WORDS,
	  "fill($self, value, *, stream=None)\n--\n\nEvery element becomes the value. Enqueued." },
	{ "item", FAST(bip_item), METH_FASTCALL,
	  "item($self, *index)\n--\n\nOne element as a Python object; waits for the work on the memory." },
	{ "map", FAST(bip_map), FAST_WORDS,
	  "map($self, mode='r')\n--\n\nThe bytes as an object with the buffer protocol, for a `with` block: 'r' to "
	  "read, 'w' "
	  "to write all,\n"
	  "'rw' both. Waits for the work on the memory." },
	{ "transpose", FAST(bip_transpose), METH_FASTCALL,
	  "transpose($self, *axes)\n--\n\nThe same memory with its axes in another order, reversed without "
	  "arguments." },
	{ "reshape", FAST(bip_reshape), METH_FASTCALL,
	  "reshape($self, *shape)\n--\n\nThe same memory in another shape, in C order; one extent may be -1. "
	  "ValueError if it "
	  "needs a copy." },
	{ "view", bip_view_as, METH_O, "view($self, dtype, /)\n--\n\nThe same bytes as another type." },
	{ "broadcast_to", bip_broadcast_to, METH_O,
	  "broadcast_to($self, shape, /)\n--\n\nThe same memory repeated to a larger shape, read-only." },
	{ "cuda_array_interface", FAST(bip_cuda_array_interface), FAST_WORDS,
	  "cuda_array_interface($self, version=3, *, sync=True, synchronize=False, bfloat16_as_void=False)\n--\n\n"
	  "The dictionary in one of its versions. Below 3 pending work is waited for." },
	{ "__dlpack__", FAST(bip_dlpack), FAST_WORDS,
	  "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nA DLPack capsule." },
	{ "__dlpack_device__", bip_dlpack_device, METH_NOARGS,
	  "__dlpack_device__($self)\n--\n\nDevice type and ordinal, in DLPack's numbers." },
	{ "__array__", FAST(bip_array), METH_VARARGS | METH_KEYWORDS,
	  "__array__($self, dtype=None, *, copy=None)\n--\n\nHost memory as a numpy.ndarray; TypeError for memory of a "
	  "device." },
	{ NULL, NULL, 0, NULL },
};

static PyNumberMethods number = { .nb_bool = refuse_truth, .nb_int = refuse_number, .nb_float = refuse_number };
static PyMappingMethods mapping = { .mp_length = bip_length,
				    .mp_subscript = bip_subscript,
				    .mp_ass_subscript = bip_ass_subscript };
static PyBufferProcs buffer = { .bf_getbuffer = bip_getbuffer, .bf_releasebuffer = bip_releasebuffer };

/* The capsule is stored under a name of the type; the reference is taken. */
static int add_member(PyObject *dict, const char *name, PyObject *capsule)
{
	int rc = capsule ? PyDict_SetItemString(dict, name, capsule) : -1;

	Py_XDECREF(capsule);
	return rc;
}

int bip_type_ready(PyObject *module)
{
	PyObject *dict = PyDict_New();

	if (!dict)
		return -1;
	bip_type.tp_dict = dict;
	bip_type.tp_new = refuse_new;
	bip_type.tp_repr = bip_repr;
	bip_type.tp_methods = methods;
	bip_type.tp_getset = bip_properties;
	bip_type.tp_as_number = &number;
	bip_type.tp_as_mapping = &mapping;
	bip_type.tp_as_buffer = &buffer;
	if (add_member(dict, "__buffer_interface_c__", bip_native_capsule()) ||
	    add_member(dict, "__dlpack_c_exchange_api__", bip_dlpack_capsule()) ||
	    add_member(dict, "__c_dlpack_exchange_api__", bip_dlpack_capsule()))
		return -1;
	if (PyType_Ready(&bip_type))
		return -1;
	return PyModule_AddObjectRef(module, "BufferInterface", (PyObject *)&bip_type);
}
