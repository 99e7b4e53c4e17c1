/*
 * Loops in C around the library itself, for bench/python/run, which loads this with ctypes
 *
 * bench_slice: every second row of a 2-d host array as a view, and its release, n times. Returns seconds, or -1 if a
 * call fails or a view is not what it should be.
 * bench_plain: the least that any counted view costs on this machine, for comparison.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <buffer_interface.h>

double bench_slice(long n);
double bench_plain(long n);

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int is_right(const struct bi_view *slice, const float *numbers)
{
	return bi_view_host_pointer(slice) == numbers + 4 && bi_view_shape(slice)[0] == 2 &&
	       bi_view_strides(slice)[0] == 2 * (int64_t)sizeof(float) * 4;
}

static double repeat(const struct bi_view *view, const float *numbers, long n)
{
	const struct bi_index rows = { BI_INDEX_SLICE, 1, BI_OMITTED, 2 };
	int right = 1;
	double start = now();

	for (long i = 0; i < n; i++) {
		struct bi_view *slice;

		if (bi_view_index(view, &rows, 1, &slice, NULL))
			return -1;
		if (i == 0)
			right = is_right(slice, numbers);
		bi_view_release(slice);
	}
	return right ? now() - start : -1;
}

double bench_slice(long n)
{
	static float numbers[4][4];
	const int64_t shape[2] = { 4, 4 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = NULL;
	struct bi_view *view = NULL;
	struct bi_dtype float32;
	double seconds = -1;
	int rc;

	options.device = "host";
	rc = bi_context_open(&options, &context, NULL);
	if (!rc)
		rc = bi_dtype_make(BI_FLOAT32, 1, 0, &float32, NULL);
	if (!rc)
		rc = bi_view_wrap_host(context, numbers, float32, 2, shape, NULL, NULL, &view, NULL);
	if (!rc)
		seconds = repeat(view, numbers[0], n);
	bi_view_release(view);
	bi_context_release(context);
	return seconds;
}

/* Memory that is counted, seen through a layout. */
struct plain {
	atomic_long *count;
	char *data;
	int64_t shape[2], strides[2];
};

/* Not inlined, so that the compiler cannot see that nothing comes of it. */
__attribute__((noinline)) static struct plain *slice_plain(const struct plain *of)
{
	struct plain *slice = malloc(sizeof(*slice));

	if (!slice)
		return NULL;
	memcpy(slice, of, sizeof(*slice));
	slice->data += slice->strides[0];
	slice->shape[0] /= 2;
	slice->strides[0] *= 2;
	atomic_fetch_add_explicit(slice->count, 1, memory_order_relaxed);
	return slice;
}

__attribute__((noinline)) static void release_plain(struct plain *slice)
{
	atomic_fetch_sub_explicit(slice->count, 1, memory_order_acq_rel);
	free(slice);
}

double bench_plain(long n)
{
	static float numbers[4][4];
	atomic_long count = 1;
	const struct plain all = { &count, (char *)numbers, { 4, 4 }, { 16, 4 } };
	double start = now();

	for (long i = 0; i < n; i++) {
		struct plain *slice = slice_plain(&all);

		if (!slice)
			return -1;
		release_plain(slice);
	}
	return now() - start;
}
