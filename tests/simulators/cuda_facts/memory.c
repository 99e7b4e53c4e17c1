/* Allocations and their release. */
#include <stdlib.h>

#include "facts.h"

/* Releases memory whose wrong release was refused. */
static const char *code_and_free(bi__cu_result result, bi__cu_pointer memory)
{
	if (result != BI__CU_SUCCESS)
		cu->MemFree(memory);
	return code(result);
}

static const char *alloc_zero(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return code(cu->MemAlloc(&memory, 0));
}

static const char *alloc_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->MemAlloc(NULL, 16));
}

static const char *alloc_too_much(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return code(cu->MemAlloc(&memory, (size_t)1 << 50));
}

static const char *alloc_everything(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return code(cu->MemAlloc(&memory, SIZE_MAX));
}

static const char *alloc_is_aligned(struct objects *objects)
{
	bi__cu_pointer memory[3];
	int aligned = 1;

	(void)objects;
	for (int i = 0; i < 3; i++) {
		if (cu->MemAlloc(&memory[i], 1) != BI__CU_SUCCESS)
			return "fails";
		aligned &= memory[i] % 256 == 0;
	}
	for (int i = 0; i < 3; i++)
		cu->MemFree(memory[i]);
	return yes_or_no(aligned);
}

static const char *info_is_plausible(struct objects *objects)
{
	size_t free = 1, total = 0;
	bi__cu_result result = cu->MemGetInfo(&free, &total);

	(void)objects;
	return say("%s %s", code(result), yes_or_no(free <= total));
}

static const char *free_null(struct objects *objects)
{
	(void)objects;
	return code(cu->MemFree(0));
}

static const char *free_inside(struct objects *objects)
{
	return code(cu->MemFree(objects->memory + 16));
}

static const char *free_malloced(struct objects *objects)
{
	void *memory = malloc(4096);
	bi__cu_result result;

	(void)objects;
	result = cu->MemFree((uintptr_t)memory);
	free(memory);
	return code(result);
}

static const char *free_pinned_as_device(struct objects *objects)
{
	void *memory;
	bi__cu_result result;

	(void)objects;
	if (cu->MemHostAlloc(&memory, 4096, 0) != BI__CU_SUCCESS)
		return "fails";
	result = cu->MemFree((uintptr_t)memory);
	if (result != BI__CU_SUCCESS)
		cu->MemFreeHost(memory);
	return code(result);
}

static const char *free_device_as_pinned(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	if (cu->MemAlloc(&memory, 4096) != BI__CU_SUCCESS)
		return "fails";
	return code_and_free(cu->MemFreeHost((void *)(uintptr_t)memory), memory);
}

static const char *free_host_null(struct objects *objects)
{
	(void)objects;
	return code(cu->MemFreeHost(NULL));
}

static const char *free_host_malloced(struct objects *objects)
{
	void *memory = malloc(4096);
	bi__cu_result result;

	(void)objects;
	result = cu->MemFreeHost(memory);
	free(memory);
	return code(result);
}

static const char *free_host_inside(struct objects *objects)
{
	return code(cu->MemFreeHost(objects->pinned + 16));
}

static const char *host_alloc_zero(struct objects *objects)
{
	void *memory = NULL;
	bi__cu_result result = cu->MemHostAlloc(&memory, 0, 0);

	(void)objects;
	if (result == BI__CU_SUCCESS && memory)
		cu->MemFreeHost(memory);
	return code(result);
}

static const char *host_alloc_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->MemHostAlloc(NULL, 16, 0));
}

static const char *host_alloc_with_unknown_flags(struct objects *objects)
{
	void *memory;
	bi__cu_result result = cu->MemHostAlloc(&memory, 16, 0x100);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->MemFreeHost(memory);
	return code(result);
}

static const char *managed_zero(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return code(cu->MemAllocManaged(&memory, 0, BI__CU_MEM_ATTACH_GLOBAL));
}

static const char *managed_without_flags(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return code(cu->MemAllocManaged(&memory, 16, 0));
}

static const char *managed_with_unknown_flags(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return code(cu->MemAllocManaged(&memory, 16, 0x100));
}

static const char *managed_freed(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	if (cu->MemAllocManaged(&memory, 16, BI__CU_MEM_ATTACH_GLOBAL) != BI__CU_SUCCESS)
		return "fails";
	return code(cu->MemFree(memory));
}

static const char *pool_zero(struct objects *objects)
{
	bi__cu_pointer memory = 0;
	bi__cu_result result;

	if (!cu->MemAllocAsync)
		return "not asked: no pools";
	result = cu->MemAllocAsync(&memory, 0, objects->stream);
	if (result == BI__CU_SUCCESS && memory)
		cu->MemFreeAsync(memory, objects->stream);
	return code(result);
}

static const char *pool_to_null(struct objects *objects)
{
	return cu->MemAllocAsync ? code(cu->MemAllocAsync(NULL, 16, objects->stream)) : "not asked: no pools";
}

static const char *free_both_ways(struct objects *objects, bi__cu_stream stream, bi__cu_stream end)
{
	bi__cu_pointer memory;
	bi__cu_result alloc;

	(void)objects;
	if (!cu->MemAllocAsync)
		return "not asked: no pools";
	alloc = cu->MemAllocAsync(&memory, 16, stream);
	if (alloc != BI__CU_SUCCESS)
		return code(alloc);
	return say("%s %s", code(alloc), code(cu->MemFreeAsync(memory, end)));
}

static const char *pool_on_stream(struct objects *objects)
{
	return free_both_ways(objects, objects->stream, objects->stream);
}

static const char *pool_on_legacy(struct objects *objects)
{
	return free_both_ways(objects, BI__CU_STREAM_LEGACY, BI__CU_STREAM_LEGACY);
}

static const char *pool_on_per_thread(struct objects *objects)
{
	return free_both_ways(objects, BI__CU_STREAM_PER_THREAD, BI__CU_STREAM_PER_THREAD);
}

static const char *pool_too_much(struct objects *objects)
{
	bi__cu_pointer memory;

	if (!cu->MemAllocAsync)
		return "not asked: no pools";
	return code(cu->MemAllocAsync(&memory, (size_t)1 << 50, objects->stream));
}

static const char *pool_freed_plainly(struct objects *objects)
{
	bi__cu_pointer memory;

	if (!cu->MemAllocAsync)
		return "not asked: no pools";
	if (cu->MemAllocAsync(&memory, 16, objects->stream) != BI__CU_SUCCESS)
		return "fails";
	cu->StreamSynchronize(objects->stream);
	return code(cu->MemFree(memory));
}

static const char *plain_freed_in_order(struct objects *objects)
{
	bi__cu_pointer memory;

	if (!cu->MemFreeAsync)
		return "not asked: no pools";
	if (cu->MemAlloc(&memory, 4096) != BI__CU_SUCCESS)
		return "fails";
	return code_and_free(cu->MemFreeAsync(memory, objects->stream), memory);
}

static const char *pool_free_null(struct objects *objects)
{
	return cu->MemFreeAsync ? code(cu->MemFreeAsync(0, objects->stream)) : "not asked: no pools";
}

static const char *pool_free_inside(struct objects *objects)
{
	return cu->MemFreeAsync ? code(cu->MemFreeAsync(objects->memory + 16, objects->stream)) : "not asked: no pools";
}

static const char *register_memory(size_t nbytes, unsigned flags)
{
	void *memory = aligned_alloc(4096, 8192);
	bi__cu_result result = cu->MemHostRegister(memory, nbytes, flags);
	const char *answer = code(result);

	if (result == BI__CU_SUCCESS)
		answer = say("%s %s", answer, code(cu->MemHostUnregister(memory)));
	free(memory);
	return answer;
}

static const char *registered_and_back(struct objects *objects)
{
	(void)objects;
	return register_memory(8192, 0);
}

static const char *register_zero(struct objects *objects)
{
	(void)objects;
	return register_memory(0, 0);
}

static const char *register_with_unknown_flags(struct objects *objects)
{
	(void)objects;
	return register_memory(4096, 0x100);
}

static const char *register_null(struct objects *objects)
{
	(void)objects;
	return code(cu->MemHostRegister(NULL, 4096, 0));
}

static const char *register_twice(struct objects *objects)
{
	void *memory = aligned_alloc(4096, 8192);
	bi__cu_result again;

	(void)objects;
	if (cu->MemHostRegister(memory, 8192, 0) != BI__CU_SUCCESS)
		return "fails";
	again = cu->MemHostRegister(memory, 8192, 0);
	cu->MemHostUnregister(memory);
	free(memory);
	return code(again);
}

static const char *unregister_unknown(struct objects *objects)
{
	void *memory = aligned_alloc(4096, 4096);
	bi__cu_result result;

	(void)objects;
	result = cu->MemHostUnregister(memory);
	free(memory);
	return code(result);
}

static const char *unregister_allocated(struct objects *objects)
{
	return code(cu->MemHostUnregister(objects->pinned));
}

static const char *device_pointer_of_pinned(struct objects *objects)
{
	bi__cu_pointer pointer = 0;
	bi__cu_result result = cu->MemHostGetDevicePointer(&pointer, objects->pinned, 0);

	return say("%s %s", code(result), pointer == (uintptr_t)objects->pinned ? "same" : "different");
}

static const char *device_pointer_inside_pinned(struct objects *objects)
{
	bi__cu_pointer pointer = 0;
	bi__cu_result result = cu->MemHostGetDevicePointer(&pointer, objects->pinned + 100, 0);

	return say("%s %s", code(result), pointer == (uintptr_t)objects->pinned + 100 ? "same" : "different");
}

static const char *device_pointer_with_flags(struct objects *objects)
{
	bi__cu_pointer pointer;

	return code(cu->MemHostGetDevicePointer(&pointer, objects->pinned, 1));
}

static const char *device_pointer_of_pageable(struct objects *objects)
{
	bi__cu_pointer pointer;

	return code(cu->MemHostGetDevicePointer(&pointer, objects->pageable, 0));
}

const struct fact memory_facts[] = {
	FACT(alloc_zero, documented),
	FACT(alloc_to_null, documented),
	FACT(alloc_too_much, documented),
	FACT(alloc_everything, documented),
	FACT(alloc_is_aligned, documented),
	FACT(info_is_plausible, documented),
	FACT(free_null, assumed),
	FACT(free_inside, assumed),
	FACT(free_malloced, assumed),
	FACT(free_pinned_as_device, assumed),
	FACT(free_device_as_pinned, assumed),
	FACT(free_host_null, assumed),
	FACT(free_host_malloced, assumed),
	FACT(free_host_inside, assumed),
	FACT(host_alloc_zero, assumed),
	FACT(host_alloc_to_null, documented),
	FACT(host_alloc_with_unknown_flags, assumed),
	FACT(managed_zero, documented),
	FACT(managed_without_flags, documented),
	FACT(managed_with_unknown_flags, documented),
	FACT(managed_freed, documented),
	FACT(pool_zero, assumed),
	FACT(pool_to_null, documented),
	FACT(pool_on_stream, documented),
	FACT(pool_on_legacy, documented),
	FACT(pool_on_per_thread, documented),
	FACT(pool_too_much, documented),
	FACT(pool_freed_plainly, documented),
	FACT(plain_freed_in_order, documented),
	FACT(pool_free_null, assumed),
	FACT(pool_free_inside, assumed),
	FACT(registered_and_back, documented),
	FACT(register_zero, documented),
	FACT(register_with_unknown_flags, documented),
	FACT(register_null, documented),
	FACT(register_twice, documented),
	FACT(unregister_unknown, documented),
	FACT(unregister_allocated, assumed),
	FACT(device_pointer_of_pinned, documented),
	FACT(device_pointer_inside_pinned, assumed),
	FACT(device_pointer_with_flags, documented),
	FACT(device_pointer_of_pageable, documented),
	{ NULL, assumed, NULL },
};
