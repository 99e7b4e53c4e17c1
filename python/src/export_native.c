/* The C hatch: the table of python.h for our own type. */
#include <stdlib.h>

#include "export.h"
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

/* The mask outlives the array's object only where both are taken. */
static int add_mask(PyObject *mask, int (*export)(PyObject *, struct bi_exchange *), struct bi_exchange *out)
{
	struct masked *both = malloc(sizeof(*both));

	if (!both || export(mask, &both->mask)) {
		if (!both)
			PyErr_NoMemory();
		free(both);
		out->release(out);
		return -1;
	}
	both->array = *out;
	out->release = release_masked;
	out->owner = both;
	out->flags |= BI_EXCHANGE_MASKED;
	out->mask = &both->mask;
	return 0;
}

/* Host memory that a device still works on would make the library wait, with the GIL. */
static int needs_wait(const struct bi_view *view)
{
	return bi_memory_is_host(bi_view_memory(view)) && !bi_view_is_idle(view);
}

typedef int exporter(const struct bi_view *view, struct bi_exchange *out, struct bi_error *err);

static int export_with(exporter *export, PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view = bip_hold(object);
	struct bi_error err;
	int rc;

	if (!view)
		return -1;
	if (needs_wait(view) && bip_settle(view)) {
		bi_view_release(view);
		return -1;
	}
	rc = export(view, out, &err);
	bi_view_release(view);
	if (rc)
		bip_raise_export(rc, &err);
	return rc ? -1 : 0;
}

/* The way of every call counts nothing; what waits or fails goes the long way. */
static int describe(PyObject *object, struct bi_exchange *out)
{
	struct bi_view *view;
	int rc = -1;

	BIP_LOCK(object)
	view = ((struct bip_object *)object)->view;
	if (view && !needs_wait(view))
		rc = bi_view_describe(view, out, NULL);
	BIP_UNLOCK()
	return rc ? export_with(bi_view_describe, object, out) : 0;
}

static int give(const struct bi_view *view, struct bi_exchange *out, struct bi_error *err)
{
	return bi_view_export(view, 0, out, err);
}

static int export(PyObject *object, struct bi_exchange *out)
{
	return export_with(give, object, out);
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

	if (check(object) || export(object, out))
		return -1;
	mask = ((struct bip_object *)object)->mask;
	return mask ? add_mask(mask, export, out) : 0;
}

PyObject *bip_native_capsule(void)
{
	static const struct bi_python_api api = { BI_ABI_VERSION, sizeof(api), view, acquire };

	return PyCapsule_New((void *)(uintptr_t)&api, BI_PYTHON_CAPSULE, NULL);
}
