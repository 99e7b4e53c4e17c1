/* The CUDA driver's own calls. Its few types are declared here, so that this builds without a toolkit. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef uintptr_t cuda_pointer;

#define CUDA_API(X) \
	X(Init, "cuInit", (unsigned flags)) \
	X(DeviceGet, "cuDeviceGet", (int *device, int ordinal)) \
	X(Retain, "cuDevicePrimaryCtxRetain", (void **context, int device)) \
	X(Release, "cuDevicePrimaryCtxRelease_v2", (int device)) \
	X(SetCurrent, "cuCtxSetCurrent", (void *context)) \
	X(StreamCreate, "cuStreamCreate", (void **stream, unsigned flags)) \
	X(StreamDestroy, "cuStreamDestroy_v2", (void *stream)) \
	X(Synchronize, "cuStreamSynchronize", (void *stream)) \
	X(Alloc, "cuMemAlloc_v2", (cuda_pointer * pointer, size_t bytes)) \
	X(Free, "cuMemFree_v2", (cuda_pointer pointer)) \
	X(HostAlloc, "cuMemHostAlloc", (void **pointer, size_t bytes, unsigned flags)) \
	X(HostFree, "cuMemFreeHost", (void *pointer)) \
	X(FillAsync, "cuMemsetD8Async", (cuda_pointer to, unsigned char value, size_t bytes, void *stream)) \
	X(ToDevice, "cuMemcpyHtoDAsync_v2", (cuda_pointer to, const void *from, size_t bytes, void *stream)) \
	X(ToHost, "cuMemcpyDtoHAsync_v2", (void *to, cuda_pointer from, size_t bytes, void *stream)) \
	X(Copy, "cuMemcpyDtoDAsync_v2", (cuda_pointer to, cuda_pointer from, size_t bytes, void *stream))

static struct {
#define MEMBER(name, symbol, parameters) int(*name) parameters;
	CUDA_API(MEMBER)
#undef MEMBER
} cu;

static int load_driver(void)
{
	const char *name = getenv("BI_CUDA_LIBRARY");
	void *library;

	if (cu.Copy)
		return 0;
	library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW);
	if (!library)
		return bench_fail("%s", dlerror());
#define LOAD(member, symbol, parameters) \
	*(void **)&cu.member = dlsym(library, symbol); \
	if (!cu.member) \
		return bench_fail("the CUDA driver has no " symbol);
	CUDA_API(LOAD)
#undef LOAD
	return cu.Init(0) ? bench_fail("cuInit failed") : 0;
}

struct cuda_job {
	struct bench_job job;
	struct bench_request request;
	struct bench_array *array;
	int device, is_retained;
	void *context, *stream;
	cuda_pointer source, destination; /* for BENCH_FRESH the last destination, 0 before the first run */
	void *pinned; /* the host side of a transfer */
};

static void release_cuda(struct bench_job *base)
{
	struct cuda_job *job = (struct cuda_job *)base;

	if (job->source)
		cu.Free(job->source);
	if (job->destination)
		cu.Free(job->destination);
	if (job->pinned)
		cu.HostFree(job->pinned);
	if (job->stream)
		cu.StreamDestroy(job->stream);
	if (job->is_retained)
		cu.Release(job->device);
	free(job);
}

static int allocate(const struct cuda_job *job)
{
	cuda_pointer pointer;
	int rc = cu.Alloc(&pointer, job->array->bytes);

	return rc ? rc : cu.Free(pointer);
}

static int copy_into_new(struct cuda_job *job)
{
	int rc = job->destination ? cu.Free(job->destination) : 0;

	job->destination = 0;
	if (!rc)
		rc = cu.Alloc(&job->destination, job->array->bytes);
	if (!rc)
		rc = cu.Copy(job->destination, job->source, job->array->bytes, job->stream);
	return rc ? rc : cu.Synchronize(job->stream);
}

static int enqueue_operation(struct cuda_job *job)
{
	const struct bench_array *array = job->array;
	const struct bench_request *request = &job->request;

	switch (request->operation) {
	case BENCH_COPY:
		if (request->from == BENCH_ON_HOST)
			return cu.ToDevice(job->destination, job->pinned, array->bytes, job->stream);
		if (request->to == BENCH_ON_HOST)
			return cu.ToHost(job->pinned, job->source, array->bytes, job->stream);
		return cu.Copy(job->destination, job->source, array->bytes, job->stream);
	case BENCH_FILL:
		return cu.FillAsync(job->destination, 0, array->bytes, job->stream);
	case BENCH_WRITE:
		return cu.ToDevice(job->destination, array->source, array->bytes, job->stream);
	case BENCH_READ:
		return cu.ToHost(array->destination, job->source, array->bytes, job->stream);
	case BENCH_FRESH:
		return copy_into_new(job);
	case BENCH_ALLOCATE:
		return allocate(job);
	}
	return -1;
}

static int run_operations(struct bench_job *base, long n)
{
	struct cuda_job *job = (struct cuda_job *)base;
	int rc = cu.SetCurrent(job->context);

	for (long i = 0; i < n && !rc; i++) {
		rc = enqueue_operation(job);
		if (!rc && (i + 1) % job->request.every == 0)
			rc = cu.Synchronize(job->stream);
	}
	if (!rc)
		rc = cu.Synchronize(job->stream);
	return rc ? bench_fail("a CUDA call failed: %d", rc) : 0;
}

/* The primary context survives between turns only if something else holds it, as with the library. */
static int run_open(struct bench_job *base, long n)
{
	struct cuda_job *job = (struct cuda_job *)base;
	void *context, *stream = NULL;
	int rc = 0;

	for (long i = 0; i < n && !rc; i++) {
		rc = cu.Retain(&context, job->device);
		if (!rc)
			rc = cu.SetCurrent(context);
		if (!rc)
			rc = cu.StreamCreate(&stream, 1);
		if (!rc)
			rc = cu.StreamDestroy(stream);
		if (!rc)
			rc = cu.Release(job->device);
	}
	return rc ? bench_fail("a CUDA call failed: %d", rc) : 0;
}

static int clear_memory(struct bench_job *base)
{
	struct cuda_job *job = (struct cuda_job *)base;
	const size_t bytes = job->array->bytes;
	int rc = cu.SetCurrent(job->context);

	memset(job->array->destination, 0xee, bytes);
	if (job->pinned && job->request.to == BENCH_ON_HOST)
		memset(job->pinned, 0xee, bytes);
	if (!rc && job->destination)
		rc = cu.FillAsync(job->destination, 0xee, bytes, job->stream);
	return rc || cu.Synchronize(job->stream) ? bench_fail("cuMemsetD8Async failed") : 0;
}

static int fetch_memory(struct bench_job *base, void *bytes)
{
	struct cuda_job *job = (struct cuda_job *)base;
	const struct bench_array *array = job->array;

	if (job->request.operation == BENCH_READ) {
		memcpy(bytes, array->destination, array->bytes);
		return 0;
	}
	if (job->request.to == BENCH_ON_HOST) {
		memcpy(bytes, job->pinned, array->bytes);
		return 0;
	}
	return cu.ToHost(bytes, job->destination, array->bytes, job->stream) || cu.Synchronize(job->stream)
		       ? bench_fail("cuMemcpyDtoHAsync failed")
		       : 0;
}

static int allocate_memory(struct cuda_job *job)
{
	const struct bench_array *array = job->array;
	const int on_host = job->request.from == BENCH_ON_HOST || job->request.to == BENCH_ON_HOST;
	int rc = cu.StreamCreate(&job->stream, 1);

	if (!rc)
		rc = cu.Alloc(&job->source, array->source_bytes);
	if (!rc && job->request.operation != BENCH_FRESH)
		rc = cu.Alloc(&job->destination, array->bytes);
	if (!rc && on_host)
		rc = cu.HostAlloc(&job->pinned, array->bytes, 0);
	if (!rc && on_host)
		memcpy(job->pinned, array->source, array->bytes);
	if (!rc)
		rc = cu.ToDevice(job->source, array->source, array->source_bytes, job->stream);
	if (!rc)
		rc = cu.Synchronize(job->stream);
	return rc ? bench_fail("CUDA memory of %zu bytes could not be filled: %d", array->source_bytes, rc) : 0;
}

struct bench_job *bench_cuda(struct bench_array *array, int ordinal, const struct bench_request *request)
{
	struct cuda_job *job = load_driver() ? NULL : bench_job_create(sizeof(*job), run_operations, release_cuda);

	if (!job)
		return NULL;
	job->array = array;
	job->request = *request;
	job->job.array = array;
	job->job.result = request->operation == BENCH_FILL ? BENCH_ZEROS : BENCH_LINEAR;
	job->job.has_no_result = request->operation == BENCH_ALLOCATE || request->operation == BENCH_OPEN;
	job->job.clear = clear_memory;
	job->job.fetch = fetch_memory;
	if (cu.DeviceGet(&job->device, ordinal)) {
		bench_fail("no CUDA device %d", ordinal);
		release_cuda(&job->job);
		return NULL;
	}
	if (request->operation == BENCH_OPEN) {
		job->job.run = run_open;
		return &job->job;
	}
	job->is_retained = !cu.Retain(&job->context, job->device);
	if (!job->is_retained || cu.SetCurrent(job->context) || allocate_memory(job)) {
		release_cuda(&job->job);
		return NULL;
	}
	return &job->job;
}
