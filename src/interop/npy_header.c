#include "interop/npy_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/checked.h"
#include "common/base/utf8.h"
#include "common/layout/descr.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_SIZE 6
#define ALIGNMENT 64
/*
 * NumPy pads the header for an extent of this many digits. A program that appends to the file can then increase the
 * extent of the slowest axis in place.
 */
#define GROWTH_DIGITS 21

enum key { KEY_DESCR, KEY_FORTRAN_ORDER, KEY_SHAPE, KEY_COUNT };

static const char *const keys[KEY_COUNT] = { "descr", "fortran_order", "shape" };

/* The text of a header, and the values that were read from it. */
struct reader {
	const char *at;
	const char *end;
	int version; /* of the format */
	struct bi_error *err;
	struct bi_dtype dtype;
	char *descr; /* owned; NULL for a simple type */
	size_t descr_length;
	int fortran_order;
	int ndim;
	int64_t shape[BI_MAX_NDIM];
};

size_t bi__npy_prefix_size(const unsigned char *bytes)
{
	return bytes[MAGIC_SIZE] == 1 ? 10 : BI__NPY_PREFIX;
}

int bi__npy_header_size(const unsigned char *bytes, size_t size, size_t *header_size, struct bi_error *err)
{
	size_t length = 0, prefix;

	if (size >= 4 && (!memcmp(bytes, "PK\3\4", 4) || !memcmp(bytes, "PK\5\6", 4)))
		return bi__fail(err, BI_EDTYPE, "an .npz archive; extract one array");
	if (memcmp(bytes, MAGIC, size < MAGIC_SIZE ? size : MAGIC_SIZE))
		return bi__fail(err, BI_EDTYPE, "not a .npy file: it does not begin with \\x93NUMPY");
	if (size >= MAGIC_SIZE + 2 && (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0))
		return bi__fail(err, BI_EDTYPE, "format version %u.%u is not known (1.0, 2.0 and 3.0 are)", bytes[6],
				bytes[7]);
	if (size < MAGIC_SIZE + 2 || size < bi__npy_prefix_size(bytes))
		return bi__fail(err, BI_EBOUNDS, "truncated: the file ends after %zu bytes", size);
	prefix = bi__npy_prefix_size(bytes);
	for (size_t i = prefix; i-- > MAGIC_SIZE + 2;)
		length = length << 8 | bytes[i];
	if (bi__add_size(prefix, length, header_size))
		return bi__fail(err, BI_EOVERFLOW, "the header has %zu bytes, more than can be addressed", length);
	return BI_OK;
}

int bi__npy_fail_truncated(size_t header_size, int64_t held, struct bi_error *err)
{
	return bi__fail(err, BI_EBOUNDS, "truncated: the header says that it has %zu bytes, the file holds %" PRId64,
			header_size, held);
}

static int check_utf8(const char *text, size_t length, struct bi_error *err)
{
	size_t size;

	for (const char *at = text; at < text + length; at += size) {
		size = bi__utf8_size(at, text + length);
		if (!size)
			return bi__fail(err, BI_EINVAL, "header: byte %td is not UTF-8", at - text);
	}
	return BI_OK;
}

/* Converts Latin-1 to UTF-8. Returns the length of the result, which has at most 2 * length bytes. */
static size_t from_latin1(const unsigned char *bytes, size_t length, char *out)
{
	char *at = out;

	for (size_t i = 0; i < length; i++) {
		if (bytes[i] >= 0x80)
			*at++ = (char)(0xc0 | bytes[i] >> 6);
		*at++ = (char)(bytes[i] < 0x80 ? bytes[i] : 0x80 | (bytes[i] & 0x3f));
	}
	return (size_t)(at - out);
}

/*
 * Converts UTF-8 to Latin-1 in place. Returns false and changes nothing if the text has characters that Latin-1 lacks.
 */
static int to_latin1(char *text, size_t *length)
{
	size_t used = 0;

	for (size_t i = 0; i < *length; i++)
		if ((unsigned char)text[i] > 0xc3)
			return 0;
	for (size_t i = 0; i < *length; i++) {
		if ((unsigned char)text[i] < 0x80) {
			text[used++] = text[i];
		} else {
			text[used++] = (char)((text[i] & 3) << 6 | (text[i + 1] & 0x3f));
			i++;
		}
	}
	*length = used;
	return 1;
}

static int fail_expected(const struct reader *in, const char *what)
{
	const size_t left = (size_t)(in->end - in->at);

	if (!left)
		return bi__fail(in->err, BI_EINVAL, "header: %s is expected at the end", what);
	return bi__fail(in->err, BI_EINVAL, "header: %s is expected at \"%s\"", what, bi__quote(in->at, left).text);
}

/* Skips white space. If the next bytes are `text`, moves behind them and returns true. */
static int accept_text(struct reader *in, const char *text)
{
	const size_t length = strlen(text);

	while (in->at < in->end && memchr(" \t\r\n", *in->at, 4))
		in->at++;
	if ((size_t)(in->end - in->at) < length || memcmp(in->at, text, length) != 0)
		return 0;
	in->at += length;
	return 1;
}

/* Does the same as accept_text for a word, which no letter may follow. */
static int accept_word(struct reader *in, const char *word)
{
	const char *start = in->at;

	if (accept_text(in, word) && (in->at == in->end || (*in->at | 32) < 'a' || (*in->at | 32) > 'z'))
		return 1;
	in->at = start;
	return 0;
}

/* Reads a string without escapes. */
static int read_literal(struct reader *in, const char *what, const char **start, size_t *length)
{
	const char *close;

	if (!accept_text(in, "'") && !accept_text(in, "\""))
		return fail_expected(in, what);
	*start = in->at;
	close = memchr(in->at, in->at[-1], (size_t)(in->end - in->at));
	if (!close) {
		in->at--;
		return fail_expected(in, what);
	}
	*length = (size_t)(close - in->at);
	in->at = close + 1;
	return BI_OK;
}

/* Reads a type without fields. */
static int read_type(struct reader *in)
{
	char text[BI_DTYPE_TEXT];
	const char *start = NULL;
	size_t length = 0;
	int rc = read_literal(in, "a type string", &start, &length);

	if (rc)
		return rc;
	if (length >= sizeof(text))
		return bi__fail(in->err, BI_EDTYPE, "header: \"%s…\" is not a type", bi__quote(start, length).text);
	memcpy(text, start, length);
	text[length] = '\0';
	rc = bi_dtype_parse(text, &in->dtype, in->err);
	return rc ? rc : bi_dtype_typestr(in->dtype, text, in->err);
}

/* Reads a type. The text of a list of fields is kept as NumPy prints it. */
static int read_descr(struct reader *in)
{
	int rc;

	if (!accept_text(in, "["))
		return read_type(in);
	in->at--;
	in->descr_length = 2 * (size_t)(in->end - in->at);
	in->descr = malloc(in->descr_length + 1);
	if (!in->descr)
		return bi__fail(in->err, BI_ENOMEM, "out of memory for the type");
	in->dtype = (struct bi_dtype){ .lanes = 1, .type = BI_VOID };
	rc = bi__descr_print(&in->at, in->end, in->descr, &in->descr_length, &in->dtype.item_size, in->err);
	if (!rc)
		in->descr[in->descr_length] = '\0';
	return rc;
}

static int read_extent(struct reader *in, int64_t *extent)
{
	const int is_negative = accept_text(in, "-");
	const char *start = in->at;
	int rc = bi__descr_read_extent(&in->at, in->end, extent);
	int length = in->at - start < 40 ? (int)(in->at - start) : 40;

	if (rc == BI_EINVAL)
		return fail_expected(in, in->at < in->end && *in->at == '0' ? "an extent without leading zeros"
									    : "an extent");
	if (is_negative)
		return bi__fail(in->err, BI_EINVAL, "header: negative extent -%.*s in the shape", length, start);
	if (rc)
		return bi__fail(in->err, BI_EOVERFLOW, "header: extent %.*s is too large; the limit is %" PRId64,
				length, start, INT64_MAX);
	/* NumPy under Python 2 wrote long integers with a final L. */
	if (in->version < 3 && in->at < in->end && *in->at == 'L')
		in->at++;
	return BI_OK;
}

static int read_shape(struct reader *in)
{
	int64_t extent;
	int comma = 1;

	in->ndim = 0;
	if (!accept_text(in, "("))
		return fail_expected(in, "'(' of a shape");
	while (!accept_text(in, ")")) {
		int rc = comma ? read_extent(in, &extent) : fail_expected(in, "','");

		if (rc)
			return rc;
		if (in->ndim == BI_MAX_NDIM)
			return bi__fail(in->err, BI_EINVAL, "header: the shape has more than %d dimensions",
					BI_MAX_NDIM);
		in->shape[in->ndim++] = extent;
		comma = accept_text(in, ",");
	}
	if (in->ndim == 1 && !comma)
		return bi__fail(in->err, BI_EINVAL, "header: a shape is a tuple; (%" PRId64 ") lacks its comma",
				in->shape[0]);
	return BI_OK;
}

static int read_value(struct reader *in, enum key key)
{
	if (key == KEY_DESCR)
		return read_descr(in);
	if (key == KEY_SHAPE)
		return read_shape(in);
	in->fortran_order = accept_word(in, "True");
	return in->fortran_order || accept_word(in, "False") ? BI_OK : fail_expected(in, "True or False");
}

/* Reads a key and its value. Sets the bit of the key in *seen. */
static int read_member(struct reader *in, unsigned *seen)
{
	const char *start = NULL;
	size_t length = 0;
	unsigned key = 0;
	int rc = read_literal(in, "a key", &start, &length);

	if (rc)
		return rc;
	while (key < KEY_COUNT && (strlen(keys[key]) != length || memcmp(start, keys[key], length) != 0))
		key++;
	if (key == KEY_COUNT)
		return bi__fail(in->err, BI_EINVAL, "header: unknown key \"%s\"", bi__quote(start, length).text);
	if (*seen & 1u << key)
		return bi__fail(in->err, BI_EINVAL, "header: the key '%s' is there twice", keys[key]);
	*seen |= 1u << key;
	return accept_text(in, ":") ? read_value(in, (enum key)key) : fail_expected(in, "':'");
}

static int read_dict(struct reader *in)
{
	unsigned seen = 0;
	int comma = 1;

	if (!accept_text(in, "{"))
		return bi__fail(in->err, BI_EINVAL, "header: not a dict");
	while (!accept_text(in, "}")) {
		int rc = comma ? read_member(in, &seen) : fail_expected(in, "',' or '}'");

		if (rc)
			return rc;
		comma = accept_text(in, ",");
	}
	for (unsigned key = 0; key < KEY_COUNT; key++)
		if (!(seen & 1u << key))
			return bi__fail(in->err, BI_EINVAL, "header: the key '%s' is missing", keys[key]);
	accept_text(in, "");
	return in->at == in->end ? BI_OK : fail_expected(in, "nothing more");
}

/* Makes the layout of the array. On success, the caller owns *descr, which is in->descr. */
static int make_layout(struct reader *in, struct bi_layout *layout, char **descr)
{
	int64_t shape[BI_MAX_NDIM];
	int rc;

	for (int i = 0; i < in->ndim; i++)
		shape[i] = in->shape[in->fortran_order ? in->ndim - 1 - i : i];
	rc = bi_layout_init(layout, in->dtype, in->ndim, shape, NULL, 0, in->err);
	if (!rc && in->fortran_order)
		rc = bi_layout_permute(layout, NULL, in->err);
	if (rc)
		return rc;
	if ((uint64_t)bi_layout_nbytes(layout) > SIZE_MAX)
		return bi__fail(in->err, BI_EOVERFLOW,
				"the elements take %" PRId64 " bytes, more than can be addressed",
				bi_layout_nbytes(layout));
	*descr = in->descr;
	layout->descr = in->descr;
	layout->descr_length = (uint32_t)in->descr_length;
	return BI_OK;
}

/*
 * Makes the text of the header in UTF-8, which the caller frees. *length is the length of `bytes` before, and of the
 * text after the call.
 */
static int decode_text(const unsigned char *bytes, size_t *length, int version, char **out, struct bi_error *err)
{
	char *text = malloc(2 * *length + 1);
	int rc = BI_OK;

	if (!text)
		return bi__fail(err, BI_ENOMEM, "out of memory for a header of %zu bytes", *length);
	if (version < 3) {
		*length = from_latin1(bytes, *length, text);
	} else {
		memcpy(text, bytes, *length);
		rc = check_utf8(text, *length, err);
	}
	if (!rc && memchr(text, '\0', *length))
		rc = bi__fail(err, BI_EINVAL, "header: the text contains a NUL");
	if (rc)
		free(text);
	else
		*out = text;
	return rc;
}

int bi__npy_parse(const unsigned char *bytes, size_t size, struct bi_layout *layout, char **descr, struct bi_error *err)
{
	struct reader in = { .err = err };
	size_t header_size = 0, length;
	char *text = NULL;
	int rc = bi__npy_header_size(bytes, size, &header_size, err);

	*descr = NULL;
	if (!rc && header_size > size)
		rc = bi__npy_fail_truncated(header_size, (int64_t)size, err);
	if (rc)
		return rc;
	length = header_size - bi__npy_prefix_size(bytes);
	rc = decode_text(bytes + header_size - length, &length, bytes[MAGIC_SIZE], &text, err);
	if (rc)
		return rc;
	in.at = text;
	in.end = text + length;
	in.version = bytes[MAGIC_SIZE];
	rc = read_dict(&in);
	if (!rc)
		rc = make_layout(&in, layout, descr);
	if (rc)
		free(in.descr);
	free(text);
	return rc;
}

/* Appends the type to `text`, as NumPy prints it. *used is the length of the text before and after the call. */
static int print_descr(const struct bi_layout *layout, char *text, size_t *used, struct bi_error *err)
{
	size_t room = 2 * (size_t)layout->descr_length;
	const char *at = layout->descr;
	char typestr[BI_DTYPE_TEXT];
	uint32_t item_size;
	int rc;

	if (!layout->descr) {
		rc = bi_dtype_typestr(layout->dtype, typestr, err);
		if (!rc)
			*used += (size_t)sprintf(text + *used, "'%s'", typestr);
		return rc;
	}
	rc = bi__descr_print(&at, at + layout->descr_length, text + *used, &room, &item_size, err);
	*used += room;
	return rc;
}

/* Writes the dict as NumPy prints it, in UTF-8, with the blanks for GROWTH_DIGITS. */
static int print_dict(const struct bi_layout *layout, char *text, size_t *length, struct bi_error *err)
{
	const int fortran_order = bi__npy_is_fortran(layout);
	size_t used = (size_t)sprintf(text, "{'descr': ");
	int rc = print_descr(layout, text, &used, err), padding;

	if (rc)
		return rc;
	used += (size_t)sprintf(text + used, ", 'fortran_order': %s, 'shape': (", fortran_order ? "True" : "False");
	for (int i = 0; i < layout->ndim; i++)
		used += (size_t)sprintf(text + used, "%s%" PRId64, i ? ", " : "", layout->shape[i]);
	used += (size_t)sprintf(text + used, "%s), }", layout->ndim == 1 ? "," : "");
	if (layout->ndim) {
		padding = GROWTH_DIGITS -
			  snprintf(NULL, 0, "%" PRId64, layout->shape[fortran_order ? layout->ndim - 1 : 0]);
		used += (size_t)sprintf(text + used, "%*s", padding, "");
	}
	*length = used;
	return BI_OK;
}

/* Returns the size of a header with NumPy's padding: blanks and a newline up to a multiple of 64 bytes. */
static size_t padded_size(size_t prefix, size_t length)
{
	return (prefix + length + 1 + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

int bi__npy_format(const struct bi_layout *layout, unsigned char **bytes, size_t *size, struct bi_error *err)
{
	const size_t room = 256 + 22 * (size_t)layout->ndim + 2 * (size_t)layout->descr_length;
	unsigned char *made = malloc(room);
	size_t length, prefix = 10;
	char *text;
	int rc;

	*bytes = NULL;
	if (!made)
		return bi__fail(err, BI_ENOMEM, "out of memory for a header of %zu bytes", room);
	text = (char *)made + BI__NPY_PREFIX;
	rc = print_dict(layout, text, &length, err);
	if (rc) {
		free(made);
		return rc;
	}
	memcpy(made, MAGIC "\1", MAGIC_SIZE + 2);
	if (!to_latin1(text, &length))
		made[MAGIC_SIZE] = 3;
	else if (padded_size(prefix, length) - prefix > UINT16_MAX)
		made[MAGIC_SIZE] = 2;
	prefix = bi__npy_prefix_size(made);
	*size = padded_size(prefix, length);
	memmove(made + prefix, text, length);
	memset(made + prefix + length, ' ', *size - prefix - length - 1);
	made[*size - 1] = '\n';
	for (size_t i = MAGIC_SIZE + 2; i < prefix; i++)
		made[i] = (unsigned char)((*size - prefix) >> 8 * (i - MAGIC_SIZE - 2));
	*bytes = made;
	return BI_OK;
}
