/* Launches: sizes of grids and blocks, and one that is right. */
#include "facts.h"
#include "kernels/image.h"
#include "kernels/launch.h"

/* Changes to a launch that fills every second byte of the memory. */
struct change {
	unsigned grid[3], block[3], shared;
	int without_function;
};

/* Makes the launch with the right grid and block if change.block[0] is 0. */
static bi__cu_result launch(struct objects *objects, bi__cu_function function, const struct change *change)
{
	const struct bi__plan plan = {
		.kind = BI_PLAN_STRIDED, .ndim = 1, .unit = 1, .bytes = 64, .shape = { 64 }, .dst_strides = { 2 }
	};
	const struct bi__launch_limits limits = { .group = 64 };
	const unsigned *grid = change->grid, *block = change->block;
	struct bi__launches launches;
	struct bi__launch one;
	void *arguments[2] = { &objects->memory, &one.arguments };

	bi__launches_fill(&launches, &plan, 0, "\7", &limits);
	bi__launches_next(&launches, &one);
	if (change->without_function)
		function = NULL;
	if (!block[0])
		return cu->LaunchKernel(function, one.groups, 1, 1, one.threads, 1, 1, change->shared, objects->stream,
					arguments, NULL);
	return cu->LaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], change->shared,
				objects->stream, arguments, NULL);
}

static bi__cu_result load_and_launch(struct objects *objects, const struct change *change)
{
	bi__cu_module module;
	bi__cu_function function;
	bi__cu_result result = cu->ModuleLoadData(&module, bi__image_ptx);

	if (result)
		return result;
	result = cu->ModuleGetFunction(&function, module, "bi__fill_1");
	if (!result)
		result = launch(objects, function, change);
	cu->StreamSynchronize(objects->stream);
	cu->ModuleUnload(module);
	return result;
}

static const char *with(struct objects *objects, struct change change)
{
	return code(load_and_launch(objects, &change));
}

static const char *right(struct objects *objects)
{
	bi__cu_result result = load_and_launch(objects, &(struct change){ .shared = 0 });

	cu->MemcpyDtoH(objects->pinned, objects->memory, 128);
	return say("%s %s", code(result), yes_or_no(objects->pinned[0] == 7 && objects->pinned[126] == 7));
}

static const char *grid_x_zero(struct objects *objects)
{
	return with(objects, (struct change){ { 0, 1, 1 }, { 64, 1, 1 }, 0, 0 });
}

static const char *grid_y_zero(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 0, 1 }, { 64, 1, 1 }, 0, 0 });
}

static const char *grid_z_zero(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 1, 0 }, { 64, 1, 1 }, 0, 0 });
}

static const char *block_y_zero(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 1, 1 }, { 64, 0, 1 }, 0, 0 });
}

static const char *grid_x_too_large(struct objects *objects)
{
	return with(objects, (struct change){ { 0x80000000u, 1, 1 }, { 64, 1, 1 }, 0, 0 });
}

static const char *grid_y_too_large(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 65536, 1 }, { 64, 1, 1 }, 0, 0 });
}

static const char *grid_z_too_large(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 1, 65536 }, { 64, 1, 1 }, 0, 0 });
}

static const char *block_too_many(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 1, 1 }, { 64, 32, 1 }, 0, 0 });
}

static const char *block_x_too_large(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 1, 1 }, { 1025, 1, 1 }, 0, 0 });
}

static const char *block_z_too_large(struct objects *objects)
{
	return with(objects, (struct change){ { 1, 1, 1 }, { 1, 1, 65 }, 0, 0 });
}

static const char *shared_too_large(struct objects *objects)
{
	return with(objects, (struct change){ .shared = 1u << 30 });
}

static const char *function_null(struct objects *objects)
{
	return with(objects, (struct change){ .without_function = 1 });
}

static const char *on_stream_of_other(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return with(objects, (struct change){ .shared = 0 });
}

/* Asks about a kernel with at most 64 threads and 1024 bytes of static shared memory. */
static bi__cu_result with_limited(bi__cu_result (*ask)(bi__cu_function function, struct objects *objects, int *value),
				  struct objects *objects, int *value)
{
	static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry limited()\n"
				  ".maxntid 64, 1, 1\n{\n\t.shared .align 4 .b8 own[1024];\n\t.reg .b32 %r<2>;\n"
				  "\tmov.u32 %r1, own;\n\tst.volatile.shared.u32 [%r1], %r1;\n\tret;\n}\n";
	bi__cu_module module;
	bi__cu_function function;
	bi__cu_result result = cu->ModuleLoadData(&module, ptx);

	if (result)
		return result;
	result = cu->ModuleGetFunction(&function, module, "limited");
	if (!result)
		result = ask(function, objects, value);
	cu->StreamSynchronize(objects->stream);
	cu->ModuleUnload(module);
	return result;
}

static bi__cu_result ask_threads(bi__cu_function function, struct objects *objects, int *value)
{
	(void)objects;
	return cu->FuncGetAttribute(value, BI__CU_FUNCTION_MAX_THREADS, function);
}

static bi__cu_result ask_shared(bi__cu_function function, struct objects *objects, int *value)
{
	(void)objects;
	return cu->FuncGetAttribute(value, BI__CU_FUNCTION_SHARED, function);
}

static bi__cu_result ask_launch(bi__cu_function function, struct objects *objects, int *value)
{
	return cu->LaunchKernel(function, 1, 1, 1, (unsigned)*value, 1, 1, 0, objects->stream, NULL, NULL);
}

#define ONLY_HARDWARE "not asked: the simulated driver runs no kernels of its own"

static const char *ask_number(bi__cu_result (*ask)(bi__cu_function function, struct objects *objects, int *value),
			      struct objects *objects)
{
	int value = 0;
	bi__cu_result result = with_limited(ask, objects, &value);

	return result == BI__CU_ERROR_NOT_FOUND ? ONLY_HARDWARE : say("%s %d", code(result), value);
}

static const char *most_threads_of_limited(struct objects *objects)
{
	return ask_number(ask_threads, objects);
}

static const char *shared_of_limited(struct objects *objects)
{
	return ask_number(ask_shared, objects);
}

static const char *limited_with_128(struct objects *objects)
{
	bi__cu_result result = with_limited(ask_launch, objects, &(int){ 128 });

	return result == BI__CU_ERROR_NOT_FOUND ? ONLY_HARDWARE : code(result);
}

const struct fact launches_facts[] = {
	FACT(right, documented),          FACT(grid_x_zero, assumed),           FACT(grid_y_zero, assumed),
	FACT(grid_z_zero, assumed),       FACT(block_y_zero, assumed),          FACT(grid_x_too_large, assumed),
	FACT(grid_y_too_large, assumed),  FACT(grid_z_too_large, assumed),      FACT(block_too_many, assumed),
	FACT(block_x_too_large, assumed), FACT(block_z_too_large, assumed),     FACT(shared_too_large, assumed),
	FACT(function_null, documented),  FACT(on_stream_of_other, documented),
	FACT(most_threads_of_limited, documented), FACT(shared_of_limited, documented),
	FACT(limited_with_128, assumed),
	{ NULL, assumed, NULL },
};
