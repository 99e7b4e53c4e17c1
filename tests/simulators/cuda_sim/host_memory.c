/* Memory that the CPU and devices use: pinned, registered, managed. */
#include "access.h"
#include "context.h"
#include "decisions.h"
#include "memory.h"
#include "scheduler.h"

static struct allocation *allocate(enum memory_kind kind, size_t nbytes)
{
	struct context *context = thread_top();
	struct allocation *allocation;
	struct pages pages = memory_take(arena_of_host(), nbytes);

	if (!pages.start)
		return NULL;
	arena_open(pages);
	allocation = memory_add(kind, context->device, context, pages.start, nbytes, pages, NULL);
	memory_scramble(allocation);
	return allocation;
}

static bi__cu_result alloc_pinned(void **out, size_t nbytes, unsigned flags)
{
	const struct allocation *allocation;
	bi__cu_result code = BI__CU_SUCCESS;

	if (!out || flags > 7)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!nbytes)
		return (bi__cu_result)DECIDED_ALLOC_NOTHING;
	if (switched(SWITCH_pinned_waits))
		code = context_drain(thread_top());
	if (code)
		return code;
	allocation = allocate(MEMORY_PINNED, nbytes);
	if (!allocation)
		return BI__CU_ERROR_OUT_OF_MEMORY;
	*out = (void *)(uintptr_t)allocation->start;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemHostAlloc(void **pointer, size_t nbytes, unsigned flags)
{
	bi__cu_result code = ENTER(cuMemHostAlloc);

	return leave(code ? code : alloc_pinned(pointer, nbytes, flags));
}

/*
 * Frees the memory. Waits for the work of the context before, if `waits`. Reports work that may still use the memory.
 */
static bi__cu_result let_go(struct allocation *allocation, int waits)
{
	bi__cu_result code = waits ? context_drain(thread_top()) : BI__CU_SUCCESS;

	if (!code && check_free(allocation))
		code = wait_for_context(NULL);
	if (!code)
		memory_free(allocation);
	return code;
}

static bi__cu_result free_pinned(uint64_t pointer)
{
	bi__cu_result code;
	struct allocation *allocation;
	char text[128];

	if (!pointer)
		return (bi__cu_result)DECIDED_FREE_NULL_HOST;
	allocation = memory_to_free(pointer, &code);
	if (!allocation)
		return code;
	if (allocation->kind != MEMORY_PINNED) {
		report(REPORT_WRONG_FREE, "%s is not freed by this call", memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	code = let_go(allocation, !switched(SWITCH_work_lost));
	if (code)
		return code;
	arena_empty(allocation->pages);
	arena_close(allocation->pages);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemFreeHost(void *pointer)
{
	bi__cu_result code = ENTER(cuMemFreeHost);

	return leave(code ? code : free_pinned((uintptr_t)pointer));
}

static bi__cu_result register_host(void *pointer, size_t nbytes, unsigned flags)
{
	struct context *context = thread_top();
	struct allocation *made;

	if (!pointer || !nbytes || flags > 15 || arena_at((uintptr_t)pointer))
		return BI__CU_ERROR_INVALID_VALUE;
	if (memory_overlaps((uintptr_t)pointer, nbytes))
		return (bi__cu_result)DECIDED_REGISTERED_TWICE;
	made = memory_add(MEMORY_REGISTERED, context->device, context, (uintptr_t)pointer, nbytes,
			  (struct pages){ (uintptr_t)pointer, nbytes }, NULL);
	made->is_portable = flags & BI__CU_HOST_ALLOC_PORTABLE; /* CU_MEMHOSTREGISTER_PORTABLE is the same bit */
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemHostRegister_v2(void *pointer, size_t nbytes, unsigned flags)
{
	bi__cu_result code = ENTER(cuMemHostRegister_v2);

	return leave(code ? code : register_host(pointer, nbytes, flags));
}

static bi__cu_result unregister_host(uint64_t pointer)
{
	struct allocation *allocation = memory_at(pointer);

	if (!pointer || (allocation && allocation->kind == MEMORY_PINNED))
		return BI__CU_ERROR_INVALID_VALUE;
	if (!allocation || allocation->kind != MEMORY_REGISTERED || allocation->start != pointer) {
		report(REPORT_WRONG_FREE, "nothing is registered at 0x%llx", (unsigned long long)pointer);
		return (bi__cu_result)DECIDED_NOT_REGISTERED;
	}
	return let_go(allocation, 1);
}

bi__cu_result cuMemHostUnregister(void *pointer)
{
	bi__cu_result code = ENTER(cuMemHostUnregister);

	return leave(code ? code : unregister_host((uintptr_t)pointer));
}

static bi__cu_result device_pointer(bi__cu_pointer *device, const void *host, unsigned flags)
{
	const struct allocation *allocation = memory_at((uintptr_t)host);

	if (!device || flags || !allocation || allocation->is_freed || !is_host_memory(allocation))
		return BI__CU_ERROR_INVALID_VALUE;
	*device = device_address(allocation, (uintptr_t)host);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemHostGetDevicePointer_v2(bi__cu_pointer *device, void *host, unsigned flags)
{
	bi__cu_result code = ENTER(cuMemHostGetDevicePointer_v2);

	return leave(code ? code : device_pointer(device, host, flags));
}

static bi__cu_result alloc_managed(bi__cu_pointer *out, size_t nbytes, unsigned flags)
{
	const unsigned attach_host = 2; /* CU_MEM_ATTACH_HOST */
	const struct allocation *allocation;

	if (!out || (flags != BI__CU_MEM_ATTACH_GLOBAL && flags != attach_host))
		return BI__CU_ERROR_INVALID_VALUE;
	if (!nbytes)
		return (bi__cu_result)DECIDED_ALLOC_NOTHING;
	allocation = allocate(MEMORY_MANAGED, nbytes);
	if (!allocation)
		return BI__CU_ERROR_OUT_OF_MEMORY;
	*out = allocation->start;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemAllocManaged(bi__cu_pointer *pointer, size_t nbytes, unsigned flags)
{
	bi__cu_result code = ENTER(cuMemAllocManaged);

	return leave(code ? code : alloc_managed(pointer, nbytes, flags));
}
