/* The begin and the end of uses of several arrays, on another stream than their home stream. */
#include <stdlib.h>

#include <buffer_interface.h>
#include <buffer_interface/binding.h>

#include "launch.h"

#define MOST_USES 3

struct uses_job {
	struct bench_job job;
	struct bi_context *context;
	struct bi_stream *stream;
	struct bi_view *views[MOST_USES];
	struct bi_use uses[MOST_USES];
	size_t count;
};

static int run_uses(struct bench_job *base, long n)
{
	struct uses_job *job = (struct uses_job *)base;
	struct bi_error err;
	int rc = 0;

	for (long i = 1; i <= n && !rc; i++) {
		rc = bi_use_begin(job->stream, job->uses, job->count, &err);
		if (!rc)
			rc = bi_use_end(job->stream, job->uses, job->count, &err);
		if (!rc && (i == n || i % BENCH_LAUNCHES == 0))
			rc = bi_stream_synchronize(job->stream, &err);
	}
	return rc ? bench_fail("%s", err.message) : 0;
}

static void release_uses(struct bench_job *base)
{
	struct uses_job *job = (struct uses_job *)base;

	for (int i = 0; i < MOST_USES; i++)
		bi_view_release(job->views[i]);
	bi_stream_release(job->stream);
	bi_context_release(job->context);
	free(job);
}

static int make_used(struct uses_job *job, size_t i, int is_shown, struct bi_error *err)
{
	static const struct bi_dtype real = { 4, 1, BI_FLOAT32, 0 };
	static const int64_t shape[] = { 64 };
	struct bi_native native;
	int rc = bi_view_empty(job->context, real, 1, shape, &job->views[i], err);

	job->uses[i] = (struct bi_use){ job->views[i], BI_ACCESS_READ_WRITE };
	if (!rc && is_shown)
		bi_view_native(job->views[i], &native);
	return rc;
}

static int open_uses(struct uses_job *job, const char *device, int is_shown, struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;
	int rc;

	options.device = device;
	rc = bi_context_open(&options, &job->context, err);
	if (!rc)
		rc = bi_stream_create(job->context, 0, &job->stream, err);
	for (size_t i = 0; i < job->count && !rc; i++)
		rc = make_used(job, i, is_shown, err);
	return rc;
}

struct bench_job *bench_uses(const char *device, int count, int is_shown)
{
	struct uses_job *job = bench_job_create(sizeof(*job), run_uses, release_uses);
	struct bi_error err;

	if (!job)
		return NULL;
	job->count = count < MOST_USES ? (size_t)count : MOST_USES;
	if (!open_uses(job, device, is_shown, &err))
		return &job->job;
	bench_fail("%s", err.message);
	release_uses(&job->job);
	return NULL;
}

/* Without an order there is nothing to time: a use that has ended leaves its array pending until it is waited for. */
int bench_uses_verify(struct bench_job *base)
{
	struct uses_job *job = (struct uses_job *)base;
	struct bi_error err;

	if (bi_use_begin(job->stream, job->uses, job->count, &err) ||
	    bi_use_end(job->stream, job->uses, job->count, &err))
		return bench_fail("%s", err.message);
	for (size_t i = 0; i < job->count; i++) {
		if (bi_view_is_idle(job->views[i]))
			return bench_fail("array %zu is idle after a use", i);
		if (bi_view_synchronize(job->views[i], &err))
			return bench_fail("%s", err.message);
	}
	return 0;
}
