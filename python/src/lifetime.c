/* References between Python and the library: the Python objects that a memory keeps alive, and releases of views. */
#include "lifetime.h"
#include "base/errors.h"

#include <stdlib.h>

/* Release callbacks */

static int is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return Py_IsFinalizing();
#else
	return _Py_IsFinalizing();
#endif
}

int bip_has_gil(void)
{
	PyThreadState *mine = PyGILState_GetThisThreadState();

#if PY_VERSION_HEX >= 0x030D0000
	return mine && mine == PyThreadState_GetUnchecked();
#else
	return mine && mine == _PyThreadState_UncheckedGet();
#endif
}

/* Calls the function with the GIL and no exception set. The thread may have the GIL already. It keeps its exception. */
static void call_with_gil(void (*function)(void *), void *data)
{
	PyGILState_STATE state = PyGILState_Ensure();
	struct bip_raised raised = bip_put_aside();

	function(data);
	bip_put_back(raised);
	PyGILState_Release(state);
}

static void call_now(void (*function)(void *), void *data)
{
	if (bip_has_gil() && !PyErr_Occurred())
		function(data);
	else
		call_with_gil(function, data);
}

/*
 * An array may keep a second one alive, which keeps a third, and so on. The release of each then runs inside the
 * release of the one before. The stack is limited, so from this depth on the releases of a thread are put on a list.
 */
#define DEEPEST_RELEASE 50

struct later {
	struct later *next;
	void (*function)(void *data);
	void *data;
};

struct releases {
	int depth;
	struct later *later;
};

/* Not inlined, because an access to a thread-local variable of a library may be a call, which a compiler may repeat. */
static __attribute__((noinline)) struct releases *own_releases(void)
{
	static _Thread_local struct releases own;

	return &own;
}

/* Returns 1, or 0 if memory is exhausted. */
static int put_off(struct releases *own, void (*function)(void *), void *data)
{
	struct later *entry = malloc(sizeof(*entry));

	if (!entry)
		return 0;
	*entry = (struct later){ own->later, function, data };
	own->later = entry;
	return 1;
}

static void call_later_ones(struct releases *own)
{
	while (own->later) {
		struct later *entry = own->later, copy = *entry;

		own->later = copy.next;
		free(entry);
		call_now(copy.function, copy.data);
	}
}

/*
 * Calls the function with the GIL, on any thread. Calls it later, on the same thread, if releases are nested deeply.
 * Does nothing before the interpreter is initialised. Does nothing once the interpreter finalises, because a thread
 * that takes the GIL then never returns.
 */
static void call_from_any_thread(void (*function)(void *), void *data)
{
	struct releases *own;

	if (!Py_IsInitialized() || is_finalizing())
		return;
	own = own_releases();
	if (own->depth >= DEEPEST_RELEASE && put_off(own, function, data))
		return;
	own->depth++;
	call_now(function, data);
	if (own->depth == 1)
		call_later_ones(own);
	own->depth--;
}

static void decref_object(void *object)
{
	Py_DECREF((PyObject *)object);
}

void bip_release_owner(void *owner)
{
	call_from_any_thread(decref_object, owner);
}

/* Closing of contexts */

void bip_close_context(void (*close)(struct bi_context *context), struct bi_context *context)
{
	struct bip_raised raised;

	if (!bip_has_gil()) {
		close(context);
		return;
	}
	raised = bip_put_aside();
	Py_BEGIN_ALLOW_THREADS
	close(context);
	Py_END_ALLOW_THREADS
	bip_put_back(raised);
}

/* Buffers */

Py_buffer *bip_borrow_buffer(PyObject *object, int flags)
{
	Py_buffer *buffer = PyMem_Malloc(sizeof(*buffer));

	if (!buffer) {
		PyErr_NoMemory();
		return NULL;
	}
	if (!PyObject_GetBuffer(object, buffer, flags))
		return buffer;
	PyMem_Free(buffer);
	return NULL;
}

static void free_buffer(void *buffer)
{
	PyBuffer_Release(buffer);
	PyMem_Free(buffer);
}

void bip_return_buffer(void *buffer)
{
	call_from_any_thread(free_buffer, buffer);
}

/* Releases of views */

/* The release must not happen while an exception is set, because a producer's release callback may run Python code. */
int bip_is_short_release(const struct bi_view *view)
{
	return bi_view_release_is_immediate(view) && !PyErr_Occurred();
}

static void release_without_exception(struct bi_view *view)
{
	struct bip_raised raised = bip_put_aside();

	if (bi_view_release_is_immediate(view))
		bi_view_release(view);
	else {
		Py_BEGIN_ALLOW_THREADS
		bi_view_release(view);
		Py_END_ALLOW_THREADS
	}
	bip_put_back(raised);
}

void bip_release_view(struct bi_view *view)
{
	if (!view)
		return;
	if (bip_is_short_release(view))
		bi_view_release(view);
	else
		release_without_exception(view);
}
