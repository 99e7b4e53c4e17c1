/* The object BufferInterface: one view, what it owns besides, and its end. */
#include <stddef.h>

#include "object.h"
#include "buffer_interface/binding.h"
#include "errors.h"
#include "lifetime.h"
#include "uses.h"

/* Making and letting go */

/* Where the GIL is the lock of them, a few objects that were let go are kept to be made again. */
#ifndef Py_GIL_DISABLED
#define SPARES 16

static struct bip_object *spares[SPARES];
static int spare_count;

static struct bip_object *allocate(void)
{
	if (!spare_count)
		return PyObject_New(struct bip_object, &bip_type);
	return (struct bip_object *)PyObject_Init((PyObject *)spares[--spare_count], &bip_type);
}

static void deallocate(struct bip_object *self)
{
	if (spare_count < SPARES)
		spares[spare_count++] = self;
	else
		PyObject_Free(self);
}
#else
static struct bip_object *allocate(void)
{
	return PyObject_New(struct bip_object, &bip_type);
}

static void deallocate(struct bip_object *self)
{
	PyObject_Free(self);
}
#endif

PyObject *bip_new(struct bi_view *view)
{
	struct bip_object *self = allocate();

	if (!self) {
		bip_release_view(view);
		return NULL;
	}
	self->view = view;
	self->acquired = NULL;
	self->mask = NULL;
	self->pattern = NULL;
	self->weakrefs = NULL;
	self->flags = 0;
	self->was_asked = self->is_cuda = 0;
	self->spare = 0;
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

struct bi_view *bip_view(PyObject *self)
{
	struct bi_view *view = ((struct bip_object *)self)->view;

	if (!view)
		raise_released();
	return view;
}

/* Few: the view's count of 32 bits is enough for 400 million objects that share it. */
#define LENT_AT_ONCE 8

struct bi_view *bip_lend(PyObject *self)
{
	struct bip_object *object = (struct bip_object *)self;

	if (object->view && !object->spare) {
		bi_view_retain_many(object->view, LENT_AT_ONCE);
		object->spare = LENT_AT_ONCE;
	}
	if (object->view)
		object->spare--;
	return object->view;
}

void bip_lend_back(PyObject *self)
{
	((struct bip_object *)self)->spare++;
}

struct bi_view *bip_hold(PyObject *self)
{
	struct bi_view *view;

	BIP_LOCK(self)
	view = bip_lend(self);
	BIP_UNLOCK()
	if (!view)
		raise_released();
	return view;
}

/* The object still has a reference of its own. */
static void drop_spare(struct bip_object *self)
{
	if (self->spare)
		bi_view_release_many(self->view, self->spare);
	self->spare = 0;
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
	if (!((struct bip_object *)object)->mask)
		return 0;
	PyErr_Format(bip_UnsupportedError, "the array is masked: %s does not apply masks", operation);
	return -1;
}

/* What release() takes out of the object, so that it is let go once whoever asks. */
struct holdings {
	struct bi_view *view;
	struct bi_stream *acquired;
	PyObject *mask;
	PyObject *pattern;
};

static struct holdings empty_out(struct bip_object *self)
{
	struct holdings held;

	BIP_LOCK(self)
	drop_spare(self);
	held = (struct holdings){ self->view, self->acquired, self->mask, self->pattern };
	self->view = NULL;
	self->acquired = NULL;
	self->mask = NULL;
	self->pattern = NULL;
	BIP_UNLOCK()
	return held;
}

/*
 * What the user enqueued on the stream that he named comes before everything later, and before the memory is let go; if
 * that cannot be said, it is waited for.
 */
static int hand_back(const struct holdings *held, int waits, struct bi_error *err)
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

/* The order of work ends for array and mask; the mask itself stays with whoever else has it. */
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
		rc = hand_back(&held, waits, err);
	bi_stream_release(held.acquired);
	bip_release_view(held.view);
	return rc;
}

int bip_let_go(struct bip_object *self, int waits, struct bi_error *err)
{
	struct holdings held = empty_out(self);
	int rc = BI_OK, rc_mask = BI_OK;

	if (held.view && (held.acquired || waits))
		rc = hand_back(&held, waits, err);
	if (held.mask)
		rc_mask = hand_back_mask(held.mask, waits, rc ? NULL : err);
	bi_stream_release(held.acquired);
	bip_release_view(held.view);
	Py_XDECREF(held.mask);
	Py_XDECREF(held.pattern);
	return rc ? rc : rc_mask;
}

static void let_go_quietly(struct bip_object *self)
{
	struct bip_raised raised = bip_put_aside();

	bip_let_go(self, 0, NULL);
	bip_put_back(raised);
}

static void dealloc_object(PyObject *object)
{
	struct bip_object *self = (struct bip_object *)object;

	if (self->weakrefs)
		PyObject_ClearWeakRefs(object);
	drop_spare(self);
	if (self->acquired)
		let_go_quietly(self);
	else if (self->view && self->flags & BIP_GIVES_BACK)
		bip_release_kept(self->view);
	else
		bip_release_view(self->view);
	Py_XDECREF(self->mask);
	Py_XDECREF(self->pattern);
	deallocate(self);
}

/* Without methods: type.c adds those. */
PyTypeObject bip_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "buffer_interface.BufferInterface",
	.tp_doc = "An n-dimensional array in host, OpenCL or CUDA memory that somebody made. buffer_interface() gives "
		  "one.",
	.tp_basicsize = sizeof(struct bip_object),
	.tp_weaklistoffset = offsetof(struct bip_object, weakrefs),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
	.tp_dealloc = dealloc_object,
};
