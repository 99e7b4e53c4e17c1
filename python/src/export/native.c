/* The table of buffer_interface/python.h for the type BufferInterface: the attribute __buffer_interface_c__. */
#include <stdlib.h>

#include "lifetime.h"
#include "object.h"
#include "base/errors.h"
#include "export/export.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/python.h"

/* The structs of a masked array and of its mask, which are released together. */
struct masked {
	struct bi_exchange array;
	struct bi_exchange mask;
};

static void release_masked(struct bi_exchange *self)
{
	struct masked *both = self->owner;

	self->release = NULL;
	self->owner = NULL;
	both->mask.release(&both->mask);
	both->array.release(&both->array);
	free(both);
}

static int check_type(PyObject *object)
{
	if (BIP_CHECK(object))
		return 0;
	PyErr_Format(PyExc_TypeError, "a BufferInterface is needed, not %.100s", Py_TYPE(object)->tp_name);
	return -1;
}

typedef int exporter(const struct bi_view *view, struct bi_exchange *out, struct bi_error *err);

/*
 * Calls a function of the library that fills a struct. Drops the GIL, because the function may wait for a device, or
 * for the lock of memory that another thread holds while it waits.
 */
static int call_exporter(exporter *function, const struct bi_view *view, struct bi_exchange *out)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = function(view, out, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise_export(rc, &err);
	return rc ? -1 : 0;
}

/*
 * Describes an array with pending work. The struct borrows from the view, so it is valid only if the object still has
 * the view afterwards.
 */
static int describe_pending(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view = bip_hold(object);
	int rc = view && !call_exporter(bi_view_describe, view, out) && !bip_refuse_released(object) ? 0 : -1;

	bip_release_view(view);
	return rc;
}

/*
 * Describes an array. For idle memory no reference is taken. If work is pending or an error occurs, describe_pending
 * waits or raises the error.
 */
static int describe_object(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view;
	int rc = -1;

	BIP_LOCK(object)
	view = ((struct bip_object *)object)->view;
	if (view && bi_view_is_idle(view))
		rc = bi_view_describe(view, out, NULL);
	BIP_UNLOCK()
	return rc ? describe_pending(object, out) : 0;
}

static int export_view(const struct bi_view *view, struct bi_exchange *out, struct bi_error *err)
{
	return bi_view_export(view, 0, out, err);
}

static int export_pending(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view = bip_hold(object);
	int rc;

	if (!view)
		return -1;
	rc = call_exporter(export_view, view, out);
	if (rc)
		bip_release_view(view);
	else
		bi_view_release(view); /* not the last reference: the struct has one */
	return rc;
}

/*
 * Exports an array. For idle memory only the struct takes a reference to the view. If work is pending or an error
 * occurs, export_pending waits or raises the error.
 */
static int export_object(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view;
	int rc = -1;

	BIP_LOCK(object)
	view = ((struct bip_object *)object)->view;
	if (view && bi_view_is_idle(view))
		rc = bi_view_export(view, 0, out, NULL);
	BIP_UNLOCK()
	return rc ? export_pending(object, out) : 0;
}

/* Releases a struct. The current exception is kept. The GIL is dropped, because the release may wait. */
static void release_struct(struct bi_exchange *exchange)
{
	struct bip_raised raised = bip_put_aside();

	Py_BEGIN_ALLOW_THREADS
	exchange->release(exchange);
	Py_END_ALLOW_THREADS
	bip_put_back(raised);
}

/* Adds the struct of the mask to the struct of the array. On failure the struct of the array is released. */
static int add_mask(PyObject *mask, struct bi_exchange *out)
{
	struct masked *both = malloc(sizeof(*both));

	if (!both || export_object(mask, &both->mask)) {
		if (!both)
			PyErr_NoMemory();
		free(both);
		release_struct(out);
		return -1;
	}
	both->array = *out;
	out->release = release_masked;
	out->owner = both;
	out->flags |= BI_EXCHANGE_MASKED;
	out->mask = &both->mask;
	return 0;
}

/*
 * The function `view` of the table. A masked array is refused, because a borrowed struct has no memory for the struct
 * of the mask.
 */
static int view_object(PyObject *object, struct bi_exchange *out)
{
	if (check_type(object))
		return -1;
	if (!((struct bip_object *)object)->mask)
		return describe_object(object, out);
	PyErr_SetString(bip_UnsupportedError, "a masked array can only be acquired, not viewed");
	return -1;
}

/* The function `acquire` of the table: exports an array with its mask. */
static int acquire_object(PyObject *object, struct bi_exchange *out)
{
	PyObject *mask;
	int rc;

	if (check_type(object))
		return -1;
	/*
	 * The mask is read before the view: another thread may release the array in between, and then the export of the
	 * view fails.
	 */
	mask = bip_mask(object);
	rc = export_object(object, out);
	if (!rc && mask)
		rc = add_mask(mask, out);
	Py_XDECREF(mask);
	return rc;
}

PyObject *bip_native_capsule(void)
{
	static const struct bi_python_api api = { BI_ABI_VERSION, sizeof(api), view_object, acquire_object };

	return PyCapsule_New((void *)(uintptr_t)&api, BI_PYTHON_CAPSULE, NULL);
}
