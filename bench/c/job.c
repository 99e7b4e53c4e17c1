#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"

static char message[512];

int bench_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return -1;
}

const char *bench_message(void)
{
	return message;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void *bench_job_create(size_t size, int (*run)(struct bench_job *, long), void (*release)(struct bench_job *))
{
	struct bench_job *job = calloc(1, size);

	if (!job) {
		bench_fail("out of memory");
		return NULL;
	}
	job->run = run;
	job->release = release;
	return job;
}

double bench_time(struct bench_job *job, long n)
{
	double start = now();

	return job->run(job, n) ? -1 : now() - start;
}

int bench_verify(struct bench_job *job)
{
	struct bench_array *array = job->array;
	void *bytes;
	int rc;

	if (job->has_no_result)
		return job->run(job, 1);
	if (!job->fetch)
		return bench_fail("its result cannot be fetched");
	bytes = malloc(array->bytes ? array->bytes : 1);
	if (!bytes)
		return bench_fail("out of memory");
	rc = job->clear(job);
	if (!rc)
		rc = job->run(job, 1);
	if (!rc)
		rc = job->fetch(job, bytes);
	if (!rc)
		rc = bench_array_check(array, bytes, (int)job->result);
	free(bytes);
	return rc;
}

int bench_fetch(struct bench_job *job, void *bytes)
{
	return job->fetch ? job->fetch(job, bytes) : bench_fail("its result cannot be fetched");
}

void bench_release(struct bench_job *job)
{
	if (job)
		job->release(job);
}
