/* Exceptions, and what the library's statuses become. */
#include "errors.h"

PyObject *bip_InvalidArrayError, *bip_UnsupportedError, *bip_DriverError;

/* An exception, which may be caught under two names. */
static PyObject *make_class(PyObject *module, const char *name, const char *doc, PyObject *first, PyObject *second)
{
	PyObject *bases = PyTuple_Pack(second ? 2 : 1, first, second);
	PyObject *class = bases ? PyErr_NewExceptionWithDoc(name, doc, bases, NULL) : NULL;

	Py_XDECREF(bases);
	if (class && PyModule_AddObjectRef(module, strrchr(name, '.') + 1, class)) {
		Py_DECREF(class);
		return NULL;
	}
	return class;
}

/* Of an exception; the class has the one of those that others raise. */
static int set_vendor(PyObject *object, int code)
{
	PyObject *vendor = PyLong_FromLong(code);
	int rc = vendor ? PyObject_SetAttrString(object, "vendor", vendor) : -1;

	Py_XDECREF(vendor);
	return rc;
}

int bip_errors_init(PyObject *module)
{
	bip_InvalidArrayError = make_class(module, "buffer_interface.InvalidArrayError",
					   "What a producer says of an array cannot be, or the array was released.",
					   PyExc_BufferError, PyExc_ValueError);
	bip_UnsupportedError = make_class(module, "buffer_interface.UnsupportedError",
					  "The array cannot be given, or taken, in this way.", PyExc_BufferError,
					  PyExc_NotImplementedError);
	bip_DriverError = make_class(module, "buffer_interface.DriverError",
				     "A device or its driver failed; `vendor` is the driver's own code, 0 without one.",
				     PyExc_RuntimeError, NULL);
	if (!bip_InvalidArrayError || !bip_UnsupportedError || !bip_DriverError)
		return -1;
	return set_vendor(bip_DriverError, 0);
}

/* DriverError(message) with the attribute `vendor`. */
static void raise_driver(const struct bi_error *err)
{
	PyObject *exception = PyObject_CallFunction(bip_DriverError, "s", err->message);

	if (exception && set_vendor(exception, err->vendor) == 0)
		PyErr_SetObject(bip_DriverError, exception);
	Py_XDECREF(exception);
}

/* NULL: a DriverError. */
static PyObject *class_of(int rc)
{
	switch (rc) {
	case BI_EINVAL:
	case BI_EREADONLY:
	case BI_EOVERLAP:
		return PyExc_ValueError;
	case BI_EOVERFLOW:
		return PyExc_OverflowError;
	case BI_EBOUNDS:
		return PyExc_IndexError;
	case BI_EDTYPE:
		return PyExc_TypeError;
	case BI_EBUSY:
		return PyExc_BufferError;
	case BI_EUNSUPPORTED:
		return bip_UnsupportedError;
	case BI_ENOMEM:
		return PyExc_MemoryError;
	case BI_EVERSION:
		return bip_InvalidArrayError;
	default:
		return NULL;
	}
}

static void *raise_as(PyObject *class, const struct bi_error *err)
{
	if (class)
		PyErr_SetString(class, err->message);
	else
		raise_driver(err);
	return NULL;
}

void *bip_raise(int rc, const struct bi_error *err)
{
	return raise_as(class_of(rc), err);
}

void *bip_raise_import(int rc, const struct bi_error *err)
{
	switch (rc) {
	case BI_EINVAL:
	case BI_EREADONLY:
	case BI_EOVERFLOW:
	case BI_EBOUNDS:
	case BI_EDTYPE:
		return raise_as(bip_InvalidArrayError, err);
	default:
		return bip_raise(rc, err);
	}
}

void *bip_raise_export(int rc, const struct bi_error *err)
{
	switch (rc) {
	case BI_EREADONLY:
	case BI_EDTYPE:
		return raise_as(bip_UnsupportedError, err);
	default:
		return bip_raise_import(rc, err);
	}
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
