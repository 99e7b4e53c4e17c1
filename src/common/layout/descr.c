#include "common/layout/descr.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/checked.h"
#include "common/layout/dtype.h"

struct reader {
	const char *text;
	const char *at;
	const char *end;
	struct bi_error *err;
};

/* The characters between the quotes of a string, escapes included. */
struct literal {
	const char *start;
	const char *end;
};

static int fail_expected(const struct reader *in, const char *what)
{
	return bi__fail(in->err, BI_EDTYPE, "descr: %s is expected at byte %td", what, in->at - in->text);
}

/* Returns the next character that is not white space, or NUL at the end. No valid text contains a NUL. */
static char peek_character(struct reader *in)
{
	while (in->at < in->end && (*in->at == ' ' || (*in->at >= '\t' && *in->at <= '\r')))
		in->at++;
	return in->at < in->end ? *in->at : '\0';
}

static int accept_character(struct reader *in, char c)
{
	if (peek_character(in) != c)
		return 0;
	in->at++;
	return 1;
}

/* Reads ',' or `close` after a member of a list or a tuple. Sets *done if `close` was read. */
static int read_separator(struct reader *in, char close, int *done)
{
	int comma = accept_character(in, ',');

	*done = accept_character(in, close);
	if (!comma && !*done)
		return fail_expected(in, close == ']' ? "',' or ']'" : "',' or ')'");
	return BI_OK;
}

/* Returns the character that a backslash and `c` stand for, or NUL. */
static char unescape(char c)
{
	static const char from[] = "\\'\"nrt", to[] = "\\'\"\n\r\t";
	const char *found = c ? strchr(from, c) : NULL;

	return found ? to[found - from] : '\0';
}

static int read_string(struct reader *in, struct literal *out)
{
	char quote = peek_character(in);

	if (quote != '\'' && quote != '"')
		return fail_expected(in, "a string");
	out->start = ++in->at;
	for (; in->at < in->end && *in->at != '\n'; in->at++) {
		if (*in->at == quote) {
			out->end = in->at++;
			return BI_OK;
		}
		if (*in->at == '\\' && (++in->at == in->end || !unescape(*in->at)))
			return fail_expected(in, "one of \\ ' \" n r t after a backslash");
	}
	return fail_expected(in, "the end of the string");
}

static int literal_equals(const struct literal *literal, const char *name)
{
	for (const char *at = literal->start; at < literal->end; at++, name++) {
		char c = *at == '\\' ? unescape(*++at) : *at;

		if (!*name || *name != c)
			return 0;
	}
	return !*name;
}

/* Reads 'name' or ('title', 'name'). */
static int read_name(struct reader *in, struct literal *name)
{
	int rc, done;

	if (!accept_character(in, '('))
		return read_string(in, name);
	rc = read_string(in, name);
	if (rc != BI_OK)
		return rc;
	if (!accept_character(in, ','))
		return fail_expected(in, "',' and the name after the title");
	rc = read_string(in, name);
	if (rc != BI_OK)
		return rc;
	rc = read_separator(in, ')', &done);
	if (rc == BI_OK && !done)
		return fail_expected(in, "')' after the name");
	return rc;
}

static int read_extent(struct reader *in, int64_t *out)
{
	char first = peek_character(in);
	const char *start = in->at;

	*out = 0;
	for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
		if (bi__mul(*out, 10, out) || bi__add(*out, *in->at - '0', out))
			return bi__fail(in->err, BI_EOVERFLOW, "descr: the extent at byte %td is above %" PRId64,
					start - in->text, INT64_MAX);
	if (in->at == start || (first == '0' && in->at > start + 1))
		return fail_expected(in, "an extent");
	return BI_OK;
}

/* Reads an extent or a tuple of extents. */
static int read_shape(struct reader *in, struct bi__descr_field *field)
{
	int done, rc;

	if (!accept_character(in, '(')) {
		field->ndim = 1;
		return read_extent(in, field->shape);
	}
	done = accept_character(in, ')');
	while (!done) {
		if (field->ndim == BI_MAX_NDIM)
			return bi__fail(in->err, BI_EDTYPE,
					"descr: the shape that ends at byte %td has more than %d extents",
					in->at - in->text, BI_MAX_NDIM);
		rc = read_extent(in, &field->shape[field->ndim++]);
		if (rc == BI_OK)
			rc = read_separator(in, ')', &done);
		if (rc != BI_OK)
			return rc;
	}
	return BI_OK;
}

static int read_list(struct reader *in, int depth, const char *wanted, struct bi__descr_field *found, uint32_t *size);

/* Reads a typestr or a nested list. */
static int read_type(struct reader *in, int depth, struct bi__descr_field *field)
{
	struct literal text;
	int rc;

	field->descr = NULL;
	field->descr_length = 0;
	if (peek_character(in) != '[') {
		rc = read_string(in, &text);
		if (rc != BI_OK)
			return rc;
		return bi__dtype_parse_typestr(text.start, (size_t)(text.end - text.start), &field->dtype, in->err);
	}
	field->descr = in->at;
	field->dtype = (struct bi_dtype){ .lanes = 1, .type = BI_VOID };
	rc = read_list(in, depth + 1, NULL, NULL, &field->dtype.item_size);
	field->descr_length = (size_t)(in->at - field->descr);
	return rc;
}

static int read_field(struct reader *in, int depth, struct literal *name, struct bi__descr_field *field)
{
	int rc, done;

	field->ndim = 0;
	if (!accept_character(in, '('))
		return fail_expected(in, "'(' of a field");
	rc = read_name(in, name);
	if (rc != BI_OK)
		return rc;
	if (!accept_character(in, ','))
		return fail_expected(in, "',' and the type after the name");
	rc = read_type(in, depth, field);
	if (rc == BI_OK)
		rc = read_separator(in, ')', &done);
	if (rc != BI_OK || done)
		return rc;
	rc = read_shape(in, field);
	if (rc == BI_OK)
		rc = read_separator(in, ')', &done);
	if (rc == BI_OK && !done)
		return fail_expected(in, "')' after the shape");
	return rc;
}

static int add_field_size(const struct reader *in, const struct bi__descr_field *field, uint32_t *size)
{
	int64_t bytes = field->dtype.item_size;
	int too_big = 0;

	for (int i = 0; i < field->ndim; i++)
		too_big |= bi__mul(bytes, field->shape[i], &bytes);
	if (too_big || bytes > UINT32_MAX - (int64_t)*size)
		return bi__fail(in->err, BI_EOVERFLOW, "descr: the item has more than %" PRIu32 " bytes at byte %td",
				UINT32_MAX, in->at - in->text);
	*size += (uint32_t)bytes;
	return BI_OK;
}

/*
 * Reads a list. *found becomes the first field with the name `wanted`. If no field has the name, or `wanted` is NULL,
 * found->ndim stays -1.
 */
static int read_list(struct reader *in, int depth, const char *wanted, struct bi__descr_field *found, uint32_t *size)
{
	struct bi__descr_field field;
	struct literal name;
	int done, rc;

	*size = 0;
	if (!accept_character(in, '['))
		return fail_expected(in, "'['");
	if (depth > BI__DESCR_DEPTH)
		return bi__fail(in->err, BI_EDTYPE, "descr: lists are nested more than %d deep", BI__DESCR_DEPTH);
	for (done = accept_character(in, ']'); !done;) {
		rc = read_field(in, depth, &name, &field);
		if (rc != BI_OK)
			return rc;
		field.offset = *size;
		if (wanted && found->ndim < 0 && name.start < name.end && literal_equals(&name, wanted))
			*found = field;
		rc = add_field_size(in, &field, size);
		if (rc == BI_OK)
			rc = read_separator(in, ']', &done);
		if (rc != BI_OK)
			return rc;
	}
	return BI_OK;
}

static int read_text(const char *text, size_t length, const char *wanted, struct bi__descr_field *found, uint32_t *size,
		     struct bi_error *err)
{
	struct reader in = { text, text, text + length, err };
	int rc = read_list(&in, 1, wanted, found, size);

	if (rc == BI_OK) {
		peek_character(&in);
		if (in.at < in.end)
			return fail_expected(&in, "the end of the text");
	}
	return rc;
}

int bi__descr_size(const char *text, size_t length, uint32_t *size, struct bi_error *err)
{
	return read_text(text, length, NULL, NULL, size, err);
}

int bi__descr_find(const char *text, size_t length, const char *name, struct bi__descr_field *out, struct bi_error *err)
{
	uint32_t size;
	int rc;

	out->ndim = -1;
	rc = read_text(text, length, name, out, &size, err);
	if (rc == BI_OK && out->ndim < 0)
		return bi__fail(err, BI_EINVAL, "name: the type has no field \"%.64s\"", name);
	return rc;
}

int bi_dtype_parse_descr(const char *descr, struct bi_dtype *out, struct bi_error *err)
{
	uint32_t size;
	int rc;

	if (!descr || !out)
		return bi__fail(err, BI_EINVAL, "%s is NULL", descr ? "out" : "descr");
	rc = bi__descr_size(descr, strlen(descr), &size, err);
	if (rc == BI_OK)
		*out = (struct bi_dtype){ .item_size = size, .lanes = 1, .type = BI_VOID };
	return rc;
}
