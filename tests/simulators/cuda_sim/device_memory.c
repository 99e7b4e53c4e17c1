/* Memory of a device: at once, and in the order of a stream. */
#include "decisions.h"
#include "memory.h"
#include "scheduler.h"
#include "stream.h"

/* What the driver promises, and no more. */
#define ALIGNMENT ((size_t)256)

/* NULL: the device has no such memory left. `writer` is taken. */
static struct allocation *allocate(enum memory_kind kind, struct context *context, size_t nbytes, struct stamp *writer)
{
	int device = context->device;
	struct allocation *allocation;
	uint64_t offset = random_next() % (page_size() / ALIGNMENT) * ALIGNMENT;
	struct pages pages;

	if (!memory_charge(device, nbytes)) {
		stamp_release(writer);
		return NULL;
	}
	pages = memory_take(arena_of_device(device), nbytes + offset);
	if (!pages.start) {
		memory_refund(device, nbytes);
		stamp_release(writer);
		return NULL;
	}
	allocation = memory_add(kind, device, kind == MEMORY_POOL ? NULL : context, pages.start + offset, nbytes, pages,
				writer);
	memory_scramble(allocation);
	return allocation;
}

static bi__cu_result get_info(size_t *free_bytes, size_t *total)
{
	if (!free_bytes || !total)
		return BI__CU_ERROR_INVALID_VALUE;
	*total = memory_total();
	*free_bytes = *total - memory_in_use(thread_top()->device);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	bi__cu_result code = ENTER(cuMemGetInfo_v2);

	return leave(code ? code : get_info(free_bytes, total));
}

static bi__cu_result alloc(bi__cu_pointer *out, size_t nbytes)
{
	const struct allocation *allocation;

	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!nbytes)
		return (bi__cu_result)DECIDED_ALLOC_NOTHING;
	allocation = allocate(MEMORY_DEVICE, thread_top(), nbytes, NULL);
	if (!allocation)
		return BI__CU_ERROR_OUT_OF_MEMORY;
	*out = allocation->start;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemAlloc_v2(bi__cu_pointer *pointer, size_t nbytes)
{
	bi__cu_result code = ENTER(cuMemAlloc_v2);

	return leave(code ? code : alloc(pointer, nbytes));
}

static bi__cu_result check_freed_by_call(const struct allocation *allocation)
{
	char text[128];

	if (allocation->kind != MEMORY_DEVICE && allocation->kind != MEMORY_POOL &&
	    allocation->kind != MEMORY_MANAGED) {
		report(REPORT_WRONG_FREE, "%s is not freed by this call", memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (allocation->context && allocation->context != thread_top()) {
		report(REPORT_WRONG_CONTEXT, "%s belongs to another context than the current one",
		       memory_name(allocation, text));
		return (bi__cu_result)DECIDED_FREE_OF_OTHER_CONTEXT;
	}
	return BI__CU_SUCCESS;
}

/* The driver waits for what is pending, but does not promise to: what still works on the memory is reported. */
static bi__cu_result free_now(uint64_t pointer)
{
	bi__cu_result code;
	struct allocation *allocation;

	if (!pointer)
		return (bi__cu_result)DECIDED_FREE_NULL;
	allocation = memory_to_free(pointer, &code);
	if (allocation)
		code = check_freed_by_call(allocation);
	if (!code)
		code = context_drain(thread_top());
	if (!code && check_free(allocation))
		code = wait_for_context(NULL);
	if (code)
		return code;
	memory_free(allocation);
	arena_empty(allocation->pages);
	if (allocation->kind == MEMORY_MANAGED)
		arena_close(allocation->pages);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemFree_v2(bi__cu_pointer pointer)
{
	bi__cu_result code = ENTER(cuMemFree_v2);

	return leave(code ? code : free_now(pointer));
}

static struct stream *stream_with_pools(bi__cu_stream handle, bi__cu_result *code)
{
	struct stream *stream = stream_for_work(handle, code);

	if (!stream)
		return NULL;
	if (!sim.options.pools || sim.options.version < 11020)
		*code = (bi__cu_result)DECIDED_NO_POOLS;
	else if (capture_refuses(stream))
		*code = (bi__cu_result)DECIDED_CAPTURE_ALLOCATES;
	return *code ? NULL : stream;
}

static bi__cu_result alloc_async(bi__cu_pointer *out, size_t nbytes, bi__cu_stream handle)
{
	bi__cu_result code;
	struct stream *stream = stream_with_pools(handle, &code);
	const struct allocation *allocation;

	if (!stream)
		return code;
	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!nbytes)
		return (bi__cu_result)DECIDED_ALLOC_NOTHING;
	allocation = allocate(MEMORY_POOL, stream->context, nbytes, stream_stamp(stream));
	if (!allocation)
		return BI__CU_ERROR_OUT_OF_MEMORY;
	*out = allocation->start;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemAllocAsync(bi__cu_pointer *pointer, size_t nbytes, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemAllocAsync);

	return leave(code ? code : alloc_async(pointer, nbytes, stream));
}

static bi__cu_result check_freed_by_stream(const struct allocation *allocation, const struct stream *stream)
{
	char text[128];

	if (allocation->kind != MEMORY_DEVICE && allocation->kind != MEMORY_POOL) {
		report(REPORT_WRONG_FREE, "%s is not freed by this call", memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (allocation->device != stream->context->device ||
	    (allocation->context && allocation->context != stream->context)) {
		report(REPORT_WRONG_CONTEXT, "%s is not of the stream's device or context",
		       memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	return BI__CU_SUCCESS;
}

static bi__cu_result free_async(uint64_t pointer, bi__cu_stream handle)
{
	bi__cu_result code;
	struct stream *stream = stream_with_pools(handle, &code);
	struct action action = { .kind = ACTION_FREE };
	struct allocation *allocation;

	if (!stream)
		return code;
	if (!pointer)
		return (bi__cu_result)DECIDED_FREE_NULL_ASYNC;
	allocation = memory_to_free(pointer, &code);
	if (allocation)
		code = check_freed_by_stream(allocation, stream);
	if (code)
		return code;
	action.of.freed = allocation;
	code = stream_enqueue(stream, &action, NULL);
	allocation->is_leaving = 1;
	memory_free(allocation);
	return code;
}

bi__cu_result cuMemFreeAsync(bi__cu_pointer pointer, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemFreeAsync);

	return leave(code ? code : free_async(pointer, stream));
}
