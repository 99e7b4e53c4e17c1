/* References to Python objects that the library holds, and lets go of on whatever thread. */
#include <stdlib.h>

#include "lifetime.h"
#include "buffer_interface/binding.h"
#include "contexts.h"
#include "errors.h"

static int is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return Py_IsFinalizing();
#else
	return _Py_IsFinalizing();
#endif
}

/* What host memory keeps */

/*
 * From where the library has memory, since most of it is for that. Where the GIL is the lock of them, a few that were
 * given back are kept to be filled in again.
 */
#ifndef Py_GIL_DISABLED
#define SPARES 8

static struct bip_kept *spares[SPARES];
static int spare_count;

static struct bip_kept *allocate_kept(void)
{
	return spare_count ? spares[--spare_count] : malloc(sizeof(struct bip_kept));
}

static void free_kept(struct bip_kept *kept)
{
	if (spare_count < SPARES)
		spares[spare_count++] = kept;
	else
		free(kept);
}
#else
static struct bip_kept *allocate_kept(void)
{
	return malloc(sizeof(struct bip_kept));
}

static void free_kept(struct bip_kept *kept)
{
	free(kept);
}
#endif

struct bip_kept *bip_borrow(PyObject *object, int flags)
{
	struct bip_kept *kept = allocate_kept();

	if (!kept) {
		PyErr_NoMemory();
		return NULL;
	}
	kept->owner = NULL;
	if (!PyObject_GetBuffer(object, &kept->buffer, flags))
		return kept;
	free_kept(kept);
	return NULL;
}

struct bip_kept *bip_keep(PyObject *owner)
{
	struct bip_kept *kept = allocate_kept();

	if (kept)
		kept->owner = Py_NewRef(owner);
	else
		PyErr_NoMemory();
	return kept;
}

/* Letting go */

static void drop_reference(void *object)
{
	Py_DECREF((PyObject *)object);
}

static void drop_kept(void *data)
{
	struct bip_kept *kept = data;
	PyObject *owner = kept->owner;

	if (!owner)
		PyBuffer_Release(&kept->buffer);
	free_kept(kept);
	Py_XDECREF(owner);
}

static int has_gil(void)
{
	PyThreadState *mine = PyGILState_GetThisThreadState();

#if PY_VERSION_HEX >= 0x030D0000
	return mine && mine == PyThreadState_GetUnchecked();
#else
	return mine && mine == _PyThreadState_UncheckedGet();
#endif
}

/* The thread may lack the GIL, and have an exception. */
__attribute__((cold, noinline)) static void drop_slowly(void (*drop)(void *), void *data)
{
	PyGILState_STATE state = PyGILState_Ensure();
	struct bip_raised raised = bip_put_aside();

	drop(data);
	bip_put_back(raised);
	PyGILState_Release(state);
}

/* A thread that asks for the GIL while the interpreter finalises is stopped for ever, so nothing is asked then. */
static inline void drop_with_gil(void (*drop)(void *), void *data)
{
	if (!Py_IsInitialized() || is_finalizing())
		return;
	if (has_gil() && !PyErr_Occurred())
		drop(data);
	else
		drop_slowly(drop, data);
}

void bip_drop(void *data)
{
	drop_with_gil(drop_reference, data);
}

/* Without a call, from the little room that the C library has for this in modules that are loaded later. */
#ifdef __GLIBC__
#define QUICKLY __attribute__((tls_model("initial-exec")))
#else
#define QUICKLY
#endif

/*
 * This thread has the GIL, no exception, and a view in its hands whose end, if it is one, is that of what bip_give_back
 * lets go of: nothing else runs before that, which so need not find out.
 */
static _Thread_local int is_sure QUICKLY;

void bip_give_back(void *data)
{
	if (!is_sure) {
		drop_with_gil(drop_kept, data);
		return;
	}
	is_sure = 0;
	drop_kept(data);
}

/* The last view of a context closes it, which waits for work on memory that was released. */
static int is_short(const struct bi_view *view)
{
	return bi_view_release_is_immediate(view) && bip_context_is_cached(bi_memory_context(bi_view_memory(view)));
}

/* Producers' deleters may be Python code, which does not run well with an exception set. */
int bip_releases_at_once(const struct bi_view *view)
{
	return is_short(view) && !PyErr_Occurred();
}

static void release_without_gil(struct bi_view *view)
{
	Py_BEGIN_ALLOW_THREADS
	bi_view_release(view);
	Py_END_ALLOW_THREADS
}

__attribute__((cold, noinline)) static void release_slowly(struct bi_view *view)
{
	struct bip_raised raised = bip_put_aside();

	if (is_short(view))
		bi_view_release(view);
	else
		release_without_gil(view);
	bip_put_back(raised);
}

void bip_release_view(struct bi_view *view)
{
	if (!view)
		return;
	if (bip_releases_at_once(view))
		bi_view_release(view);
	else
		release_slowly(view);
}

void bip_release_kept(struct bi_view *view)
{
	if (!bi_view_is_idle(view) || PyErr_Occurred()) {
		release_slowly(view);
		return;
	}
	is_sure = 1;
	bi_view_release(view);
	is_sure = 0;
}
