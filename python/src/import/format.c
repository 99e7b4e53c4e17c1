/*
 * Reads formats of the buffer protocol (PEP 3118), as the struct module, NumPy, ctypes and Cython write them
 *
 * A format is one simple type (a letter such as "f"), a simple type with a count ("2h"), a structure "T{...}", or
 * several types, which form a structure. A structure is converted to a descr list, and the list to the text that the
 * library reads. Gaps become fields without a name.
 */
#include <string.h>

#include "import/format.h"
#include "base/dtype.h"
#include "base/errors.h"
#include "base/shapes.h"

/* The most levels of nested structures. The library reads as many nested lists in a descr text. */
#define DEPTH 16

struct code {
	uint8_t is_known;
	uint8_t is_counted; /* 1: a count before the letter is a length in units, not a number of elements */
	uint8_t standard; /* enum bi_type in standard mode; BI_TYPE_COUNT: standard mode does not have the letter */
	struct bi_dtype native; /* native mode; item size 0: the size is the count ('w': 4 times it; 'c': 1 byte) */
};

static const struct code codes[128] = {
	['?'] = { 1, 0, BI_BOOL, { 1, 1, BI_BOOL, 0 } },
	['b'] = { 1, 0, BI_INT8, { 1, 1, BI_INT8, 0 } },
	['B'] = { 1, 0, BI_UINT8, { 1, 1, BI_UINT8, 0 } },
	['h'] = { 1, 0, BI_INT16, { sizeof(short), 1, BIP_SIGNED(short), 0 } },
	['H'] = { 1, 0, BI_UINT16, { sizeof(short), 1, BIP_UNSIGNED(short), 0 } },
	['i'] = { 1, 0, BI_INT32, { sizeof(int), 1, BIP_SIGNED(int), 0 } },
	['I'] = { 1, 0, BI_UINT32, { sizeof(int), 1, BIP_UNSIGNED(int), 0 } },
	['l'] = { 1, 0, BI_INT32, { sizeof(long), 1, BIP_SIGNED(long), 0 } },
	['L'] = { 1, 0, BI_UINT32, { sizeof(long), 1, BIP_UNSIGNED(long), 0 } },
	['q'] = { 1, 0, BI_INT64, { 8, 1, BI_INT64, 0 } },
	['Q'] = { 1, 0, BI_UINT64, { 8, 1, BI_UINT64, 0 } },
	['n'] = { 1, 0, BI_TYPE_COUNT, { sizeof(size_t), 1, BIP_SIGNED(size_t), 0 } },
	['N'] = { 1, 0, BI_TYPE_COUNT, { sizeof(size_t), 1, BIP_UNSIGNED(size_t), 0 } },
	['e'] = { 1, 0, BI_FLOAT16, { 2, 1, BI_FLOAT16, 0 } },
	['f'] = { 1, 0, BI_FLOAT32, { 4, 1, BI_FLOAT32, 0 } },
	['d'] = { 1, 0, BI_FLOAT64, { 8, 1, BI_FLOAT64, 0 } },
	['F'] = { 1, 0, BI_COMPLEX64, { 8, 1, BI_COMPLEX64, 0 } },
	['D'] = { 1, 0, BI_COMPLEX128, { 16, 1, BI_COMPLEX128, 0 } },
	['c'] = { 1, 0, BI_BYTES, { 0, 1, BI_BYTES, 0 } },
	['s'] = { 1, 1, BI_BYTES, { 0, 1, BI_BYTES, 0 } },
	['w'] = { 1, 1, BI_UNICODE, { 0, 1, BI_UNICODE, 0 } },
	['x'] = { 1, 1, BI_VOID, { 0, 1, BI_VOID, 0 } },
};

struct reader {
	const char *format;
	const char *at;
	char order;
};

/* One element, or one field of a structure. */
struct item {
	struct bi_dtype dtype;
	PyObject *fields; /* descr list of a structure, owned; NULL for a simple type */
	int64_t align; /* alignment in bytes; used only in the order '@' */
	int64_t nbytes; /* bytes of the item with all axes */
	int is_padding;
	int ndim;
	int64_t shape[BI_MAX_NDIM];
};

static int refuse_format(const struct reader *in, const char *what)
{
	return bip_refuse(bip_InvalidArrayError, "format '%.200s' of the buffer: %s at byte %zd", in->format, what,
			  (Py_ssize_t)(in->at - in->format));
}

static void refuse_letter(const struct reader *in, char letter)
{
	PyErr_Format(bip_UnsupportedTypeError, "format '%.200s' of the buffer: %s at byte %zd", in->format,
		     letter == 'O'   ? "Python objects, which are not supported (x.astype('float64') converts numbers)"
		     : letter == 'g' ? "a long double, which is not supported (x.astype('float64') converts numbers)"
		     : letter == 'G'
			     ? "a complex long double, which is not supported (x.astype('complex128') converts numbers)"
		     : letter ? "a type that is not supported"
			      : "a type is expected",
		     (Py_ssize_t)(in->at - in->format));
}

/* Skips white space. Returns the next character without moving past it. */
static char peek(struct reader *in)
{
	while (*in->at == ' ' || (*in->at >= '\t' && *in->at <= '\r'))
		in->at++;
	return *in->at;
}

static int accept(struct reader *in, char c)
{
	if (peek(in) != c)
		return 0;
	in->at++;
	return 1;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int read_number(struct reader *in, int64_t *out)
{
	if (!is_digit(peek(in)))
		return refuse_format(in, "a number is expected");
	for (*out = 0; is_digit(*in->at); in->at++) {
		*out = *out * 10 + (*in->at - '0');
		if (*out > INT32_MAX)
			return refuse_format(in, "a number above 2147483647");
	}
	return 0;
}

static int add_axis(const struct reader *in, struct item *item, int64_t extent)
{
	if (item->ndim == BI_MAX_NDIM)
		return refuse_format(in, "more than 64 axes");
	item->shape[item->ndim++] = extent;
	return 0;
}

/* Reads the part of a shape after the '(', such as "2,3)". */
static int read_shape(struct reader *in, struct item *item)
{
	int64_t extent;

	do {
		if (read_number(in, &extent) || add_axis(in, item, extent))
			return -1;
	} while (accept(in, ','));
	return accept(in, ')') ? 0 : refuse_format(in, "')' is expected");
}

static void read_order(struct reader *in)
{
	while (peek(in) && strchr("@=<>!^", *in->at))
		in->order = *in->at++;
}

static int is_swapped(char order)
{
	return PY_LITTLE_ENDIAN ? order == '>' || order == '!' : order == '<';
}

static int64_t alignment(struct bi_dtype dtype)
{
	switch (bi_dtype_kind(dtype)) {
	case 'S':
	case 'V':
		return 1;
	case 'U':
		return 4;
	case 'c':
		return dtype.item_size / 2;
	default:
		return dtype.item_size;
	}
}

/* Reads the letter of a type; "Zf" is read as F, and "Zd" as D. Returns the entry of the letter in `codes`, or NULL. */
static const struct code *read_letter(struct reader *in)
{
	int is_complex = accept(in, 'Z');
	char letter = peek(in);

	if (is_complex)
		letter = letter == 'f' ? 'F' : letter == 'd' ? 'D' : letter == 'g' ? 'G' : 'Z';
	if ((unsigned char)letter >= Py_ARRAY_LENGTH(codes) || !codes[(unsigned char)letter].is_known) {
		refuse_letter(in, letter);
		return NULL;
	}
	in->at++;
	return &codes[(unsigned char)letter];
}

static int read_simple(struct reader *in, int64_t count, struct item *item)
{
	const struct code *code = read_letter(in);
	int is_native = in->order == '@' || in->order == '^';
	enum bi_type type = code ? (is_native ? code->native.type : code->standard) : BI_TYPE_COUNT;
	int64_t unit = type == BI_UNICODE ? 4 : 1;
	int is_sized = type == BI_BYTES || type == BI_UNICODE || type == BI_VOID;

	if (!code)
		return -1;
	if (type == BI_TYPE_COUNT)
		return refuse_format(in, "a type that exists in native mode only");
	if (code->is_counted && count * unit > UINT32_MAX)
		return refuse_format(in, "an item of more than 4294967295 bytes");
	if (bi_dtype_make(type, 1, is_sized ? (uint32_t)((code->is_counted ? count : 1) * unit) : 0, &item->dtype,
			  NULL))
		return refuse_format(in, "an unknown type");
	item->dtype.swapped = is_swapped(in->order) && alignment(item->dtype) > 1;
	item->align = alignment(item->dtype);
	item->is_padding = type == BI_VOID;
	return count != 1 && !code->is_counted ? add_axis(in, item, count) : 0;
}

static int read_struct(struct reader *in, int depth, struct item *item);

static int read_type(struct reader *in, int depth, struct item *item)
{
	int64_t count = 1;

	if (is_digit(peek(in)) && read_number(in, &count))
		return -1;
	if (!accept(in, 'T'))
		return read_simple(in, count, item);
	if (!accept(in, '{'))
		return refuse_format(in, "'{' is expected");
	if (count != 1 && add_axis(in, item, count))
		return -1;
	return read_struct(in, depth + 1, item);
}

/* Reads an item: [order][axes][order][count]type. On failure item->fields is NULL. */
static int read_item(struct reader *in, int depth, struct item *item)
{
	item->fields = NULL;
	item->is_padding = item->ndim = 0;
	read_order(in);
	if (accept(in, '(') && read_shape(in, item))
		return -1;
	read_order(in);
	if (read_type(in, depth, item))
		return -1;
	item->nbytes = item->dtype.item_size;
	for (int i = 0; i < item->ndim; i++) {
		/* This product cannot overflow: item->nbytes is below 2^32, and the extent is below 2^31. */
		if (item->nbytes * item->shape[i] > UINT32_MAX) {
			Py_CLEAR(item->fields);
			return refuse_format(in, "an item of more than 4294967295 bytes");
		}
		item->nbytes *= item->shape[i];
	}
	return 0;
}

/* Reads the name of a field, ":name:". Returns an empty str if there is no name. */
static PyObject *read_name(struct reader *in)
{
	const char *start, *end;
	PyObject *name;

	if (!accept(in, ':'))
		return PyUnicode_FromStringAndSize(NULL, 0);
	start = in->at;
	end = strchr(start, ':');
	if (!end) {
		refuse_format(in, "a name without end");
		return NULL;
	}
	name = PyUnicode_DecodeUTF8(start, end - start, NULL);
	if (!name && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
		refuse_format(in, "the name of a field is not UTF-8");
	in->at = end + 1;
	return name;
}

static PyObject *type_of(const struct item *item)
{
	char text[BI_DTYPE_TEXT] = "";

	if (item->fields)
		return Py_NewRef(item->fields);
	bi_dtype_typestr(item->dtype, text, NULL);
	return PyUnicode_FromString(text);
}

/*
 * Appends a field to a descr list. Takes ownership of the field, also on failure. If the field is NULL, keeps the
 * exception that is set and returns -1.
 */
static int append_entry(PyObject *list, PyObject *field)
{
	int rc = field ? PyList_Append(list, field) : -1;

	Py_XDECREF(field);
	return rc;
}

/* The fields of a structure that have been read, and the gap of unnamed bytes behind them. */
struct fields {
	PyObject *list;
	int64_t nbytes; /* bytes of the fields and the gap */
	int64_t gap;
};

static int append_gap(struct fields *fields)
{
	char type[BI_DTYPE_TEXT];
	int64_t gap = fields->gap;

	if (!gap)
		return 0;
	fields->gap = 0;
	PyOS_snprintf(type, sizeof(type), "|V%lld", (long long)gap);
	return append_entry(fields->list, Py_BuildValue("(ss)", "", type));
}

/* Adds the bytes of a field. In the order '@', first adds the gap that the alignment of the field requires. */
static int add_bytes(struct fields *fields, const struct reader *in, int64_t align, int64_t nbytes)
{
	int64_t gap = in->order == '@' ? -fields->nbytes & (align - 1) : 0;

	fields->gap += gap;
	fields->nbytes += gap + nbytes;
	return fields->nbytes > UINT32_MAX ? refuse_format(in, "an item of more than 4294967295 bytes") : 0;
}

static int append_field(struct fields *fields, const struct reader *in, const struct item *field, PyObject *name)
{
	PyObject *type, *shape;

	if (!PyUnicode_GET_LENGTH(name)) {
		fields->gap += field->nbytes;
		return field->is_padding ? 0 : refuse_format(in, "a field without a name");
	}
	if (append_gap(fields))
		return -1;
	type = type_of(field);
	if (!field->ndim)
		return append_entry(fields->list, type ? Py_BuildValue("(ON)", name, type) : NULL);
	shape = bip_tuple(field->shape, field->ndim);
	return append_entry(fields->list, Py_BuildValue("(ONN)", name, type, shape));
}

/*
 * Reads a field. In the order '@', raises *align to the alignment of the field. If `number` is not NULL, the format has
 * no names: a field that is not padding is named f and *number, as in NumPy, and *number grows by 1.
 */
static int read_field(struct reader *in, int depth, struct fields *fields, int *number, int64_t *align)
{
	struct item field;
	PyObject *name;
	int rc = -1;

	if (read_item(in, depth, &field))
		return -1;
	if (!number)
		name = read_name(in);
	else
		name = field.is_padding ? PyUnicode_FromStringAndSize(NULL, 0)
					: PyUnicode_FromFormat("f%d", (*number)++);
	if (name && !add_bytes(fields, in, field.align, field.nbytes))
		rc = append_field(fields, in, &field, name);
	if (in->order == '@' && field.align > *align)
		*align = field.align;
	Py_XDECREF(name);
	Py_XDECREF(field.fields);
	return rc;
}

static int read_fields(struct reader *in, int depth, PyObject *list, struct item *item)
{
	struct fields fields = { list, 0, 0 };

	for (item->align = 1; !accept(in, '}');)
		if (read_field(in, depth, &fields, NULL, &item->align))
			return -1;
	if (add_bytes(&fields, in, item->align, 0))
		return -1;
	item->dtype = (struct bi_dtype){ (uint32_t)fields.nbytes, 1, BI_VOID, 0 };
	return append_gap(&fields);
}

static int read_struct(struct reader *in, int depth, struct item *item)
{
	PyObject *list;

	if (depth > DEPTH)
		return refuse_format(in, "structures are nested more than 16 deep");
	list = PyList_New(0);
	if (list && read_fields(in, depth, list, item))
		Py_CLEAR(list);
	item->fields = list;
	return list ? 0 : -1;
}

/*
 * Refuses a format whose size differs from that of the element. Some versions of ctypes omit the gaps of a structure,
 * and the format does not tell where they were. NumPy reads such fields from the ctypes class. The format of a union is
 * "B", whatever its size.
 */
static int check_size(const struct reader *in, const struct item *item, Py_ssize_t itemsize)
{
	if (item->dtype.item_size == itemsize)
		return 0;
	return bip_refuse(
		bip_InvalidArrayError,
		"format '%.200s' has %u bytes, the buffer's itemsize is %zd: numpy.asarray(x) reads a structure "
		"of ctypes; numpy.frombuffer(x, 'u1') reads the bytes, also of a union",
		in->format, item->dtype.item_size, itemsize);
}

/* Makes a type of several lanes of an item such as "2h". */
static int make_lanes(const struct reader *in, struct item *item)
{
	if (!item->ndim)
		return 0;
	if (item->ndim == 1 && !item->fields && !item->dtype.swapped && item->shape[0] >= 1 &&
	    item->shape[0] <= UINT16_MAX &&
	    bi_dtype_make((enum bi_type)item->dtype.type, (unsigned)item->shape[0], 0, &item->dtype, NULL) == BI_OK)
		return 0;
	return refuse_format(in, "an item is one element or several lanes of a simple type, not an array");
}

/* Reads items without names, such as "hQ", as the fields f0, f1 ... of a structure, which is not padded at its end. */
static int read_unnamed(struct reader *in, struct item *item)
{
	struct fields fields = { item->fields, 0, 0 };
	int number = 0;

	for (item->align = 1; peek(in);)
		if (read_field(in, 0, &fields, &number, &item->align))
			return -1;
	item->dtype = (struct bi_dtype){ (uint32_t)fields.nbytes, 1, BI_VOID, 0 };
	return append_gap(&fields);
}

/* Reads one item, or several as a structure. */
static int read_whole(struct reader *in, struct item *item)
{
	if (read_item(in, 0, item))
		return -1;
	if (!peek(in))
		return make_lanes(in, item);
	Py_XDECREF(item->fields);
	item->fields = PyList_New(0);
	*in = (struct reader){ in->format, in->format, '@' };
	return item->fields ? read_unnamed(in, item) : -1;
}

/*
 * Reads a format that is one letter in native order, as most formats are. Returns 1 with the type in *out. Returns 0
 * for any other format, for the letters c, s, w and x, and if the size differs from `itemsize`.
 */
static int read_one_letter(const char *format, Py_ssize_t itemsize, struct bi_dtype *out)
{
	unsigned letter = (unsigned char)format[0];
	const struct code *code = &codes[letter % Py_ARRAY_LENGTH(codes)];

	if (letter >= Py_ARRAY_LENGTH(codes) || !code->native.item_size || code->native.item_size != itemsize ||
	    format[1])
		return 0;
	*out = code->native;
	return 1;
}

static int read_any(const char *format, Py_ssize_t itemsize, struct bi_dtype *out, PyObject **descr)
{
	struct reader in = { format, format, '@' };
	struct item item;
	int rc = read_whole(&in, &item);

	if (!rc)
		rc = check_size(&in, &item, itemsize);
	if (!rc && item.fields) {
		*descr = bip_descr_text(item.fields);
		rc = *descr ? 0 : -1;
	}
	if (!rc)
		*out = item.dtype;
	Py_XDECREF(item.fields);
	return rc;
}

int bip_format_read(const char *format, Py_ssize_t itemsize, struct bi_dtype *out, PyObject **descr)
{
	*descr = NULL;
	format = format ? format : "B";
	return read_one_letter(format, itemsize, out) ? 0 : read_any(format, itemsize, out, descr);
}
