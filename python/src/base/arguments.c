/* Sorts the arguments of functions with METH_FASTCALL | METH_KEYWORDS. */
#include "base/arguments.h"
#include "base/errors.h"

static int index_of_name(const struct bip_signature *signature, PyObject *name)
{
	for (int i = 0; signature->names[i]; i++)
		if (PyUnicode_CompareWithASCIIString(name, signature->names[i]) == 0)
			return i;
	return bip_refuse(PyExc_TypeError, "%s() has no argument %R", signature->function, name);
}

static int read_keywords(const struct bip_signature *signature, PyObject *const *words, PyObject *names,
			 PyObject **values)
{
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
		int at = index_of_name(signature, PyTuple_GET_ITEM(names, i));

		if (at < 0)
			return -1;
		if (values[at])
			return bip_refuse(PyExc_TypeError, "%s(): '%s' is given by position and by name",
					  signature->function, signature->names[at]);
		values[at] = words[i];
	}
	return 0;
}

int bip_arguments(const struct bip_signature *signature, PyObject *const *args, Py_ssize_t count, PyObject *names,
		  PyObject **values)
{
	if (count > signature->positional)
		return bip_refuse(PyExc_TypeError, "%s() takes at most %d arguments by position, %zd are given",
				  signature->function, signature->positional, count);
	for (int i = 0; signature->names[i]; i++)
		values[i] = i < count ? args[i] : NULL;
	if (names && read_keywords(signature, args + count, names, values))
		return -1;
	for (int i = 0; i < signature->required; i++) {
		if (values[i])
			continue;
		return bip_refuse(PyExc_TypeError, "%s() needs the argument '%s'", signature->function,
				  signature->names[i]);
	}
	return 0;
}

int bip_truth(const char *name, PyObject *value, int *out)
{
	if (!value)
		return 0;
	if (value == Py_None)
		return bip_refuse(PyExc_TypeError, "%s is None, not True or False", name);
	*out = PyObject_IsTrue(value);
	return *out < 0 ? -1 : 0;
}
