/* A consumer that knows abi.h and nothing else of the library: checks a struct, reads every element, lets go. */
#include <buffer_interface/abi.h>
#include <string.h>

static uint64_t load(const unsigned char *from, uint32_t size, int big)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < size; i++)
		value |= (uint64_t)from[big ? size - 1 - i : i] << (8 * i);
	return value;
}

/* One number for an element: real + 7 imaginary; records: a + 7 b. */
static double element(const struct bi_exchange *x, const unsigned char *from)
{
	const uint64_t bits = load(from, x->item_size < 8 ? x->item_size : 8, x->byte_order == '>');
	double real;
	float single[2];
	int32_t whole;
	uint32_t half;

	switch (x->type_kind) {
	case 'i':
		return x->item_size == 2   ? (int16_t)bits
		       : x->item_size == 4 ? (int32_t)bits
		       : x->item_size == 8 ? (double)(int64_t)bits
					   : (int8_t)bits;
	case 'u':
	case 'b':
		return (double)bits;
	case 'f':
		if (x->item_size == 8) {
			memcpy(&real, from, 8);
			return real;
		}
		memcpy(single, from, 4);
		return (double)single[0];
	case 'c':
		memcpy(single, from, 8);
		return (double)single[0] + 7 * (double)single[1];
	case 'V':
		memcpy(&whole, from, 4);
		memcpy(&real, from + 4, 8);
		return whole + 7 * real;
	default: /* bfloat16 has no array interface kind */
		half = (uint32_t)bits << 16;
		memcpy(single, &half, 4);
		return (double)single[0];
	}
}

/*
 * Writes the sum of (k + 1) * element k over the array in C order, and the number of elements; releases. Returns 0, or
 * the number of the check that failed, after releasing all the same.
 */
int consumer_consume(struct bi_exchange *x, double *sum, int64_t *count);

static int check(const struct bi_exchange *x)
{
	if (x->version != BI_ABI_VERSION)
		return 1;
	if (x->struct_size < sizeof(*x) || !x->release)
		return 2;
	if (x->device_type != BI_EXCHANGE_DEVICE_CPU || x->handle_kind != BI_HANDLE_HOST || x->device_id != 0)
		return 3;
	if (x->stream_kind != BI_STREAM_KIND_NONE || x->stream || x->event)
		return 4;
	if (x->ndim < 0 || (x->ndim && (!x->shape || !x->strides)))
		return 5;
	if (!x->type_bits || (x->type_lanes && ((uint32_t)x->type_bits * x->type_lanes + 7) / 8 != x->item_size))
		return 6;
	if (!!(x->flags & BI_EXCHANGE_MASKED) != !!x->mask)
		return 7;
	for (int64_t i = 0; x->element_strides && i < x->ndim; i++)
		if (x->shape[i] < 2 ? x->element_strides[i] != 1
				    : x->element_strides[i] * (int64_t)x->item_size != x->strides[i])
			return 8;
	for (size_t i = 0; i < sizeof(x->reserved) / sizeof(x->reserved[0]); i++)
		if (x->reserved[i])
			return 9;
	return 0;
}

int consumer_consume(struct bi_exchange *x, double *sum, int64_t *count)
{
	const unsigned char *base = (const unsigned char *)(uintptr_t)(x->handle + x->offset);
	const int failed = check(x);
	int64_t size = 1, at, rest;

	*sum = 0;
	for (int64_t i = 0; !failed && i < x->ndim; i++)
		size *= x->shape[i];
	*count = failed ? 0 : size;
	for (int64_t k = 0; k < *count; k++) {
		at = 0;
		rest = k;
		for (int64_t i = x->ndim - 1; i >= 0; i--) {
			at += rest % x->shape[i] * x->strides[i];
			rest /= x->shape[i];
		}
		*sum += (double)(k + 1) * element(x, base + at);
	}
	if (x->release)
		x->release(x);
	return failed;
}
