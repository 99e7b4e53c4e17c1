/* References to Python objects that the library holds, and lets go of on whatever thread. */
#include "extension.h"

static int is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return Py_IsFinalizing();
#else
	return _Py_IsFinalizing();
#endif
}

#if PY_VERSION_HEX >= 0x030C0000
static void drop_quietly(PyObject *object)
{
	PyObject *raised = PyErr_GetRaisedException();

	Py_DECREF(object);
	PyErr_SetRaisedException(raised);
}
#else
static void drop_quietly(PyObject *object)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	Py_DECREF(object);
	PyErr_Restore(type, value, traceback);
}
#endif

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
void bip_drop(void *data)
{
	PyGILState_STATE state;

	if (!Py_IsInitialized() || is_finalizing())
		return;
	if (has_gil()) {
		drop_quietly(data);
		return;
	}
	state = PyGILState_Ensure();
	drop_quietly(data);
	PyGILState_Release(state);
}
