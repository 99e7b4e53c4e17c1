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
	const uint64_t bits = load(from, x->item_size < 8 ? x->item_size : 8, x->descr && strstr(x->descr, "\">"));
	double real;
	float single[2];
	int32_t whole;
	uint32_t half;

	switch (x->type_code) {
	case 0:
		return x->item_size == 2   ? (int16_t)bits
		       : x->item_size == 4 ? (int32_t)bits
		       : x->item_size == 8 ? (double)(int64_t)bits
					   : (int8_t)bits;
	case 1:
	case 6:
		return (double)bits;
	case 2:
		if (x->item_size == 8) {
			memcpy(&real, from, 8);
			return real;
		}
		memcpy(single, from, 4);
		return (double)single[0];
	case 5:
		memcpy(single, from, 8);
		return (double)single[0] + 7 * (double)single[1];
	case 3:
		if (x->descr[0] == '"')
			return (int16_t)bits;
		memcpy(&whole, from, 4);
		memcpy(&real, from + 4, 8);
		return whole + 7 * real;
	default: /* bfloat16 */
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
	if (x->struct_size < sizeof(*x) || x->struct_size > BI_ABI_SIZE_MAX || !x->release)
		return 2;
	if (x->device_type != BI_EXCHANGE_DEVICE_CPU || x->handle_kind != BI_HANDLE_HOST || x->device_id != 0)
		return 3;
	if (x->order_kind != BI_ORDER_NONE || x->stream || x->event)
		return 4;
	if (x->ndim > 64 || (x->ndim && (!x->shape || !x->strides)))
		return 5;
	if (!x->type_bits || (x->type_lanes && ((uint32_t)x->type_bits * x->type_lanes + 7) / 8 != x->item_size))
		return 6;
	if (x->flags & 0xffff & ~BI_READONLY)
		return 7;
	if ((x->type_code == 3) != (x->descr != NULL))
		return 8;
	if (x->reserved)
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
