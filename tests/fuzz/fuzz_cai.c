/*
 * Fuzzes the reader of structs of the CUDA Array Interface, which calls no driver. An accepted struct must be
 * consistent, and must survive being written and read again. A refusal must name a rule.
 *
 * The input is a byte of `enum present` and the struct, member by member, in little endian; then the same for the
 * masks. Missing bytes are 0.
 */
#include "fuzz/target.h"
#include "interop/cai.h"

/* The members that are not NULL. HAS_HUGE_DESCR: descr_length is refused before the text is read. */
enum present { HAS_SHAPE = 1, HAS_STRIDES = 2, HAS_DESCR = 4, HAS_MASK = 8, HAS_HUGE_DESCR = 16 };

/* An array, its mask, and the mask of the mask. */
#define DEPTH 3

struct described {
	struct bi_cai cai;
	int64_t *shape, *strides;
	char *descr;
};

/* Takes numbers into an allocation of exactly their size, so that a sanitizer detects a read beyond it. */
static int64_t *take_numbers(struct input *in, int count)
{
	int64_t *numbers = malloc((size_t)count * sizeof(*numbers) + !count);

	require(numbers != NULL, "no memory");
	for (int i = 0; i < count; i++)
		numbers[i] = (int64_t)take(in, 8);
	return numbers;
}

static void take_descr(struct input *in, struct described *out)
{
	size_t length = (size_t)take(in, 2);

	if (length > in->size)
		length = in->size;
	out->descr = malloc(length + !length);
	require(out->descr != NULL, "no memory");
	memcpy(out->descr, in->data, length);
	in->data += length;
	in->size -= length;
	out->cai.descr = out->descr;
	out->cai.descr_length = length;
}

static void take_one(struct input *in, struct described *out, unsigned *present)
{
	int ndim;

	memset(out, 0, sizeof(*out));
	*present = (unsigned)take(in, 1);
	out->cai.version = (int8_t)take(in, 1);
	out->cai.ndim = (int8_t)take(in, 1);
	out->cai.stream_kind = (int8_t)take(in, 1);
	out->cai.readonly = (int8_t)take(in, 1);
	out->cai.stream = take(in, 8);
	out->cai.data = take(in, 8);
	for (size_t i = 0; i < BI_CAI_TYPESTR; i++)
		out->cai.typestr[i] = (char)take(in, 1);
	ndim = out->cai.ndim < 0 || out->cai.ndim > BI_MAX_NDIM ? 0 : out->cai.ndim;
	if (*present & HAS_SHAPE)
		out->cai.shape = out->shape = take_numbers(in, ndim);
	if (*present & HAS_STRIDES)
		out->cai.strides = out->strides = take_numbers(in, ndim);
	if (*present & HAS_DESCR)
		take_descr(in, out);
	if (*present & HAS_HUGE_DESCR)
		out->cai.descr_length = SIZE_MAX;
}

static void take_all(struct input *in, struct described out[DEPTH])
{
	unsigned present = HAS_MASK;

	memset(out, 0, DEPTH * sizeof(*out));
	for (int i = 0; i < DEPTH && present & HAS_MASK; i++) {
		take_one(in, &out[i], &present);
		if (i)
			out[i - 1].cai.mask = &out[i].cai;
	}
}

static void check_inside(const struct bi__cai_array *array)
{
	int64_t first, end;

	bi_layout_extent(&array->layout, &first, &end);
	require(first == 0 || !array->nbytes, "the layout does not begin with the first byte");
	require((uint64_t)end == array->nbytes, "the layout does not end with the last byte");
	require(array->address <= UINTPTR_MAX - array->nbytes, "the last byte has no address");
	require(array->nbytes || !array->address, "nothing lies somewhere");
}

static void check_round_trip(const struct bi_cai *cai, const struct bi__cai_array *array)
{
	struct bi__cai_array again;
	struct bi_error err;
	struct bi_cai written;

	require(bi__cai_write(&array->layout, array->address, &written, &err) == BI_OK, "what was read is not written");
	require(!array->nbytes || written.data == cai->data, "the pointer has changed");
	require(bi__cai_read(&written, &again, NULL, &err) == BI_OK, "what was written is not read");
	require(again.nbytes == array->nbytes && again.address == array->address, "the bytes have changed");
	require(!bi_layout_size(&array->layout) || bi_layout_equal(&again.layout, &array->layout),
		"the layout has changed");
	require(!again.layout.descr == !array->layout.descr, "descr has changed");
}

/* Checks that bi_cai_device refuses the same structs, and gives no device for an array without elements. */
static void check_public(const struct bi_cai *cai, int rc, int is_empty)
{
	int ordinal, located = bi_cai_device(cai, &ordinal, NULL);

	require(!rc || located == rc, "the device of a refused array is known");
	require(rc || !is_empty || (located == BI_OK && ordinal == -1), "an array without elements lies somewhere");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct described arrays[DEPTH];
	struct bi__cai_array array, mask;
	struct bi_error err = { 0, 0, "" };
	const struct bi_cai *cai = &arrays[0].cai;
	int rc;

	take_all(&in, arrays);
	rc = bi__cai_read(cai, &array, &mask, &err);
	fuzz_refused = rc != BI_OK;
	if (rc) {
		check_refusal(rc, &err);
		require(err.message[strlen(err.message) - 1] == ']', "a failure names no rule");
	} else {
		check_inside(&array);
		check_round_trip(cai, &array);
		if (cai->mask) {
			check_inside(&mask);
			check_round_trip(cai->mask, &mask);
		}
	}
	check_public(cai, rc, !rc && !array.nbytes);
	for (int i = 0; i < DEPTH; i++) {
		free(arrays[i].shape);
		free(arrays[i].strides);
		free(arrays[i].descr);
	}
	return 0;
}
