/* Kernels, host functions and gates. */
#include <stdlib.h>
#include <string.h>

#include "decisions.h"
#include "memory.h"
#include "module.h"
#include "scheduler.h"
#include "stream.h"

#define MOST_SHARED 49152u

static int fits(const unsigned grid[3], const unsigned block[3])
{
	for (int i = 0; i < 3; i++)
		if (!grid[i] || !block[i])
			return 0;
	return grid[0] <= INT32_MAX && grid[1] <= 65535 && grid[2] <= 65535 && block[0] <= MOST_THREADS &&
	       block[1] <= MOST_THREADS && block[2] <= 64 && (uint64_t)block[0] * block[1] * block[2] <= MOST_THREADS;
}

static size_t aligned(size_t nbytes)
{
	return (nbytes + 15) / 16 * 16;
}

/* Copies the arguments and the pointers to them into one allocation. Returns NULL if an argument is missing. */
static struct arguments *copy_arguments(const struct sim_kernel *kernel, void *const *from)
{
	size_t count = kernel->argument_count, head = aligned(sizeof(struct arguments) + count * sizeof(void *)),
	       nbytes = head;
	struct arguments *arguments;

	for (size_t i = 0; i < count; i++) {
		if (!from || !from[i])
			return NULL;
		nbytes += aligned(kernel->argument_sizes[i]);
	}
	arguments = must_alloc(nbytes, 1);
	arguments->references = 1;
	arguments->pointers = (void **)(void *)(arguments + 1);
	nbytes = head;
	for (size_t i = 0; i < count; i++) {
		arguments->pointers[i] = memcpy((char *)arguments + nbytes, from[i], kernel->argument_sizes[i]);
		nbytes += aligned(kernel->argument_sizes[i]);
	}
	return arguments;
}

static bi__cu_result launch(bi__cu_function handle, const unsigned grid[3], const unsigned block[3], unsigned shared,
			    bi__cu_stream stream_handle, void *const *arguments, void *const *extra)
{
	struct action action = { .kind = ACTION_LAUNCH };
	bi__cu_result code;
	const struct function *function = handle_find(OBJECT_FUNCTION, handle, &code);
	struct stream *stream = function ? stream_for_work(stream_handle, &code) : NULL;

	if (!stream)
		return code;
	if (function->module->context != stream->context) {
		report(REPORT_WRONG_CONTEXT, "the kernel was loaded into another context than the current one");
		return (bi__cu_result)DECIDED_WORK_IN_OTHER_CONTEXT;
	}
	if (extra || !fits(grid, block) || shared > MOST_SHARED - (unsigned)function->shared)
		return BI__CU_ERROR_INVALID_VALUE;
	if (block[0] * block[1] * block[2] > (unsigned)function->most_threads)
		return (bi__cu_result)DECIDED_TOO_MANY_THREADS;
	action.of.launch.kernel = function->kernel;
	memcpy(action.of.launch.grid, grid, sizeof(action.of.launch.grid));
	memcpy(action.of.launch.block, block, sizeof(action.of.launch.block));
	action.of.launch.arguments = copy_arguments(function->kernel, arguments);
	if (!action.of.launch.arguments)
		return BI__CU_ERROR_INVALID_VALUE;
	code = stream_enqueue(stream, &action, NULL);
	clock_join(&function->module->launches, &stream->clock);
	return code;
}

bi__cu_result cuLaunchKernel(bi__cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
			     bi__cu_stream stream, void **arguments, void **extra)
{
	const unsigned grid[3] = { grid_x, grid_y, grid_z }, block[3] = { block_x, block_y, block_z };
	bi__cu_result code = ENTER(cuLaunchKernel);

	return leave(code ? code : launch(function, grid, block, shared, stream, arguments, extra));
}

static bi__cu_result launch_host(bi__cu_stream handle, bi__cu_host_function function, void *data)
{
	struct action action = { .kind = ACTION_HOST, .of.host = { function, data } };
	bi__cu_result code;
	struct stream *stream = stream_for_work(handle, &code);

	if (!stream)
		return code;
	return function ? stream_enqueue(stream, &action, NULL) : BI__CU_ERROR_INVALID_VALUE;
}

bi__cu_result cuLaunchHostFunc(bi__cu_stream stream, bi__cu_host_function function, void *data)
{
	bi__cu_result code = ENTER(cuLaunchHostFunc);

	return leave(code ? code : launch_host(stream, function, data));
}

/* The read of the word is not checked for races, because the word is meant to change meanwhile. */
static bi__cu_result wait_value(bi__cu_stream handle, uint64_t address, uint32_t value, unsigned flags)
{
	struct action action = { .kind = ACTION_GATE, .of.gate = { address, value } };
	bi__cu_result code;
	struct stream *stream = stream_for_work(handle, &code);
	const struct allocation *allocation = memory_at(address);

	if (!stream)
		return code;
	if (flags)
		return (bi__cu_result)DECIDED_OTHER_GATE;
	if (!allocation || allocation->is_freed || address % 4) {
		report(REPORT_UNREACHABLE, "0x%llx is no word of the driver's memory", (unsigned long long)address);
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (allocation->kind == MEMORY_MANAGED)
		return (bi__cu_result)DECIDED_MANAGED_GATE;
	return stream_enqueue(stream, &action, NULL);
}

bi__cu_result cuStreamWaitValue32_v2(bi__cu_stream stream, bi__cu_pointer address, uint32_t value, unsigned flags)
{
	bi__cu_result code = ENTER(cuStreamWaitValue32_v2);

	return leave(code ? code : wait_value(stream, address, value, flags));
}
