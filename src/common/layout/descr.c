#include "common/layout/descr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/checked.h"
#include "common/base/utf8.h"
#include "common/layout/dtype.h"

/* Receives the bytes of a translation. `length` counts all bytes, and those that fit into `room` are written. */
struct writer {
	char *out;
	size_t room, length;
};

struct reader {
	const char *text;
	const char *at;
	const char *end;
	enum bi__descr_notation notation;
	struct writer *to; /* receives the translation; or NULL */
	enum bi__descr_notation into; /* notation of the translation */
	struct bi_error *err;
};

/* Differences between the notations. Indexed by enum bi__descr_notation. */
static const struct {
	char open, close, quote;
	const char *quotes;
	const char *escapes, *escaped;
	const char *codes; /* letters that hexadecimal digits follow in an escape */
} notations[] = {
	{ '(', ')', '\'', "'\"", "\\'\"nrt", "\\'\"\n\r\t", "xuU" },
	{ '[', ']', '"', "\"", "\\/\"bfnrt", "\\/\"\b\f\n\r\t", "u" },
};

static void put_character(struct writer *to, char c)
{
	if (to->length < to->room)
		to->out[to->length] = c;
	to->length++;
}

static void put_text(const struct reader *in, const char *text)
{
	for (; in->to && *text; text++)
		put_character(in->to, *text);
}

/* Writes `python` if the translation is in Python's notation, otherwise `json`. */
static void put_either(const struct reader *in, const char *python, const char *json)
{
	put_text(in, in->into == BI__DESCR_PYTHON ? python : json);
}

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
	while (in->at < in->end && memchr(" \t\n\r", *in->at, 4))
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

/*
 * Reads ',' or `close` after a member of a list or a tuple. Sets *done if `close` was read. Python allows a comma
 * before `close`, JSON does not.
 */
static int read_separator(struct reader *in, char close, int *done)
{
	int comma = accept_character(in, ',');

	*done = accept_character(in, close);
	if (comma == *done && (!comma || in->notation == BI__DESCR_JSON))
		return fail_expected(in, close == ']' ? "',' or ']'" : "',' or ')'");
	return BI_OK;
}

/* Returns the character that a backslash and `c` stand for, or NUL. */
static char unescape(enum bi__descr_notation notation, char c)
{
	const char *found = c ? strchr(notations[notation].escapes, c) : NULL;

	return found ? notations[notation].escaped[found - notations[notation].escapes] : '\0';
}

static int is_code(enum bi__descr_notation notation, char c)
{
	return c && strchr(notations[notation].codes, c);
}

/* Reads `count` hexadecimal digits, at most eight. Returns their value, or -1 if there are fewer. */
static int64_t read_hexadecimal(const char *at, const char *end, int count)
{
	int64_t value = 0;

	if (end - at < count)
		return -1;
	for (int i = 0; i < count; i++) {
		const char *digits = "0123456789abcdef", lower = (char)(at[i] | 32), *found;

		found = at[i] ? strchr(digits, at[i] >= 'A' ? lower : at[i]) : NULL;
		if (!found)
			return -1;
		value = value * 16 + (found - digits);
	}
	return value;
}

/* Reads the escape \uXXXX of JSON, or two of them that are the surrogates of one character. Returns -1 on failure. */
static int64_t read_json_code(const char **at, const char *end)
{
	int64_t code = read_hexadecimal(*at + 1, end, 4), low = -1;
	int length = 4;

	if ((code & ~0x3FF) == 0xD800) {
		if (end - *at > 7 && (*at)[5] == '\\' && (*at)[6] == 'u')
			low = read_hexadecimal(*at + 7, end, 4);
		code = (low & ~0x3FF) == 0xDC00 ? 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF) : -1;
		length = 10;
	}
	if (code <= 0 || (code & ~0x3FF) == 0xDC00)
		return -1;
	*at += length;
	return code;
}

/* Reads the escape \xXX, \uXXXX or \UXXXXXXXX of Python. Returns -1 on failure. */
static int64_t read_python_code(const char **at, const char *end)
{
	const int count = **at == 'x' ? 2 : **at == 'u' ? 4 : 8;
	int64_t code = read_hexadecimal(*at + 1, end, count);

	if (code <= 0 || code > 0x10FFFF || (code & ~0x7FF) == 0xD800)
		return -1;
	*at += count;
	return code;
}

/*
 * Reads the digits of an escape, and moves `*at` from the letter of the escape to the last digit. Returns the
 * character. Returns -1 and does not move `*at` if the escape is not valid. The character 0 is not accepted.
 */
static int32_t read_code(enum bi__descr_notation notation, const char **at, const char *end)
{
	return (int32_t)(notation == BI__DESCR_JSON ? read_json_code(at, end) : read_python_code(at, end));
}

/* Moves `*at` from the byte after a backslash to the last byte of the escape. Returns true if the escape is valid. */
static int skip_escape(const struct reader *in, const char **at)
{
	if (*at == in->end)
		return 0;
	if (!is_code(in->notation, **at))
		return unescape(in->notation, **at) != '\0';
	return read_code(in->notation, at, in->end) > 0;
}

static int read_string(struct reader *in, struct literal *out)
{
	char quote = peek_character(in), first = in->notation == BI__DESCR_JSON ? ' ' : '\1';
	size_t size;

	if (!quote || !strchr(notations[in->notation].quotes, quote))
		return fail_expected(in, "a string");
	out->start = ++in->at;
	for (; in->at < in->end && *in->at != '\n' && (unsigned char)*in->at >= first; in->at += size) {
		if (*in->at == quote) {
			out->end = in->at++;
			return BI_OK;
		}
		if (*in->at == '\\' && (++in->at, !skip_escape(in, &in->at)))
			return fail_expected(in, in->notation == BI__DESCR_JSON
							 ? "a character after a backslash"
							 : "one of \\ ' \" n r t, or x, u, U and digits, after a backslash");
		size = bi__utf8_size(in->at, in->end);
		if (!size)
			return bi__fail(in->err, BI_EDTYPE, "descr: byte %td is not UTF-8: write the text in UTF-8",
					in->at - in->text);
	}
	return fail_expected(in, "the end of the string");
}

static void put_escape(struct writer *to, char letter, int digits, int32_t code)
{
	put_character(to, '\\');
	put_character(to, letter);
	while (digits--)
		put_character(to, "0123456789abcdef"[code >> 4 * digits & 15]);
}

/* Writes one byte of a string with these quotes, as an escape if the notation needs one. */
static void put_byte(struct writer *to, enum bi__descr_notation notation, char quote, char c)
{
	const char special[] = { quote, '\\', '\n', '\r', '\t', '\0' };
	const char *found = c ? strchr(special, c) : NULL;

	if (found) {
		put_character(to, '\\');
		put_character(to, found - special < 2 ? c : "nrt"[found - special - 2]);
	} else if (notation == BI__DESCR_JSON && (unsigned char)c < ' ') {
		put_escape(to, 'u', 4, c);
	} else {
		put_character(to, c);
	}
}

/* Writes a character above U+007F in UTF-8. */
static void put_utf8(struct writer *to, int32_t code)
{
	int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

	put_character(to, (char)((0xFF00 >> (tail + 1) & 0xFF) | code >> 6 * tail));
	while (tail--)
		put_character(to, (char)(0x80 | (code >> 6 * tail & 0x3F)));
}

/*
 * Writes a character that was read as an escape with digits. Python's repr escapes only characters that cannot be
 * printed. So if both notations are Python's, a character that is not printable ASCII stays escaped.
 */
static void put_code(const struct reader *in, char quote, int32_t code)
{
	struct writer *to = in->to;

	if (code == '\n' || code == '\r' || code == '\t' || (code >= ' ' && code <= '~') ||
	    (code < 0x80 && in->notation != in->into))
		put_byte(to, in->into, quote, (char)code);
	else if (in->notation != in->into)
		put_utf8(to, code);
	else
		put_escape(to, code < 0x100 ? 'x' : code < 0x10000 ? 'u' : 'U', code < 0x100 ? 2 : code < 0x10000 ? 4 : 8,
			   code);
}

static int has_character(enum bi__descr_notation notation, const struct literal *literal, char wanted)
{
	for (const char *at = literal->start; at < literal->end; at++) {
		int32_t code = *at;

		if (*at == '\\')
			code = is_code(notation, *++at) ? read_code(notation, &at, literal->end)
							: unescape(notation, *at);
		if (code == wanted)
			return 1;
	}
	return 0;
}

/* Returns the quote for a string. For Python it is repr's choice. */
static char choose_quote(const struct reader *in, const struct literal *literal)
{
	if (in->into == BI__DESCR_PYTHON && has_character(in->notation, literal, '\'') &&
	    !has_character(in->notation, literal, '"'))
		return '"';
	return notations[in->into].quote;
}

static void put_string(const struct reader *in, const struct literal *literal)
{
	struct writer *to = in->to;
	char quote;

	if (!to)
		return;
	quote = choose_quote(in, literal);
	put_character(to, quote);
	for (const char *at = literal->start; at < literal->end; at++) {
		if (*at != '\\') {
			put_byte(to, in->into, quote, *at);
		} else if (is_code(in->notation, *++at)) {
			put_code(in, quote, read_code(in->notation, &at, in->end));
		} else {
			put_byte(to, in->into, quote, unescape(in->notation, *at));
		}
	}
	put_character(to, quote);
}

/* Returns 1 if a string in Python's notation is equal to a name in UTF-8. */
static int literal_equals(const struct literal *literal, const char *name)
{
	for (const char *at = literal->start; at < literal->end; at++) {
		char bytes[4];
		struct writer to = { bytes, sizeof(bytes), 0 };
		int32_t code;

		if (*at != '\\') {
			put_character(&to, *at);
		} else if (!is_code(BI__DESCR_PYTHON, *++at)) {
			put_character(&to, unescape(BI__DESCR_PYTHON, *at));
		} else {
			code = read_code(BI__DESCR_PYTHON, &at, literal->end);
			if (code < 0x80)
				put_character(&to, (char)code);
			else
				put_utf8(&to, code);
		}
		if (strncmp(name, bytes, to.length) != 0)
			return 0;
		name += to.length;
	}
	return !*name;
}

/* Reads 'name' or ('title', 'name'). JSON has no titles. */
static int read_name(struct reader *in, struct literal *name)
{
	int has_title = in->notation == BI__DESCR_PYTHON && accept_character(in, '('), done = 1;
	struct literal title;
	int rc = has_title ? read_string(in, &title) : BI_OK;

	if (rc == BI_OK && has_title && !accept_character(in, ','))
		return fail_expected(in, "',' and the name after the title");
	if (rc == BI_OK)
		rc = read_string(in, name);
	if (rc == BI_OK && has_title)
		rc = read_separator(in, ')', &done);
	if (rc == BI_OK && !done)
		return fail_expected(in, "')' after the name");
	if (rc != BI_OK)
		return rc;
	has_title = has_title && in->into == BI__DESCR_PYTHON;
	if (has_title) {
		put_text(in, "(");
		put_string(in, &title);
		put_text(in, ", ");
	}
	put_string(in, name);
	put_text(in, has_title ? ")" : "");
	return BI_OK;
}

int bi__descr_read_extent(const char **at, const char *end, int64_t *out)
{
	const char *start = *at, *digit = start;
	int is_too_large = 0;

	for (*out = 0; digit < end && *digit >= '0' && *digit <= '9'; digit++)
		if (!is_too_large)
			is_too_large = bi__mul(*out, 10, out) || bi__add(*out, *digit - '0', out);
	if (digit == start || (*start == '0' && digit > start + 1))
		return BI_EINVAL;
	*at = digit;
	return is_too_large ? BI_EOVERFLOW : BI_OK;
}

static int read_extent(struct reader *in, int64_t *out)
{
	const char *start;
	int rc;

	peek_character(in);
	start = in->at;
	rc = bi__descr_read_extent(&in->at, in->end, out);
	if (rc == BI_EOVERFLOW)
		return bi__fail(in->err, rc, "descr: the extent at byte %td is above %" PRId64, start - in->text,
				INT64_MAX);
	if (rc)
		return fail_expected(in, peek_character(in) == '0' ? "an extent without leading zeros" : "an extent");
	return BI_OK;
}

/* Reads a shape: a tuple (JSON: a list) of extents, or in Python's notation also one extent. */
static int read_extents(struct reader *in, struct bi__descr_field *field)
{
	const char close = notations[in->notation].close;
	int done, rc;

	if (!accept_character(in, notations[in->notation].open)) {
		if (in->notation == BI__DESCR_JSON)
			return fail_expected(in, "'[' of a shape");
		field->ndim = 1;
		return read_extent(in, field->shape);
	}
	done = accept_character(in, close);
	while (!done) {
		if (field->ndim == BI_MAX_NDIM)
			return bi__fail(in->err, BI_EDTYPE,
					"descr: the shape that ends at byte %td has more than %d extents",
					in->at - in->text, BI_MAX_NDIM);
		rc = read_extent(in, &field->shape[field->ndim++]);
		if (rc == BI_OK)
			rc = read_separator(in, close, &done);
		if (rc != BI_OK)
			return rc;
	}
	return BI_OK;
}

static int read_shape(struct reader *in, struct bi__descr_field *field)
{
	int rc = read_extents(in, field);
	char digits[24];

	if (rc != BI_OK || !in->to || (!field->ndim && in->into == BI__DESCR_PYTHON))
		return rc;
	put_either(in, ", (", ", [");
	for (int i = 0; i < field->ndim; i++) {
		snprintf(digits, sizeof(digits), "%s%" PRId64, i ? ", " : "", field->shape[i]);
		put_text(in, digits);
	}
	put_either(in, field->ndim == 1 ? ",)" : ")", "]");
	return BI_OK;
}

static int read_list(struct reader *in, int depth, const char *wanted, struct bi__descr_field *found, uint32_t *size);

/* Reads a typestr or a nested list. */
static int read_type(struct reader *in, int depth, struct bi__descr_field *field)
{
	char typestr[BI_DTYPE_TEXT];
	struct literal text;
	int rc;

	field->descr = NULL;
	field->descr_length = 0;
	if (peek_character(in) != '[') {
		rc = read_string(in, &text);
		if (rc != BI_OK)
			return rc;
		rc = bi__dtype_parse_typestr(text.start, (size_t)(text.end - text.start), &field->dtype, in->err);
		if (rc != BI_OK || !in->to)
			return rc;
		if (in->into == BI__DESCR_JSON) {
			put_string(in, &text);
			return BI_OK;
		}
		rc = bi_dtype_typestr(field->dtype, typestr, in->err);
		text = (struct literal){ typestr, typestr + strlen(typestr) };
		put_string(in, &text);
		return rc;
	}
	field->descr = in->at;
	field->dtype = (struct bi_dtype){ .lanes = 1, .type = BI_VOID };
	rc = read_list(in, depth + 1, NULL, NULL, &field->dtype.item_size);
	field->descr_length = (size_t)(in->at - field->descr);
	return rc;
}

static int read_field(struct reader *in, int depth, struct literal *name, struct bi__descr_field *field)
{
	const char close = notations[in->notation].close;
	int rc, done;

	field->ndim = 0;
	if (!accept_character(in, notations[in->notation].open))
		return fail_expected(in, close == ']' ? "'[' of a field" : "'(' of a field");
	put_either(in, "(", "[");
	rc = read_name(in, name);
	if (rc != BI_OK)
		return rc;
	put_text(in, ", ");
	if (!accept_character(in, ','))
		return fail_expected(in, "',' and the type after the name");
	rc = read_type(in, depth, field);
	if (rc == BI_OK)
		rc = read_separator(in, close, &done);
	if (rc == BI_OK && !done) {
		rc = read_shape(in, field);
		if (rc == BI_OK)
			rc = read_separator(in, close, &done);
		if (rc == BI_OK && !done)
			return fail_expected(in, close == ']' ? "']' after the shape" : "')' after the shape");
	}
	put_either(in, ")", "]");
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
 * Reads a list. If `wanted` is not NULL, *found becomes the first field with this name. The caller has set found->ndim
 * to -1, which stays if no field has the name. If `wanted` is NULL, `found` is not used.
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
	put_text(in, "[");
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
		if (!done)
			put_text(in, ", ");
	}
	put_text(in, "]");
	return BI_OK;
}

static int read_end(struct reader *in)
{
	peek_character(in);
	return in->at < in->end ? fail_expected(in, "the end of the text") : BI_OK;
}

/* Refuses a text whose length does not fit into bi_layout.descr_length. */
static int check_length(size_t length, struct bi_error *err)
{
	if (length <= UINT32_MAX)
		return BI_OK;
	return bi__fail(err, BI_EOVERFLOW, "descr: the text has %zu bytes; the limit is %" PRIu32, length, UINT32_MAX);
}

static int read_text(const char *text, size_t length, const char *wanted, struct bi__descr_field *found, uint32_t *size,
		     struct bi_error *err)
{
	struct reader in = { text, text, NULL, BI__DESCR_PYTHON, NULL, BI__DESCR_JSON, err };
	int rc = check_length(length, err);

	if (rc != BI_OK)
		return rc;
	in.end = text + length;
	rc = read_list(&in, 1, wanted, found, size);
	return rc == BI_OK ? read_end(&in) : rc;
}

int bi__descr_translate(const char *text, size_t length, enum bi__descr_notation from, char *out, size_t *room,
			struct bi_error *err)
{
	struct writer to = { out, *room, 0 };
	struct reader in = { text, text, text + length,
			     from, &to,  from == BI__DESCR_JSON ? BI__DESCR_PYTHON : BI__DESCR_JSON,
			     err };
	uint32_t size;
	int rc = read_list(&in, 1, NULL, NULL, &size);

	*room = to.length;
	if (rc == BI_OK)
		rc = check_length(to.length, err);
	return rc == BI_OK ? read_end(&in) : rc;
}

int bi__descr_print(const char **at, const char *end, char *out, size_t *room, uint32_t *item_size,
		    struct bi_error *err)
{
	struct writer to = { out, *room, 0 };
	struct reader in = { *at, *at, end, BI__DESCR_PYTHON, &to, BI__DESCR_PYTHON, err };
	int rc = read_list(&in, 1, NULL, NULL, item_size);

	*at = in.at;
	*room = to.length;
	return rc == BI_OK ? check_length(to.length, err) : rc;
}

int bi__descr_read_word(const char *json, size_t length, struct bi_dtype *out, struct bi_error *err)
{
	struct reader in = { json, json, json + length, BI__DESCR_JSON, NULL, BI__DESCR_PYTHON, err };
	struct literal word;
	int rc = read_string(&in, &word);

	if (rc == BI_OK)
		rc = read_end(&in);
	return rc == BI_OK ? bi__dtype_parse_typestr(word.start, (size_t)(word.end - word.start), out, err) : rc;
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
		return bi__fail(err, BI_EINVAL, "name: the type has no field \"%.64s\" in %.*s", name,
				(int)(length < sizeof(err->message) ? length : sizeof(err->message)), text);
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
