/* Reads numbers, texts and layouts from Python objects, and makes views. */
#include <string.h>

#include "import/values.h"
#include "contexts.h"
#include "lifetime.h"
#include "base/backends.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/names.h"

/* Returns an int or an object with __index__ as an int. Refuses any other object. */
static PyObject *as_int(PyObject *object, const char *key, const char *rule)
{
	if (PyLong_Check(object))
		return Py_NewRef(object);
	if (PyIndex_Check(object))
		return PyNumber_Index(object);
	return PyErr_Format(PyExc_TypeError, "%s is of type %.100s, not an int%s", key, Py_TYPE(object)->tp_name, rule);
}

/*
 * Reads an object of type int itself whose value fits into int64_t, as nearly all numbers do. Returns true if *out is
 * the value, and false for any other object.
 */
static int read_exact_int(PyObject *object, int64_t *out)
{
	int overflow;

	if (!PyLong_CheckExact(object))
		return 0;
	*out = PyLong_AsLongLongAndOverflow(object, &overflow);
	return !overflow;
}

int bip_number(PyObject *object, const char *key, const char *rule, int64_t *out)
{
	PyObject *number;
	int overflow;

	if (read_exact_int(object, out))
		return 0;
	number = as_int(object, key, rule);
	if (!number)
		return -1;
	*out = PyLong_AsLongLongAndOverflow(number, &overflow);
	if (overflow)
		PyErr_Format(bip_InvalidArrayError, "%s is %S, which does not fit into 64 bits%s", key,
			     bip_printable(number), rule);
	Py_DECREF(number);
	return overflow || (*out == -1 && PyErr_Occurred()) ? -1 : 0;
}

int bip_address(PyObject *object, const char *key, const char *rule, uint64_t *out)
{
	PyObject *number;
	int64_t plain;
	int refused;

	if (read_exact_int(object, &plain) && plain >= 0) {
		*out = (uint64_t)plain;
		return 0;
	}
	number = as_int(object, key, rule);
	if (!number)
		return -1;
	*out = PyLong_AsUnsignedLongLong(number);
	refused = *out == UINT64_MAX && PyErr_Occurred();
	if (refused && PyErr_ExceptionMatches(PyExc_OverflowError))
		PyErr_Format(bip_InvalidArrayError, "%s is %S, not in 0..2**64-1%s", key, bip_printable(number), rule);
	Py_DECREF(number);
	return refused ? -1 : 0;
}

static int check_tuple(PyObject *object, const char *key, const char *rule)
{
	if (PyTuple_Check(object))
		return 0;
	return bip_refuse(PyExc_TypeError, "%s is of type %.100s, not a tuple%s", key, Py_TYPE(object)->tp_name, rule);
}

int bip_numbers(PyObject *object, const char *key, const char *rule, int64_t out[BI_MAX_NDIM], int *count)
{
	Py_ssize_t n;

	if (check_tuple(object, key, rule))
		return -1;
	n = PyTuple_GET_SIZE(object);
	if (n > BI_MAX_NDIM)
		return bip_refuse(bip_InvalidArrayError, "%s has %zd entries, more than %d%s", key, n, BI_MAX_NDIM,
				  rule);
	for (Py_ssize_t i = 0; i < n; i++)
		if (bip_number(PyTuple_GET_ITEM(object, i), key, rule, &out[i]))
			return -1;
	*count = (int)n;
	return 0;
}

int bip_strides(PyObject *object, int ndim, const char *rule, int64_t out[BI_MAX_NDIM])
{
	int count;

	if (bip_numbers(object, "strides", rule, out, &count))
		return -1;
	if (count == ndim)
		return 0;
	return bip_refuse(bip_InvalidArrayError, "strides has %d entries, shape has %d%s", count, ndim, rule);
}

int bip_text(PyObject *object, const char *key, const char *rule, const char **out)
{
	Py_ssize_t length;

	if (!PyUnicode_Check(object))
		return bip_refuse(PyExc_TypeError, "%s is of type %.100s, not a str%s", key, Py_TYPE(object)->tp_name,
				  rule);
	*out = PyUnicode_AsUTF8AndSize(object, &length);
	if (*out && strlen(*out) == (size_t)length)
		return 0;
	if (!*out && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
		return -1;
	return bip_refuse(bip_InvalidArrayError, "%s %R contains %s%s", key, object,
			  *out ? "a NUL character" : "a surrogate, which has no UTF-8", rule);
}

int bip_data_pair(PyObject *pair, const char *rule, uint64_t *address, int *readonly)
{
	PyObject *first;

	if (check_tuple(pair, "data", rule))
		return -1;
	if (PyTuple_GET_SIZE(pair) != 2)
		return bip_refuse(bip_InvalidArrayError, "data has %zd entries, not address and read-only flag%s",
				  PyTuple_GET_SIZE(pair), rule);
	first = PyTuple_GET_ITEM(pair, 0);
	*address = 0;
	if (first != Py_None && bip_address(first, "data[0]", rule, address))
		return -1;
	*readonly = PyObject_IsTrue(PyTuple_GET_ITEM(pair, 1));
	return *readonly < 0 ? -1 : 0;
}

static int is_same_type(const char *a, const char *b)
{
	struct bi_dtype first, second;

	return strcmp(a, b) == 0 || (bi_dtype_parse(a, &first, NULL) == BI_OK &&
				     bi_dtype_parse(b, &second, NULL) == BI_OK && bi_dtype_equal(first, second));
}

/* Returns true if the field is ('', type), and the text `type` names the same type as the typestr. */
static int is_plain_field(PyObject *field, const char *typestr)
{
	PyObject *name, *type;
	const char *text;

	if (!PyTuple_Check(field) || PyTuple_GET_SIZE(field) != 2)
		return 0;
	name = PyTuple_GET_ITEM(field, 0);
	type = PyTuple_GET_ITEM(field, 1);
	if (!PyUnicode_Check(name) || PyUnicode_GetLength(name) || !PyUnicode_Check(type))
		return 0;
	text = bip_utf8(type);
	if (!text)
		PyErr_Clear();
	return text && is_same_type(text, typestr);
}

/* Returns true if the list has only one field, and is_plain_field is true for it. */
static int repeats_typestr(PyObject *list, const char *typestr)
{
	PyObject *field = NULL;
	int is_repeated;

	BIP_LOCK(list)
	if (PyList_GET_SIZE(list) == 1)
		field = Py_NewRef(PyList_GET_ITEM(list, 0));
	BIP_UNLOCK()
	is_repeated = field && is_plain_field(field, typestr);
	Py_XDECREF(field);
	return is_repeated;
}

static int is_void_typestr(const char *typestr)
{
	return typestr[strspn(typestr, "<>|=")] == 'V';
}

int bip_descr_for(PyObject *list, const char *typestr, const char *rule, PyObject **text)
{
	*text = NULL;
	if (!PyList_Check(list))
		return bip_refuse(PyExc_TypeError, "descr is of type %.100s, not a list%s", Py_TYPE(list)->tp_name,
				  rule);
	if (repeats_typestr(list, typestr))
		return 0;
	if (!is_void_typestr(typestr))
		return PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "descr %R is ignored: typestr '%s' is a simple type%s",
					bip_printable(list), typestr, rule);
	*text = bip_descr_text(list);
	return *text ? 0 : -1;
}

int bip_set_descr(struct bi_layout *layout, PyObject *descr)
{
	Py_ssize_t length = 0;

	layout->descr = descr ? PyUnicode_AsUTF8AndSize(descr, &length) : NULL;
	layout->descr_length = (uint32_t)length;
	return descr && !layout->descr ? -1 : 0;
}

int bip_layout(struct bi_layout *layout, struct bi_dtype dtype, PyObject *descr, int ndim, const int64_t *shape,
	       const int64_t *strides)
{
	struct bi_error err;
	int rc = bi_layout_init(layout, dtype, ndim, shape, strides, 0, &err);

	if (rc)
		return bip_check(rc, &err, bip_raise_import);
	return bip_set_descr(layout, descr);
}

/* Wraps foreign memory. Takes ownership of foreign->release_data on success. */
static int wrap_foreign(struct bi_context *context, struct bi_foreign *foreign, uint64_t address,
			struct bi_layout *layout, struct bi_view **out)
{
	struct bi_error err;
	int rc;

	if (!bip_is_address((uint32_t)foreign->kind))
		rc = bi_view_wrap(context, foreign, layout, out, &err);
	else
		rc = bi_view_wrap_at(context, address, foreign, layout, out, &err);
	return bip_check(rc, &err, bip_raise_import);
}

int bip_wrap(struct bi_context *context, struct bi_foreign *foreign, uint64_t address, struct bi_layout *layout,
	     PyObject *owner, struct bi_view **out)
{
	foreign->release = bip_release_owner;
	foreign->release_data = Py_NewRef(owner);
	if (!wrap_foreign(context, foreign, address, layout, out))
		return 0;
	Py_DECREF(owner);
	return -1;
}

int bip_wrap_host(uint64_t address, int readonly, struct bi_layout *layout, PyObject *owner, struct bi_view **out)
{
	struct bi_context *context = bip_host_context();
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.flags = readonly ? BI_WRAP_READONLY : 0;
	return context ? bip_wrap(context, &foreign, address, layout, owner, out) : -1;
}

int bip_wrap_buffer(Py_buffer *buffer, struct bi_layout *layout, struct bi_view **out)
{
	struct bi_context *context = bip_host_context();
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.flags = buffer->readonly ? BI_WRAP_READONLY : 0;
	foreign.release = bip_return_buffer;
	foreign.release_data = buffer;
	return context ? wrap_foreign(context, &foreign, (uintptr_t)buffer->buf, layout, out) : -1;
}
