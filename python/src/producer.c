/* What is on a type, and the exception that is set while a producer lets go. */
#include "producer.h"

/* What the type and its bases have: a metaclass is not asked, and no exception is made only to be dropped. */
PyObject *bip_type_attribute(PyTypeObject *type, PyObject *name)
{
#if PY_VERSION_HEX >= 0x030D0000
	return _PyType_LookupRef(type, name);
#else
	return Py_XNewRef(_PyType_Lookup(type, name));
#endif
}

#if PY_VERSION_HEX >= 0x030C0000
struct bip_raised bip_put_aside(void)
{
	return (struct bip_raised){ PyErr_GetRaisedException() };
}

void bip_put_back(struct bip_raised raised)
{
	PyErr_SetRaisedException(raised.exception);
}
#else
struct bip_raised bip_put_aside(void)
{
	struct bip_raised raised;

	PyErr_Fetch(&raised.type, &raised.exception, &raised.traceback);
	return raised;
}

void bip_put_back(struct bip_raised raised)
{
	PyErr_Restore(raised.type, raised.exception, raised.traceback);
}
#endif
