#include "common/layout/dtype.h"

#include <stdio.h>
#include <string.h>

#include "buffer_interface/dlpack.h"

/* One row of BI_TYPE_MAP. */
struct entry {
	const char *text;
	char kind;
	int code;
	uint32_t bits;
};

static const struct entry types[BI_TYPE_COUNT] = {
#define TYPE(name, text, kind, code, bits) [BI_##name] = { text, kind, code, bits },
	BI_TYPE_MAP(TYPE)
#undef TYPE
};

/* Kinds of the array interface that are not supported. */
static const struct {
	char kind;
	const char *text;
} refused[] = {
	{ 'O', "Python objects are not supported" },
	{ 't', "bit fields are not supported" },
	{ 'M', "dates are not supported; view them as int64" },
	{ 'm', "time differences are not supported; view them as int64" },
};

/* Returns true if the caller chooses the item size (bytes, unicode, void). Other types have a fixed size for a lane. */
static int is_sized(const struct entry *entry)
{
	return entry->code < 0;
}

/* Returns the bytes of one lane, or of one character of a sized type. The item size is a multiple of the result. */
static uint32_t unit_size(const struct entry *entry)
{
	return (entry->bits + 7) / 8;
}

static int has_order(const struct entry *entry)
{
	return unit_size(entry) > 1;
}

#define IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* DLPack has no sized types (is_sized) and no swapped types. */
const struct bi__type_words bi__type_words[BI_TYPE_COUNT][2] = {
#define ORDER(bits, is_first) ((bits) <= 8 ? '|' : (is_first) ? '<' : '>')
#define TYPE(name, text, kind, code, bits) \
	[BI_##name] = { { (uint8_t)((code) < 0 ? BI__TYPE_OPAQUE : (code)), (code) < 0 ? 8 : (bits), \
			  ORDER(bits, IS_LITTLE) }, \
			{ BI__TYPE_OPAQUE, 8, ORDER(bits, !IS_LITTLE) } },
	BI_TYPE_MAP(TYPE)
#undef TYPE
#undef ORDER
};

static struct bi_dtype from_table(size_t type, unsigned lanes)
{
	return (struct bi_dtype){
		.item_size = unit_size(&types[type]) * lanes,
		.lanes = (uint16_t)lanes,
		.type = (uint8_t)type,
	};
}

static struct bi_dtype from_size(size_t type, uint32_t item_size)
{
	return (struct bi_dtype){ .item_size = item_size, .lanes = 1, .type = (uint8_t)type };
}

int bi_dtype_make(enum bi_type type, unsigned lanes, uint32_t item_size, struct bi_dtype *out, struct bi_error *err)
{
	struct bi_dtype made;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	if ((unsigned)type >= BI_TYPE_COUNT)
		return bi__fail(err, BI_EINVAL, "type %d is not in 0..%d", (int)type, BI_TYPE_COUNT - 1);
	if (lanes < 1 || lanes > UINT16_MAX)
		return bi__fail(err, BI_EINVAL, "lanes %u is not in 1..%d", lanes, UINT16_MAX);
	made = is_sized(&types[type]) ? from_size(type, item_size) : from_table(type, lanes);
	if (is_sized(&types[type]) && lanes != 1)
		return bi__fail(err, BI_EINVAL, "lanes %u: %s has one lane only", lanes, types[type].text);
	if (made.item_size % unit_size(&types[type]))
		return bi__fail(err, BI_EINVAL, "item_size %u is not a multiple of %u, the character of %s", item_size,
				unit_size(&types[type]), types[type].text);
	if (item_size && item_size != made.item_size)
		return bi__fail(err, BI_EINVAL, "item_size %u is not the %u bytes of %s with %u lanes", item_size,
				made.item_size, types[type].text, lanes);
	*out = made;
	return BI_OK;
}

int bi__dtype_check(struct bi_dtype dtype, struct bi_error *err)
{
	const struct entry *entry;

	if (dtype.type >= BI_TYPE_COUNT)
		return bi__fail(err, BI_EDTYPE, "dtype.type %u is not in 0..%d", dtype.type, BI_TYPE_COUNT - 1);
	entry = &types[dtype.type];
	if (dtype.lanes == 1 && !dtype.swapped && dtype.item_size == unit_size(entry))
		return BI_OK;
	if (dtype.lanes < 1 || (is_sized(entry) && dtype.lanes != 1))
		return bi__fail(err, BI_EDTYPE, "dtype.lanes %u does not fit %s", dtype.lanes, entry->text);
	if (is_sized(entry) ? dtype.item_size % unit_size(entry) : dtype.item_size != unit_size(entry) * dtype.lanes)
		return bi__fail(err, BI_EDTYPE, "dtype.item_size %u does not fit %s with %u lanes", dtype.item_size,
				entry->text, dtype.lanes);
	if (dtype.swapped > 1 || (dtype.swapped && (dtype.lanes > 1 || !entry->kind || !has_order(entry))))
		return bi__fail(err, BI_EDTYPE, "dtype.swapped %u does not fit %s with %u lanes", dtype.swapped,
				entry->text, dtype.lanes);
	return BI_OK;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The number that read_number gives for all numbers above UINT32_MAX. */
#define TOO_LARGE ((uint64_t)UINT32_MAX + 1)

/* Returns 1 and sets *out if the whole text is a decimal number, else returns 0. */
static int read_number(const char *text, size_t length, uint64_t *out)
{
	uint64_t number = 0;

	for (size_t i = 0; i < length; i++) {
		if (!is_digit(text[i]))
			return 0;
		number = number * 10 + (uint64_t)(text[i] - '0');
		if (number > TOO_LARGE)
			number = TOO_LARGE;
	}
	*out = number;
	return length > 0;
}

/*
 * Returns the type of this kind whose items have `bytes` bytes, or -1. For 0 bytes, returns the sized type (is_sized)
 * of the kind, or -1. The labels of types without a kind are negative, so that no argument selects them.
 */
static int find_kind(char kind, uint8_t bytes)
{
	switch ((unsigned char)kind << 8 | bytes) {
#define CASE(name, text, kind, code, bits) \
	case (!(kind) ? -1 - BI_##name : (kind) << 8 | ((code) < 0 ? 0 : ((bits) + 7) / 8)): \
		return BI_##name;
		BI_TYPE_MAP(CASE)
#undef CASE
	}
	return -1;
}

/* Returns 1 and sets *out to the type of this kind and number of bytes (sized types: characters), or returns 0. */
static int find_typestr(char kind, uint64_t number, struct bi_dtype *out)
{
	int type = number && number <= UINT8_MAX ? find_kind(kind, (uint8_t)number) : -1;

	if (type >= 0) {
		*out = from_table((size_t)type, 1);
		return 1;
	}
	type = find_kind(kind, 0);
	if (type < 0 || number > UINT32_MAX / unit_size(&types[type]))
		return 0;
	*out = from_size((size_t)type, (uint32_t)number * unit_size(&types[type]));
	return 1;
}

static const char *unit_of(char kind)
{
	return kind == 'U' ? "characters" : "bytes";
}

/* Refuses a typestr that find_typestr does not find. */
static int refuse_size(const char *text, size_t length, char kind, struct bi_error *err)
{
	const struct bi__quote quoted = bi__quote(text, length);
	int type = find_kind(kind, 0);

	if (type < 0)
		return bi__fail(err, BI_EDTYPE, "\"%s\": no type has this kind and size", quoted.text);
	return bi__fail(err, BI_EDTYPE, "\"%s\": the number of %s is above %u", quoted.text, unit_of(kind),
			UINT32_MAX / unit_size(&types[type]));
}

/* Refuses a type whose size is missing. `unit` is the unit of the size. */
static int refuse_no_size(const char *text, size_t length, const char *unit, struct bi_error *err)
{
	const struct bi__quote quoted = bi__quote(text, length);

	return bi__fail(err, BI_EDTYPE, "\"%s\": the size is missing; write the number of %s behind it, such as %s8",
			quoted.text, unit, quoted.text);
}

/*
 * Returns the message for a kind that is not supported, or NULL. A typestr of such a kind may have no digits ("|O"),
 * or a unit after them ("<M8[ns]").
 */
static const char *refused_kind(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (text[0] == refused[i].kind && (length == 1 || is_digit(text[1]) || text[1] == '['))
			return refused[i].text;
	return NULL;
}

/* Does the same as bi__dtype_parse_typestr. The message about a malformed text ends with `malformed`. */
static int parse_typestr(const char *text, size_t length, const char *malformed, struct bi_dtype *out,
			 struct bi_error *err)
{
	size_t prefix = length > 0 && bi__dtype_is_order(text[0]);
	char order = prefix ? text[0] : '=';
	const char *refusal;
	uint64_t number;
	struct bi_dtype read;

	if (length == prefix)
		return bi__fail(err, BI_EDTYPE, "\"%s\" %s", bi__quote(text, length).text, malformed);
	refusal = refused_kind(text + prefix, length - prefix);
	if (refusal)
		return bi__fail(err, BI_EDTYPE, "\"%s\": %s", bi__quote(text, length).text, refusal);
	if (length == prefix + 1 && find_kind(text[prefix], 0) >= 0)
		return refuse_no_size(text, length, unit_of(text[prefix]), err);
	if (!read_number(text + prefix + 1, length - prefix - 1, &number))
		return bi__fail(err, BI_EDTYPE, "\"%s\" %s", bi__quote(text, length).text, malformed);
	if (!find_typestr(text[prefix], number, &read))
		return refuse_size(text, length, text[prefix], err);
	if (has_order(&types[read.type])) {
		if (order == '|')
			return bi__fail(err, BI_EDTYPE, "\"%s\": the byte order is missing; write < or > instead of |",
					bi__quote(text, length).text);
		read.swapped = order != '=' && order != (IS_LITTLE ? '<' : '>');
	}
	*out = read;
	return BI_OK;
}

int bi__dtype_parse_typestr(const char *text, size_t length, struct bi_dtype *out, struct bi_error *err)
{
	return parse_typestr(text, length, "is not a typestr", out, err);
}

/*
 * Reads the text after the name of a type: the size of a sized type; else nothing, or "x" and the number of lanes.
 * Returns 1, or 0 if the text is not valid.
 */
static int read_suffix(size_t type, const char *suffix, struct bi_dtype *out)
{
	uint64_t number = 1;

	if (is_sized(&types[type])) {
		if (!read_number(suffix, strlen(suffix), &number) || number == TOO_LARGE ||
		    number % unit_size(&types[type]))
			return 0;
		*out = from_size(type, (uint32_t)number);
		return 1;
	}
	if (*suffix && (*suffix != 'x' || !read_number(suffix + 1, strlen(suffix + 1), &number)))
		return 0;
	if (number < 1 || number > UINT16_MAX)
		return 0;
	*out = from_table(type, (unsigned)number);
	return 1;
}

static int find_name(const char *text, struct bi_dtype *out)
{
	for (size_t i = 0; i < BI_TYPE_COUNT; i++) {
		size_t length = strlen(types[i].text);

		if (strncmp(text, types[i].text, length) == 0 && read_suffix(i, text + length, out))
			return 1;
	}
	return 0;
}

/*
 * Returns BI_EDTYPE for a text that begins with the name of a type, if its size is missing, or if its size or number of
 * lanes is not valid. Returns BI_OK if the rest of the text is neither a size nor lanes: it may be a longer name.
 */
static int refuse_suffix(const struct entry *entry, const char *text, const char *suffix, struct bi_error *err)
{
	const struct bi__quote quoted = bi__quote(text, strlen(text));
	const char *number = is_sized(entry) ? suffix : suffix + 1;

	if (is_sized(entry) && !*suffix)
		return refuse_no_size(text, strlen(text), "bytes", err);
	if ((!is_sized(entry) && *suffix != 'x') || !*number || number[strspn(number, "0123456789")])
		return BI_OK;
	if (!is_sized(entry))
		return bi__fail(err, BI_EDTYPE, "\"%s\": the number of lanes is not in 1..%d", quoted.text, UINT16_MAX);
	if (unit_size(entry) == 1)
		return bi__fail(err, BI_EDTYPE, "\"%s\": the number of bytes is above %u", quoted.text, UINT32_MAX);
	return bi__fail(err, BI_EDTYPE, "\"%s\": the number of bytes is not a multiple of %u up to %u", quoted.text,
			unit_size(entry), UINT32_MAX / unit_size(entry) * unit_size(entry));
}

/* Refuses the name of a type with a missing or wrong size or number of lanes. Returns BI_OK for all other texts. */
static int refuse_name(const char *text, struct bi_error *err)
{
	int rc = BI_OK;

	for (size_t i = 0; rc == BI_OK && i < BI_TYPE_COUNT; i++) {
		size_t length = strlen(types[i].text);

		if (strncmp(text, types[i].text, length) == 0)
			rc = refuse_suffix(&types[i], text, text + length, err);
	}
	return rc;
}

/* Type names of other languages, with the names that this library has for them. */
static const struct {
	const char *name, *ours;
} foreign_names[] = {
	{ "half", "float16" },       { "float", "float32 or float64" },
	{ "double", "float64" },     { "f16", "float16 (float of 16 bytes is not supported)" },
	{ "f32", "float32" },        { "f64", "float64" },
	{ "i16", "int16" },          { "i32", "int32" },
	{ "i64", "int64" },          { "u16", "uint16" },
	{ "u32", "uint32" },         { "u64", "uint64" },
	{ "int", "int32 or int64" },
};

static const char *suggest_name(const char *text)
{
	for (size_t i = 0; i < sizeof(foreign_names) / sizeof(*foreign_names); i++)
		if (!strcmp(text, foreign_names[i].name))
			return foreign_names[i].ours;
	return NULL;
}

int bi_dtype_parse(const char *text, struct bi_dtype *out, struct bi_error *err)
{
	const char *suggestion;
	int rc;

	if (!text || !out)
		return bi__fail(err, BI_EINVAL, "%s is NULL", text ? "out" : "text");
	if (find_name(text, out))
		return BI_OK;
	suggestion = suggest_name(text);
	if (suggestion)
		return bi__fail(err, BI_EDTYPE, "\"%s\" is no element type; write %s", text, suggestion);
	if (bi__dtype_is_order(*text))
		return bi__dtype_parse_typestr(text, strlen(text), out, err);
	rc = refuse_name(text, err);
	return rc ? rc
		  : parse_typestr(text, strlen(text), "is neither a typestr, such as <f4, nor a name, such as float32",
				  out, err);
}

/* Writes the digits and a final NUL. It is faster than printf, which matters in exports to the CUDA Array Interface. */
static void write_decimal(char *text, uint32_t number)
{
	char digits[10];
	int count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*text++ = digits[--count];
	*text = '\0';
}

int bi_dtype_typestr(struct bi_dtype dtype, char text[BI_DTYPE_TEXT], struct bi_error *err)
{
	const struct entry *entry;
	int rc;

	if (!text)
		return bi__fail(err, BI_EINVAL, "text is NULL");
	rc = bi__dtype_check(dtype, err);
	if (rc != BI_OK)
		return rc;
	entry = &types[dtype.type];
	if (!entry->kind || dtype.lanes > 1)
		return bi__fail(err, BI_EDTYPE, "the array interface has no name for %s with %u lanes", entry->text,
				dtype.lanes);
	text[0] = bi__dtype_words(dtype).order;
	text[1] = entry->kind;
	write_decimal(text + 2, is_sized(entry) ? dtype.item_size / unit_size(entry) : dtype.item_size);
	return BI_OK;
}

void bi_dtype_name(struct bi_dtype dtype, char text[BI_DTYPE_TEXT])
{
	const struct entry *entry;

	if (bi__dtype_check(dtype, NULL) != BI_OK) {
		snprintf(text, BI_DTYPE_TEXT, "invalid type %u", dtype.type);
		return;
	}
	entry = &types[dtype.type];
	if (dtype.swapped)
		bi_dtype_typestr(dtype, text, NULL);
	else if (is_sized(entry))
		snprintf(text, BI_DTYPE_TEXT, "%s%u", entry->text, dtype.item_size);
	else if (dtype.lanes > 1)
		snprintf(text, BI_DTYPE_TEXT, "%sx%u", entry->text, dtype.lanes);
	else
		snprintf(text, BI_DTYPE_TEXT, "%s", entry->text);
}

/* Returns the type, or -1. The labels of types without a code are negative, so that no argument selects them. */
static int find_dlpack(unsigned code, unsigned bits)
{
	if (code > UINT8_MAX || bits > UINT8_MAX)
		return -1;
	switch ((int)(code << 8 | bits)) {
#define CASE(name, text, kind, code, bits) \
	case ((code) < 0 ? -1 - BI_##name : (code) * 256 + (bits)): \
		return BI_##name;
		BI_TYPE_MAP(CASE)
#undef CASE
	}
	return -1;
}

int bi_dtype_from_dlpack(unsigned code, unsigned bits, unsigned lanes, struct bi_dtype *out, struct bi_error *err)
{
	int type;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	if (lanes < 1 || lanes > UINT16_MAX)
		return bi__fail(err, BI_EDTYPE, "DLPack lanes %u is not in 1..%d", lanes, UINT16_MAX);
	type = find_dlpack(code, bits);
	if (type >= 0) {
		*out = from_table((size_t)type, lanes);
		return BI_OK;
	}
	return bi__fail(err, BI_EDTYPE, "no type has the DLPack code %u with %u bits", code, bits);
}

int bi_dtype_to_dlpack(struct bi_dtype dtype, uint8_t *code, uint8_t *bits, uint16_t *lanes, struct bi_error *err)
{
	struct bi__type_words words;
	char text[BI_DTYPE_TEXT];
	int rc;

	if (!code || !bits || !lanes)
		return bi__fail(err, BI_EINVAL, "code, bits or lanes is NULL");
	rc = bi__dtype_check(dtype, err);
	if (rc != BI_OK)
		return rc;
	words = bi__dtype_words(dtype);
	if (words.code == BI__TYPE_OPAQUE) {
		bi_dtype_name(dtype, text);
		return bi__fail(err, BI_EDTYPE, "DLPack has no type %s", text);
	}
	*code = words.code;
	*bits = words.bits;
	*lanes = dtype.lanes;
	return BI_OK;
}

int bi_dtype_equal(struct bi_dtype a, struct bi_dtype b)
{
	return a.type == b.type && a.item_size == b.item_size && a.lanes == b.lanes && a.swapped == b.swapped;
}

char bi_dtype_kind(struct bi_dtype dtype)
{
	return dtype.type < BI_TYPE_COUNT ? types[dtype.type].kind : '\0';
}
