/* Arrays and their expected bytes. */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_driver.h"

void *must_alloc(size_t nbytes)
{
	void *bytes = malloc(nbytes ? nbytes : 1);

	if (!bytes) {
		fprintf(stderr, "sweep: no memory for %zu bytes\n", nbytes);
		exit(EXIT_FAILURE);
	}
	return bytes;
}

void fill_pattern(unsigned char *bytes, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)(i * 37 + (i >> 8) * 11 + 5);
}

struct array *trial_adopt(struct trial *trial, struct bi_view *whole, size_t nbytes)
{
	struct array *array;

	if (trial->array_count == TRIAL_ARRAYS) {
		fprintf(stderr, "sweep: a scenario has more than %d arrays\n", TRIAL_ARRAYS);
		exit(EXIT_FAILURE);
	}
	array = &trial->arrays[trial->array_count++];
	array->whole = trial_keep_view(trial, whole);
	array->expected = must_alloc(nbytes);
	array->nbytes = nbytes;
	memset(array->expected, 0, nbytes);
	return array;
}

static int byte_layout(struct bi_layout *layout, size_t nbytes, struct bi_error *err)
{
	const int64_t shape[1] = { (int64_t)nbytes };
	struct bi_dtype dtype;
	int rc = bi_dtype_parse("uint8", &dtype, err);

	return rc ? rc : bi_layout_init(layout, dtype, 1, shape, NULL, 0, err);
}

static struct array *allocate(struct trial *trial, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	struct bi_memory *memory = NULL;
	struct bi_layout layout;
	struct bi_view *whole = NULL;

	TRY(trial, byte_layout(&layout, nbytes, trial->err));
	TRY(trial, bi_memory_create(context, nbytes, kind, &memory, trial->err));
	TRY(trial, bi_view_create(memory, &layout, 0, &whole, trial->err));
	bi_memory_release(memory);
	return trial_adopt(trial, whole, nbytes);
}

struct array *trial_array(struct trial *trial, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	struct array *array = allocate(trial, context, kind, nbytes);

	trial_fill_all(trial, array, 0x11, NULL);
	return array;
}

struct array *trial_pattern(struct trial *trial, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	struct array *array = allocate(trial, context, kind, nbytes), *host = trial_host(trial, context, nbytes, NULL);

	trial_copy_all(trial, array, host, NULL);
	trial_release(trial, host);
	return array;
}

/* Bytes of a host array, and who wants to know that they are free. */
struct host_bytes {
	struct trial *trial;
	unsigned char bytes[];
};

static void free_host_bytes(void *data)
{
	struct host_bytes *host = data;

	host->trial->released++;
	free(host);
}

static int wrap_host_bytes(struct trial *trial, struct bi_context *context, struct host_bytes *host, size_t nbytes,
			   struct bi_stream *stream, struct bi_memory **out)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	int rc;

	foreign.handle = (uintptr_t)host->bytes;
	foreign.nbytes = nbytes;
	foreign.stream = stream;
	foreign.release = free_host_bytes;
	foreign.release_data = host;
	rc = bi_memory_wrap(context, &foreign, out, trial->err);
	if (rc)
		free(host);
	else
		trial->taken++;
	return rc;
}

struct array *trial_host(struct trial *trial, struct bi_context *context, size_t nbytes, struct bi_stream *stream)
{
	struct host_bytes *host;
	struct bi_memory *memory = NULL;
	struct bi_layout layout;
	struct bi_view *whole = NULL;
	struct array *array;

	if (!TRY(trial, byte_layout(&layout, nbytes, trial->err))) {
		host = must_alloc(sizeof(*host) + nbytes);
		host->trial = trial;
		fill_pattern(host->bytes, nbytes);
		TRY(trial, wrap_host_bytes(trial, context, host, nbytes, stream, &memory));
	}
	TRY(trial, bi_view_create(memory, &layout, 0, &whole, trial->err));
	bi_memory_release(memory);
	array = trial_adopt(trial, whole, nbytes);
	fill_pattern(array->expected, nbytes);
	return array;
}

void trial_release(struct trial *trial, struct array *array)
{
	trial_release_view(trial, array->whole);
	array->whole = NULL;
}

struct bi_view *trial_view(struct trial *trial, const struct array *array, const char *type, int ndim,
			   const int64_t *shape, const int64_t *strides, int64_t offset)
{
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view = NULL;

	TRY(trial, bi_dtype_parse(type, &dtype, trial->err));
	TRY(trial, bi_layout_init(&layout, dtype, ndim, shape, strides, offset, trial->err));
	TRY(trial, bi_view_with_layout(array->whole, &layout, &view, trial->err));
	return trial_keep_view(trial, view);
}

/* Offset of the element that is number `i` in C order. */
static int64_t offset_of(const struct bi_layout *layout, int64_t i)
{
	int64_t offset = layout->offset;

	for (int axis = layout->ndim - 1; axis >= 0; axis--) {
		offset += i % layout->shape[axis] * layout->strides[axis];
		i /= layout->shape[axis];
	}
	return offset;
}

void trial_fill(struct trial *trial, struct array *array, struct bi_view *view, const void *item,
		struct bi_stream *stream)
{
	struct bi_layout layout;

	if (TRY(trial, bi_fill(view, item, stream, trial->err)))
		return;
	bi_view_layout(view, &layout);
	for (int64_t i = 0; i < bi_layout_size(&layout); i++)
		memcpy(array->expected + offset_of(&layout, i), item, layout.dtype.item_size);
}

void trial_fill_all(struct trial *trial, struct array *array, unsigned char value, struct bi_stream *stream)
{
	if (!TRY(trial, bi_fill(array->whole, &value, stream, trial->err)))
		memset(array->expected, value, array->nbytes);
}

/* The source is copied aside first: the two may be one array. */
static void copy_expected(struct array *to, const struct bi_layout *dst, const struct array *from,
			  const struct bi_layout *src)
{
	unsigned char *aside = must_alloc(from->nbytes);

	memcpy(aside, from->expected, from->nbytes);
	for (int64_t i = 0; i < bi_layout_size(dst); i++)
		memcpy(to->expected + offset_of(dst, i), aside + offset_of(src, i), dst->dtype.item_size);
	free(aside);
}

void trial_copy(struct trial *trial, struct array *to, struct bi_view *dst, const struct array *from,
		struct bi_view *src, struct bi_stream *stream)
{
	struct bi_layout to_layout, from_layout;

	if (TRY(trial, bi_copy(dst, src, stream, trial->err)))
		return;
	bi_view_layout(dst, &to_layout);
	bi_view_layout(src, &from_layout);
	copy_expected(to, &to_layout, from, &from_layout);
}

void trial_copy_all(struct trial *trial, struct array *to, const struct array *from, struct bi_stream *stream)
{
	if (!TRY(trial, bi_copy(to->whole, from->whole, stream, trial->err)))
		memcpy(to->expected, from->expected, to->nbytes);
}

void trial_touch(const void *pointer, size_t nbytes, int writes)
{
	if (cuda_sim())
		cuda_sim()->touch(pointer, nbytes, writes);
}

void trial_compare(struct trial *trial, const struct array *array, const void *bytes, const char *reader)
{
	const unsigned char *found = bytes;

	for (size_t i = 0; i < array->nbytes; i++)
		if (found[i] != array->expected[i]) {
			trial_wrong(trial, "byte %zu of %zu: %s sees 0x%02x, not 0x%02x", i, array->nbytes, reader,
				    found[i], array->expected[i]);
			return;
		}
}

void trial_check(struct trial *trial, const struct array *array)
{
	unsigned char *bytes = must_alloc(array->nbytes);

	if (!TRY(trial, bi_view_read(array->whole, bytes, array->nbytes, trial->err)))
		trial_compare(trial, array, bytes, "bi_view_read");
	free(bytes);
}
