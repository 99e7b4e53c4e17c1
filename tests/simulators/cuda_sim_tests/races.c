/* Work that is not ordered. */
#include "sim_tests.h"

static void set(bi__cu_pointer pointer, size_t nbytes, bi__cu_stream stream)
{
	must(cu->MemsetD8Async(pointer, 1, nbytes, stream));
}

static void set_m(struct rig *rig, bi__cu_stream stream)
{
	set(rig->m, SIM_BYTES, stream);
}

static void copy(struct rig *rig, bi__cu_stream stream)
{
	must(cu->MemcpyAsync(rig->n, rig->m, SIM_BYTES, stream));
}

static void raw_right(struct rig *rig)
{
	set_m(rig, rig->a);
	order(rig, rig->a, rig->b);
	copy(rig, rig->b);
}

static void raw_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	copy(rig, rig->b);
}

static void war_right(struct rig *rig)
{
	copy(rig, rig->a);
	order(rig, rig->a, rig->b);
	set_m(rig, rig->b);
}

static void war_wrong(struct rig *rig)
{
	copy(rig, rig->a);
	set_m(rig, rig->b);
}

static void waw_right(struct rig *rig)
{
	set_m(rig, rig->a);
	order(rig, rig->a, rig->b);
	must(cu->MemsetD32Async(rig->m, 1, 4, rig->b));
}

static void waw_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->MemsetD32Async(rig->m, 1, 4, rig->b));
}

/* Two reads need no order. */
static void rar_right(struct rig *rig)
{
	must(cu->MemcpyAsync(rig->n, rig->m, 16, rig->a));
	must(cu->MemcpyAsync(rig->n + 16, rig->m, 16, rig->b));
}

static void rar_wrong(struct rig *rig)
{
	must(cu->MemcpyAsync(rig->n, rig->m, 16, rig->a));
	must(cu->MemcpyAsync(rig->n + 15, rig->m, 16, rig->b));
}

static void early_record_wrong(struct rig *rig)
{
	must(cu->EventRecord(rig->event, rig->a));
	set_m(rig, rig->a);
	must(cu->StreamWaitEvent(rig->b, rig->event, 0));
	copy(rig, rig->b);
}

static void late_wait_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->EventRecord(rig->event, rig->a));
	copy(rig, rig->b);
	must(cu->StreamWaitEvent(rig->b, rig->event, 0));
}

static void turned_wait_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	order(rig, rig->b, rig->a);
	copy(rig, rig->b);
}

/* The event that the wait was made for is recorded again, elsewhere, before the wait is reached. */
static void record_again_right(struct rig *rig)
{
	set_m(rig, rig->a);
	order(rig, rig->a, rig->b);
	must(cu->EventRecord(rig->event, rig->blocking));
	copy(rig, rig->b);
}

static void record_again_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->EventRecord(rig->event, rig->a));
	must(cu->EventRecord(rig->event, rig->blocking));
	must(cu->StreamWaitEvent(rig->b, rig->event, 0));
	copy(rig, rig->b);
}

static void third_stream_right(struct rig *rig)
{
	set_m(rig, rig->a);
	order(rig, rig->a, rig->blocking);
	order(rig, rig->blocking, rig->b);
	copy(rig, rig->b);
}

static void third_stream_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	order(rig, rig->blocking, rig->b);
	order(rig, rig->a, rig->blocking);
	copy(rig, rig->b);
}

static void stream_synchronize_right(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->StreamSynchronize(rig->a));
	copy(rig, rig->b);
}

static void stream_synchronize_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->StreamSynchronize(rig->b));
	copy(rig, rig->b);
}

static void event_synchronize_right(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->EventRecord(rig->event, rig->a));
	must(cu->EventSynchronize(rig->event));
	copy(rig, rig->b);
}

static void event_synchronize_wrong(struct rig *rig)
{
	must(cu->EventRecord(rig->event, rig->a));
	set_m(rig, rig->a);
	must(cu->EventSynchronize(rig->event));
	copy(rig, rig->b);
}

/* A query that reports the completion orders later work like a wait. */
static void event_query_right(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->EventRecord(rig->event, rig->a));
	sim->settle();
	must(cu->EventQuery(rig->event));
	copy(rig, rig->b);
}

/* Completion that no call has reported orders nothing. */
static void event_query_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->EventRecord(rig->event, rig->a));
	sim->settle();
	copy(rig, rig->b);
}

static void stream_query_right(struct rig *rig)
{
	set_m(rig, rig->a);
	sim->settle();
	must(cu->StreamQuery(rig->a));
	copy(rig, rig->b);
}

static void stream_query_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	sim->settle();
	must(cu->StreamQuery(rig->b));
	copy(rig, rig->b);
}

/* A write must wait for each reader. */
static void two_readers(struct rig *rig, int is_right)
{
	must(cu->MemcpyAsync(rig->n, rig->m, 16, rig->a));
	must(cu->MemcpyAsync(rig->n + 16, rig->m, 16, rig->b));
	if (is_right)
		order(rig, rig->a, rig->blocking);
	order(rig, rig->b, rig->blocking);
	set_m(rig, rig->blocking);
}

static void two_readers_right(struct rig *rig)
{
	two_readers(rig, 1);
}

static void two_readers_wrong(struct rig *rig)
{
	two_readers(rig, 0);
}

static void context_synchronize_right(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->CtxSynchronize());
	copy(rig, rig->b);
}

/* The legacy stream and blocking ones wait for each other, in both directions, and not for non-blocking ones. */
static void legacy_first_right(struct rig *rig)
{
	set_m(rig, BI__CU_STREAM_LEGACY);
	copy(rig, rig->blocking);
}

static void legacy_first_wrong(struct rig *rig)
{
	set_m(rig, BI__CU_STREAM_LEGACY);
	copy(rig, rig->a);
}

static void legacy_second_right(struct rig *rig)
{
	set_m(rig, rig->blocking);
	copy(rig, NULL);
}

static void legacy_second_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	copy(rig, NULL);
}

static void per_thread_right(struct rig *rig)
{
	set_m(rig, BI__CU_STREAM_PER_THREAD);
	copy(rig, BI__CU_STREAM_LEGACY);
}

static void per_thread_wrong(struct rig *rig)
{
	set_m(rig, BI__CU_STREAM_PER_THREAD);
	copy(rig, rig->blocking);
}

static void two_blocking_right(struct rig *rig)
{
	set_m(rig, rig->blocking);
	must(cu->MemsetD8Async(rig->n, 1, 1, BI__CU_STREAM_LEGACY));
	copy(rig, BI__CU_STREAM_PER_THREAD);
}

static void two_blocking_wrong(struct rig *rig)
{
	set_m(rig, rig->blocking);
	copy(rig, BI__CU_STREAM_PER_THREAD);
}

static void synchronous_copy_right(struct rig *rig)
{
	set_m(rig, rig->blocking);
	must(cu->MemcpyDtoH(rig->pageable, rig->m, SIM_BYTES));
}

static void synchronous_copy_wrong(struct rig *rig)
{
	set_m(rig, rig->a);
	must(cu->MemcpyDtoH(rig->pageable, rig->m, SIM_BYTES));
}

static void neighbours_right(struct rig *rig)
{
	set(rig->m, 16, rig->a);
	set(rig->m + 16, 16, rig->b);
}

static void neighbours_wrong(struct rig *rig)
{
	set(rig->m, 17, rig->a);
	set(rig->m + 16, 16, rig->b);
}

/* Columns of one matrix: rows of the two copies alternate. */
static void copy_columns(struct rig *rig, size_t x, size_t width, bi__cu_stream stream)
{
	struct bi__cu_copy_2d columns = { .src_memory = BI__CU_MEMORY_DEVICE,
					  .src_device = rig->n,
					  .src_pitch = 32,
					  .dst_memory = BI__CU_MEMORY_DEVICE,
					  .dst_device = rig->m,
					  .dst_pitch = 32,
					  .dst_x = x,
					  .width = width,
					  .height = 8 };

	must(cu->Memcpy2DAsync(&columns, stream));
}

static void columns_right(struct rig *rig)
{
	copy_columns(rig, 0, 16, rig->a);
	copy_columns(rig, 16, 16, rig->b);
}

static void columns_wrong(struct rig *rig)
{
	copy_columns(rig, 0, 17, rig->a);
	copy_columns(rig, 16, 16, rig->b);
}

static void pool_alloc(struct rig *rig, int is_right)
{
	bi__cu_pointer memory;

	must(cu->MemAllocAsync(&memory, 64, rig->a));
	if (is_right)
		order(rig, rig->a, rig->b);
	set(memory, 64, rig->b);
	order(rig, rig->b, rig->a);
	must(cu->MemFreeAsync(memory, rig->a));
}

static void pool_alloc_right(struct rig *rig)
{
	pool_alloc(rig, 1);
}

static void pool_alloc_wrong(struct rig *rig)
{
	pool_alloc(rig, 0);
}

static void pool_free(struct rig *rig, int is_right)
{
	bi__cu_pointer memory;

	must(cu->MemAllocAsync(&memory, 64, rig->a));
	order(rig, rig->a, rig->b);
	set(memory, 64, rig->b);
	if (is_right)
		order(rig, rig->b, rig->a);
	must(cu->MemFreeAsync(memory, rig->a));
}

static void pool_free_right(struct rig *rig)
{
	pool_free(rig, 1);
}

static void pool_free_wrong(struct rig *rig)
{
	pool_free(rig, 0);
}

static void pinned_write(struct rig *rig)
{
	must(cu->MemcpyHtoDAsync(rig->m, rig->pinned, SIM_BYTES, rig->a));
}

static void touch_source_right(struct rig *rig)
{
	pinned_write(rig);
	sim->touch(rig->pinned, SIM_BYTES, 0);
	must(cu->StreamSynchronize(rig->a));
	sim->touch(rig->pinned, SIM_BYTES, 1);
}

static void touch_source_wrong(struct rig *rig)
{
	pinned_write(rig);
	sim->touch(rig->pinned + SIM_BYTES - 1, 1, 1);
}

static void touch_destination_right(struct rig *rig)
{
	must(cu->MemcpyDtoHAsync(rig->pinned, rig->m, 16, rig->a));
	sim->touch(rig->pinned + 16, 16, 1);
	must(cu->StreamSynchronize(rig->a));
	sim->touch(rig->pinned, 16, 0);
}

static void touch_destination_wrong(struct rig *rig)
{
	must(cu->MemcpyDtoHAsync(rig->pinned, rig->m, 16, rig->a));
	sim->touch(rig->pinned + 15, 16, 0);
}

/* Work that is enqueued after a touch of the CPU comes after the touch without a wait. */
static void touch_managed(struct rig *rig, int is_right)
{
	bi__cu_pointer memory;

	must(cu->MemAllocManaged(&memory, 64, BI__CU_MEM_ATTACH_GLOBAL));
	sim->touch((void *)(uintptr_t)memory, 64, 1);
	set(memory, 64, rig->a);
	if (is_right)
		must(cu->StreamSynchronize(rig->a));
	sim->touch((void *)(uintptr_t)memory, 64, 0);
	must(cu->StreamSynchronize(rig->a));
	must(cu->MemFree(memory));
}

static void touch_managed_right(struct rig *rig)
{
	touch_managed(rig, 1);
}

static void touch_managed_wrong(struct rig *rig)
{
	touch_managed(rig, 0);
}

/* Run with a device that lets the CPU use no managed memory while the device works on any memory. */
static void touch_beside(struct rig *rig, int is_right)
{
	bi__cu_pointer memory;

	must(cu->MemAllocManaged(&memory, 64, BI__CU_MEM_ATTACH_GLOBAL));
	set_m(rig, rig->a);
	if (is_right)
		must(cu->CtxSynchronize());
	sim->touch((void *)(uintptr_t)memory, 64, 0);
	must(cu->CtxSynchronize());
	must(cu->MemFree(memory));
}

static void touch_beside_right(struct rig *rig)
{
	touch_beside(rig, 1);
}

static void touch_beside_wrong(struct rig *rig)
{
	touch_beside(rig, 0);
}

#define RACE(name, call, other) \
	{ \
#name, name##_right, name##_wrong, { "race: " call " (call " }, other, 0 \
	}
#define AS_RAW(name) \
	{ \
#name, raw_right, name##_wrong, { "race: cuMemcpyAsync (call " }, "cuMemsetD8Async", 0 \
	}

const struct defect race_defects[] = {
	RACE(raw, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(war, "cuMemsetD8Async", "cuMemcpyAsync"),
	RACE(waw, "cuMemsetD32Async", "cuMemsetD8Async"),
	RACE(rar, "cuMemcpyAsync", "cuMemcpyAsync"),
	AS_RAW(early_record),
	AS_RAW(late_wait),
	AS_RAW(turned_wait),
	RACE(record_again, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(third_stream, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(stream_synchronize, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(event_synchronize, "cuMemcpyAsync", "cuMemsetD8Async"),
	{ "context_synchronize", context_synchronize_right, raw_wrong, { "race: cuMemcpyAsync (call " }, NULL, 0 },
	RACE(event_query, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(stream_query, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(two_readers, "cuMemsetD8Async", "cuMemcpyAsync"),
	RACE(legacy_first, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(legacy_second, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(per_thread, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(two_blocking, "cuMemcpyAsync", "cuMemsetD8Async"),
	RACE(synchronous_copy, "cuMemcpyDtoH_v2", "cuMemsetD8Async"),
	RACE(neighbours, "cuMemsetD8Async", "cuMemsetD8Async"),
	RACE(columns, "cuMemcpy2DAsync_v2", "cuMemcpy2DAsync_v2"),
	RACE(pool_alloc, "cuMemsetD8Async", "cuMemAllocAsync"),
	RACE(pool_free, "cuMemFreeAsync", "cuMemsetD8Async"),
	{ "touch_source",
	  touch_source_right,
	  touch_source_wrong,
	  { "race: cuda_sim_touch" },
	  "cuMemcpyHtoDAsync_v2",
	  0 },
	{ "touch_destination",
	  touch_destination_right,
	  touch_destination_wrong,
	  { "race: cuda_sim_touch" },
	  "cuMemcpyDtoHAsync_v2",
	  0 },
	{ "touch_managed", touch_managed_right, touch_managed_wrong, { "race: cuda_sim_touch" }, "cuMemsetD8Async", 0 },
	{ "touch_beside",
	  touch_beside_right,
	  touch_beside_wrong,
	  { "managed memory in use: cuda_sim_touch" },
	  NULL,
	  -1 },
	{ "touch_beside_concurrent", touch_beside_wrong, touch_managed_wrong, { "race: cuda_sim_touch" }, NULL, 0 },
};
const size_t race_defect_count = COUNT_OF(race_defects);
