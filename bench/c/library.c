/* Jobs of the library, through its public header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <buffer_interface.h>

#include "bench.h"

struct library_job {
	struct bench_job job;
	struct bench_request request;
	struct bench_array *array;
	char device[24];
	struct bi_context *context;
	struct bi_view *source, *destination; /* for BENCH_FRESH the last destination, NULL before the first run */
	unsigned char *to, *from; /* of memcpy */
};

/* One repetition. */
static int run_operation(struct library_job *job, struct bi_error *err)
{
	static const unsigned char zeros[64];
	const size_t bytes = job->array->bytes;
	struct bi_memory *memory;

	switch (job->request.operation) {
	case BENCH_COPY:
		return bi_copy(job->destination, job->source, NULL, err);
	case BENCH_FILL:
		return bi_fill(job->destination, zeros, NULL, err);
	case BENCH_WRITE:
		return bi_view_write(job->destination, job->array->source, bytes, err);
	case BENCH_READ:
		return bi_view_read(job->source, job->array->destination, bytes, err);
	case BENCH_ALLOCATE:
		if (bi_memory_create(job->context, bytes, BI_MEMORY_DEVICE, &memory, err))
			return err->status;
		bi_memory_release(memory);
		return 0;
	}
	err->status = BI_EINVAL;
	snprintf(err->message, sizeof(err->message), "operation %d is none", job->request.operation);
	return err->status;
}

static int wait_for(const struct library_job *job, struct bi_error *err)
{
	return bi_stream_synchronize(bi_context_stream(job->context), err);
}

static int run_operations(struct bench_job *base, long n)
{
	struct library_job *job = (struct library_job *)base;
	const long every = job->request.every;
	struct bi_error err;

	for (long i = 0; i < n; i++)
		if (run_operation(job, &err) || ((i + 1) % every == 0 && wait_for(job, &err)))
			return bench_fail("%s", err.message);
	return wait_for(job, &err) ? bench_fail("%s", err.message) : 0;
}

static int open_device(const struct library_job *job, struct bi_context **context, struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = job->device;
	options.pool_limit = job->request.unpooled ? BI_POOL_NONE : BI_POOL_DEFAULT;
	return bi_context_open(&options, context, err);
}

static int run_open(struct bench_job *base, long n)
{
	struct library_job *job = (struct library_job *)base;

	for (long i = 0; i < n; i++) {
		struct bi_context *context;
		struct bi_error err;

		if (open_device(job, &context, &err))
			return bench_fail("%s", err.message);
		bi_context_release(context);
	}
	return 0;
}

static int item_type(const struct bench_array *array, struct bi_dtype *type, struct bi_error *err)
{
	return bi_dtype_make(BI_VOID, 1, (uint32_t)array->item_size, type, err);
}

static int renew_destination(struct library_job *job, struct bi_error *err)
{
	struct bi_dtype type;

	bi_view_release(job->destination);
	job->destination = NULL;
	if (item_type(job->array, &type, err))
		return err->status;
	return bi_view_empty(job->context, type, job->array->ndim, job->array->shape, &job->destination, err);
}

static int run_fresh(struct bench_job *base, long n)
{
	struct library_job *job = (struct library_job *)base;
	struct bi_error err;

	for (long i = 0; i < n; i++)
		if (renew_destination(job, &err) || bi_copy(job->destination, job->source, NULL, &err) ||
		    wait_for(job, &err))
			return bench_fail("%s", err.message);
	return 0;
}

/* The destination's bytes, to and from the host. Host arrays are the array's own memory or pinned. */
static int clear_view(struct bench_job *base)
{
	struct library_job *job = (struct library_job *)base;
	const size_t bytes = job->array->bytes;
	struct bi_error err;

	if (!job->destination)
		return 0;
	memset(job->array->destination, 0xee, bytes);
	return bi_view_write(job->destination, job->array->destination, bytes, &err) ? bench_fail("%s", err.message)
										     : 0;
}

static int fetch_view(struct bench_job *base, void *bytes)
{
	struct library_job *job = (struct library_job *)base;
	struct bi_error err;

	return bi_view_read(job->destination, bytes, job->array->bytes, &err) ? bench_fail("%s", err.message) : 0;
}

static int fetch_host(struct bench_job *base, void *bytes)
{
	memcpy(bytes, base->array->destination, base->array->bytes);
	return 0;
}

static int clear_host(struct bench_job *base)
{
	memset(base->array->destination, 0xee, base->array->bytes);
	return 0;
}

static void release_library(struct bench_job *base)
{
	struct library_job *job = (struct library_job *)base;

	bi_view_release(job->source);
	bi_view_release(job->destination);
	bi_context_release(job->context);
	free(job);
}

/* Wraps `bytes` of the caller, or allocates memory of a kind with the same contents. */
static int place_memory(struct library_job *job, enum bi_memory_kind kind, void *bytes, size_t count,
			struct bi_memory **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	if (kind != BI_MEMORY_HOST)
		return bi_memory_create(job->context, count, kind, out, err);
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = count;
	return bi_memory_wrap(job->context, &foreign, out, err);
}

static enum bi_memory_kind kind_of(const struct library_job *job, int place)
{
	if (place == BENCH_ON_DEVICE)
		return BI_MEMORY_DEVICE;
	return job->request.pinned ? BI_MEMORY_PINNED : BI_MEMORY_HOST;
}

/* Writes the whole memory. */
static int write_all(struct bi_memory *memory, const void *bytes, size_t count, struct bi_error *err)
{
	const int64_t shape[1] = { (int64_t)count };
	struct bi_layout layout;
	struct bi_dtype byte;
	struct bi_view *all;
	int rc;

	if (bi_dtype_make(BI_UINT8, 1, 0, &byte, err) || bi_layout_init(&layout, byte, 1, shape, NULL, 0, err) ||
	    bi_view_create(memory, &layout, 0, &all, err))
		return err->status;
	rc = bi_view_write(all, bytes, count, err);
	bi_view_release(all);
	return rc;
}

static int place_source(struct library_job *job, struct bi_error *err)
{
	const struct bench_array *array = job->array;
	const enum bi_memory_kind kind = kind_of(job, job->request.from);
	struct bi_memory *memory;
	struct bi_layout layout;
	struct bi_dtype type;
	int rc;

	if (item_type(array, &type, err) || place_memory(job, kind, array->source, array->source_bytes, &memory, err))
		return err->status;
	rc = kind == BI_MEMORY_HOST ? 0 : write_all(memory, array->source, array->source_bytes, err);
	if (!rc)
		rc = bi_layout_init(&layout, type, array->ndim, array->shape, array->strides, array->offset, err);
	if (!rc)
		rc = bi_view_create(memory, &layout, 0, &job->source, err);
	bi_memory_release(memory);
	return rc;
}

static int place_destination(struct library_job *job, struct bi_error *err)
{
	const struct bench_array *array = job->array;
	const enum bi_memory_kind kind = kind_of(job, job->request.to);
	struct bi_memory *memory;
	struct bi_layout layout;
	struct bi_dtype type;
	int rc;

	if (item_type(array, &type, err) || place_memory(job, kind, array->destination, array->bytes, &memory, err))
		return err->status;
	rc = bi_layout_init(&layout, type, array->ndim, array->shape, NULL, 0, err);
	if (!rc)
		rc = bi_view_create(memory, &layout, 0, &job->destination, err);
	bi_memory_release(memory);
	return rc;
}

static void export_handles(const struct library_job *job)
{
	struct bi_native native;

	bi_view_native(job->source, &native);
	bi_view_native(job->destination, &native);
}

static void choose_check(struct library_job *job)
{
	const int operation = job->request.operation, is_read = operation == BENCH_READ;

	job->job.has_no_result = operation == BENCH_ALLOCATE || operation == BENCH_OPEN;
	job->job.result = operation == BENCH_FILL    ? BENCH_ZEROS
			  : operation == BENCH_WRITE ? BENCH_LINEAR
						     : BENCH_STRIDED;
	job->job.clear = is_read ? clear_host : clear_view;
	job->job.fetch = is_read ? fetch_host : fetch_view;
}

static int place_arrays(struct library_job *job, struct bi_error *err)
{
	const int rc = place_source(job, err);

	return rc || job->request.operation == BENCH_FRESH ? rc : place_destination(job, err);
}

struct bench_job *bench_library(struct bench_array *array, const char *device, const struct bench_request *request)
{
	struct library_job *job = bench_job_create(sizeof(*job), run_operations, release_library);
	struct bi_error err;

	if (!job)
		return NULL;
	job->array = array;
	job->job.array = array;
	job->request = *request;
	snprintf(job->device, sizeof(job->device), "%s", device);
	choose_check(job);
	if (request->operation == BENCH_OPEN) {
		job->job.run = run_open;
		return &job->job;
	}
	if (request->operation == BENCH_FRESH)
		job->job.run = run_fresh;
	if (open_device(job, &job->context, &err) || place_arrays(job, &err)) {
		bench_fail("%s", err.message);
		release_library(&job->job);
		return NULL;
	}
	if (request->exported)
		export_handles(job);
	return &job->job;
}

static int run_memcpy(struct bench_job *base, long n)
{
	const struct library_job *job = (const struct library_job *)base;

	for (long i = 0; i < n; i++) {
		memcpy(job->to, job->from, job->array->bytes);
		__asm__ volatile("" : : "r"(job->to) : "memory");
	}
	return 0;
}

/*
 * Returns the address of the first element, or NULL after bench_fail. It stays valid, because the host and CPU devices
 * map memory in place.
 */
static unsigned char *address_of(struct bi_view *view)
{
	struct bi_map *map;
	struct bi_error err;
	unsigned char *address = NULL;

	if (!bi_view_map(view, BI_MAP_READ, &map, &err)) {
		address = bi_map_data(map);
		if (!bi_unmap(map, &err))
			return address;
	}
	bench_fail("%s", err.message);
	return NULL;
}

int bench_library_addresses(struct bench_job *library, unsigned char **source, unsigned char **destination)
{
	const struct library_job *job = (const struct library_job *)library;
	const int has_destination = job->request.operation != BENCH_FRESH;

	*source = address_of(job->source);
	*destination = has_destination ? address_of(job->destination) : NULL;
	if (!*source || (has_destination && !*destination))
		return -1;
	*source -= job->array->offset;
	return 0;
}

struct bench_job *bench_memcpy_beside(struct bench_job *copy)
{
	const struct library_job *beside = (const struct library_job *)copy;
	struct library_job *job = bench_job_create(sizeof(*job), run_memcpy, release_library);

	if (!job)
		return NULL;
	job->array = job->job.array = beside->array;
	job->job.result = BENCH_LINEAR;
	job->job.clear = clear_view;
	job->job.fetch = fetch_view;
	job->context = bi_context_retain(beside->context);
	job->source = bi_view_retain(beside->source);
	if (beside->request.operation != BENCH_FRESH)
		job->destination = bi_view_retain(beside->destination);
	if (bench_library_addresses(copy, &job->from, &job->to)) {
		release_library(&job->job);
		return NULL;
	}
	if (!job->to) {
		job->to = job->array->destination;
		job->job.clear = clear_host;
		job->job.fetch = fetch_host;
	}
	return &job->job;
}

const char *bench_array_plan(const struct bench_array *array)
{
	static const char *const kinds[] = {
#define KIND(name, text) text,
		BI_PLAN_MAP(KIND)
#undef KIND
	};
	struct bi_layout source, destination;
	struct bi_dtype type;
	struct bi_plan plan;

	if (item_type(array, &type, NULL) ||
	    bi_layout_init(&source, type, array->ndim, array->shape, array->strides, array->offset, NULL) ||
	    bi_layout_init(&destination, type, array->ndim, array->shape, NULL, 0, NULL) ||
	    bi_plan_make(&destination, &source, &plan, NULL))
		return "none";
	return kinds[plan.kind];
}

const char *bench_device(int i)
{
	static const char *const kinds[] = {
#define KIND(name, text) text,
		BI_DEVICE_KIND_MAP(KIND)
#undef KIND
	};
	static struct bi_device devices[16];
	static char text[320];
	int count = 0;

	if (bi_devices(devices, 16, &count, NULL) || i < 0 || i >= count || i >= 16 || !devices[i].usable)
		return NULL;
	snprintf(text, sizeof(text), "%s\t%s\t%s\t%s", devices[i].spec, kinds[devices[i].kind], devices[i].name,
		 devices[i].platform_version);
	return text;
}

const char *bench_library_version(void)
{
	return bi_version();
}
