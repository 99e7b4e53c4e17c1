/* The attributes of an array, and its repr(). */
#include <string.h>

#include "properties.h"
#include "handle.h"
#include "lifetime.h"
#include "object.h"
#include "base/backends.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/shapes.h"
#include "export/export.h"
#include "operations/operations.h"

/*
 * Defines a getter. The expression reads `view` in the object's critical section. It must not read `view` after a call
 * that runs Python code or drops the GIL: another thread may have released the array, and with it the view.
 */
#define GETTER(name, expression) \
	static PyObject *get_##name(PyObject *self, void *closure) \
	{ \
		PyObject *result = NULL; \
		const struct bi_view *view; \
\
		(void)closure; \
		BIP_LOCK(self) \
		view = bip_view_locked(self); \
		if (view) \
			result = (expression); \
		BIP_UNLOCK() \
		return result; \
	}

static const struct bi_device *device_of(const struct bi_view *view)
{
	return bi_context_device(bi_memory_context(bi_view_memory(view)));
}

static const char *backend_of(const struct bi_view *view)
{
	return bi_memory_is_host(bi_view_memory(view)) ? "host" : device_of(view)->backend;
}

static PyObject *make_device(const struct bi_view *view)
{
	if (bi_memory_is_host(bi_view_memory(view)))
		return Py_NewRef(Py_None);
	if (bip_backend_of(bi_memory_context(bi_view_memory(view))).named_by_ordinal)
		return PyLong_FromLong(device_of(view)->ordinal);
	return Py_BuildValue("(ii)", device_of(view)->platform, device_of(view)->ordinal);
}

static PyObject *make_context(const struct bi_view *view)
{
	if (bi_memory_is_host(bi_view_memory(view)))
		return Py_NewRef(Py_None);
	return PyLong_FromSize_t(bi_context_handle(bi_memory_context(bi_view_memory(view))));
}

/*
 * Makes an int of the home stream, or None if there is none. Drops the GIL, because another thread that waits for a
 * device may hold the lock of the memory. The caller owns a reference to the view.
 */
static PyObject *make_home_stream(const struct bi_view *view)
{
	struct bi_error err;
	uintptr_t stream;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_home_stream(view, &stream, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		return bip_raise(rc, &err);
	return stream ? PyLong_FromSize_t(stream) : Py_NewRef(Py_None);
}

/* Makes the value of the attribute `stream`. The caller owns a reference to the view. */
static PyObject *make_stream(const struct bi_view *view)
{
	if (bi_memory_is_host(bi_view_memory(view)) || bi_view_is_idle(view))
		return Py_NewRef(Py_None);
	return make_home_stream(view);
}

/* Raises AttributeError for an attribute cl_... of memory that is not OpenCL memory [O7]. */
static int check_opencl(const struct bi_view *view, const char *name)
{
	if (!bi_memory_is_host(bi_view_memory(view)) &&
	    bip_backend_of(bi_memory_context(bi_view_memory(view))).stream_kinds >> BI_ORDER_OPENCL & 1)
		return 0;
	return bip_refuse(PyExc_AttributeError, "%s: the memory is of %s, not of OpenCL [O7]", name, backend_of(view));
}

static PyObject *make_cl_context(const struct bi_view *view)
{
	return check_opencl(view, "cl_context") ? NULL : make_context(view);
}

/*
 * Makes the value of the attribute `cl_command_queue`. Work that is enqueued on this queue runs after the pending work.
 * The caller owns a reference to the view.
 */
static PyObject *make_cl_command_queue(const struct bi_view *view)
{
	return check_opencl(view, "cl_command_queue") ? NULL : make_home_stream(view);
}

static PyObject *make_offset(const struct bi_view *view)
{
	return PyLong_FromSize_t(bip_native(view).offset);
}

static PyObject *make_host_pointer(const struct bi_view *view)
{
	void *pointer;

	bip_mark_exported(view);
	pointer = bi_view_host_pointer(view);
	return pointer ? PyLong_FromVoidPtr(pointer) : Py_NewRef(Py_None);
}

/* Returns the number of elements. It cannot overflow, because the library has checked the shape. */
static int64_t count_elements(const struct bi_view *view)
{
	int64_t count = 1;

	for (int i = 0; i < bi_view_ndim(view); i++)
		count *= bi_view_shape(view)[i];
	return count;
}

static PyObject *make_descr(const struct bi_view *view)
{
	PyObject *descr = bip_dtype_descr(view);

	return descr || PyErr_Occurred() ? descr : Py_NewRef(Py_None);
}

static int is_readonly(const struct bi_view *view)
{
	return (bi_view_flags(view) & BI_VIEW_READONLY) != 0;
}

GETTER(shape, bip_tuple(bi_view_shape(view), bi_view_ndim(view)))
GETTER(strides, bip_tuple(bi_view_strides(view), bi_view_ndim(view)))
GETTER(typestr, bip_dtype_text(bi_view_dtype(view)))
GETTER(descr, make_descr(view))
GETTER(itemsize, PyLong_FromUnsignedLong(bi_view_dtype(view).item_size))
GETTER(ndim, PyLong_FromLong(bi_view_ndim(view)))
GETTER(size, PyLong_FromLongLong(count_elements(view)))
GETTER(nbytes, PyLong_FromLongLong(count_elements(view) * bi_view_dtype(view).item_size))
GETTER(readonly, PyBool_FromLong(is_readonly(view)))
GETTER(backend, PyUnicode_FromString(backend_of(view)))
GETTER(device, make_device(view))
/* PyUnicode_FromFormat replaces bytes of the driver's text that are not UTF-8. */
GETTER(device_name,
       PyUnicode_FromFormat("%s", bi_memory_is_host(bi_view_memory(view)) ? "host" : device_of(view)->name))
GETTER(device_spec, PyUnicode_FromString(bi_memory_is_host(bi_view_memory(view)) ? "host" : device_of(view)->spec))
GETTER(context, make_context(view))
GETTER(cl_context, make_cl_context(view))

/*
 * Calls `make` outside of the critical section with a reference to the view, for attributes whose computation may run
 * Python code or drop the GIL.
 */
static PyObject *get_with_reference(PyObject *self, PyObject *(*make)(const struct bi_view *view))
{
	struct bi_view *view = bip_hold(self);
	PyObject *result = view ? make(view) : NULL;

	bip_release_view(view);
	return result;
}

#define GETTER_WITH_REFERENCE(name, make) \
	static PyObject *get_##name(PyObject *self, void *Py_UNUSED(closure)) \
	{ \
		return get_with_reference(self, make); \
	}

GETTER_WITH_REFERENCE(buffer, bip_handle)
GETTER_WITH_REFERENCE(dtype, bip_dtype_numpy)
GETTER_WITH_REFERENCE(offset, make_offset)
GETTER_WITH_REFERENCE(host_pointer, make_host_pointer)
GETTER_WITH_REFERENCE(cl_command_queue, make_cl_command_queue)

/* The description of ready memory names no stream (B-38). */
static PyObject *get_stream(PyObject *self, void *Py_UNUSED(closure))
{
	if (((struct bip_object *)self)->is_ready)
		return bip_refuse_released(self) ? NULL : Py_NewRef(Py_None);
	return get_with_reference(self, make_stream);
}

static PyObject *get_released(PyObject *self, void *Py_UNUSED(closure))
{
	return PyBool_FromLong(bip_is_released(self));
}

static PyObject *get_mask(PyObject *self, void *Py_UNUSED(closure))
{
	PyObject *mask = bip_mask(self);

	if (mask)
		return mask;
	return bip_refuse_released(self) ? NULL : Py_NewRef(Py_None);
}

/* Writes the name of the type ('float32'). For a type without a fixed item size, writes the typestr ('|S5'). */
static void write_type(struct bi_dtype dtype, char text[BI_DTYPE_TEXT])
{
	int has_size = dtype.type == BI_BYTES || dtype.type == BI_UNICODE || dtype.type == BI_VOID;

	if (!has_size || bi_dtype_typestr(dtype, text, NULL))
		bi_dtype_name(dtype, text);
}

static PyObject *repr_of_view(const struct bi_view *view, int is_masked)
{
	PyObject *shape = bip_tuple(bi_view_shape(view), bi_view_ndim(view));
	PyObject *result = NULL;
	char name[BI_DTYPE_TEXT], offset[32] = "";

	write_type(bi_view_dtype(view), name);
	if (bip_native(view).offset)
		PyOS_snprintf(offset, sizeof(offset), ", offset %zu", (size_t)bip_native(view).offset);
	if (shape)
		result = PyUnicode_FromFormat("<BufferInterface %s %S on %s%s%s%s>", name, shape,
					      bi_memory_is_host(bi_view_memory(view)) ? "host" : device_of(view)->spec,
					      offset, is_readonly(view) ? ", read-only" : "",
					      is_masked ? ", masked" : "");
	Py_XDECREF(shape);
	return result;
}

static PyObject *first_line(PyObject *self)
{
	int is_masked = bip_has_mask(self);
	struct bi_view *view = is_masked < 0 ? NULL : bip_hold(self);
	PyObject *result;

	if (!view) {
		PyErr_Clear();
		return PyUnicode_FromString("<BufferInterface, released>");
	}
	result = repr_of_view(view, is_masked);
	bip_release_view(view);
	return result;
}

PyObject *bip_repr(PyObject *self)
{
	PyObject *head = first_line(self), *contents, *result;

	if (!head)
		return NULL;
	if (bip_is_released(self))
		return head;
	contents = bip_call_python("contents_text", self, NULL, 0, NULL);
	result = contents && PyUnicode_GetLength(contents) ? PyUnicode_FromFormat("%U\n%U", head, contents) : NULL;
	if (!result && !PyErr_Occurred())
		result = Py_NewRef(head);
	Py_DECREF(head);
	Py_XDECREF(contents);
	return result;
}

#define ATTRIBUTE(name, doc) \
	{ \
#name, get_##name, NULL, doc, NULL \
	}
/* The getter raises AttributeError, so hasattr() is false. A function tp_getattro would slow other attributes. */
#define COMPUTED(name) \
	{ \
#name, bip_refuse_method, NULL, "AttributeError, which says how to get the result.", #name \
	}

/* clang-format off */
PyGetSetDef bip_properties[] = {
	ATTRIBUTE(buffer, "The handle of the memory, a Handle: .int_ptr is the cl_mem of OpenCL memory; int() returns the\n"
			  "cl_mem, or the address of the first element."),
	ATTRIBUTE(offset, "Bytes from the start of the cl_mem to the first element; 0 for other memory."),
	ATTRIBUTE(shape, "Number of elements along each axis, a tuple of int."),
	ATTRIBUTE(strides, "Bytes from one element to the next along each axis, a tuple of int. May be negative or 0."),
	ATTRIBUTE(dtype, "The element type as a numpy.dtype. Imports NumPy, and ml_dtypes for types that only it has."),
	ATTRIBUTE(typestr, "The typestr of the element type, such as '<f4', or its name if it has no typestr: 'bfloat16'."),
	ATTRIBUTE(descr, "The fields of a structured type as the array interface lists them; None for a simple type."),
	ATTRIBUTE(itemsize, "Bytes of one element."),
	ATTRIBUTE(ndim, "Number of axes."),
	ATTRIBUTE(size, "Number of elements."),
	ATTRIBUTE(nbytes, "Bytes of all elements, without the gaps between them."),
	ATTRIBUTE(readonly, "True if the memory must not be written through this array."),
	ATTRIBUTE(backend, "Name of the backend: 'host', 'opencl', 'cuda'."),
	ATTRIBUTE(device, "CUDA: the ordinal. OpenCL: (platform, ordinal), -1 if not known. Host: None."),
	ATTRIBUTE(device_name, "Name of the device."),
	ATTRIBUTE(device_spec, "Device string of the device, which the argument `device` accepts."),
	ATTRIBUTE(context, "The cl_context or CUcontext as an int; None for host memory."),
	ATTRIBUTE(stream, "The stream of pending work as an int: a cl_command_queue, or CUDA's 1 or a handle. None for host\n"
			  "memory, or if no work is pending. Always None if __buffer_interface__(1) made this object."),
	ATTRIBUTE(cl_context, "The cl_context as an int. AttributeError for other memory than OpenCL's."),
	ATTRIBUTE(cl_command_queue, "The cl_command_queue on which the memory is ready, as an int, also if no work is pending.\n"
				    "AttributeError for other memory than OpenCL's."),
	ATTRIBUTE(host_pointer, "Address of the first element if the CPU can use the memory in place, else None. Does not\n"
				"wait for pending work."),
	ATTRIBUTE(mask, "The mask of a masked array, a BufferInterface; None without a mask."),
	ATTRIBUTE(released, "True after release() or the end of a `with` block."),
	COMPUTED(all), COMPUTED(any), COMPUTED(argmax), COMPUTED(argmin), COMPUTED(argsort),
	COMPUTED(astype), COMPUTED(clip), COMPUTED(cumsum), COMPUTED(dot), COMPUTED(flatten),
	COMPUTED(max), COMPUTED(mean), COMPUTED(min), COMPUTED(nonzero), COMPUTED(prod),
	COMPUTED(round), COMPUTED(sort), COMPUTED(std), COMPUTED(sum), COMPUTED(var),
	{ "T", bip_get_T, NULL, "A view with the axes in reverse order.", NULL },
	{ "mT", bip_get_mT, NULL, "A view with the last two axes swapped. ValueError with fewer axes.", NULL },
	{ "__cuda_array_interface__", bip_get_cuda_array_interface, NULL,
	  "The CUDA Array Interface, version 3. AttributeError for memory that is not CUDA's, and for a type without\n"
	  "a typestr.", NULL },
	{ "__array_interface__", bip_get_array_interface, NULL,
	  "NumPy's array interface, version 3. AttributeError for memory that is not the host's, for a type without\n"
	  "a typestr, and for a masked array.", NULL },
	{ "__array_struct__", bip_get_array_struct, NULL,
	  "NumPy's array interface as a struct. AttributeError for memory that is not the host's, for a type without\n"
	  "a typestr, for texts of kind 'U', and for a masked array.", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
/* clang-format on */
