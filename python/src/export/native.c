/* The C hatch: the table of python.h for our own type. */
#include <stdlib.h>

#include "errors.h"
#include "lifetime.h"
#include "object.h"
#include "export/export.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/python.h"

/* A masked array and its mask as one struct to let go. */
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

static int check(PyObject *object)
{
	if (BIP_CHECK(object))
		return 0;
	PyErr_Format(PyExc_TypeError, "a BufferInterface is needed, not %.100s", Py_TYPE(object)->tp_name);
	return -1;
}

typedef int exporter(const struct bi_view *view, struct bi_exchange *out, struct bi_error *err);

/* Without the GIL: a thread that waits for a device may have the lock of the memory, and the host may have to wait. */
static int export_pending(exporter *export, const struct bi_view *view, struct bi_exchange *out)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = export(view, out, &err);
	Py_END_ALLOW_THREADS
	if (rc)
		bip_raise_export(rc, &err);
	return rc ? -1 : 0;
}

/* What was described is a part of the view, which the object may have let go in the meantime. */
static int describe_pending(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view = bip_hold(object);
	int rc = view && !export_pending(bi_view_describe, view, out) && !bip_refuse_released(object) ? 0 : -1;

	bip_release_view(view);
	return rc;
}

/* The way of every call counts nothing; what waits or fails goes the long way. */
static int describe(PyObject *object, struct bi_exchange *out)
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

static int give(const struct bi_view *view, struct bi_exchange *out, struct bi_error *err)
{
	return bi_view_export(view, 0, out, err);
}

static int export_held(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view = bip_hold(object);
	int rc;

	if (!view)
		return -1;
	rc = export_pending(give, view, out);
	if (rc)
		bip_release_view(view);
	else
		bi_view_release(view); /* the struct has one */
	return rc;
}

/* As for what is lent: the struct counts, and nothing else does. */
static int export(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view;
	int rc = -1;

	BIP_LOCK(object)
	view = ((struct bip_object *)object)->view;
	if (view && bi_view_is_idle(view))
		rc = bi_view_export(view, 0, out, NULL);
	BIP_UNLOCK()
	return rc ? export_held(object, out) : 0;
}

/* By who has the GIL, with an exception set. */
static void let_go(struct bi_exchange *exchange)
{
	struct bip_raised raised = bip_put_aside();

	Py_BEGIN_ALLOW_THREADS
	exchange->release(exchange);
	Py_END_ALLOW_THREADS
	bip_put_back(raised);
}

/* The mask outlives the array's object only where both are taken. */
static int add_mask(PyObject *mask, struct bi_exchange *out)
{
	struct masked *both = malloc(sizeof(*both));

	if (!both || export(mask, &both->mask)) {
		if (!both)
			PyErr_NoMemory();
		free(both);
		let_go(out);
		return -1;
	}
	both->array = *out;
	out->release = release_masked;
	out->owner = both;
	out->flags |= BI_EXCHANGE_MASKED;
	out->mask = &both->mask;
	return 0;
}

/* A struct that is only lent has no room for a second one. */
static int view(PyObject *object, struct bi_exchange *out)
{
	if (check(object))
		return -1;
	if (!((struct bip_object *)object)->mask)
		return describe(object, out);
	PyErr_SetString(bip_UnsupportedError, "the array is masked; it can be acquired, not viewed");
	return -1;
}

static int acquire(PyObject *object, struct bi_exchange *out)
{
	PyObject *mask;
	int rc;

	if (check(object))
		return -1;
	/* The mask first: who releases the array meanwhile takes both. */
	mask = bip_mask(object);
	rc = export(object, out);
	if (!rc && mask)
		rc = add_mask(mask, out);
	Py_XDECREF(mask);
	return rc;
}

PyObject *bip_native_capsule(void)
{
	static const struct bi_python_api api = { BI_ABI_VERSION, sizeof(api), view, acquire };

	return PyCapsule_New((void *)(uintptr_t)&api, BI_PYTHON_CAPSULE, NULL);
}
