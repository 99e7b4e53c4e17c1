/* The object BufferInterface: its members, references to its view, and its release. */
#include <stddef.h>

#include "object.h"
#include "lifetime.h"
#include "uses.h"
#include "base/errors.h"

/*
 * Memory of destroyed objects. New objects reuse it, which makes slices faster. The GIL is the lock of the list. An
 * interpreter without a GIL leaves the list empty.
 */
#define FREE_OBJECTS 16

static struct bip_object *free_objects[FREE_OBJECTS];
static int free_count;

static struct bip_object *allocate_object(void)
{
	if (!free_count)
		return PyObject_New(struct bip_object, &bip_type);
	return (struct bip_object *)PyObject_Init((PyObject *)free_objects[--free_count], &bip_type);
}

static void free_object(struct bip_object *self)
{
#ifndef Py_GIL_DISABLED
	if (free_count < FREE_OBJECTS) {
		free_objects[free_count++] = self;
		return;
	}
#endif
	PyObject_Free(self);
}

PyObject *bip_new(struct bi_view *view)
{
	struct bip_object *self = allocate_object();

	if (!self) {
		bip_release_view(view);
		return NULL;
	}
	self->view = view;
	self->acquired = NULL;
	self->mask = NULL;
	self->pattern = NULL;
	self->was_asked = self->is_cuda = self->is_ready = 0;
	self->flags = 0;
	self->weakrefs = NULL;
	return (PyObject *)self;
}

PyObject *bip_derive(const struct bip_object *parent, struct bi_view *view)
{
	PyObject *self = bip_new(view);

	if (self)
		((struct bip_object *)self)->flags = parent->flags;
	return self;
}

static void raise_released(void)
{
	PyErr_SetString(bip_InvalidArrayError, "this BufferInterface was released [L1]");
}

struct bi_view *bip_view_locked(PyObject *self)
{
	struct bi_view *view = ((struct bip_object *)self)->view;

	if (!view)
		raise_released();
	return view;
}

struct bi_view *bip_hold(PyObject *self)
{
	struct bi_view *view;

	BIP_LOCK(self)
	view = ((struct bip_object *)self)->view;
	if (view)
		bi_view_retain(view);
	BIP_UNLOCK()
	if (!view)
		raise_released();
	return view;
}

int bip_wait_for(const struct bi_view *view, int rc)
{
	struct bi_error err;
	int waited;

	Py_BEGIN_ALLOW_THREADS
	waited = bi_view_synchronize(view, &err);
	Py_END_ALLOW_THREADS
	if (waited && !rc)
		bip_raise(waited, &err);
	return rc || waited ? -1 : 0;
}

int bip_wait(PyObject *self)
{
	struct bi_view *view = bip_hold(self);
	int rc = view ? bip_wait_for(view, 0) : -1;

	bip_release_view(view);
	return rc;
}

int bip_is_released(PyObject *self)
{
	int is_released;

	BIP_LOCK(self)
	is_released = !((struct bip_object *)self)->view;
	BIP_UNLOCK()
	return is_released;
}

int bip_refuse_released(PyObject *self)
{
	int is_released = bip_is_released(self);

	if (is_released)
		raise_released();
	return is_released ? -1 : 0;
}

int bip_has_mask(PyObject *self)
{
	int has_mask;

	BIP_LOCK(self)
	has_mask = bip_view_locked(self) ? ((struct bip_object *)self)->mask != NULL : -1;
	BIP_UNLOCK()
	return has_mask;
}

PyObject *bip_mask(PyObject *self)
{
	PyObject *mask;

	BIP_LOCK(self)
	mask = Py_XNewRef(((struct bip_object *)self)->mask);
	BIP_UNLOCK()
	return mask;
}

int bip_refuse_mask(PyObject *object, const char *operation)
{
	int has_mask = bip_has_mask(object);

	if (has_mask <= 0)
		return has_mask;
	return bip_refuse(bip_UnsupportedError, "the array is masked: %s does not apply masks", operation);
}

/* The members that a release takes out of an object. References are owned. A member may be NULL. */
struct holdings {
	struct bi_view *view;
	struct bi_stream *acquired;
	PyObject *mask;
	PyObject *pattern;
};

/*
 * Takes the members out of the object. If several threads release an object, one thread gets the members, and the
 * others get NULL.
 */
static struct holdings take_holdings(struct bip_object *self)
{
	struct holdings held;

	BIP_LOCK(self)
	held = (struct holdings){ self->view, self->acquired, self->mask, self->pattern };
	self->view = NULL;
	self->acquired = NULL;
	self->mask = NULL;
	self->pattern = NULL;
	BIP_UNLOCK()
	return held;
}

/*
 * Hands the acquired stream back, if any: later work on the memory, and its release, come after the work on the stream.
 * If that fails, waits for the stream. Otherwise, with `waits`, waits for pending work on the memory.
 */
static int hand_back_acquired(const struct holdings *held, int waits, struct bi_error *err)
{
	int rc = BI_OK;

	Py_BEGIN_ALLOW_THREADS
	if (held->acquired) {
		rc = bip_end_use(held->view, held->acquired, err);
		if (rc)
			bi_stream_synchronize(held->acquired, NULL);
	}
	if (waits && !rc)
		rc = bi_view_synchronize(held->view, err);
	Py_END_ALLOW_THREADS
	return rc;
}

/*
 * Hands the acquired stream of a mask back, and waits, as hand_back_acquired does. The mask keeps its view, because
 * other code may have references to the mask.
 */
static int hand_back_mask(PyObject *mask, int waits, struct bi_error *err)
{
	struct bip_object *self = (struct bip_object *)mask;
	struct holdings held = { NULL, NULL, NULL, NULL };
	int rc = BI_OK;

	BIP_LOCK(mask)
	if (self->view) {
		held.view = bi_view_retain(self->view);
		held.acquired = self->acquired;
		self->acquired = NULL;
	}
	BIP_UNLOCK()
	if (held.acquired || (held.view && waits))
		rc = hand_back_acquired(&held, waits, err);
	bi_stream_release(held.acquired);
	bip_release_view(held.view);
	return rc;
}

int bip_release_object(struct bip_object *self, int waits, struct bi_error *err)
{
	struct holdings held = take_holdings(self);
	int rc = BI_OK, rc_mask = BI_OK;

	if (held.view && (held.acquired || waits))
		rc = hand_back_acquired(&held, waits, err);
	if (held.mask)
		rc_mask = hand_back_mask(held.mask, waits, rc ? NULL : err);
	bi_stream_release(held.acquired);
	bip_release_view(held.view);
	Py_XDECREF(held.mask);
	Py_XDECREF(held.pattern);
	return rc ? rc : rc_mask;
}

static void release_without_exception(struct bip_object *self)
{
	struct bip_raised raised = bip_put_aside();

	bip_release_object(self, 0, NULL);
	bip_put_back(raised);
}

static void object_dealloc(PyObject *object)
{
	struct bip_object *self = (struct bip_object *)object;

	/*
	 * Without a GIL another thread may be freeing a weak reference, so only PyObject_ClearWeakRefs reads the list,
	 * with its lock.
	 */
#ifndef Py_GIL_DISABLED
	if (self->weakrefs)
#endif
		PyObject_ClearWeakRefs(object);
	if (self->acquired)
		release_without_exception(self);
	bip_release_view(self->view);
	Py_XDECREF(self->mask);
	Py_XDECREF(self->pattern);
	free_object(self);
}

/* The type without methods and attributes. type.c adds them, because their files depend on this one. */
PyTypeObject bip_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "buffer_interface.BufferInterface",
	.tp_doc = "An n-dimensional array in host, OpenCL or CUDA memory of any library. buffer_interface() imports\n"
		  "one; empty(), zeros(), full() and others allocate one.\n\n"
		  "It does not compute: arithmetic raises TypeError with the name of a library that does.",
	.tp_basicsize = sizeof(struct bip_object),
	.tp_weaklistoffset = offsetof(struct bip_object, weakrefs),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.tp_dealloc = object_dealloc,
};
