/* The exceptions of the package, and the conversion of statuses to exceptions. */
#include "base/errors.h"

PyObject *bip_InvalidArrayError, *bip_UnsupportedError, *bip_DriverError;

/* Creates an exception with one or two bases and adds it to the module. `second` may be NULL. */
static PyObject *make_exception(PyObject *module, const char *name, const char *doc, PyObject *first, PyObject *second)
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

/* Sets the attribute `vendor` on an exception object, or on an exception class as the default. */
static int set_vendor(PyObject *object, int code)
{
	PyObject *vendor = PyLong_FromLong(code);
	int rc = vendor ? PyObject_SetAttrString(object, "vendor", vendor) : -1;

	Py_XDECREF(vendor);
	return rc;
}

int bip_errors_init(PyObject *module)
{
	bip_InvalidArrayError =
		make_exception(module, "buffer_interface.InvalidArrayError",
			       "The description of an array by its producer is wrong, or the array was released.",
			       PyExc_BufferError, PyExc_ValueError);
	bip_UnsupportedError = make_exception(module, "buffer_interface.UnsupportedError",
					      "The array cannot be imported or exported in this way.",
					      PyExc_BufferError, PyExc_NotImplementedError);
	bip_DriverError = make_exception(
		module, "buffer_interface.DriverError",
		"A device or its driver failed. `vendor` is the driver's own code, or 0 if there is none.",
		PyExc_RuntimeError, NULL);
	if (!bip_InvalidArrayError || !bip_UnsupportedError || !bip_DriverError)
		return -1;
	return set_vendor(bip_DriverError, 0);
}

/* Raises DriverError with the attribute `vendor`. */
static void raise_driver(const struct bi_error *err)
{
	PyObject *exception = PyObject_CallFunction(bip_DriverError, "s", err->message);

	if (exception && set_vendor(exception, err->vendor) == 0)
		PyErr_SetObject(bip_DriverError, exception);
	Py_XDECREF(exception);
}

/* Returns the exception class for a status, borrowed. Returns NULL for DriverError. */
static PyObject *exception_of(int rc)
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
	return raise_as(exception_of(rc), err);
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
