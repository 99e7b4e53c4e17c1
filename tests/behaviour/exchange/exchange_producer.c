/*
 * A producer that knows abi.h and nothing else of the library. Every array says the same thing in its own way: element
 * number k, counted in C order, is 3 k + 1 (bool: k odd; complex: -k as imaginary part; structured: { i4 3 k + 1, f8 k
 * / 2 }).
 */
#include <buffer_interface/abi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NDIM = 3, SLACK = 24 };

/* What an array is; strides in bytes. `first` is the byte of element [0, ..., 0] in an allocation of `nbytes`. */
struct array {
	const char *name;
	uint8_t code, bits;
	uint16_t lanes;
	uint32_t item_size;
	char kind, order;
	const char *descr;
	int ndim;
	int64_t shape[MAX_NDIM], strides[MAX_NDIM];
	int64_t first, nbytes;
	uint32_t flags;
};

#define C BI_C_CONTIGUOUS
#define F BI_F_CONTIGUOUS
#define RECORD "[[\"a\", \"<i4\"], [\"b\", \"<f8\"]]"

static const struct array arrays[] = {
	{ "int16", 0, 16, 1, 2, 'i', '<', NULL, 2, { 2, 3 }, { 6, 2 }, 0, 12, C },
	{ "bool", 6, 8, 1, 1, 'b', '|', NULL, 1, { 7 }, { 1 }, 0, 7, C | F },
	{ "uint8, step 3", 1, 8, 1, 1, 'u', '|', NULL, 1, { 5 }, { 3 }, 2, 15, 0 },
	{ "float64, negative strides", 2, 64, 1, 8, 'f', '<', NULL, 2, { 3, 4 }, { -32, -8 }, 88, 96, 0 },
	{ "float32, Fortran order", 2, 32, 1, 4, 'f', '<', NULL, 3, { 2, 3, 2 }, { 4, 8, 24 }, 0, 48, F },
	{ "uint32, mixed strides", 1, 32, 1, 4, 'u', '<', NULL, 3, { 2, 1, 4 }, { 64, 8, -12 }, 40, 128, 0 },
	{ "int64, no dimension", 0, 64, 1, 8, 'i', '<', NULL, 0, { 0 }, { 0 }, 16, 24, C | F },
	{ "float32, no element", 2, 32, 1, 4, 'f', '<', NULL, 2, { 0, 3 }, { 12, 4 }, 0, 0, C | F },
	{ "uint16, read-only", 1, 16, 1, 2, 'u', '<', NULL, 1, { 6 }, { 2 }, 0, 12, C | F | BI_READONLY },
	{ "complex64, step -1", 5, 64, 1, 8, 'c', '<', NULL, 1, { 4 }, { -8 }, 24, 32, 0 },
	{ "bfloat16", 4, 16, 1, 2, 0, '<', NULL, 2, { 2, 2 }, { 4, 2 }, 0, 8, C },
	{ "int16, swapped", 3, 8, 2, 2, 'i', '>', "\">i2\"", 1, { 5 }, { 2 }, 0, 10, C | F },
	{ "record", 3, 8, 12, 12, 'V', '|', RECORD, 2, { 2, 3 }, { 36, 12 }, 0, 72, C },
	{ "record, stride 16", 3, 8, 12, 12, 'V', '|', RECORD, 1, { 4 }, { 16 }, 4, 64, 0 },
	{ "record, stride 18", 3, 8, 12, 12, 'V', '|', RECORD, 1, { 4 }, { 18 }, 0, 66, 0 },
};

#undef C
#undef F

/* Behind one struct that was handed out: its bytes and its arrays. */
struct owner {
	int64_t shape[MAX_NDIM], strides[MAX_NDIM];
	unsigned char bytes[];
};

static atomic_int alive, releases;

static void put(unsigned char *to, const struct array *a, int64_t k)
{
	const int64_t number = 3 * k + 1;
	const double real = (double)number, half = (double)k / 2;
	const float single[2] = { (float)number, (float)-k };
	const int32_t whole = (int32_t)number;
	uint32_t bits;

	if (a->kind == 'V') {
		memcpy(to, &whole, 4);
		memcpy(to + 4, &half, 8);
	} else if (a->kind == 'b') {
		*to = (unsigned char)(k & 1);
	} else if (a->kind == 'c' || (a->kind == 'f' && a->item_size == 4)) {
		memcpy(to, single, a->item_size);
	} else if (a->kind == 'f') {
		memcpy(to, &real, 8);
	} else if (a->code == 4) {
		memcpy(&bits, single, 4);
		to[0] = (unsigned char)(bits >> 16);
		to[1] = (unsigned char)(bits >> 24);
	} else {
		for (uint32_t i = 0; i < a->item_size; i++)
			to[a->order == '>' ? a->item_size - 1 - i : i] = (unsigned char)((uint64_t)number >> (8 * i));
	}
}

static void let_go(struct bi_exchange *self)
{
	atomic_fetch_add(&releases, 1);
	atomic_fetch_sub(&alive, 1);
	free(self->owner);
	self->owner = NULL;
	self->release = NULL;
}

/* Structs that were handed out and not let go, and calls of release since the start. */
int producer_alive(void);
int producer_releases(void);
/* Name of array `number`, or NULL beyond the last. */
const char *producer_name(int number);
/* Fills *out with array `number`; 0, or -1 without memory. */
int producer_produce(int number, struct bi_exchange *out);

int producer_alive(void)
{
	return atomic_load(&alive);
}

int producer_releases(void)
{
	return atomic_load(&releases);
}

const char *producer_name(int number)
{
	return number >= 0 && (size_t)number < sizeof(arrays) / sizeof(arrays[0]) ? arrays[number].name : NULL;
}

int producer_produce(int number, struct bi_exchange *out)
{
	const struct array *a = &arrays[number];
	struct owner *owner = malloc(sizeof(*owner) + (size_t)a->nbytes + SLACK);
	int64_t size = 1, at, rest;

	if (!owner)
		return -1;
	memset(owner->bytes, 0xA5, (size_t)a->nbytes + SLACK);
	for (int i = 0; i < a->ndim; i++) {
		owner->shape[i] = a->shape[i];
		owner->strides[i] = a->strides[i];
		size *= a->shape[i];
	}
	for (int64_t k = 0; k < size; k++) {
		at = a->first;
		rest = k;
		for (int i = a->ndim - 1; i >= 0; i--) {
			at += rest % a->shape[i] * a->strides[i];
			rest /= a->shape[i];
		}
		put(owner->bytes + at, a, k);
	}

	memset(out, 0, sizeof(*out));
	out->version = BI_ABI_VERSION;
	out->struct_size = sizeof(*out);
	out->release = let_go;
	out->owner = owner;
	out->device_type = BI_EXCHANGE_DEVICE_CPU;
	out->handle_kind = BI_HANDLE_HOST;
	out->flags = a->flags;
	if (size) {
		out->handle = (uint64_t)(uintptr_t)owner->bytes;
		out->offset = (uint64_t)a->first;
		out->size = (uint64_t)a->nbytes;
	}
	out->type_code = a->code;
	out->type_bits = a->bits;
	out->type_lanes = a->lanes;
	out->item_size = a->item_size;
	out->descr = a->descr;
	out->ndim = (uint8_t)a->ndim;
	if (a->ndim) {
		out->shape = owner->shape;
		out->strides = owner->strides;
	}
	atomic_fetch_add(&alive, 1);
	return 0;
}
