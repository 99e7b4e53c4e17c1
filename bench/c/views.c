/*
 * Views that are created and released: slice, transpose and index of a 2-d array on the host or a device, and the
 * minimum of a counted view.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <buffer_interface.h>

#include "bench.h"

static float numbers[4][4];

struct view_job {
	struct bench_job job;
	enum bench_view how;
	struct bi_context *context;
	struct bi_view *view;
};

static int make_view(const struct view_job *job, struct bi_view **out)
{
	static const struct bi_index every_second = { BI_INDEX_SLICE, 1, BI_OMITTED, 2 };
	static const struct bi_index third = { BI_INDEX_INTEGER, 2, 0, 0 };

	if (job->how == BENCH_TRANSPOSE)
		return bi_view_permute(job->view, NULL, out, NULL);
	return bi_view_index(job->view, job->how == BENCH_SLICE ? &every_second : &third, 1, out, NULL);
}

static int is_right(const struct view_job *job, const struct bi_view *view)
{
	static const int64_t row = sizeof(numbers[0]), item = sizeof(float);
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	switch (job->how) {
	case BENCH_SLICE:
		return layout.offset == row && layout.shape[0] == 2 && layout.strides[0] == 2 * row;
	case BENCH_TRANSPOSE:
		return layout.offset == 0 && layout.strides[0] == item && layout.strides[1] == row;
	case BENCH_INDEX:
		break;
	}
	return layout.offset == 2 * row && layout.ndim == 1 && layout.shape[0] == 4 && layout.strides[0] == item;
}

static int run_view(struct bench_job *base, long n)
{
	struct view_job *job = (struct view_job *)base;
	struct bi_view *view;

	if (make_view(job, &view))
		return bench_fail("a view could not be made");
	if (!is_right(job, view)) {
		bi_view_release(view);
		return bench_fail("a view is not what was asked for");
	}
	bi_view_release(view);
	for (long i = 1; i < n; i++) {
		if (make_view(job, &view))
			return bench_fail("a view could not be made");
		bi_view_release(view);
	}
	return 0;
}

static void release_view(struct bench_job *base)
{
	struct view_job *job = (struct view_job *)base;

	bi_view_release(job->view);
	bi_context_release(job->context);
	free(job);
}

/* The array of the device "host" is memory of the process. */
static int make_array(struct view_job *job, const char *device, struct bi_error *err)
{
	static const struct bi_dtype real = { 4, 1, BI_FLOAT32, 0 };
	static const int64_t shape[2] = { 4, 4 };

	if (strcmp(device, "host"))
		return bi_view_empty(job->context, real, 2, shape, &job->view, err);
	return bi_view_wrap_host(job->context, numbers, real, 2, shape, NULL, NULL, &job->view, err);
}

struct bench_job *bench_view(const char *device, int how)
{
	struct view_job *job = bench_job_create(sizeof(*job), run_view, release_view);
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_error err;

	if (!job)
		return NULL;
	job->job.has_no_result = 1;
	job->how = (enum bench_view)how;
	options.device = device;
	if (!bi_context_open(&options, &job->context, &err) && !make_array(job, device, &err))
		return &job->job;
	bench_fail("%s", err.message);
	release_view(&job->job);
	return NULL;
}

/* Memory with a reference count, and a layout. */
struct plain {
	atomic_long *count;
	char *data;
	int64_t shape[2], strides[2];
};

/* Not inlined, so that the compiler does not remove it. */
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

static int run_plain(struct bench_job *job, long n)
{
	atomic_long count = 1;
	const struct plain all = { &count, (char *)numbers, { 4, 4 }, { 16, 4 } };

	(void)job;
	for (long i = 0; i < n; i++) {
		struct plain *slice = slice_plain(&all);

		if (!slice)
			return bench_fail("out of memory");
		release_plain(slice);
	}
	return 0;
}

static void release_job(struct bench_job *job)
{
	free(job);
}

struct bench_job *bench_view_plain(void)
{
	struct bench_job *job = bench_job_create(sizeof(*job), run_plain, release_job);

	if (job)
		job->has_no_result = 1;
	return job;
}
