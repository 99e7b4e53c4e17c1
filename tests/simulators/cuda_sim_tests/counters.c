/* Counters: calls, objects, and calls in which the calling thread waits. */
#include "sim_tests.h"

/* A call and whether the calling thread waits in it, or could. */
struct waiter {
	const char *symbol;
	bi__cu_result (*call)(struct rig *rig);
	int waits;
};

static bi__cu_result call_stream_synchronize(struct rig *rig)
{
	return cu->StreamSynchronize(rig->a);
}

static bi__cu_result call_context_synchronize(struct rig *rig)
{
	(void)rig;
	return cu->CtxSynchronize();
}

static bi__cu_result call_event_synchronize(struct rig *rig)
{
	return cu->EventSynchronize(rig->event);
}

static bi__cu_result call_event_query(struct rig *rig)
{
	cu->EventQuery(rig->event);
	return BI__CU_SUCCESS;
}

static bi__cu_result call_stream_query(struct rig *rig)
{
	cu->StreamQuery(rig->a);
	return BI__CU_SUCCESS;
}

static bi__cu_result call_wait(struct rig *rig)
{
	return cu->StreamWaitEvent(rig->b, rig->event, 0);
}

static void do_nothing(void *data)
{
	(void)data;
}

static bi__cu_result call_host_function(struct rig *rig)
{
	return cu->LaunchHostFunc(rig->a, do_nothing, NULL);
}

static bi__cu_result call_record(struct rig *rig)
{
	return cu->EventRecord(rig->second_event, rig->a);
}

static bi__cu_result call_to_device(struct rig *rig)
{
	return cu->MemcpyHtoD(rig->n, rig->pageable, 16);
}

static bi__cu_result call_to_host(struct rig *rig)
{
	return cu->MemcpyDtoH(rig->pageable, rig->n, 16);
}

static bi__cu_result call_pageable_to_device(struct rig *rig)
{
	return cu->MemcpyHtoDAsync(rig->n, rig->pageable, 16, rig->a);
}

static bi__cu_result call_pageable_to_host(struct rig *rig)
{
	return cu->MemcpyDtoHAsync(rig->pageable, rig->n, 16, rig->a);
}

static bi__cu_result call_pinned_to_device(struct rig *rig)
{
	return cu->MemcpyHtoDAsync(rig->n, rig->pinned, 16, rig->a);
}

static bi__cu_result call_pinned_to_host(struct rig *rig)
{
	return cu->MemcpyDtoHAsync(rig->pinned, rig->n, 16, rig->a);
}

static bi__cu_result call_free_pending(struct rig *rig)
{
	bi__cu_pointer memory = rig->m;

	rig->m = 0;
	return cu->MemFree(memory);
}

static bi__cu_result call_free_pinned(struct rig *rig)
{
	void *memory = rig->pinned;

	rig->pinned = NULL;
	return cu->MemFreeHost(memory);
}

static bi__cu_result call_pool_and_free(struct rig *rig)
{
	bi__cu_pointer memory;
	bi__cu_result result = cu->MemAllocAsync(&memory, 16, rig->a);

	return result ? result : cu->MemFreeAsync(memory, rig->a);
}

static const struct waiter waiters[] = {
	{ "cuStreamSynchronize", call_stream_synchronize, 1 },
	{ "cuCtxSynchronize", call_context_synchronize, 1 },
	{ "cuEventSynchronize", call_event_synchronize, 1 },
	{ "cuMemcpyHtoD_v2", call_to_device, 1 },
	{ "cuMemcpyDtoH_v2", call_to_host, 1 },
	{ "cuMemcpyHtoDAsync_v2", call_pageable_to_device, 1 },
	{ "cuMemcpyDtoHAsync_v2", call_pageable_to_host, 1 },
	{ "cuMemFree_v2", call_free_pending, 1 },
	{ "cuMemFreeHost", call_free_pinned, 1 },
	{ "cuMemcpyHtoDAsync_v2", call_pinned_to_device, 0 },
	{ "cuMemcpyDtoHAsync_v2", call_pinned_to_host, 0 },
	{ "cuEventQuery", call_event_query, 0 },
	{ "cuStreamQuery", call_stream_query, 0 },
	{ "cuEventRecord", call_record, 0 },
	{ "cuStreamWaitEvent", call_wait, 0 },
	{ "cuLaunchHostFunc", call_host_function, 0 },
	{ "cuMemFreeAsync", call_pool_and_free, 0 },
};

/* Makes each call while work on its stream is pending or just done. A call is counted if it could wait. */
static void test_host_waits(void **state)
{
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(waiters); i++) {
		uint64_t before;

		begin(&rig, 1);
		must(cu->MemsetD8Async(rig.n + 64, 1, 16, rig.a));
		must(cu->EventRecord(rig.event, rig.a));
		before = counted().host_waits;
		must(waiters[i].call(&rig));
		if (counted().host_waits - before != (uint64_t)waiters[i].waits) {
			print_message("%s counts %ju\n", waiters[i].symbol, (uintmax_t)(counted().host_waits - before));
			fail();
		}
		if (waiters[i].waits)
			assert_string_equal(sim->host_wait(before), waiters[i].symbol);
		assert_null(sim->host_wait(counted().host_waits));
		end_without_reports(&rig);
	}
}

/* A call that waits for pending work returns when the work is done. */
static void test_waits_are_waits(void **state)
{
	struct rig rig;

	(void)state;
	for (uint64_t seed = 0; seed < SIM_SEEDS; seed++) {
		begin(&rig, seed);
		must(cu->MemsetD8Async((uintptr_t)rig.pinned, 5, 1, rig.a));
		must(cu->EventRecord(rig.event, rig.a));
		must(cu->EventSynchronize(rig.event));
		assert_int_equal(rig.pinned[0], 5);
		must(cu->MemsetD8Async((uintptr_t)rig.pinned, 6, 1, rig.b));
		must(cu->StreamSynchronize(rig.b));
		assert_int_equal(rig.pinned[0], 6);
		must(cu->MemsetD8Async((uintptr_t)rig.pinned, 7, 1, rig.blocking));
		must(cu->CtxSynchronize());
		assert_int_equal(rig.pinned[0], 7);
		end_without_reports(&rig);
	}
}

static void test_counts(void **state)
{
	struct cuda_sim_counts before, after;
	struct rig rig;

	(void)state;
	begin(&rig, 0);
	before = counted();
	must(cu->MemsetD8Async(rig.m, 1, 16, rig.a));
	must(cu->LaunchHostFunc(rig.a, do_nothing, NULL));
	order(&rig, rig.a, rig.b);
	after = counted();
	assert_int_equal(after.calls - before.calls, 4);
	assert_int_equal(after.waits - before.waits, 1);
	assert_int_equal(after.launches, 0);
	assert_true(after.operations > before.operations);
	assert_int_equal(after.live_streams, 3);
	assert_int_equal(after.live_events, 2);
	assert_int_equal(after.live_memory, 3);
	assert_int_equal(after.live_modules, 0);
	assert_string_equal(sim->call_name(after.calls), "cuStreamWaitEvent");
	assert_string_equal(sim->call_name(after.calls - 3), "cuMemsetD8Async");
	assert_null(sim->call_name(after.calls + 1));
	assert_null(sim->call_name(0));
	must(cu->CtxSynchronize());
	assert_int_equal(counted().host_functions - before.host_functions, 1);
	end_without_reports(&rig);
}

const struct CMUnitTest counter_tests[] = {
	cmocka_unit_test(test_host_waits),
	cmocka_unit_test(test_waits_are_waits),
	cmocka_unit_test(test_counts),
	cmocka_unit_test(test_launches_counted),
};
const size_t counter_test_count = COUNT_OF(counter_tests);
