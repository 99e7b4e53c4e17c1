#define _POSIX_C_SOURCE 200809L

#include "check_child.h"

#include <buffer_interface/check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define MOST_PAGES 4096
#define MOST_DESCR 65536 /* bytes (B-28) */

/* The rules that bi_exchange_check checks, in the order of its checks. */
static const char *const checked[] = { "B-9",  "B-39", "B-11", "B-23", "B-21", "B-32", "B-26",
				       "B-27", "B-14", "B-15", "B-16", "B-17", "B-18" };
enum { B_9, B_39, B_11, B_23, B_21, B_32, B_26, B_27, B_14, B_15, B_16, B_17, B_18, CHECKED };

/* The kernel reads the byte for the pipe, and fails with EFAULT instead of a signal. */
static int is_byte_readable(const int ends[2], uint64_t address)
{
	char byte;

	return write(ends[1], (const void *)(uintptr_t)address, 1) == 1 && read(ends[0], &byte, 1) == 1;
}

int check_is_readable(uint64_t address, uint64_t size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = 0;
	int ends[2], is_readable = 1;

	if (!size)
		return 1;
	if (address + size < address || address + size - 1 > UINTPTR_MAX)
		return 0;
	if (pipe(ends))
		judge_fatal("a pipe cannot be opened");
	for (uint64_t at = address; is_readable && at - address < size && pages < MOST_PAGES; pages++) {
		is_readable = is_byte_readable(ends, at);
		at += page - at % page;
	}
	is_readable = is_readable && is_byte_readable(ends, address + size - 1);
	close(ends[0]);
	close(ends[1]);
	return is_readable;
}

static void write_numbers(char *text, size_t size, const int64_t *numbers, int ndim)
{
	size_t used = (size_t)snprintf(text, size, !numbers && ndim ? "NULL" : ndim > 64 ? "given" : "(");

	if (*text != '(')
		return;
	for (int i = 0; i < ndim && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? ", " : "", numbers[i]);
	if (used < size)
		snprintf(text + used, size - used, ndim == 1 ? ",)" : ")");
}

static void describe_layout(const struct bi_exchange *x, char *text, size_t size)
{
	char shape[100], strides[100];

	write_numbers(shape, sizeof(shape), x->shape, x->ndim);
	write_numbers(strides, sizeof(strides), x->strides, x->ndim);
	snprintf(text, size,
		 "ndim is %u, shape %s, strides %s, item_size %u, handle 0x%" PRIx64 ", offset %" PRIu64
		 ", size %" PRIu64 ", flags 0x%x",
		 x->ndim, shape, strides, x->item_size, x->handle, x->offset, x->size, x->flags);
}

/* Sets handle, offset and size to memory that the elements just fill. Returns 0 if no memory has so many bytes. */
static int repair_memory(struct bi_exchange *x)
{
	uint64_t below = 0, above = 0;

	for (int i = 0; i < x->ndim; i++)
		bi_exchange_add_reach(x->strides[i] < 0 ? &below : &above, (uint64_t)x->shape[i], x->strides[i]);
	if (above > UINT64_MAX - x->item_size || below > UINT64_MAX - x->item_size - above)
		return 0;
	x->handle = 1;
	x->offset = below;
	x->size = below + above + x->item_size;
	return 1;
}

static void ignore_release(struct bi_exchange *self)
{
	self->release = NULL;
}

/* Sets descr, and the type's other members as B-26 demands beside it. */
static void name_bytes(struct bi_exchange *x, const char *descr)
{
	x->type_code = 3;
	x->descr = descr;
	x->type_bits = 8;
	x->type_lanes = (uint16_t)(x->item_size > 65535 ? 0 : x->item_size);
}

/*
 * Describes in `text` the members that a rule is about. Then sets them to values that the rule permits, so that the
 * next rule can be checked. Returns 0 if that is not possible.
 */
static int describe_and_repair(struct bi_exchange *x, int rule, char *text, size_t size)
{
	switch (rule) {
	case B_9:
		snprintf(text, size, "version is %u.%u, struct_size %u", x->version >> 16, x->version & 0xffff,
			 x->struct_size);
		x->version = BI_ABI_VERSION;
		x->struct_size = sizeof(*x);
		return 1;
	case B_39:
		snprintf(text, size, "release is NULL in a structure that is given");
		x->release = ignore_release;
		return 1;
	case B_11:
		snprintf(text, size, "flags are 0x%x, reserved is %u", x->flags, x->reserved);
		x->flags &= ~0xffffu;
		x->reserved = 0;
		return 1;
	case B_23:
		snprintf(text, size, "device_id is %d, handle_kind %u", x->device_id, x->handle_kind);
		x->device_id = 0;
		return 1;
	case B_21:
		snprintf(text, size, "handle_kind is %u, device_type %d, context 0x%" PRIx64, x->handle_kind,
			 x->device_type, x->context);
		x->handle_kind = BI_HANDLE_HOST;
		x->device_type = BI_EXCHANGE_DEVICE_CPU;
		x->context = 0;
		x->device_id = 0; /* B-23 was judged before, and demands it of the host */
		return 1;
	case B_32:
		snprintf(text, size, "order_kind is %u, stream 0x%" PRIx64 ", event 0x%" PRIx64 ", done is %s",
			 x->order_kind, x->stream, x->event, x->done ? "given" : "NULL");
		x->order_kind = BI_ORDER_NONE;
		x->stream = x->event = 0;
		return 1;
	case B_26:
	case B_27:
		snprintf(text, size, "type_code is %u, type_bits %u, type_lanes %u, item_size %u, descr is %s",
			 x->type_code, x->type_bits, x->type_lanes, x->item_size, x->descr ? "given" : "NULL");
		name_bytes(x, "");
		return 1;
	default:
		describe_layout(x, text, size);
		return rule == B_17 && repair_memory(x);
	}
}

/* Returns the place in `checked` of the rule that a sentence of check.h names, or CHECKED for NULL. */
static int rule_of(const char *why)
{
	char name[8];

	for (int rule = 0; why && rule < CHECKED; rule++) {
		snprintf(name, sizeof(name), "[%s]", checked[rule]);
		if (strstr(why, name))
			return rule;
	}
	return CHECKED;
}

/*
 * Judges the rules of check.h, one after the other. Returns 1 if all hold. Ends early if a member cannot be repaired,
 * or if the structure breaks an earlier rule again, because check.h does not check the later ones then.
 */
static int judge_checked(struct bi_exchange x)
{
	int all_hold = 1, goes_on = 1;

	for (int rule = 0; goes_on && rule < CHECKED; rule++) {
		int found = rule_of(bi_exchange_check(&x));
		struct bi_exchange repaired = x;
		char seen[400];

		if (found < rule)
			break;
		goes_on = describe_and_repair(&repaired, rule, seen, sizeof(seen));
		if (judge(checked[rule], found != rule, "%s", seen)) {
			goes_on = 1;
			continue;
		}
		all_hold = 0;
		x = repaired;
	}
	return all_hold;
}

/* Returns 1 if the table of docs/specification.md, section 3, has the type. */
static int is_known_type(unsigned code, unsigned bits)
{
	static const struct {
		uint8_t first, last, bits[4];
	} types[] = { { 0, 1, { 8, 16, 32, 64 } },
		      { 2, 2, { 16, 32, 64 } },
		      { 4, 4, { 16 } },
		      { 5, 5, { 64, 128 } },
		      { 6, 14, { 8 } },
		      { 15, 16, { 6 } },
		      { 17, 17, { 4 } } };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (code >= types[i].first && code <= types[i].last && bits && memchr(types[i].bits, (int)bits, 4))
			return 1;
	return 0;
}

/* Fills the structure of a host array without dimensions that has the descr and the item_size of `x`. */
static void fill_described(struct bi_exchange *out, const struct bi_exchange *x)
{
	*out = (struct bi_exchange)BI_EXCHANGE_INIT;
	out->release = ignore_release;
	out->handle = 1;
	out->size = out->item_size = x->item_size;
	out->handle_kind = BI_HANDLE_HOST;
	out->device_type = BI_EXCHANGE_DEVICE_CPU;
	name_bytes(out, x->descr);
}

/* Returns 1 if the word is in a message before the first quoted text, which may contain any words. */
static int is_about(const char *message, const char *word)
{
	const char *found = strstr(message, word), *quoted = strpbrk(message, "\"'");

	return found && (!quoted || found < quoted);
}

size_t check_readable_length(const char *text, size_t most)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	size_t length = 0;

	for (; length < most; length++) {
		uintptr_t at = (uintptr_t)text + length;

		if (((length == 0 || at % page == 0) && !check_is_readable(at, 1)) || !text[length])
			return length;
	}
	return length;
}

/* Returns 1 if the text has at most `most` bytes before its NUL, all in memory of the process. */
static int is_text(const char *text, size_t most)
{
	size_t length = check_readable_length(text, most + 1);

	return length <= most && check_is_readable((uintptr_t)text + length, 1) && !text[length];
}

/*
 * Judges B-28 and B-29, and B-26 for a type that DLPack can name. The library imports an array with the descr, and its
 * message says which rule is broken.
 */
static int judge_descr(const struct bi_exchange *x)
{
	struct bi_options opening = BI_OPTIONS_INIT;
	struct bi_exchange described;
	struct bi_context *host;
	struct bi_view *view = NULL;
	struct bi_error err = { 0 };
	const char *rule = "B-28";

	opening.device = "host";
	if (bi_context_open(&opening, &host, &err) != BI_OK)
		judge_fatal("the host cannot be opened: %s", err.message);
	fill_described(&described, x);
	bi_view_import(host, &described, 0, &view, &err);
	if (is_about(err.message, "item_size") || is_about(err.message, "type_lanes"))
		rule = "B-29";
	else if (is_about(err.message, "type_code"))
		rule = "B-26";
	if (!view && strstr(err.message, "no type has this kind and size"))
		judge_skip("B-28", "the library does not know the type: %s", err.message);
	else if (!view)
		judge(rule, 0, "descr is %.*s: %s", text_fit(x->descr, strlen(x->descr), 80), x->descr, err.message);
	if (view || rule[3] == '9')
		judge("B-28", 1, "%s", "");
	if (view)
		judge("B-29", 1, "%s", "");
	bi_view_release(view);
	bi_context_release(host);
	return view != NULL;
}

static int judge_type(const struct bi_exchange *x)
{
	if (x->type_code != 3 && !x->descr)
		return judge("B-25", is_known_type(x->type_code, x->type_bits), "type_code is %u, type_bits %u",
			     x->type_code, x->type_bits);
	if (!x->descr)
		return 0;
	if (!judge("B-28", is_text(x->descr, MOST_DESCR),
		   "descr is no text with a NUL behind at most %d bytes, in memory of the process", MOST_DESCR))
		return 0;
	return judge_descr(x);
}

static int is_empty(const struct bi_exchange *x)
{
	for (int i = 0; i < x->ndim; i++)
		if (x->shape[i] == 0)
			return 1;
	return 0;
}

int judge_structure(const struct bi_exchange *x)
{
	uint64_t size = x->ndim <= 64 ? x->ndim * sizeof(int64_t) : 0;
	int is_right = judge_type(x);

	if (!judge("B-14",
		   (!x->shape || check_is_readable((uintptr_t)x->shape, size)) &&
			   (!x->strides || check_is_readable((uintptr_t)x->strides, size)),
		   "shape or strides is no memory of the process"))
		return 0;
	is_right &= judge_checked(*x);
	if (!is_right || x->handle_kind != BI_HANDLE_HOST || is_empty(x))
		return is_right;
	return judge("B-19", check_is_readable(x->handle, x->size),
		     "some of the %" PRIu64 " bytes from 0x%" PRIx64 " on are no memory of the process", x->size,
		     x->handle);
}
