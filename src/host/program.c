/* Kernels of the caller on the host: C functions that run over boxes of items or groups, on several threads. */
#include "host/program.h"

#include <limits.h>
#include <stdlib.h>

#include "common/backend/kernel.h"
#include "common/engine/workers.h"

/* The calling thread alone runs a grid of fewer items, because to wake other threads would take longer. */
#define LEAST_SHARED 4096

/* The most boxes of a grid for each thread. There are several, so that a delayed thread leaves boxes to the others. */
#define BOXES_PER_THREAD 4

/* Local memory starts at multiples of this number of bytes, so boxes do not share a cache line of 64 or 128 bytes. */
#define LOCAL_STEP 128

struct program {
	const struct bi_host_kernel *const *functions;
	size_t count;
};

int bi__host_build(struct bi__device_state *device, struct bi__source *source, uintptr_t *program, struct bi_error *err)
{
	struct program *made;

	(void)device;
	if (!source->function_count)
		return bi__fail(err, BI_EINVAL, "the host runs kernels as C functions: set source.functions");
	made = malloc(sizeof(*made));
	if (!made)
		return bi__fail(err, BI_ENOMEM, "no memory for a program");
	*made = (struct program){ source->functions, source->function_count };
	*program = (uintptr_t)made;
	return BI_OK;
}

void bi__host_unload(struct bi__device_state *device, uintptr_t program)
{
	(void)device;
	free((struct program *)program);
}

int bi__host_get_kernel(struct bi__device_state *device, uintptr_t program, const char *name, struct bi__kernel *out,
			struct bi_error *err)
{
	const struct program *from = (const struct program *)program;
	const struct bi_host_kernel *function = bi__kernel_function(from->functions, from->count, name);
	int rc;

	(void)device;
	if (!function)
		return bi__fail(err, BI_EINVAL, "source.functions has no kernel '%s'", name);
	rc = bi__kernel_copy_parameters(out, function, err);
	if (rc)
		return rc;
	out->state = (void *)(uintptr_t)function;
	out->has_groups = function->has_groups;
	out->most_local = SIZE_MAX / 2;
	out->local_step = LOCAL_STEP;
	out->most_items = out->most_along[0] = out->most_along[1] = out->most_along[2] = INT_MAX;
	return BI_OK;
}

/* A launch, cut into boxes along its slowest axis. */
struct job {
	const struct bi_host_kernel *function;
	const struct bi__kernel *kernel;
	struct bi_host_argument arguments[BI_MAX_ARGUMENTS];
	size_t offsets[BI_MAX_ARGUMENTS]; /* bytes from the start of a box's local memory to that of an argument */
	size_t local; /* bytes of the local memory of a box */
	char *locals; /* local memory of all boxes */
	struct bi_host_box whole; /* first and end in groups if the function has groups, otherwise in items */
	int axis, boxes;
};

static void run_box(void *data, int index)
{
	const struct job *job = data;
	struct bi_host_argument arguments[BI_MAX_ARGUMENTS];
	struct bi_host_box box = job->whole;
	int64_t extent = job->whole.end[job->axis], rest = extent % job->boxes, each = extent / job->boxes;

	for (unsigned i = 0; i < job->kernel->count; i++) {
		arguments[i] = job->arguments[i];
		if (job->kernel->parameters[i].kind == BI_PARAMETER_LOCAL)
			arguments[i].data = job->locals + (size_t)index * job->local + job->offsets[i];
	}
	box.first[job->axis] = index * each + (index < rest ? index : rest);
	box.end[job->axis] = box.first[job->axis] + each + (index < rest);
	job->function->run(&box, arguments);
}

static void set_arguments(struct job *job, const struct bi__kernel_launch *launch)
{
	for (unsigned i = 0; i < job->kernel->count; i++) {
		const struct bi__kernel_value *value = &launch->values[i];

		job->arguments[i].strides = value->strides;
		job->arguments[i].data = (void *)(uintptr_t)value->bytes;
		if (value->block)
			job->arguments[i].data = value->block->host ? (char *)value->block->host + value->offset : NULL;
		if (job->kernel->parameters[i].kind == BI_PARAMETER_LOCAL) {
			job->offsets[i] = job->local;
			job->local += (value->nbytes + LOCAL_STEP - 1) / LOCAL_STEP * LOCAL_STEP;
		}
	}
}

/* Chooses the axis along which the grid is cut, and the number of boxes. */
static void cut_grid(struct job *job, const struct bi__kernel_launch *launch)
{
	int64_t items = launch->size[0] * launch->size[1] * launch->size[2];
	int most = bi_threads() * BOXES_PER_THREAD;

	for (int i = 0; i < 3; i++) {
		job->whole.size[i] = launch->size[i];
		job->whole.group[i] = launch->group[i];
		job->whole.first[i] = 0;
		job->whole.end[i] = launch->size[i] / (job->function->has_groups ? launch->group[i] : 1);
		if (job->whole.end[i] > 1)
			job->axis = i;
	}
	job->boxes = 1;
	if (items >= LEAST_SHARED && bi_threads() > 1)
		job->boxes = job->whole.end[job->axis] < most ? (int)job->whole.end[job->axis] : most;
}

int bi__host_launch(struct bi__queue *queue, const struct bi__kernel_launch *launch, struct bi_error *err)
{
	struct job job = { .function = launch->kernel->state, .kernel = launch->kernel };
	char *locals = NULL;

	(void)queue;
	cut_grid(&job, launch);
	set_arguments(&job, launch);
	if (job.local) {
		if (job.local > SIZE_MAX / 2 / (size_t)job.boxes)
			return bi__fail(err, BI_ENOMEM, "%zu bytes of local memory are too many", job.local);
		locals = malloc(job.local * (size_t)job.boxes + LOCAL_STEP);
		if (!locals)
			return bi__fail(err, BI_ENOMEM, "no memory for %d times %zu bytes of local memory", job.boxes,
					job.local);
		job.locals = locals + (LOCAL_STEP - (uintptr_t)locals % LOCAL_STEP);
	}
	bi__workers_run(job.boxes, run_box, &job);
	free(locals);
	return BI_OK;
}
