/* References to Python objects that the library holds, and lets go of on whatever thread. */
#include "producer.h"

static int is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return Py_IsFinalizing();
#else
	return _Py_IsFinalizing();
#endif
}

/* Buffers */

/* Where the GIL is the lock of them, a few that were given back are kept to be filled in again. */
#ifndef Py_GIL_DISABLED
#define SPARES 8

static Py_buffer *spares[SPARES];
static int spare_count;

static Py_buffer *allocate_buffer(void)
{
	return spare_count ? spares[--spare_count] : PyMem_Malloc(sizeof(Py_buffer));
}

static void free_buffer(Py_buffer *buffer)
{
	if (spare_count < SPARES)
		spares[spare_count++] = buffer;
	else
		PyMem_Free(buffer);
}
#else
static Py_buffer *allocate_buffer(void)
{
	return PyMem_Malloc(sizeof(Py_buffer));
}

static void free_buffer(Py_buffer *buffer)
{
	PyMem_Free(buffer);
}
#endif

Py_buffer *bip_borrow(PyObject *object, int flags)
{
	Py_buffer *buffer = allocate_buffer();

	if (!buffer) {
		PyErr_NoMemory();
		return NULL;
	}
	if (!PyObject_GetBuffer(object, buffer, flags))
		return buffer;
	free_buffer(buffer);
	return NULL;
}

/* Letting go */

static void drop_reference(void *object)
{
	Py_DECREF((PyObject *)object);
}

static void drop_buffer(void *buffer)
{
	PyBuffer_Release(buffer);
	free_buffer(buffer);
}

static void drop_quietly(void (*drop)(void *), void *data)
{
	struct bip_raised raised;

	if (!PyErr_Occurred()) {
		drop(data);
		return;
	}
	raised = bip_put_aside();
	drop(data);
	bip_put_back(raised);
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

/* A thread that asks for the GIL while the interpreter finalises is stopped for ever, so nothing is asked then. */
static inline void drop_with_gil(void (*drop)(void *), void *data)
{
	PyGILState_STATE state;

	if (!Py_IsInitialized() || is_finalizing())
		return;
	if (has_gil()) {
		drop_quietly(drop, data);
		return;
	}
	state = PyGILState_Ensure();
	drop_quietly(drop, data);
	PyGILState_Release(state);
}

void bip_drop(void *data)
{
	drop_with_gil(drop_reference, data);
}

void bip_give_back(void *data)
{
	drop_with_gil(drop_buffer, data);
}

/* The last view of a context closes it, which waits for work on memory that was released. */
static int is_short(const struct bi_view *view)
{
	return bi_view_releases_at_once(view) && bip_context_is_cached(bi_memory_context(bi_view_memory(view)));
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

static void release_slowly(struct bi_view *view)
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
