/* The type Handle: a cl_mem or an address as a number. The object keeps the memory. */
#include "handle.h"
#include "lifetime.h"
#include "base/backends.h"

struct handle {
	PyObject_HEAD struct bi_view *view;
	struct bi_native native;
};

static void handle_dealloc(PyObject *self)
{
	bip_release_view(((struct handle *)self)->view);
	PyObject_Free(self);
}

static PyObject *handle_int(PyObject *self)
{
	return PyLong_FromSize_t(((struct handle *)self)->native.handle);
}

static PyObject *handle_int_ptr(PyObject *self, void *Py_UNUSED(closure))
{
	const struct handle *handle = (struct handle *)self;

	if (handle->native.kind == BI_HANDLE_CL_MEM)
		return handle_int(self);
	return PyErr_Format(PyExc_AttributeError, "int_ptr: this handle is an address, not a cl_mem; int() returns it");
}

static PyObject *handle_repr(PyObject *self)
{
	const struct handle *handle = (struct handle *)self;

	return PyUnicode_FromFormat("<%s %p>", handle->native.kind == BI_HANDLE_CL_MEM ? "cl_mem" : "address",
				    (void *)handle->native.handle);
}

/* Returns true if the handles are equal. A cl_mem is never equal to an address with the same value. */
static int is_same_handle(const struct handle *a, const struct handle *b)
{
	return a->native.handle == b->native.handle &&
	       (a->native.kind == BI_HANDLE_CL_MEM) == (b->native.kind == BI_HANDLE_CL_MEM);
}

static PyTypeObject handle_type;

static PyObject *handle_compare(PyObject *self, PyObject *other, int op)
{
	int is_equal;

	if (!Py_IS_TYPE(other, &handle_type) || (op != Py_EQ && op != Py_NE))
		Py_RETURN_NOTIMPLEMENTED;
	is_equal = is_same_handle((struct handle *)self, (struct handle *)other);
	return PyBool_FromLong(is_equal == (op == Py_EQ));
}

static Py_hash_t handle_hash(PyObject *self)
{
	const struct handle *handle = (struct handle *)self;
	Py_hash_t hash = (Py_hash_t)(handle->native.handle >> 4);

	return hash == -1 ? -2 : hash;
}

static PyNumberMethods handle_number = { .nb_int = handle_int, .nb_index = handle_int };
static PyGetSetDef handle_getset[] = { { "int_ptr", handle_int_ptr, NULL, "The cl_mem as an int.", NULL },
				       { NULL, NULL, NULL, NULL, NULL } };
static PyTypeObject handle_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "buffer_interface.Handle",
	.tp_doc = "The handle of an array's memory, which it keeps alive. int() returns the cl_mem, or the address of\n"
		  "the first element.",
	.tp_basicsize = sizeof(struct handle),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
	.tp_dealloc = handle_dealloc,
	.tp_repr = handle_repr,
	.tp_richcompare = handle_compare,
	.tp_hash = handle_hash,
	.tp_as_number = &handle_number,
	.tp_getset = handle_getset,
};

void bip_mark_exported(const struct bi_view *view)
{
	struct bi_native native;

	if (bi_view_is_idle(view))
		return;
	Py_BEGIN_ALLOW_THREADS
	bi_view_native(view, &native);
	Py_END_ALLOW_THREADS
}

struct bi_native bip_native(const struct bi_view *view)
{
	struct bi_native native;

	bip_mark_exported(view);
	bi_view_native(view, &native);
	if (bip_is_address((uint32_t)native.kind)) {
		native.handle += native.offset;
		native.offset = 0;
	}
	return native;
}

PyObject *bip_handle(const struct bi_view *view)
{
	struct handle *handle = PyObject_New(struct handle, &handle_type);

	if (!handle)
		return NULL;
	handle->view = bi_view_retain((struct bi_view *)(uintptr_t)view);
	handle->native = bip_native(view);
	return (PyObject *)handle;
}

int bip_handle_ready(PyObject *module)
{
	return PyModule_AddType(module, &handle_type);
}
