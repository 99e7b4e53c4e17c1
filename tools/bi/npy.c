#define _POSIX_C_SOURCE 200809L

#include "npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "scan.h"
#include "text.h"
#include "utf8.h"

#define MAGIC_SIZE 6
#define ALIGNMENT 64
/*
 * Digits for which NumPy pads the header. A program that appends to the file can then increase the extent of the first
 * axis in place.
 */
#define GROWTH_DIGITS 21
#define DESCR_DEPTH 32

static const unsigned char magic[MAGIC_SIZE] = { 0x93, 'N', 'U', 'M', 'P', 'Y' };

enum npy_key { KEY_DESCR = 1, KEY_FORTRAN_ORDER = 2, KEY_SHAPE = 4 };

static const struct {
	const char *text;
	enum npy_key key;
} keys[] = {
	{ "descr", KEY_DESCR },
	{ "fortran_order", KEY_FORTRAN_ORDER },
	{ "shape", KEY_SHAPE },
};

static int fail_expected(const struct scan *scan, const char *what, struct bi_error *err)
{
	if (scan->at == scan->end)
		return fail(err, BI_EINVAL, "header: %s is expected at the end", what);
	return fail(err, BI_EINVAL, "header: %s is expected at \"%.*s\"", what, scan_shown(scan), scan->at);
}

static size_t prefix_size(int major)
{
	return major == 1 ? 10 : 12;
}

int npy_header_size(const unsigned char *bytes, size_t size, size_t *header_size, struct bi_error *err)
{
	size_t known = size < MAGIC_SIZE ? size : MAGIC_SIZE, length = 0, prefix;

	if (size >= 4 && (!memcmp(bytes, "PK\3\4", 4) || !memcmp(bytes, "PK\5\6", 4)))
		return fail(err, BI_EDTYPE, "an .npz archive; extract one array");
	if (memcmp(bytes, magic, known))
		return fail(err, BI_EDTYPE, "not a .npy file: it does not begin with \\x93NUMPY");
	if (size < MAGIC_SIZE + 2)
		return fail(err, BI_EBOUNDS, "truncated: the file ends after %zu bytes", size);
	if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
		return fail(err, BI_EDTYPE, "format version %u.%u is not known (1.0, 2.0 and 3.0 are)", bytes[6],
			    bytes[7]);
	prefix = prefix_size(bytes[6]);
	if (size < prefix)
		return fail(err, BI_EBOUNDS, "truncated: the file ends after %zu bytes", size);
	for (size_t i = prefix; i-- > MAGIC_SIZE + 2;)
		length = length << 8 | bytes[i];
	*header_size = prefix + length;
	return BI_OK;
}

/* Converts the text of the header to UTF-8. */
static int decode_text(const unsigned char *bytes, size_t size, int major, char **out, size_t *length,
		       struct bi_error *err)
{
	char *text = malloc(2 * size + 1);
	size_t used = 0, step;
	uint32_t point;

	if (!text)
		return fail(err, BI_ENOMEM, "out of memory for a header of %zu bytes", size);
	if (major < 3) {
		for (size_t i = 0; i < size; i++)
			used += utf8_from_latin1(bytes[i], text + used);
	} else {
		memcpy(text, bytes, size);
		for (; used < size; used += step) {
			step = utf8_decode(text + used, size - used, &point);
			if (!step) {
				free(text);
				return fail(err, BI_EINVAL, "header: byte %zu is not UTF-8", used);
			}
		}
	}
	if (memchr(text, '\0', used)) {
		free(text);
		return fail(err, BI_EINVAL, "header: the text contains a NUL");
	}
	*out = text;
	*length = used;
	return BI_OK;
}

/* Writes a string with the quotes that Python's repr would choose. */
static void write_string(FILE *out, char quote, const char *start, size_t length)
{
	if (quote == '"' && !memchr(start, '\'', length) && !memchr(start, '\\', length))
		quote = '\'';
	fprintf(out, "%c%.*s%c", quote, (int)length, start, quote);
}

static int read_name(struct scan *scan, FILE *out, struct bi_error *err)
{
	const char *start;
	size_t length;
	char quote;

	if (!scan_string(scan, &quote, &start, &length))
		return fail_expected(scan, "a field name", err);
	write_string(out, quote, start, length);
	return BI_OK;
}

/* Reads the name of a field, 'name' or ('title', 'name'), and writes it to `out`. */
static int read_names(struct scan *scan, FILE *out, struct bi_error *err)
{
	int rc;

	if (!scan_take(scan, '('))
		return read_name(scan, out, err);
	fputc('(', out);
	rc = read_name(scan, out, err);
	if (rc != BI_OK)
		return rc;
	if (!scan_take(scan, ','))
		return fail_expected(scan, "',' and the name after a title", err);
	fputs(", ", out);
	rc = read_name(scan, out, err);
	if (rc != BI_OK)
		return rc;
	scan_take(scan, ',');
	if (!scan_take(scan, ')'))
		return fail_expected(scan, "')' after a name", err);
	fputc(')', out);
	return BI_OK;
}

/* Reads a typestr. Writes it in NumPy's spelling to `typestr`. */
static int read_typestr(struct scan *scan, struct bi_dtype *dtype, char typestr[BI_DTYPE_TEXT], struct bi_error *err)
{
	char text[BI_DTYPE_TEXT], quote;
	const char *start;
	size_t length;
	int rc;

	if (!scan_string(scan, &quote, &start, &length))
		return fail_expected(scan, "a type string", err);
	if (length >= sizeof(text))
		return fail(err, BI_EDTYPE, "header: \"%.24s…\" is not a type", start);
	memcpy(text, start, length);
	text[length] = '\0';
	rc = bi_dtype_parse(text, dtype, err);
	return rc == BI_OK ? bi_dtype_typestr(*dtype, typestr, err) : rc;
}

/* Reads a tuple of extents. */
static int read_tuple(struct scan *scan, int64_t shape[BI_MAX_NDIM], int *ndim, struct bi_error *err)
{
	int comma = 1;

	*ndim = 0;
	if (!scan_take(scan, '('))
		return fail_expected(scan, "'(' of a shape", err);
	while (!scan_take(scan, ')')) {
		enum scan_number found = SCAN_NO_INTEGER;
		const char *start = scan->at;
		int64_t extent;

		if (comma)
			found = scan_integer(scan, &extent);
		if (found == SCAN_NO_INTEGER)
			return fail_expected(scan, comma ? "an extent" : "','", err);
		if (extent < 0)
			return fail(err, BI_EINVAL, "header: negative extent %" PRId64 " in the shape", extent);
		if (found == SCAN_CLIPPED)
			return fail(err, BI_EOVERFLOW, "header: extent %.*s is too large; the limit is %" PRId64,
				    (int)(scan->at - start < 40 ? scan->at - start : 40), start, extent);
		if (*ndim == BI_MAX_NDIM)
			return fail(err, BI_EINVAL, "header: the shape has more than %d dimensions", BI_MAX_NDIM);
		shape[(*ndim)++] = extent;
		comma = scan_take(scan, ',');
	}
	if (*ndim == 1 && !comma)
		return fail(err, BI_EINVAL, "header: a shape is a tuple; (%" PRId64 ") lacks its comma", shape[0]);
	return BI_OK;
}

static void write_tuple(FILE *out, const int64_t *shape, int ndim)
{
	fputc('(', out);
	for (int i = 0; i < ndim; i++)
		fprintf(out, i ? ", %" PRId64 : "%" PRId64, shape[i]);
	fputs(ndim == 1 ? ",)" : ")", out);
}

static int read_fields(struct scan *scan, FILE *out, int depth, struct bi_error *err);

/* Reads the type of a field, a typestr or a nested list, and writes it to `out`. */
static int read_field_type(struct scan *scan, FILE *out, int depth, struct bi_error *err)
{
	char typestr[BI_DTYPE_TEXT];
	struct bi_dtype dtype;
	int rc;

	if (scan_take(scan, '['))
		return read_fields(scan, out, depth + 1, err);
	rc = read_typestr(scan, &dtype, typestr, err);
	if (rc == BI_OK)
		fprintf(out, "'%s'", typestr);
	return rc;
}

/* Reads the text after the '(' of (name, type) or (name, type, shape). */
static int read_field(struct scan *scan, FILE *out, int depth, struct bi_error *err)
{
	int64_t shape[BI_MAX_NDIM];
	int rc, ndim;

	fputc('(', out);
	rc = read_names(scan, out, err);
	if (rc != BI_OK)
		return rc;
	if (!scan_take(scan, ','))
		return fail_expected(scan, "',' and the type after a field name", err);
	fputs(", ", out);
	rc = read_field_type(scan, out, depth, err);
	if (rc != BI_OK)
		return rc;
	if (scan_take(scan, ',') && !scan_done(scan) && *scan->at != ')') {
		rc = read_tuple(scan, shape, &ndim, err);
		if (rc != BI_OK)
			return rc;
		fputs(ndim ? ", " : "", out);
		if (ndim)
			write_tuple(out, shape, ndim);
		scan_take(scan, ',');
	}
	if (!scan_take(scan, ')'))
		return fail_expected(scan, "')' after a field", err);
	fputc(')', out);
	return BI_OK;
}

/* Reads the text after the '[' of a list of fields. */
static int read_fields(struct scan *scan, FILE *out, int depth, struct bi_error *err)
{
	int comma = 1;

	if (depth > DESCR_DEPTH)
		return fail(err, BI_EDTYPE, "header: descr is nested more than %d deep", DESCR_DEPTH);
	fputc('[', out);
	for (int count = 0; !scan_take(scan, ']'); count++) {
		int rc;

		if (!comma || !scan_take(scan, '('))
			return fail_expected(scan, comma ? "'(' of a field" : "','", err);
		fputs(count ? ", " : "", out);
		rc = read_field(scan, out, depth, err);
		if (rc != BI_OK)
			return rc;
		comma = scan_take(scan, ',');
	}
	fputc(']', out);
	return BI_OK;
}

static int read_descr(struct scan *scan, struct npy *npy, struct bi_error *err)
{
	char typestr[BI_DTYPE_TEXT];
	size_t length;
	FILE *out;
	int rc;

	if (!scan_take(scan, '['))
		return read_typestr(scan, &npy->dtype, typestr, err);
	out = text_open(&npy->descr, &length);
	if (!out)
		return fail(err, BI_ENOMEM, "out of memory for the type");
	rc = read_fields(scan, out, 1, err);
	if (text_close(out, &npy->descr, &length) && rc == BI_OK)
		return fail(err, BI_ENOMEM, "out of memory for the type");
	return rc == BI_OK ? bi_dtype_parse_descr(npy->descr, &npy->dtype, err) : rc;
}

static int read_key(struct scan *scan, enum npy_key *key, struct bi_error *err)
{
	const char *start;
	size_t length;
	char quote;

	if (!scan_string(scan, &quote, &start, &length))
		return fail_expected(scan, "a key", err);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strlen(keys[i].text) == length && !memcmp(start, keys[i].text, length)) {
			*key = keys[i].key;
			return BI_OK;
		}
	}
	return fail(err, BI_EINVAL, "header: unknown key \"%.*s\"", length < 24 ? (int)length : 24, start);
}

static int read_value(struct scan *scan, enum npy_key key, struct npy *npy, struct bi_error *err)
{
	if (key == KEY_DESCR)
		return read_descr(scan, npy, err);
	if (key == KEY_SHAPE)
		return read_tuple(scan, npy->shape, &npy->ndim, err);
	npy->fortran_order = scan_word(scan, "True");
	if (!npy->fortran_order && !scan_word(scan, "False"))
		return fail_expected(scan, "True or False", err);
	return BI_OK;
}

static int read_dict(struct scan *scan, struct npy *npy, struct bi_error *err)
{
	int comma = 1, seen = 0, rc;
	enum npy_key key = KEY_DESCR;

	if (!scan_take(scan, '{'))
		return fail(err, BI_EINVAL, "header: not a dict");
	while (!scan_take(scan, '}')) {
		if (!comma)
			return fail_expected(scan, "',' or '}'", err);
		rc = read_key(scan, &key, err);
		if (rc != BI_OK)
			return rc;
		if (seen & (int)key)
			return fail(err, BI_EINVAL, "header: a key is there twice");
		if (!scan_take(scan, ':'))
			return fail_expected(scan, "':'", err);
		rc = read_value(scan, key, npy, err);
		if (rc != BI_OK)
			return rc;
		seen |= (int)key;
		comma = scan_take(scan, ',');
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!(seen & (int)keys[i].key))
			return fail(err, BI_EINVAL, "header: the key '%s' is missing", keys[i].text);
	return scan_done(scan) ? BI_OK : fail_expected(scan, "nothing more", err);
}

/* Computes npy->nbytes. The library checks for overflow. */
static int compute_nbytes(struct npy *npy, struct bi_error *err)
{
	struct bi_layout layout;
	int rc = bi_layout_init(&layout, npy->dtype, npy->ndim, npy->shape, NULL, 0, err);
	int64_t nbytes;

	if (rc != BI_OK)
		return rc;
	nbytes = bi_layout_nbytes(&layout);
	if ((uint64_t)nbytes > SIZE_MAX)
		return fail(err, BI_EOVERFLOW, "the elements take %" PRId64 " bytes, more than can be addressed",
			    nbytes);
	npy->nbytes = (size_t)nbytes;
	return BI_OK;
}

int npy_parse(const unsigned char *bytes, size_t size, struct npy *out, struct bi_error *err)
{
	size_t header_size = 0, prefix, length = 0;
	struct scan scan;
	char *text = NULL;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = npy_header_size(bytes, size, &header_size, err);
	if (rc != BI_OK)
		return rc;
	if (header_size > size)
		return fail(err, BI_EBOUNDS, "truncated: the header says that it has %zu bytes, the file holds %zu",
			    header_size, size);
	prefix = prefix_size(bytes[6]);
	rc = decode_text(bytes + prefix, header_size - prefix, bytes[6], &text, &length, err);
	if (rc != BI_OK)
		return rc;
	scan = (struct scan){ text, text + length };
	rc = read_dict(&scan, out, err);
	if (rc == BI_OK)
		rc = compute_nbytes(out, err);
	free(text);
	if (rc != BI_OK)
		npy_clear(out);
	return rc;
}

void npy_clear(struct npy *npy)
{
	free(npy->descr);
	npy->descr = NULL;
}

/* Makes the text of the dict as NumPy prints it, in UTF-8. The caller frees *text. */
static int print_dict(const struct npy *npy, char **text, size_t *length, struct bi_error *err)
{
	char typestr[BI_DTYPE_TEXT];
	FILE *out;
	int rc;

	if (!npy->descr) {
		rc = bi_dtype_typestr(npy->dtype, typestr, err);
		if (rc != BI_OK)
			return rc;
	}
	out = text_open(text, length);
	if (!out)
		return fail(err, BI_ENOMEM, "out of memory for the header");
	if (npy->descr)
		fprintf(out, "{'descr': %s, ", npy->descr);
	else
		fprintf(out, "{'descr': '%s', ", typestr);
	fputs("'fortran_order': False, 'shape': ", out);
	write_tuple(out, npy->shape, npy->ndim);
	fputs(", }", out);
	if (npy->ndim)
		fprintf(out, "%*s", GROWTH_DIGITS - snprintf(NULL, 0, "%" PRId64, npy->shape[0]), "");
	if (!text_close(out, text, length))
		return BI_OK;
	return fail(err, BI_ENOMEM, "out of memory for the header");
}

/* Converts UTF-8 to Latin-1 in place. Returns 1; or 0, and changes nothing, if the text has other characters. */
static int to_latin1(char *text, size_t *length)
{
	size_t used = 0, step;
	uint32_t point;

	for (size_t i = 0; i < *length; i += step) {
		step = utf8_decode(text + i, *length - i, &point);
		if (!step || point > 0xff)
			return 0;
	}
	for (size_t i = 0; i < *length; i += step) {
		step = utf8_decode(text + i, *length - i, &point);
		text[used++] = (char)(unsigned char)point;
	}
	*length = used;
	return 1;
}

/* Returns the bytes of a header with padding: NumPy pads with blanks and a newline to a multiple of 64 bytes. */
static size_t padded_size(int major, size_t length)
{
	size_t bare = prefix_size(major) + length + 1;

	return bare + ALIGNMENT - bare % ALIGNMENT;
}

static void write_prefix(unsigned char *bytes, int major, size_t length)
{
	memcpy(bytes, magic, MAGIC_SIZE);
	bytes[6] = (unsigned char)major;
	bytes[7] = 0;
	for (size_t i = MAGIC_SIZE + 2; i < prefix_size(major); i++, length >>= 8)
		bytes[i] = (unsigned char)(length & 0xff);
}

int npy_format(const struct npy *npy, unsigned char **bytes, size_t *size, struct bi_error *err)
{
	size_t length, prefix, total;
	int major = 1, rc;
	char *text;

	*bytes = NULL;
	rc = print_dict(npy, &text, &length, err);
	if (rc != BI_OK)
		return rc;
	if (!to_latin1(text, &length))
		major = 3;
	else if (padded_size(1, length) - prefix_size(1) > UINT16_MAX)
		major = 2;
	prefix = prefix_size(major);
	total = padded_size(major, length);
	*bytes = malloc(total);
	if (*bytes) {
		write_prefix(*bytes, major, total - prefix);
		memcpy(*bytes + prefix, text, length);
		memset(*bytes + prefix + length, ' ', total - prefix - length);
		(*bytes)[total - 1] = '\n';
		*size = total;
	}
	free(text);
	return *bytes ? BI_OK : fail(err, BI_ENOMEM, "out of memory for a header of %zu bytes", total);
}
