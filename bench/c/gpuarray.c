/*
 * Views of libgpuarray: slice, transpose and index of an array on an OpenCL device, by its C API. The installed library
 * is opened; its structs are those of version 0.7.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>

#include "bench.h"

#define FLOAT 11 /* GA_FLOAT */
#define C_ORDER 0 /* GA_C_ORDER */

struct array {
	void *data;
	size_t *dimensions;
	ssize_t *strides;
	size_t offset;
	unsigned ndim;
	int flags, typecode;
};

#define FUNCTIONS(X) \
	X(int, gpucontext_props_new, (void **properties)) \
	X(int, gpucontext_props_opencl_dev, (void *properties, int platform, int ordinal)) \
	X(int, gpucontext_init, (void **context, const char *name, void *properties)) \
	X(void, gpucontext_deref, (void *context)) \
	X(int, GpuArray_empty, \
	  (struct array *array, void *context, int type, unsigned ndim, const size_t *shape, int order)) \
	X(int, GpuArray_index, \
	  (struct array *out, const struct array *of, const ssize_t *starts, const ssize_t *stops, \
	   const ssize_t *steps)) \
	X(int, GpuArray_transpose, (struct array *out, const struct array *of, const unsigned *axes)) \
	X(void, GpuArray_clear, (struct array *array))

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
	FUNCTIONS(MEMBER)
#undef MEMBER
} library;

struct view_job {
	struct bench_job job;
	enum bench_view how;
	void *context;
	struct array array;
};

static int make_view(const struct view_job *job, struct array *out)
{
	static const ssize_t starts[2] = { 1, 0 }, stops[2] = { 4, 4 }, steps[2] = { 2, 1 };
	static const ssize_t third[2] = { 2, 0 }, all[2] = { 2, 4 }, one[2] = { 0, 1 }; /* step 0: an index */

	switch (job->how) {
	case BENCH_SLICE:
		return library.GpuArray_index(out, &job->array, starts, stops, steps);
	case BENCH_INDEX:
		return library.GpuArray_index(out, &job->array, third, all, one);
	case BENCH_TRANSPOSE:
		break;
	}
	return library.GpuArray_transpose(out, &job->array, NULL);
}

static int is_right(const struct view_job *job, const struct array *view)
{
	static const ssize_t row = 4 * sizeof(float), item = sizeof(float);

	switch (job->how) {
	case BENCH_SLICE:
		return view->offset == (size_t)row && view->dimensions[0] == 2 && view->strides[0] == 2 * row;
	case BENCH_TRANSPOSE:
		return view->offset == 0 && view->strides[0] == item && view->strides[1] == row;
	case BENCH_INDEX:
		break;
	}
	return view->offset == 2 * (size_t)row && view->ndim == 1 && view->strides[0] == item;
}

static int run_view(struct bench_job *base, long n)
{
	const struct view_job *job = (struct view_job *)base;

	for (long i = 0; i < n; i++) {
		struct array view;

		if (make_view(job, &view))
			return bench_fail("libgpuarray could not make a view");
		if (i == 0 && !is_right(job, &view))
			return bench_fail("a view of libgpuarray's is not what was asked for");
		library.GpuArray_clear(&view);
	}
	return 0;
}

static void release_view(struct bench_job *base)
{
	struct view_job *job = (struct view_job *)base;

	if (job->array.data)
		library.GpuArray_clear(&job->array);
	if (job->context)
		library.gpucontext_deref(job->context);
	free(job);
}

static int open_library(void)
{
	void *handle = dlopen("libgpuarray.so.3", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return bench_fail("%s", dlerror());
#define RESOLVE(type, name, parameters) \
	*(void **)&library.name = dlsym(handle, #name); \
	if (!library.name) \
		return bench_fail("libgpuarray has no " #name);
	FUNCTIONS(RESOLVE)
#undef RESOLVE
	return 0;
}

static int open_array(struct view_job *job, int platform, int ordinal)
{
	static const size_t shape[2] = { 4, 4 };
	void *properties = NULL;

	if (library.gpucontext_props_new(&properties) ||
	    library.gpucontext_props_opencl_dev(properties, platform, ordinal) ||
	    library.gpucontext_init(&job->context, "opencl", properties) ||
	    library.GpuArray_empty(&job->array, job->context, FLOAT, 2, shape, C_ORDER))
		return bench_fail("libgpuarray does not open opencl:%d:%d", platform, ordinal);
	return 0;
}

struct bench_job *bench_gpuarray_view(int how, int platform, int ordinal)
{
	struct view_job *job;

	if (!library.GpuArray_clear && open_library())
		return NULL;
	job = bench_job_create(sizeof(*job), run_view, release_view);
	if (!job)
		return NULL;
	job->job.has_no_result = 1;
	job->how = (enum bench_view)how;
	if (!open_array(job, platform, ordinal))
		return &job->job;
	release_view(&job->job);
	return NULL;
}
