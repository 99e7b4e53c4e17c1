/* The exports of docs/specification.md: the method __buffer_interface__, and the table __buffer_interface_c__. */
#include "handle.h"
#include "lifetime.h"
#include "object.h"
#include "base/backends.h"
#include "base/errors.h"
#include "export/export.h"
#include "buffer_interface/python.h"

/* Refuses SVM and unified shared memory of OpenCL: the Python object has neither of the two kinds. */
static int check_kind(const struct bi_view *view)
{
	enum bi_handle_kind kind = bip_native(view).kind;

	if (kind == BI_HANDLE_HOST || kind == bip_backend_of(bi_memory_context(bi_view_memory(view))).handle)
		return 0;
	return bip_refuse(bip_UnsupportedError, "__buffer_interface__() describes a cl_mem, and this memory is a "
						"pointer: use __buffer_interface_c__, or a copy()");
}

/*
 * Returns an object with the view of `self`. If `is_ready` is 1, waits for the work on the memory first, and the
 * attribute `stream` of the result is None. The result is `self` if `has_other_mask` is 0, and either self->is_ready is
 * equal to `is_ready`, or the memory is idle after the wait. Otherwise it is a new object, whose mask is `mask`: some
 * memory stays pending after a wait (docs/ordering.md, 11.5 and 35.2).
 */
static PyObject *describe(PyObject *self, PyObject *mask, int has_other_mask, int is_ready)
{
	struct bi_view *view = bip_hold(self);
	PyObject *result;

	if (!view || check_kind(view) || (is_ready && bip_wait_for(view, 0))) {
		bip_release_view(view);
		return NULL;
	}
	if (!has_other_mask &&
	    (((struct bip_object *)self)->is_ready == is_ready || (is_ready && bi_view_is_idle(view)))) {
		bip_release_view(view);
		return Py_NewRef(self);
	}
	result = bip_derive((struct bip_object *)self, view);
	if (!result)
		return NULL;
	((struct bip_object *)result)->is_ready = (char)is_ready;
	((struct bip_object *)result)->mask = Py_XNewRef(mask);
	return result;
}

/*
 * Does the same as describe for an array and its mask. Reads the mask before the view: if another thread releases the
 * array in between, the view is missing, and the call fails instead of losing the mask.
 */
static PyObject *describe_with_mask(PyObject *self, int is_ready)
{
	PyObject *mask = bip_mask(self), *described = mask ? describe(mask, NULL, 0, is_ready) : NULL;
	PyObject *result = mask && !described ? NULL : describe(self, described, described != mask, is_ready);

	Py_XDECREF(mask);
	Py_XDECREF(described);
	return result;
}

PyObject *bip_describe(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	long long flags = 0;

	if (count > 1)
		return PyErr_Format(PyExc_TypeError, "__buffer_interface__() takes at most 1 argument, not %zd", count);
	if (count)
		flags = PyLong_AsLongLong(args[0]);
	if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError))
		PyErr_Format(bip_UnsupportedError, "flags is %S, not an int of 64 bits [B-48]", bip_printable(args[0]));
	if (flags == -1 && PyErr_Occurred())
		return NULL;
	if (flags & 0xffff & ~BI_ACQUIRE_READY)
		return PyErr_Format(
			bip_UnsupportedError,
			"flags has the demands 0x%x, and BI_ACQUIRE_READY (1) is the only one that is known [B-48]",
			(unsigned)flags & 0xffff);
	return describe_with_mask(self, (flags & BI_ACQUIRE_READY) != 0);
}

static int check_type(PyObject *object)
{
	if (BIP_CHECK(object))
		return 0;
	return bip_refuse(PyExc_TypeError, "a BufferInterface is needed, not %.100s", Py_TYPE(object)->tp_name);
}

/*
 * Exports an array that acquire_object cannot export, or raises the error. Drops the GIL, because the export may wait
 * for a device, or for the lock of the memory, which another thread may hold while it waits for a device.
 */
static int acquire_pending(PyObject *object, uint32_t wishes, struct bi_exchange *out)
{
	struct bi_view *view = bip_hold(object);
	struct bi_error err;
	int rc;

	if (!view)
		return -1;
	Py_BEGIN_ALLOW_THREADS
	rc = bi_view_export(view, wishes, out, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise_export(rc, &err);
	/* A borrowed struct is valid only if the object still has the view. */
	else if (wishes & BI_ACQUIRE_BORROW && bip_refuse_released(object))
		out->release = NULL;
	if (out->release && !(wishes & BI_ACQUIRE_BORROW))
		bi_view_release(view); /* not the last reference: the struct has one */
	else
		bip_release_view(view);
	return out->release ? 0 : -1;
}

/*
 * The function `acquire` of the table. Usually only the struct takes a reference to the view. If the export may block
 * or an error occurs, calls acquire_pending, which waits or raises the error.
 */
static int acquire_object(PyObject *object, uint32_t wishes, struct bi_exchange *out)
{
	struct bi_view *view;
	int rc = -1;

	out->release = NULL;
	if (check_type(object))
		return -1;
	BIP_LOCK(object)
	view = ((struct bip_object *)object)->view;
	if (view && !((struct bip_object *)object)->mask)
		rc = bi_view_export_nonblocking(view, wishes, out, NULL);
	BIP_UNLOCK()
	if (rc && (bip_refuse_mask(object, "the exchange structure") || acquire_pending(object, wishes, out)))
		return -1;
	if (((struct bip_object *)object)->flags & BIP_COPIED)
		out->flags |= BI_COPIED;
	return 0;
}

PyObject *bip_native_capsule(void)
{
	static const struct bi_python_api api = { BI_ABI_VERSION, sizeof(api), acquire_object };

	return PyCapsule_New((void *)(uintptr_t)&api, BI_PYTHON_CAPSULE, NULL);
}
