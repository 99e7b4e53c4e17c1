/* The exceptions of the package, and the conversion of statuses to exceptions. */
#include "base/errors.h"

#include <stdarg.h>

PyObject *bip_InvalidArrayError, *bip_UnsupportedError, *bip_UnsupportedTypeError, *bip_DriverError;

static PyObject *unprinted; /* the text for a number that Python refuses to print */

/* Creates an exception with one to three bases, a list that ends with NULL, and adds it to the module. */
static PyObject *make_exception(PyObject *module, const char *name, const char *doc, PyObject *const *base)
{
	PyObject *bases = PyTuple_Pack(!base[1] ? 1 : !base[2] ? 2 : 3, base[0], base[1], base[1] ? base[2] : NULL);
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
	unprinted = PyUnicode_FromString("a value of too many digits");
	bip_InvalidArrayError =
		make_exception(module, "buffer_interface.InvalidArrayError",
			       "The description of an array by its producer is wrong, or the array was released.",
			       (PyObject *[]){ PyExc_BufferError, PyExc_ValueError, NULL });
	bip_UnsupportedError = make_exception(module, "buffer_interface.UnsupportedError",
					      "The array cannot be imported or exported in this way.",
					      (PyObject *[]){ PyExc_BufferError, PyExc_NotImplementedError, NULL });
	if (!unprinted || !bip_InvalidArrayError || !bip_UnsupportedError)
		return -1;
	bip_UnsupportedTypeError =
		make_exception(module, "buffer_interface.UnsupportedTypeError",
			       "The library, or a protocol, does not have the element type.",
			       (PyObject *[]){ bip_InvalidArrayError, bip_UnsupportedError, PyExc_TypeError, NULL });
	bip_DriverError = make_exception(
		module, "buffer_interface.DriverError",
		"A device or its driver failed. `vendor` is the driver's own code, or 0 if there is none.",
		(PyObject *[]){ PyExc_RuntimeError, NULL });
	if (!bip_UnsupportedTypeError || !bip_DriverError)
		return -1;
	return set_vendor(bip_DriverError, 0);
}

/* Raises DriverError with the attribute `vendor`. */
static void raise_driver(const struct bi_error *err)
{
	PyObject *exception = PyObject_CallFunction(bip_DriverError, "N", PyUnicode_FromFormat("%s", err->message));

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
	if (class == PyExc_BufferError)
		PyErr_Format(class, "%s; an array that was made from a mapping keeps the mapping: delete it (del v)",
			     err->message);
	else if (class)
		PyErr_Format(class, "%s", err->message);
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
		return raise_as(bip_InvalidArrayError, err);
	case BI_EDTYPE:
		return raise_as(bip_UnsupportedTypeError, err);
	default:
		return bip_raise(rc, err);
	}
}

void *bip_raise_export(int rc, const struct bi_error *err)
{
	switch (rc) {
	case BI_EREADONLY:
		return raise_as(bip_UnsupportedError, err);
	default:
		return bip_raise_import(rc, err);
	}
}

int bip_check(int rc, const struct bi_error *err, void *(*raise)(int rc, const struct bi_error *err))
{
	if (rc)
		raise(rc, err);
	return rc ? -1 : 0;
}

int(bip_refuse)(PyObject *exception, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	PyErr_FormatV(exception, format, args);
	va_end(args);
	return -1;
}

int bip_as_handle(const char *name, uint64_t value, uintptr_t *out)
{
	*out = (uintptr_t)value;
	if (*out == value)
		return 0;
	return bip_refuse(bip_InvalidArrayError,
			  "%s %llu is above the largest handle %llu; a 64-bit process can import it", name,
			  (unsigned long long)value, (unsigned long long)UINTPTR_MAX);
}

int bip_refuse_range(PyObject *exception, const char *name, PyObject *value, const char *range)
{
	if (PyErr_ExceptionMatches(PyExc_TypeError) && !PyIndex_Check(value))
		return bip_refuse(PyExc_TypeError, "%s is of type %.100s, not an int", name, Py_TYPE(value)->tp_name);
	if (!PyErr_ExceptionMatches(PyExc_OverflowError))
		return -1;
	return bip_refuse(exception, "%s is %R, not in %s", name, bip_printable(value), range);
}

PyObject *bip_printable(PyObject *value)
{
	PyObject *text;
	int is_too_long;

	PyErr_Clear();
	text = PyObject_Repr(value);
	is_too_long = !text && PyErr_ExceptionMatches(PyExc_ValueError);
	PyErr_Clear();
	Py_XDECREF(text);
	return is_too_long ? unprinted : value;
}

int bip_clear_error(void)
{
	if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
		return -1;
	PyErr_Clear();
	return 0;
}

int bip_no_memory(void)
{
	PyErr_NoMemory();
	return -1;
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

void bip_drop_raised(struct bip_raised *raised)
{
	Py_CLEAR(raised->exception);
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

void bip_drop_raised(struct bip_raised *raised)
{
	Py_CLEAR(raised->type);
	Py_CLEAR(raised->exception);
	Py_CLEAR(raised->traceback);
}
#endif

int bip_has_vendor(void)
{
	struct bip_raised raised = bip_put_aside();
	PyObject *vendor = PyObject_GetAttrString(raised.exception, "vendor");
	int has = vendor && PyLong_AsLong(vendor) != 0;

	Py_XDECREF(vendor);
	bip_put_back(raised);
	return has;
}

PyObject *bip_take_message(void)
{
	struct bip_raised raised = bip_put_aside();
	PyObject *text;

#if PY_VERSION_HEX < 0x030C0000
	PyErr_NormalizeException(&raised.type, &raised.exception, &raised.traceback);
#endif
	text = PyObject_Str(raised.exception);
	bip_drop_raised(&raised);
	return text;
}
