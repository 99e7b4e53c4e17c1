#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define PAGE 4096

/* splitmix64: a hash of eight bytes. */
static uint64_t scramble(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static void randomise(unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
		uint64_t word = scramble(i);

		memcpy(bytes + i, &word, count - i < sizeof(word) ? count - i : sizeof(word));
	}
}

static unsigned char *pages(size_t count)
{
	return aligned_alloc(PAGE, (count / PAGE + 1) * PAGE);
}

struct bench_array *bench_array_create(int ndim, const int64_t *shape, const int64_t *strides, int64_t offset,
				       int64_t item_size, size_t source_bytes)
{
	struct bench_array *array = calloc(1, sizeof(*array));

	if (!array || ndim < 0 || ndim > BENCH_MAX_NDIM) {
		bench_fail("no array of %d dimensions", ndim);
		free(array);
		return NULL;
	}
	array->ndim = ndim;
	array->offset = offset;
	array->item_size = item_size;
	array->source_bytes = source_bytes;
	array->bytes = (size_t)item_size;
	for (int i = 0; i < ndim; i++) {
		array->shape[i] = shape[i];
		array->strides[i] = strides[i];
		array->bytes *= (size_t)shape[i];
	}
	array->source = pages(source_bytes);
	array->destination = pages(array->bytes);
	if (!array->source || !array->destination) {
		bench_fail("out of memory: %zu bytes", source_bytes + array->bytes);
		bench_array_release(array);
		return NULL;
	}
	randomise(array->source, source_bytes);
	memset(array->destination, 0xee, array->bytes);
	return array;
}

void bench_array_release(struct bench_array *array)
{
	if (!array)
		return;
	free(array->source);
	free(array->destination);
	free(array->expected);
	free(array);
}

void *bench_array_source(struct bench_array *array)
{
	return array->source;
}

void *bench_array_destination(struct bench_array *array)
{
	return array->destination;
}

/* Advances the index over all axes but the last, like an odometer. Returns 0 after the last row. */
static int next_row(const struct bench_array *array, int64_t *index, const unsigned char **row)
{
	for (int i = array->ndim - 2; i >= 0; i--) {
		*row += array->strides[i];
		if (++index[i] < array->shape[i])
			return 1;
		*row -= array->strides[i] * array->shape[i];
		index[i] = 0;
	}
	return 0;
}

static int64_t row_length(const struct bench_array *array)
{
	return array->ndim ? array->shape[array->ndim - 1] : 1;
}

static int64_t row_stride(const struct bench_array *array)
{
	return array->ndim ? array->strides[array->ndim - 1] : 0;
}

/* A loop over the last axis and an odometer over the others. Inlined once for each size that has an integer type. */
static inline __attribute__((always_inline)) void loop(const struct bench_array *array, unsigned char *to,
						       size_t item_size)
{
	const int64_t length = row_length(array), stride = row_stride(array);
	const unsigned char *row = array->source + array->offset;
	int64_t index[BENCH_MAX_NDIM] = { 0 };

	do {
		for (int64_t i = 0; i < length; i++, to += item_size)
			memcpy(to, row + i * stride, item_size);
	} while (next_row(array, index, &row));
}

static void copy_naively(const struct bench_array *array, unsigned char *to)
{
	switch (array->item_size) {
	case 1:
		loop(array, to, 1);
		break;
	case 2:
		loop(array, to, 2);
		break;
	case 4:
		loop(array, to, 4);
		break;
	case 8:
		loop(array, to, 8);
		break;
	default:
		loop(array, to, (size_t)array->item_size);
	}
}

/* A part of the naive copy along the first axis. */
struct part {
	struct bench_array array;
	unsigned char *to;
	pthread_t thread;
	int is_started;
};

static void *copy_part(void *data)
{
	struct part *part = data;

	copy_naively(&part->array, part->to);
	return NULL;
}

/* The same result by several threads, for results that are not timed. Returns 0, or -1 if there is no thread. */
static int copy_in_parts(const struct bench_array *array, unsigned char *to)
{
	enum { PARTS = 16 };
	struct part parts[PARTS];
	const int64_t rows = array->shape[0], row_bytes = (int64_t)array->bytes / rows;
	int failed = 0;

	for (int i = 0; i < PARTS; i++) {
		const int64_t first = rows * i / PARTS, end = rows * (i + 1) / PARTS;

		parts[i].array = *array;
		parts[i].array.shape[0] = end - first;
		parts[i].array.offset += first * array->strides[0];
		parts[i].to = to + first * row_bytes;
		parts[i].is_started = end > first && !pthread_create(&parts[i].thread, NULL, copy_part, &parts[i]);
		failed |= end > first && !parts[i].is_started;
	}
	for (int i = 0; i < PARTS; i++)
		if (parts[i].is_started)
			pthread_join(parts[i].thread, NULL);
	return failed ? -1 : 0;
}

static int is_dense(const struct bench_array *array)
{
	int64_t step = array->item_size;

	for (int i = array->ndim - 1; i >= 0; i--) {
		if (array->strides[i] != step)
			return 0;
		step *= array->shape[i];
	}
	return array->offset == 0;
}

/* Returns the correct result of the copy, computed by the naive loops, on several threads, at the first call. */
static const unsigned char *expected_result(struct bench_array *array)
{
	if (is_dense(array))
		return array->source;
	if (!array->expected) {
		array->expected = pages(array->bytes);
		if (array->expected && array->bytes && (array->ndim < 2 || copy_in_parts(array, array->expected)))
			copy_naively(array, array->expected);
	}
	return array->expected;
}

static int check_zeros(const struct bench_array *array, const unsigned char *found)
{
	for (size_t i = 0; i < array->bytes; i++)
		if (found[i]) {
			bench_fail("element %zu is not 0", i / (size_t)array->item_size);
			return 1;
		}
	return 0;
}

int bench_array_check(struct bench_array *array, const void *bytes, int result)
{
	const unsigned char *right = result == BENCH_LINEAR ? array->source : NULL, *found = bytes;
	size_t i = 0;

	if (result == BENCH_ZEROS)
		return check_zeros(array, found);
	if (result == BENCH_STRIDED)
		right = expected_result(array);
	if (!right)
		return bench_fail("out of memory");
	if (!memcmp(found, right, array->bytes))
		return 0;
	while (found[i] == right[i])
		i++;
	bench_fail("element %zu is not the source's", i / (size_t)array->item_size);
	return 1;
}

/* The following jobs write to the destination on the host. */

static int clear_destination(struct bench_job *job)
{
	memset(job->array->destination, 0xee, job->array->bytes);
	return 0;
}

static int fetch_destination(struct bench_job *job, void *bytes)
{
	memcpy(bytes, job->array->destination, job->array->bytes);
	return 0;
}

static void release_job(struct bench_job *job)
{
	free(job);
}

static struct bench_job *copy_job(struct bench_array *array, int (*run)(struct bench_job *, long),
				  enum bench_result result)
{
	struct bench_job *job = bench_job_create(sizeof(*job), run, release_job);

	if (!job)
		return NULL;
	job->array = array;
	job->result = result;
	job->clear = clear_destination;
	job->fetch = fetch_destination;
	return job;
}

/* Keeps the compiler from removing a copy that the next one overwrites. */
static void escape_to_memory(const void *bytes)
{
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static int run_memcpy(struct bench_job *job, long n)
{
	const struct bench_array *array = job->array;

	for (long i = 0; i < n; i++) {
		memcpy(array->destination, array->source, array->bytes);
		escape_to_memory(array->destination);
	}
	return 0;
}

struct bench_job *bench_memcpy(struct bench_array *array)
{
	return copy_job(array, run_memcpy, BENCH_LINEAR);
}

static int run_naive(struct bench_job *job, long n)
{
	for (long i = 0; i < n; i++) {
		copy_naively(job->array, job->array->destination);
		escape_to_memory(job->array->destination);
	}
	return 0;
}

struct bench_job *bench_naive(struct bench_array *array)
{
	return copy_job(array, run_naive, BENCH_STRIDED);
}

struct malloc_job {
	struct bench_job job;
	unsigned char *bytes; /* the last destination */
};

static int run_malloc_copy(struct bench_job *base, long n)
{
	struct malloc_job *job = (struct malloc_job *)base;
	const struct bench_array *array = base->array;

	for (long i = 0; i < n; i++) {
		free(job->bytes);
		job->bytes = malloc(array->bytes);
		if (!job->bytes)
			return bench_fail("out of memory");
		memcpy(job->bytes, array->source, array->bytes);
		escape_to_memory(job->bytes);
	}
	return 0;
}

static int clear_malloc_copy(struct bench_job *base)
{
	struct malloc_job *job = (struct malloc_job *)base;

	if (job->bytes)
		memset(job->bytes, 0xee, base->array->bytes);
	return 0;
}

static int fetch_malloc_copy(struct bench_job *base, void *bytes)
{
	memcpy(bytes, ((struct malloc_job *)base)->bytes, base->array->bytes);
	return 0;
}

static void release_malloc_copy(struct bench_job *base)
{
	free(((struct malloc_job *)base)->bytes);
	free(base);
}

struct bench_job *bench_malloc_copy(struct bench_array *array)
{
	struct malloc_job *job = bench_job_create(sizeof(*job), run_malloc_copy, release_malloc_copy);

	if (!job)
		return NULL;
	job->job.array = array;
	job->job.result = BENCH_LINEAR;
	job->job.clear = clear_malloc_copy;
	job->job.fetch = fetch_malloc_copy;
	return &job->job;
}
