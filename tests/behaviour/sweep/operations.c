/* Fills and copies within one device, one for each form that a plan can take. */
#include <stdio.h>

#include "scenarios.h"

static const uint32_t item_sizes[] = { 1, 2, 3, 4, 8, 12, 16, 300 };

#define ITEMS 40
#define LARGEST 300

/* Part of an array of items of one size; every second one, or all. */
static struct bi_view *items(struct trial *trial, const struct array *array, uint32_t size, int64_t step)
{
	const int64_t shape[1] = { ITEMS / step }, strides[1] = { (int64_t)size * step };
	char type[32];

	snprintf(type, sizeof(type), "void%u", size);
	return trial_view(trial, array, type, 1, shape, strides, 0);
}

static void fill_items(struct trial *trial, int64_t step)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, ITEMS * LARGEST);
	unsigned char item[LARGEST];

	fill_pattern(item, sizeof(item));
	for (size_t i = 0; i < ARRAY_LENGTH(item_sizes); i++)
		trial_fill(trial, array, items(trial, array, item_sizes[i], step), item, NULL);
	trial_consume(trial, array);
}

void fill_dense(struct trial *trial)
{
	fill_items(trial, 1);
}

void fill_strided(struct trial *trial)
{
	fill_items(trial, 2);
}

/* Waits for the home, and the home for it. */
void fill_on_a_stream(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, ITEMS * LARGEST);
	unsigned char item[LARGEST];

	fill_pattern(item, sizeof(item));
	trial_fill(trial, array, items(trial, array, 300, 2), item, trial_stream(trial, context));
	trial_fill(trial, array, items(trial, array, 4, 1), item, trial_stream(trial, context));
	trial_consume(trial, array);
}

/* Two layouts of one shape, in arrays of their own. */
struct form {
	const char *type;
	int ndim;
	int64_t shape[5], to[5], from[5];
	int64_t to_offset, from_offset;
	size_t to_bytes, from_bytes;
};

static void copy(struct trial *trial, const struct form *form, int on_stream)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *to = trial_array(trial, context, BI_MEMORY_DEVICE, form->to_bytes);
	struct array *from = trial_pattern(trial, context, BI_MEMORY_DEVICE, form->from_bytes);
	struct bi_view *dst = trial_view(trial, to, form->type, form->ndim, form->shape, form->to, form->to_offset);
	struct bi_view *src =
		trial_view(trial, from, form->type, form->ndim, form->shape, form->from, form->from_offset);

	trial_copy(trial, to, dst, from, src, on_stream ? trial_stream(trial, context) : NULL);
	trial_consume(trial, from);
	trial_consume(trial, to);
}

static const struct form linear = {
	.type = "int16",
	.ndim = 1,
	.shape = { 700 },
	.to = { 2 },
	.from = { 2 },
	.to_offset = 6,
	.from_offset = 10,
	.to_bytes = 1500,
	.from_bytes = 1410,
};

void copy_linear(struct trial *trial)
{
	copy(trial, &linear, 0);
}

void copy_on_a_stream(struct trial *trial)
{
	copy(trial, &linear, 1);
}

void copy_rows(struct trial *trial)
{
	static const struct form form = {
		.type = "float32",
		.ndim = 2,
		.shape = { 5, 100 },
		.to = { 512, 4 },
		.from = { 448, 4 },
		.to_bytes = 5 * 512,
		.from_bytes = 5 * 448,
	};

	copy(trial, &form, 0);
}

void copy_planes(struct trial *trial)
{
	static const struct form form = {
		.type = "float32",
		.ndim = 3,
		.shape = { 3, 4, 80 },
		.to = { 2048, 512, 4 },
		.from = { 1344, 336, 4 },
		.to_bytes = 3 * 2048,
		.from_bytes = 3 * 1344,
	};

	copy(trial, &form, 0);
}

void copy_transposed(struct trial *trial)
{
	static const struct form form = {
		.type = "float32",
		.ndim = 2,
		.shape = { 40, 37 },
		.to = { 148, 4 },
		.from = { 4, 160 },
		.to_bytes = 40 * 148,
		.from_bytes = 37 * 160,
	};

	copy(trial, &form, 1);
}

void copy_five_axes(struct trial *trial)
{
	static const struct form form = {
		.type = "void3",
		.ndim = 5,
		.shape = { 2, 3, 4, 3, 2 },
		.to = { 1000, 330, 80, 22, 7 },
		.from = { 3, 6, 200, 19, 1000 },
		.to_bytes = 2000,
		.from_bytes = 2000,
	};

	copy(trial, &form, 0);
}

void copy_backwards(struct trial *trial)
{
	static const struct form form = {
		.type = "int64",
		.ndim = 2,
		.shape = { 20, 10 },
		.to = { 80, 8 },
		.from = { -88, -8 },
		.from_offset = 19 * 88 + 9 * 8,
		.to_bytes = 1600,
		.from_bytes = 20 * 88,
	};

	copy(trial, &form, 0);
}

/* As if the source had been copied aside first. */
void copy_overlapping(struct trial *trial)
{
	const int64_t shape[1] = { 900 };
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_pattern(trial, context, BI_MEMORY_DEVICE, 1000);
	struct bi_view *low = trial_view(trial, array, "uint8", 1, shape, NULL, 0);
	struct bi_view *high = trial_view(trial, array, "uint8", 1, shape, NULL, 100);

	trial_copy(trial, array, high, array, low, NULL);
	trial_copy(trial, array, low, array, high, trial_stream(trial, context));
	trial_consume(trial, array);
}
