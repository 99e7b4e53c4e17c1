/* Launches: checks the grid and the arguments, and enqueues the kernel in order with other work on the arrays. */
#include "common/base/checked.h"
#include "common/launch/launch.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"
#include "common/view/view.h"

/* An argument of a launch, named by its kernel and index. */
struct slot {
	const struct bi_kernel *kernel;
	size_t index;
};

static const struct bi_parameter *parameter_of(struct slot slot)
{
	return &slot.kernel->kernel.parameters[slot.index];
}

#define FAIL(slot, err, status, format, ...) \
	bi__fail(err, status, "arguments[%zu] ('%s') " format, (slot).index, parameter_of(slot)->name, __VA_ARGS__)

/* Returns 'i' for an integer of 8 to 64 bits, 'f' for float and double, else 0. Elements of class 0 fit every class. */
static char class_of(struct bi_dtype dtype)
{
	if (dtype.lanes != 1)
		return 0;
	if (dtype.type >= BI_INT8 && dtype.type <= BI_UINT64)
		return 'i';
	return dtype.type == BI_FLOAT32 || dtype.type == BI_FLOAT64 ? 'f' : 0;
}

static int classes_differ(char a, char b)
{
	return a && b && a != b;
}

/* Fails with the reason why the kernel cannot take the elements. */
static int refuse_type(struct slot slot, struct bi_dtype dtype, struct bi_error *err)
{
	const struct bi_parameter *parameter = parameter_of(slot);
	char name[BI_DTYPE_TEXT];

	bi_dtype_name(dtype, name);
	if (dtype.swapped)
		return FAIL(slot, err, BI_EINVAL,
			    "has elements with swapped bytes (%s), and a copy keeps them: make an array in the order "
			    "of this machine",
			    name);
	if (dtype.item_size != parameter->size)
		return FAIL(slot, err, BI_EINVAL, "has elements of %u bytes (%s), and the kernel takes %u bytes",
			    dtype.item_size, name, parameter->size);
	return FAIL(slot, err, BI_EINVAL, "is an array of %s, and the kernel takes %s", name,
		    parameter->type_class == 'f' ? "floating-point numbers" : "integers");
}

static int check_type(struct slot slot, struct bi_dtype dtype, struct bi_error *err)
{
	const struct bi_parameter *parameter = parameter_of(slot);

	if (!dtype.swapped && dtype.item_size == parameter->size &&
	    !classes_differ(class_of(dtype), parameter->type_class))
		return BI_OK;
	return refuse_type(slot, dtype, err);
}

static int check_access(struct slot slot, const struct bi_argument *argument, struct bi_error *err)
{
	int writes = (argument->access & BI_ACCESS_WRITE) != 0;

	if (!argument->access || argument->access > BI_ACCESS_READ_WRITE)
		return FAIL(slot, err, BI_EINVAL, "has access %u, not BI_ACCESS_READ, _WRITE or _READ_WRITE",
			    argument->access);
	if (writes == ((parameter_of(slot)->access & BI_ACCESS_WRITE) != 0))
		return BI_OK;
	return FAIL(slot, err, BI_EINVAL, "is %s, and the kernel %s it", writes ? "to be written" : "only to be read",
		    writes ? "only reads" : "writes");
}

static int check_layout(struct slot slot, const struct bi_view *view, struct bi_error *err)
{
	const struct bi_parameter *parameter = parameter_of(slot);

	if (parameter->kind == BI_PARAMETER_STRIDED && view->ndim != parameter->rank)
		return FAIL(slot, err, BI_EINVAL, "has %d dimensions, and the kernel takes %d", view->ndim,
			    parameter->rank);
	if (parameter->kind == BI_PARAMETER_ARRAY && !(view->traits & BI__TRAIT_C_CONTIGUOUS))
		return FAIL(slot, err, BI_EINVAL, "is not dense in C order: copy it, or use BI_STRIDED_%s",
			    parameter->access == BI_ACCESS_READ ? "IN" : "OUT or BI_STRIDED_INOUT");
	return BI_OK;
}

/*
 * Checks that each number begins at a multiple of its size, as the compilers of kernels assume. After CUDA's error for
 * other addresses (CUDA_ERROR_MISALIGNED_ADDRESS), the CUDA context is unusable. Not checked are parameters of class 0
 * (structs, vectors), whose alignment is not known, and the address behind a cl_mem.
 */
static int check_alignment(struct slot slot, const struct bi_view *view, struct bi_error *err)
{
	const struct bi_parameter *parameter = parameter_of(slot);
	const struct bi__block *block = &view->memory->block;
	int is_object = view->memory->backend->exported[block->memory].form == BI__FORM_OBJECT;
	uint64_t bits = (uint64_t)view->offset + block->origin + (is_object ? 0 : block->handle);

	if (!parameter->type_class || view->is_empty)
		return BI_OK;
	for (int i = 0; parameter->kind == BI_PARAMETER_STRIDED && i < view->ndim; i++)
		if (view->dims[i] > 1)
			bits |= (uint64_t)view->dims[view->ndim + i];
	if (!(bits & (parameter->size - 1)))
		return BI_OK;
	return FAIL(slot, err, BI_EINVAL,
		    "has elements that do not all begin at a multiple of their %u bytes: copy the array first",
		    parameter->size);
}

/* Returns BI_EINVAL if kernels cannot use the memory. A launch on a device, unlike a use, takes no host memory. */
static int check_place(struct slot slot, const struct bi_view *view, const struct bi_stream *stream,
		       struct bi_error *err)
{
	const struct bi_memory *memory = view->memory;

	if (memory->backend != stream->context->device.backend)
		return FAIL(slot, err, BI_EINVAL, "is memory of %s, which kernels on %s cannot use: copy it there",
			    memory->backend->synchronous ? "the host" : memory->context->device.info->spec,
			    stream->context->device.info->spec);
	if (!bi__stream_reaches(stream, memory))
		return FAIL(slot, err, BI_EINVAL, "belongs to another context of %s than the launch",
			    memory->context->device.info->spec);
	return BI_OK;
}

static int check_array(struct slot slot, const struct bi_argument *argument, const struct bi_stream *stream,
		       struct bi__kernel_value *out, struct bi_error *err)
{
	const struct bi_view *view = argument->view;
	int rc;

	if (!view)
		return FAIL(slot, err, BI_EINVAL, "is an array, and its view is %s", "NULL");
	rc = check_access(slot, argument, err);
	if (!rc)
		rc = check_place(slot, view, stream, err);
	if (!rc)
		rc = check_type(slot, view->dtype, err);
	if (!rc)
		rc = check_layout(slot, view, err);
	if (!rc)
		rc = check_alignment(slot, view, err);
	if (rc)
		return rc;
	if (argument->access & BI_ACCESS_WRITE && view->flags & BI_VIEW_READONLY)
		return FAIL(slot, err, BI_EREADONLY, "is a read-only view, and the kernel %s it", "writes");
	*out = (struct bi__kernel_value){ .block = &view->memory->block,
					  .offset = (size_t)view->offset,
					  .strides = view->dims + view->ndim };
	return BI_OK;
}

static int check_value(struct slot slot, const struct bi_argument *argument, struct bi__kernel_value *out,
		       struct bi_error *err)
{
	const struct bi_parameter *parameter = parameter_of(slot);

	if (argument->nbytes != parameter->size)
		return FAIL(slot, err, BI_EINVAL, "is a value of %zu bytes, and the kernel takes %u bytes",
			    argument->nbytes, parameter->size);
	if (!argument->bytes && !argument->type_class)
		return FAIL(slot, err, BI_EINVAL, "is a value of %zu bytes, and the pointer to them is NULL",
			    argument->nbytes);
	if (classes_differ(argument->type_class, parameter->type_class))
		return FAIL(slot, err, BI_EINVAL, "is %s, and the kernel takes %s",
			    argument->type_class == 'f' ? "a floating-point number" : "an integer",
			    parameter->type_class == 'f' ? "a floating-point number" : "an integer");
	*out = (struct bi__kernel_value){ .bytes = argument->bytes ? argument->bytes : &argument->value,
					  .nbytes = argument->nbytes };
	return BI_OK;
}

static int check_local(struct slot slot, const struct bi_argument *argument, struct bi__kernel_value *out,
		       struct bi_error *err)
{
	const struct bi_parameter *parameter = parameter_of(slot);

	if (!argument->nbytes || argument->nbytes % parameter->size)
		return FAIL(slot, err, BI_EINVAL, "is local memory of %zu bytes, not a multiple of %u above 0",
			    argument->nbytes, parameter->size);
	*out = (struct bi__kernel_value){ .nbytes = argument->nbytes };
	return BI_OK;
}

static const char *name_kind(int kind)
{
	return kind == BI_ARGUMENT_ARRAY ? "an array" : kind == BI_ARGUMENT_VALUE ? "a value" : "local memory";
}

/* Checks an argument against its parameter and fills *out. `stream` is the stream of the launch. */
static int check_argument(struct slot slot, const struct bi_argument *argument, const struct bi_stream *stream,
			  struct bi__kernel_value *out, struct bi_error *err)
{
	static const unsigned char takes[] = { [BI_PARAMETER_ARRAY] = BI_ARGUMENT_ARRAY,
					       [BI_PARAMETER_STRIDED] = BI_ARGUMENT_ARRAY,
					       [BI_PARAMETER_VALUE] = BI_ARGUMENT_VALUE,
					       [BI_PARAMETER_LOCAL] = BI_ARGUMENT_LOCAL };
	int wanted = takes[parameter_of(slot)->kind];

	if (argument->kind < BI_ARGUMENT_ARRAY || argument->kind > BI_ARGUMENT_LOCAL)
		return FAIL(slot, err, BI_EINVAL, "has kind %d, which is no kind", argument->kind);
	if (argument->kind != wanted)
		return FAIL(slot, err, BI_EINVAL, "is %s, and the kernel takes %s", name_kind(argument->kind),
			    name_kind(wanted));
	if (wanted == BI_ARGUMENT_ARRAY)
		return check_array(slot, argument, stream, out, err);
	return wanted == BI_ARGUMENT_VALUE ? check_value(slot, argument, out, err)
					   : check_local(slot, argument, out, err);
}

static int check_axis(const struct bi_grid *grid, int i, struct bi_error *err)
{
	if (grid->size[i] <= 0)
		return bi__fail(err, BI_EINVAL, "grid.size[%d] is %lld: a launch needs at least one item", i,
				(long long)grid->size[i]);
	if (grid->group[i] < 0 || !grid->group[i] != !grid->group[0])
		return bi__fail(err, BI_EINVAL, "grid.group[%d] is %lld: give each axis a size above 0, or all 0", i,
				(long long)grid->group[i]);
	if (grid->group[i] && grid->size[i] % grid->group[i])
		return bi__fail(err, BI_EINVAL, "grid.group[%d] is %lld, which does not divide grid.size[%d] = %lld", i,
				(long long)grid->group[i], i, (long long)grid->size[i]);
	return BI_OK;
}

static int check_items(const struct bi__kernel_launch *launch, struct bi_error *err)
{
	int64_t items;

	if (bi__mul(launch->size[0], launch->size[1], &items) || bi__mul(items, launch->size[2], &items))
		return bi__fail(err, BI_EINVAL, "the grid has more than %lld items", (long long)INT64_MAX);
	return BI_OK;
}

static int check_group(const struct bi_kernel *kernel, const struct bi__kernel_launch *launch, struct bi_error *err)
{
	const struct bi__kernel *limits = &kernel->kernel;
	uint64_t items = 1;

	if (!launch->group[0])
		return !limits->has_groups
			       ? BI_OK
			       : bi__fail(err, BI_EINVAL, "kernel '%s' works in groups: set grid.group", kernel->name);
	for (int i = 0; i < 3; i++) {
		if ((uint64_t)launch->group[i] > limits->most_along[i])
			return bi__fail(err, BI_EINVAL, "a group of %lld items along %c is above the limit of %zu",
					(long long)launch->group[i], "xyz"[i], limits->most_along[i]);
		items = (uint64_t)launch->group[i] > UINT64_MAX / items ? UINT64_MAX
									: items * (uint64_t)launch->group[i];
	}
	if (items > limits->most_items)
		return bi__fail(err, BI_EINVAL, "a group of %llu items is above the limit of %zu for kernel '%s'",
				(unsigned long long)items, limits->most_items, kernel->name);
	return BI_OK;
}

/* The most items along x of a group that choose_group makes for a grid with several axes. */
#define ITEMS_X 32

static int64_t count_groups(const struct bi__kernel_launch *launch, int axis)
{
	return (launch->size[axis] - 1) / launch->group[axis] + 1;
}

static int has_too_many_groups(const struct bi__kernel *limits, const struct bi__kernel_launch *launch, int axis)
{
	return limits->most_groups[axis] && count_groups(launch, axis) > limits->most_groups[axis];
}

/*
 * Doubles the length of the groups along an axis with too many groups, up to a limit of the device. Halves the groups
 * along x in exchange, then (if the axis is z) along y. Groups that cannot be halved get more items.
 */
static void balance_group(const struct bi__kernel *limits, struct bi__kernel_launch *launch, int axis)
{
	int64_t *group = launch->group;

	while (has_too_many_groups(limits, launch, axis) && (size_t)group[axis] * 2 <= limits->most_along[axis]) {
		if (group[0] > 1)
			group[0] /= 2;
		else if (axis == 2 && group[1] > 1)
			group[1] /= 2;
		else if ((size_t)(group[0] * group[1] * group[2]) * 2 > limits->most_items)
			return;
		group[axis] *= 2;
	}
}

static void choose_group(const struct bi__kernel *limits, struct bi__kernel_launch *launch)
{
	launch->group[0] =
		bi__minimum(launch->size[0], bi__minimum(launch->ndim == 1 ? INT64_MAX : ITEMS_X, limits->threads));
	launch->group[1] = bi__minimum(launch->size[1], limits->threads / launch->group[0]);
	launch->group[2] = bi__minimum(launch->size[2], limits->threads / launch->group[0] / launch->group[1]);
	launch->group[2] = bi__minimum(launch->group[2], (int64_t)limits->most_along[2]);
	balance_group(limits, launch, 2);
	balance_group(limits, launch, 1);
}

static int check_group_count(const struct bi__kernel *limits, const struct bi__kernel_launch *launch,
			     struct bi_error *err)
{
	for (int i = 0; i < 3; i++)
		if (has_too_many_groups(limits, launch, i))
			return bi__fail(err, BI_EINVAL,
					"%lld groups along %c are above the limit of %lld: make the groups larger along "
					"this axis, or launch the grid in parts",
					(long long)count_groups(launch, i), "xyz"[i],
					(long long)limits->most_groups[i]);
	return BI_OK;
}

/* Checks a grid against the limits of the kernel, and fills ndim, size and group of *out. */
static int check_grid(const struct bi_kernel *kernel, const struct bi_grid *grid, struct bi__kernel_launch *out,
		      struct bi_error *err)
{
	int rc = BI_OK;

	if (grid->ndim < 1 || grid->ndim > 3)
		return bi__fail(err, BI_EINVAL, "grid.ndim is %d, not 1, 2 or 3", grid->ndim);
	out->ndim = grid->ndim;
	for (int i = 0, axis = grid->ndim - 1; i < grid->ndim && !rc; i++, axis--) {
		rc = check_axis(grid, i, err);
		out->size[axis] = grid->size[i];
		out->group[axis] = grid->group[i];
	}
	if (rc)
		return rc;
	for (int axis = grid->ndim; axis < 3; axis++) {
		out->size[axis] = 1;
		out->group[axis] = out->group[0] ? 1 : 0;
	}
	rc = check_items(out, err);
	if (!rc && !out->group[0] && kernel->kernel.threads)
		choose_group(&kernel->kernel, out);
	if (!rc)
		rc = check_group(kernel, out, err);
	return rc ? rc : check_group_count(&kernel->kernel, out, err);
}

static int check_local_sum(const struct bi_kernel *kernel, const struct bi__kernel_value *values, struct bi_error *err)
{
	const struct bi__kernel *limits = &kernel->kernel;
	size_t rest = limits->most_local, step = limits->local_step;

	for (unsigned i = 0; i < limits->count; i++) {
		if (limits->parameters[i].kind != BI_PARAMETER_LOCAL)
			continue;
		if (limits->most_local < step)
			return bi__fail(
				err, BI_EINVAL,
				"kernel '%s' gets no local memory for its arguments: its BI_LOCAL arrays take all",
				kernel->name);
		if (values[i].nbytes > rest / step * step)
			return FAIL(
				((struct slot){ kernel, i }), err, BI_EINVAL,
				"is local memory of %zu bytes: the arguments of a launch have %zu bytes in all, each "
				"a multiple of %zu",
				values[i].nbytes, limits->most_local, step);
		rest -= (values[i].nbytes + step - 1) / step * step;
	}
	return BI_OK;
}

static int check_launch(const struct bi_kernel *kernel, const struct bi_stream *stream,
			const struct bi_argument *arguments, size_t count, struct bi_error *err)
{
	const struct bi_context *context = kernel->program->context;

	/* A native context may have several devices, and a kernel is built for one. */
	if (stream->context != context && (!bi__same_space(stream->context, context) ||
					   stream->context->device.state.device != context->device.state.device))
		return bi__fail(err, BI_EINVAL, "the stream belongs to %s, and kernel '%s' to another context of %s",
				stream->context->device.info->spec, kernel->name, context->device.info->spec);
	if (count != kernel->kernel.count)
		return bi__fail(err, BI_EINVAL, "kernel '%s' takes %u arguments, not %zu", kernel->name,
				kernel->kernel.count, count);
	return arguments ? BI_OK : bi__fail(err, BI_EINVAL, "arguments is NULL");
}

/* Blocks the calling thread (`debug`) until the launch is complete, unless the stream is being captured. */
static int wait_for_launch(struct bi_stream *stream, struct bi_error *err)
{
	uint64_t capture;
	int rc = bi__stream_capture(stream, &capture, err);

	return rc || capture ? rc : bi__fence_await(stream, BI__WAIT_DEBUG, err);
}

_Static_assert(BI_MAX_ARGUMENTS <= BI__STEP_MEMORIES, "the arrays of a launch are one step");

int bi_launch(struct bi_kernel *kernel, struct bi_stream *stream, const struct bi_grid *grid,
	      const struct bi_argument *arguments, size_t count, struct bi_error *err)
{
	struct bi__kernel_value values[BI_MAX_ARGUMENTS];
	struct bi_use uses[BI_MAX_ARGUMENTS];
	struct bi__kernel_launch launch;
	size_t use_count = 0;
	int rc;

	if (!kernel || !grid)
		return bi__fail(err, BI_EINVAL, "kernel or grid is NULL");
	if (!stream)
		stream = &kernel->program->context->stream;
	rc = check_launch(kernel, stream, arguments, count, err);
	if (!rc)
		rc = check_grid(kernel, grid, &launch, err);
	for (size_t i = 0; i < count && !rc; i++) {
		rc = check_argument((struct slot){ kernel, i }, &arguments[i], stream, &values[i], err);
		if (arguments[i].kind == BI_ARGUMENT_ARRAY)
			uses[use_count++] = (struct bi_use){ arguments[i].view, arguments[i].access };
	}
	if (!rc)
		rc = check_local_sum(kernel, values, err);
	if (rc)
		return rc;
	launch.kernel = &kernel->kernel;
	launch.values = values;
	rc = bi__use_launch(stream, uses, use_count, &launch, err);
	return rc || !stream->context->debug ? rc : wait_for_launch(stream, err);
}
