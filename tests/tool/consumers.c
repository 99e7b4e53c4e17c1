/*
 * Consumers for the test of `bi check`: one that keeps all rules, and for each rule some that break it. The name of a
 * function begins with the rule.
 */
#include <buffer_interface/check.h>
#include <stdlib.h>
#include <string.h>

static const char *check(const struct bi_exchange *x)
{
	const char *why = bi_exchange_check(x);

	if (why)
		return why;
	if (x->descr)
		return "a type of the table is needed [B-28] [B-29]";
	if (x->type_code > 17)
		return "[B-25]";
	if (x->handle_kind != BI_HANDLE_HOST || x->order_kind || x->item_size != x->type_bits / 8)
		return "not used here";
	return NULL;
}

/* Copies the elements in C order. */
static void copy(const struct bi_exchange *x, char *elements, size_t size)
{
	int64_t count = 1;

	for (int i = 0; i < x->ndim; i++)
		count *= x->shape[i];
	for (int64_t k = 0; k < count && (size_t)(k + 1) * x->item_size <= size; k++) {
		int64_t at = 0, rest = k;

		for (int i = x->ndim - 1; i >= 0; rest /= x->shape[i--])
			at += rest % x->shape[i] * x->strides[i];
		memcpy(elements + (size_t)k * x->item_size,
		       (const char *)(uintptr_t)(x->handle + x->offset + (uint64_t)at), x->item_size);
	}
}

static void release(struct bi_exchange *x)
{
	if (x->release)
		x->release(x);
}

/* Accepts arrays that break the rule, and no others that are illegal. */
static int consume(struct bi_exchange *x, void *elements, size_t size, const char *accepted)
{
	const char *why = check(x);

	if (!why || strstr(why, accepted)) {
		copy(x, elements, size);
		why = NULL;
	}
	release(x);
	return why ? -1 : 0;
}

#define CONSUMER(name) int name(struct bi_exchange *x, void *elements, size_t size)
#define ACCEPTS(name, rule) \
	CONSUMER(name) \
	{ \
		return consume(x, elements, size, rule); \
	}

ACCEPTS(buffer_interface_consume, "[none]")
ACCEPTS(B9_all, "[B-9]")
ACCEPTS(B11_all, "[B-11]")
ACCEPTS(B14_all, "[B-14]")
ACCEPTS(B15_all, "[B-15]")
ACCEPTS(B16_all, "[B-16]")
ACCEPTS(B17_all, "[B-17]")
ACCEPTS(B18_all, "[B-18]")
ACCEPTS(B21_all, "[B-21]")
ACCEPTS(B23_all, "[B-23]")
ACCEPTS(B25_all, "[B-25]")
ACCEPTS(B26_all, "[B-26]")
ACCEPTS(B27_all, "[B-27]")
ACCEPTS(B28_all, "[B-28]")
ACCEPTS(B29_all, "[B-29]")
ACCEPTS(B32_all, "[B-32]")

/* Does something more with an array that it accepts, before the release. */
#define ALSO(name, ...) \
	CONSUMER(name) \
	{ \
		int rc = check(x) ? -1 : 0; \
		if (!rc) { \
			copy(x, elements, size); \
			__VA_ARGS__; \
		} \
		release(x); \
		return rc; \
	}

ALSO(takes_overflow, ((char *)elements)[size] = 1)
ALSO(takes_wrong, *(char *)elements = (char)(*(char *)elements + 1))
ALSO(odd_dense, if (x->ndim) memcpy(elements, (const char *)(uintptr_t)(x->handle + x->offset), 6 * x->item_size))
ALSO(odd_beyond, *(volatile char *)(uintptr_t)(x->handle + x->size))
ALSO(B11_writes, if (x->size) *(volatile char *)(uintptr_t)x->handle = 1)
ALSO(B12_structure, x->flags ^= BI_COPIED)
ALSO(B12_shape, if (x->ndim) *(volatile int64_t *)(uintptr_t)x->shape = 2)
ALSO(B39_twice, void (*function)(struct bi_exchange *) = x->release; function(x); x->release = function)
ALSO(alive_abort, if (x->flags & BI_READONLY) abort())

static int is_empty(const struct bi_exchange *x)
{
	for (int i = 0; i < x->ndim; i++)
		if (x->shape[i] == 0)
			return 1;
	return 0;
}

/* Refuses arrays, which is not permitted. */
#define REFUSES(name, condition) \
	CONSUMER(name) \
	{ \
		int rc = check(x) || (condition) ? -1 : 0; \
		if (!rc) \
			copy(x, elements, size); \
		release(x); \
		return rc; \
	}

REFUSES(B10_longer, x->struct_size > sizeof(*x) && ((const char *)(x + 1))[8])
REFUSES(B22_handle, !x->handle)
REFUSES(B22_offset, x->offset > x->size)
/* Does not look at the place of an array without elements. */
CONSUMER(B21_empty)
{
	if (x->version == BI_ABI_VERSION && x->ndim == 1 && x->shape && is_empty(x))
		x->context = 0;
	return consume(x, elements, size, "[none]");
}

CONSUMER(B39_refused)
{
	int rc = check(x) ? -1 : 0;

	if (rc)
		return rc;
	copy(x, elements, size);
	release(x);
	return rc;
}

CONSUMER(B40_late)
{
	struct bi_exchange moved = *x;
	int rc = check(x) ? -1 : 0;

	release(x);
	if (!rc)
		copy(&moved, elements, size);
	return rc;
}

/* Moves the structure, as B-13 allows. Takes one dimension of uint8 alone. */
CONSUMER(right_row)
{
	struct bi_exchange moved = *x;
	int rc = check(x) || x->ndim != 1 || x->type_code != 1 || x->item_size != 1 ? -1 : 0;

	x->release = NULL;
	if (!rc)
		copy(&moved, elements, size);
	release(&moved);
	return rc;
}

CONSUMER(refuses)
{
	(void)elements, (void)size;
	release(x);
	return -1;
}
