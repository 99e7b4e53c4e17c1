/* release(), and the end of a `with` block. */
#include "object.h"
#include "base/errors.h"
#include "operations/operations.h"

PyObject *bip_release(PyObject *self, PyObject *Py_UNUSED(none))
{
	struct bi_error err;
	int rc = bip_release_object((struct bip_object *)self, 0, &err);

	return rc ? bip_raise(rc, &err) : Py_NewRef(Py_None);
}

PyObject *bip_enter(PyObject *self, PyObject *Py_UNUSED(none))
{
	return bip_refuse_released(self) ? NULL : Py_NewRef(self);
}

/*
 * Returns true if the end of a `with` block waits for pending work. It waits if the producer named no stream, because
 * other code cannot wait for the work then. It also waits for host memory, because its readers do not wait. Returns
 * false after an import with sync=False.
 */
static int waits_at_exit(struct bip_object *self)
{
	int waits = 0;

	if (self->flags & BIP_UNORDERED)
		return 0;
	BIP_LOCK((PyObject *)self)
	if (self->view)
		waits = self->flags & BIP_WAIT_AT_EXIT ||
			(bi_memory_is_host(bi_view_memory(self->view)) && !bi_view_is_idle(self->view));
	BIP_UNLOCK()
	return waits;
}

PyObject *bip_exit(PyObject *object, PyObject *Py_UNUSED(args))
{
	struct bip_object *self = (struct bip_object *)object;
	struct bi_error err;
	int rc = bip_release_object(self, waits_at_exit(self), &err);

	return rc ? bip_raise(rc, &err) : Py_NewRef(Py_None);
}
