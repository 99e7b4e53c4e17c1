/*
 * Fuzzes the texts of element types. The first byte chooses between lists in Python's notation and in JSON, the search
 * for a field, and types without fields. An accepted list or type must survive being written and read again.
 */
#include "common/layout/descr.h"
#include "common/layout/dtype.h"
#include "fuzz/target.h"
#include "utf8.h" /* the decoder of the command, which shares no code with the library */

struct text {
	char *bytes; /* NULL: the text was refused */
	size_t length;
};

/* No message names a byte behind the end of the text, where nothing is read. What a message quotes is not examined. */
static void check_byte(int rc, const struct bi_error *err, size_t length)
{
	const char *byte = strstr(err->message, "at byte "), *quoted = err->message + strcspn(err->message, "'\"");

	check_refusal(rc, err);
	require(!byte || byte > quoted || strtoull(byte + 8, NULL, 10) <= length,
		"a message names a byte behind the text");
}

static struct text translate(struct text text, enum bi__descr_notation from)
{
	struct bi_error err = { 0, 0, "" };
	struct text out = { NULL, 0 };
	size_t length;
	int rc = bi__descr_translate(text.bytes, text.length, from, NULL, &out.length, &err);

	if (rc) {
		check_byte(rc, &err, text.length);
		return out;
	}
	length = out.length;
	out.bytes = malloc(length + !length);
	require(out.bytes && !bi__descr_translate(text.bytes, text.length, from, out.bytes, &length, &err) &&
			length == out.length,
		"the second pass differs");
	return out;
}

static void check_utf8(struct text text)
{
	uint32_t point;

	for (size_t at = 0, size; at < text.length; at += size) {
		size = utf8_decode(text.bytes + at, text.length - at, &point);
		require(size && text.bytes[at], "an accepted text is not UTF-8 or has a NUL");
	}
}

/* The translation to the other notation and back may leave out titles and write typestrs in full. */
static void fuzz_list(struct text text, enum bi__descr_notation from)
{
	const enum bi__descr_notation to = from == BI__DESCR_JSON ? BI__DESCR_PYTHON : BI__DESCR_JSON;
	struct text there = translate(text, from), back, again;
	uint32_t size, size_of_back;

	fuzz_refused = !there.bytes;
	if (!there.bytes)
		return;
	check_utf8(text);
	check_utf8(there);
	back = translate(there, to);
	require(back.bytes != NULL, "a translation is not read");
	free(there.bytes);
	there = translate(back, from);
	require(there.bytes != NULL, "a translation is not read a second time");
	again = translate(there, to);
	require(again.length == back.length && !memcmp(again.bytes, back.bytes, back.length),
		"a translation is not stable");
	free(again.bytes);
	require(from == BI__DESCR_JSON ||
			(!bi__descr_size(text.bytes, text.length, &size, NULL) &&
			 !bi__descr_size(back.bytes, back.length, &size_of_back, NULL) && size == size_of_back),
		"the type has changed");
	free(back.bytes);
	free(there.bytes);
}

/* The text is the length of a name (up to 15), the name, and a list. */
static void fuzz_field(struct text text)
{
	const size_t length = text.length ? (size_t)text.bytes[0] & 15 : 0;
	struct bi_error err = { 0, 0, "" };
	struct bi__descr_field field;
	char *wanted;
	int rc;

	if (text.length < 1 + length)
		return;
	wanted = copy_string(text.bytes + 1, length);
	rc = bi__descr_find(text.bytes + 1 + length, text.length - 1 - length, wanted, &field, &err);
	fuzz_refused = rc != BI_OK;
	if (rc)
		check_refusal(rc, &err);
	else
		require(field.ndim >= 0 && field.ndim <= BI_MAX_NDIM && !bi__dtype_check(field.dtype, NULL),
			"a field is wrong");
	free(wanted);
}

static void fuzz_type(struct text text)
{
	char *word = copy_string(text.bytes, text.length), name[BI_DTYPE_TEXT];
	struct bi_error err = { 0, 0, "" };
	struct bi_dtype read, again;
	int rc = bi_dtype_parse(word, &read, &err);

	free(word);
	if (rc)
		check_refusal(rc, &err);
	rc = rc ? bi__descr_read_word(text.bytes, text.length, &read, &err) : rc;
	fuzz_refused = rc != BI_OK;
	if (rc) {
		check_byte(rc, &err, text.length);
		return;
	}
	require(!bi__dtype_check(read, NULL), "a type is wrong");
	bi_dtype_name(read, name);
	require(!bi_dtype_parse(name, &again, NULL) && bi_dtype_equal(read, again), "the name is another type");
	if (!bi_dtype_typestr(read, name, NULL))
		require(!bi_dtype_parse(name, &again, NULL) && bi_dtype_equal(read, again),
			"the typestr is another type");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text text;

	if (!size)
		return 0;
	text = (struct text){ copy_exactly(data + 1, size - 1), size - 1 };
	if (data[0] % 4 < 2)
		fuzz_list(text, data[0] % 4 ? BI__DESCR_JSON : BI__DESCR_PYTHON);
	else if (data[0] % 4 == 2)
		fuzz_field(text);
	else
		fuzz_type(text);
	free(text.bytes);
	return 0;
}
