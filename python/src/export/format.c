/*
 * Writes formats of the buffer protocol (PEP 3118), as NumPy reads them
 *
 * A structure is "T{...}". A gap between or behind fields is written as unnamed bytes.
 */
#include <stdarg.h>
#include <string.h>

#include "export/format.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/shapes.h"

struct writer {
	char *text;
	size_t used;
};

static const char *const letters[BI_TYPE_COUNT] = {
	[BI_BOOL] = "?",    [BI_INT8] = "b",    [BI_INT16] = "h",      [BI_INT32] = "i",       [BI_INT64] = "q",
	[BI_UINT8] = "B",   [BI_UINT16] = "H",  [BI_UINT32] = "I",     [BI_UINT64] = "Q",      [BI_FLOAT16] = "e",
	[BI_FLOAT32] = "f", [BI_FLOAT64] = "d", [BI_COMPLEX64] = "Zf", [BI_COMPLEX128] = "Zd", [BI_BYTES] = "s",
	[BI_UNICODE] = "w", [BI_VOID] = "x",
};

static int refuse_length(void)
{
	return bip_refuse(bip_UnsupportedError, "the format of this structured type has more than %d characters",
			  BIP_FORMAT_TEXT - 1);
}

static int append_text(struct writer *out, const char *text)
{
	size_t length = strlen(text);

	if (length >= BIP_FORMAT_TEXT - out->used)
		return refuse_length();
	memcpy(out->text + out->used, text, length + 1);
	out->used += length;
	return 0;
}

__attribute__((format(printf, 2, 3))) static int append_formatted(struct writer *out, const char *format, ...)
{
	size_t room = BIP_FORMAT_TEXT - out->used;
	va_list args;
	int n;

	va_start(args, format);
	n = PyOS_vsnprintf(out->text + out->used, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		return refuse_length();
	out->used += (size_t)n;
	return 0;
}

/* Writes the format of a simple type. `native` is the prefix for types in this machine's byte order. */
static int write_simple(struct writer *out, struct bi_dtype dtype, const char *native)
{
	const char *letter = dtype.lanes == 1 ? letters[dtype.type] : NULL;
	const char *order = dtype.swapped ? (PY_LITTLE_ENDIAN ? ">" : "<") : native;
	char name[BI_DTYPE_TEXT];

	if (!letter) {
		bi_dtype_name(dtype, name);
		return bip_refuse(bip_UnsupportedTypeError, "the buffer protocol has no format for %s", name);
	}
	/* memoryview can index elements of format "c", but not of "1s". NumPy reads both. */
	if (dtype.type == BI_BYTES && dtype.item_size == 1)
		return append_text(out, "c");
	if (dtype.type == BI_BYTES || dtype.type == BI_VOID)
		return append_formatted(out, "%s%u%s", order, dtype.item_size, letter);
	if (dtype.type == BI_UNICODE)
		return append_formatted(out, "%s%u%s", order, dtype.item_size / 4, letter);
	/* The letters that NumPy writes: 'l' and 'L' for 64-bit types if long has 64 bits. */
	if (sizeof(long) == 8 && !*order && (dtype.type == BI_INT64 || dtype.type == BI_UINT64))
		letter = dtype.type == BI_INT64 ? "l" : "L";
	return (*order && append_text(out, order)) || append_text(out, letter) ? -1 : 0;
}

static int write_struct(struct writer *out, PyObject *list);

static int write_shape(struct writer *out, PyObject *shape)
{
	int64_t extents[BI_MAX_NDIM];
	int count;

	if (bip_read_sequence("shape", shape, extents, &count))
		return -1;
	for (int i = 0; i < count; i++)
		if (append_formatted(out, "%c%lld", i ? ',' : '(', (long long)extents[i]))
			return -1;
	return count ? append_formatted(out, ")") : 0;
}

/* Writes the type of a field. It is a typestr or a list of fields. */
static int write_type(struct writer *out, PyObject *type)
{
	struct bi_dtype dtype;

	if (PyList_Check(type))
		return write_struct(out, type);
	return bip_dtype_from(type, &dtype) ? -1 : write_simple(out, dtype, "=");
}

/* Writes the name of a field. It is a str, or a tuple (title, name). */
static int write_name(struct writer *out, PyObject *name)
{
	const char *text;

	if (PyTuple_Check(name) && PyTuple_GET_SIZE(name) == 2)
		name = PyTuple_GET_ITEM(name, 1);
	text = PyUnicode_AsUTF8(name);
	if (!text)
		return -1;
	if (strchr(text, ':'))
		return bip_refuse(bip_UnsupportedError, "field name %R has a colon, which formats use to end a name",
				  name);
	return *text ? append_formatted(out, ":%s:", text) : 0;
}

static int write_field(struct writer *out, PyObject *field)
{
	Py_ssize_t n = PyTuple_GET_SIZE(field);

	if (n == 3 && write_shape(out, PyTuple_GET_ITEM(field, 2)))
		return -1;
	return write_type(out, PyTuple_GET_ITEM(field, 1)) || write_name(out, PyTuple_GET_ITEM(field, 0)) ? -1 : 0;
}

/*
 * Writes a structure. Each field except 'c' has an explicit byte order, which also selects the standard sizes, and gaps
 * are fields. So a reader adds no padding.
 */
static int write_struct(struct writer *out, PyObject *list)
{
	if (append_formatted(out, "T{"))
		return -1;
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
		if (write_field(out, PyList_GET_ITEM(list, i)))
			return -1;
	return append_formatted(out, "}");
}

int bip_format_write(const struct bi_view *view, char text[BIP_FORMAT_TEXT])
{
	struct bi_dtype dtype = bi_view_dtype(view);
	struct writer out = { text, 0 };
	PyObject *descr;
	int rc;

	if (dtype.type != BI_VOID)
		return write_simple(&out, dtype, "") ? -1 : (int)out.used;
	descr = bip_dtype_descr(view);
	rc = descr ? write_struct(&out, descr) : -1;
	Py_XDECREF(descr);
	return rc ? -1 : (int)out.used;
}

int bip_format_is_raw(const struct bi_view *view)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	return layout.dtype.type == BI_VOID && !layout.descr;
}
