/* Reads the argument `device` of functions and methods. */
#include <limits.h>
#include <string.h>

#include "device_argument.h"
#include "contexts.h"
#include "dense.h"
#include "lifetime.h"
#include "object.h"
#include "base/backends.h"
#include "base/errors.h"

static int context_of_array(PyObject *array, struct bi_context **out)
{
	struct bi_view *view = bip_hold(array);
	int rc = view ? bip_own_context(view, out) : -1;

	bip_release_view(view);
	return rc;
}

static int context_of_ordinal(PyObject *number, struct bi_context **out)
{
	int overflow;
	long ordinal = PyLong_AsLongAndOverflow(number, &overflow);

	if (!overflow && ordinal >= 0 && ordinal <= INT_MAX)
		return bip_context_cuda((int)ordinal, out);
	return bip_refuse(PyExc_ValueError, "device is %S, not the ordinal of a CUDA device, 0 or above",
			  bip_printable(number));
}

/*
 * Finds the context of a tuple (platform, ordinal). Such a tuple is the attribute `device` of an array whose backend
 * names devices by two numbers.
 */
static int context_of_pair(PyObject *pair, struct bi_context **out)
{
	struct bi_backend backend;
	char text[48];
	int platform, ordinal;

	if (!PyArg_ParseTuple(pair, "ii", &platform, &ordinal))
		return PyErr_ExceptionMatches(PyExc_TypeError)
			       ? bip_refuse(PyExc_TypeError,
					    "device is %R, not a tuple of two ints (platform, ordinal)",
					    bip_printable(pair))
			       : bip_refuse_range(PyExc_ValueError, "device", pair, "numbers of 32 bits");
	if (platform < 0 || ordinal < 0)
		return bip_refuse(PyExc_ValueError,
				  "device is (%d, %d), and -1 stands for an unknown device: pass the array itself",
				  platform, ordinal);
	if (!bip_backend_with_numbers(2, &backend))
		return bip_refuse(PyExc_ValueError, "device is (%d, %d), and this build of the package has no OpenCL",
				  platform, ordinal);
	PyOS_snprintf(text, sizeof(text), "%s:%d:%d", backend.name, platform, ordinal);
	return bip_context_open(text, out);
}

/* Returns true for one to `most` numbers with colons between them, such as "0" or "0:1". */
static int is_numbers(const char *text, int most)
{
	for (int count = 1; count <= most; count++) {
		size_t digits = strspn(text, "0123456789");

		if (!digits)
			return 0;
		text += digits;
		if (!*text++)
			return 1;
		if (text[-1] != ':')
			return 0;
	}
	return 0;
}

/*
 * Returns true for a well-formed device string, whether or not the device exists: "auto", "cpu", "gpu", "#N", or the
 * name of a backend, alone or with numbers or a part of a device name behind it. Such a part has a character beside
 * digits and colons.
 */
static int is_device_text(const char *text)
{
	struct bi_backend backend;
	size_t length = strcspn(text, ":");
	const char *rest = text + length + 1;

	if (*text == '#')
		return is_numbers(text + 1, 1);
	if (strcmp(text, "auto") == 0 || strcmp(text, "cpu") == 0 || strcmp(text, "gpu") == 0)
		return 1;
	if (!bip_backend_named(text, length, &backend))
		return 0;
	return !text[length] ||
	       (backend.numbers && (rest[strspn(rest, "0123456789:")] || is_numbers(rest, backend.numbers)));
}

static int context_of_text(PyObject *text, struct bi_context **out)
{
	Py_ssize_t length;
	const char *spec = PyUnicode_AsUTF8AndSize(text, &length);

	if (spec && strlen(spec) == (size_t)length && is_device_text(spec))
		return bip_context_open(spec, out);
	if (spec || PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
		PyErr_Format(PyExc_ValueError,
			     "device is %R, not a device string: 'auto', 'cpu', 'gpu', '#N', 'host', 'cuda', 'cuda:N', "
			     "'opencl', "
			     "'opencl:N', 'opencl:N:N', or 'cuda:' or 'opencl:' and a part of a name",
			     text);
	return -1;
}

/* Finds the context of an entry of devices(). */
static int context_of_entry(PyObject *device, struct bi_context **out)
{
	PyObject *spec = PyObject_GetAttrString(device, "spec");
	int rc = -1;

	if (spec && PyUnicode_Check(spec))
		rc = context_of_text(spec, out);
	else if (spec || PyErr_ExceptionMatches(PyExc_AttributeError))
		PyErr_Format(PyExc_TypeError,
			     "device is of type %.100s, not a device string, an ordinal, (platform, ordinal), "
			     "an entry of devices() or a BufferInterface",
			     Py_TYPE(device)->tp_name);
	Py_XDECREF(spec);
	return rc;
}

/* Reads an object with __index__. Most arrays have the method, but it raises TypeError, because they are no integer. */
static int context_of_index(PyObject *device, struct bi_context **out)
{
	PyObject *number = PyNumber_Index(device);
	int rc;

	if (!number && PyErr_ExceptionMatches(PyExc_TypeError)) {
		PyErr_Clear();
		return context_of_entry(device, out);
	}
	rc = number ? context_of_ordinal(number, out) : -1;
	Py_XDECREF(number);
	return rc;
}

int bip_device_context(PyObject *device, struct bi_context **out)
{
	if (!device || device == Py_None)
		return bip_context_open("auto", out);
	if (PyUnicode_Check(device))
		return context_of_text(device, out);
	if (BIP_CHECK(device))
		return context_of_array(device, out);
	if (PyIndex_Check(device) && !PyBool_Check(device))
		return context_of_index(device, out);
	if (PyTuple_CheckExact(device))
		return context_of_pair(device, out);
	return context_of_entry(device, out);
}
