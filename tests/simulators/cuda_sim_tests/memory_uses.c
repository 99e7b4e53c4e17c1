/* Uses of memory that is freed, not allocated, or not of the device. */
#include <stdlib.h>

#include "sim_tests.h"

/* These calls fail in any case. The tests are about the reports. */
static void refused(bi__cu_result result)
{
	assert_int_not_equal(result, BI__CU_SUCCESS);
}

static void freed_right(struct rig *rig)
{
	must(cu->MemsetD8Async(rig->m, 1, 16, rig->a));
	must(cu->StreamSynchronize(rig->a));
	must(cu->MemFree(rig->m));
	rig->m = 0;
}

static void freed_wrong(struct rig *rig)
{
	must(cu->MemFree(rig->m));
	refused(cu->MemsetD8Async(rig->m, 1, 16, rig->a));
	rig->m = 0;
}

static void freed_twice_wrong(struct rig *rig)
{
	must(cu->MemFree(rig->m));
	refused(cu->MemFree(rig->m));
	rig->m = 0;
}

static void pool_freed_right(struct rig *rig)
{
	bi__cu_pointer memory;

	must(cu->MemAllocAsync(&memory, 64, rig->a));
	must(cu->MemsetD8Async(memory, 1, 64, rig->a));
	must(cu->MemFreeAsync(memory, rig->a));
}

/* In the order of the stream, the memory is freed already. */
static void pool_freed_wrong(struct rig *rig)
{
	bi__cu_pointer memory;

	must(cu->MemAllocAsync(&memory, 64, rig->a));
	must(cu->MemFreeAsync(memory, rig->a));
	cu->MemsetD8Async(memory, 1, 64, rig->a);
}

static void pool_freed_twice_wrong(struct rig *rig)
{
	bi__cu_pointer memory;

	must(cu->MemAllocAsync(&memory, 64, rig->a));
	must(cu->MemFreeAsync(memory, rig->a));
	refused(cu->MemFreeAsync(memory, rig->a));
}

static void pinned_freed_twice_right(struct rig *rig)
{
	must(cu->MemFreeHost(rig->pinned));
	rig->pinned = NULL;
}

static void pinned_freed_twice_wrong(struct rig *rig)
{
	must(cu->MemFreeHost(rig->pinned));
	refused(cu->MemFreeHost(rig->pinned));
	rig->pinned = NULL;
}

static void pinned_freed_wrong(struct rig *rig)
{
	must(cu->MemFreeHost(rig->pinned));
	refused(cu->MemcpyAsync(rig->m, (uintptr_t)rig->pinned, 16, rig->a));
	rig->pinned = NULL;
}

static void freed_inside_wrong(struct rig *rig)
{
	refused(cu->MemFree(rig->m + 16));
}

static void whole_right(struct rig *rig)
{
	must(cu->MemsetD8Async(rig->m, 1, SIM_BYTES, rig->a));
	must(cu->MemcpyDtoHAsync(rig->pinned, rig->m, SIM_BYTES, rig->a));
}

static void one_past_end_wrong(struct rig *rig)
{
	refused(cu->MemsetD8Async(rig->m + 1, 1, SIM_BYTES, rig->a));
}

static void one_before_start_wrong(struct rig *rig)
{
	refused(cu->MemsetD8Async(rig->m - 1, 1, 2, rig->a));
}

static void source_past_end_wrong(struct rig *rig)
{
	refused(cu->MemcpyDtoHAsync(rig->pinned, rig->m + 1, SIM_BYTES, rig->a));
}

static void pinned_past_end_wrong(struct rig *rig)
{
	refused(cu->MemcpyDtoHAsync(rig->pinned + 1, rig->m, SIM_BYTES, rig->a));
}

static bi__cu_result copy_rows(struct rig *rig, size_t width)
{
	struct bi__cu_copy_2d rows = { .src_memory = BI__CU_MEMORY_DEVICE,
				       .src_device = rig->n,
				       .src_pitch = 64,
				       .dst_memory = BI__CU_MEMORY_DEVICE,
				       .dst_device = rig->m,
				       .dst_pitch = 64,
				       .dst_x = 32,
				       .width = width,
				       .height = SIM_BYTES / 64 };

	return cu->Memcpy2DAsync(&rows, rig->a);
}

static void last_row_right(struct rig *rig)
{
	must(copy_rows(rig, 32));
}

/* The last row ends one byte behind the allocation. */
static void last_row_wrong(struct rig *rig)
{
	struct bi__cu_copy_2d rows = { .src_memory = BI__CU_MEMORY_DEVICE,
				       .src_device = rig->n,
				       .src_pitch = 64,
				       .dst_memory = BI__CU_MEMORY_DEVICE,
				       .dst_device = rig->m + 1,
				       .dst_pitch = 64,
				       .dst_x = 32,
				       .width = 32,
				       .height = SIM_BYTES / 64 };

	refused(cu->Memcpy2DAsync(&rows, rig->a));
}

static void malloced_set_wrong(struct rig *rig)
{
	void *memory = malloc(64);

	refused(cu->MemsetD8Async((uintptr_t)memory, 1, 64, rig->a));
	free(memory);
}

static void registered_set_right(struct rig *rig)
{
	void *memory = aligned_alloc(4096, 4096);

	must(cu->MemHostRegister(memory, 4096, 0));
	must(cu->MemsetD8Async((uintptr_t)memory, 1, 4096, rig->a));
	must(cu->StreamSynchronize(rig->a));
	must(cu->MemHostUnregister(memory));
	free(memory);
}

/* No document promises that the call waits for the device. */
static void unregistered_early_wrong(struct rig *rig)
{
	void *memory = aligned_alloc(4096, 4096);

	must(cu->MemHostRegister(memory, 4096, 0));
	must(cu->MemsetD8Async((uintptr_t)memory, 1, 4096, rig->a));
	cu->MemHostUnregister(memory);
	must(cu->StreamSynchronize(rig->a));
	free(memory);
}

static void unregistered_set_wrong(struct rig *rig)
{
	void *memory = aligned_alloc(4096, 4096);

	must(cu->MemHostRegister(memory, 4096, 0));
	must(cu->MemHostUnregister(memory));
	refused(cu->MemsetD8Async((uintptr_t)memory, 1, 4096, rig->a));
	free(memory);
}

static void device_as_host_wrong(struct rig *rig)
{
	refused(cu->MemcpyHtoDAsync(rig->m, (void *)(uintptr_t)rig->n, 16, rig->a));
}

static void overlap_right(struct rig *rig)
{
	must(cu->MemcpyAsync(rig->m + 16, rig->m, 16, rig->a));
}

static void overlap_wrong(struct rig *rig)
{
	cu->MemcpyAsync(rig->m + 15, rig->m, 16, rig->a);
}

#define USE(name, right, report) \
	{ \
#name, right##_right, name##_wrong, { report }, NULL, 0 \
	}

const struct defect memory_use_defects[] = {
	USE(freed, freed, "use after free: cuMemsetD8Async (call "),
	USE(freed_twice, freed, "double free: cuMemFree_v2 (call "),
	USE(pool_freed, pool_freed, "use after free: cuMemsetD8Async (call "),
	USE(pool_freed_twice, pool_freed, "double free: cuMemFreeAsync (call "),
	USE(pinned_freed, pinned_freed_twice, "use after free: cuMemcpyAsync (call "),
	USE(pinned_freed_twice, pinned_freed_twice, "double free: cuMemFreeHost (call "),
	USE(freed_inside, freed, "free of what was not allocated: cuMemFree_v2 (call "),
	USE(one_past_end, whole, "outside of an allocation: cuMemsetD8Async (call "),
	USE(one_before_start, whole, "outside of an allocation: cuMemsetD8Async (call "),
	USE(source_past_end, whole, "outside of an allocation: cuMemcpyDtoHAsync_v2 (call "),
	USE(pinned_past_end, whole, "outside of an allocation: cuMemcpyDtoHAsync_v2 (call "),
	USE(last_row, last_row, "outside of an allocation: cuMemcpy2DAsync_v2 (call "),
	USE(malloced_set, registered_set, "unreachable memory: cuMemsetD8Async (call "),
	USE(unregistered_set, registered_set, "unreachable memory: cuMemsetD8Async (call "),
	USE(unregistered_early, registered_set, "race: cuMemHostUnregister (call "),
	USE(device_as_host, whole, "unreachable memory: cuMemcpyHtoDAsync_v2 (call "),
	USE(overlap, overlap, "overlap: cuMemcpyAsync (call "),
};
const size_t memory_use_defect_count = COUNT_OF(memory_use_defects);
