/* Injected faults: a call that fails has no effect, and a wait that is ignored is a race. */
#include <string.h>

#include "sim_tests.h"

/* A call that is made to fail, and a function that returns whether the call had an effect. */
struct faulty {
	const char *symbol;
	bi__cu_result (*call)(struct rig *rig);
	int (*has_effect)(struct rig *rig);
	bi__cu_result code; /* if the test arms no code */
};

static bi__cu_pointer made_memory;
static bi__cu_stream made_stream;
static bi__cu_event made_event;
static uint64_t live_before, waits_before;
static int host_ran;

static uint64_t live(void)
{
	struct cuda_sim_counts counts = counted();

	return counts.live_memory + counts.live_streams + counts.live_events + counts.live_modules;
}

static int made_something(struct rig *rig)
{
	(void)rig;
	return live() != live_before;
}

static int wrote_something(struct rig *rig)
{
	must(cu->CtxSynchronize());
	return rig->pinned[0] != 0;
}

static int waited(struct rig *rig)
{
	(void)rig;
	return counted().waits != waits_before;
}

static int ran(struct rig *rig)
{
	(void)rig;
	must(cu->CtxSynchronize());
	return host_ran;
}

static int current_has_changed(struct rig *rig)
{
	bi__cu_context context;

	must(cu->CtxGetCurrent(&context));
	return context != rig->context;
}

static bi__cu_result call_alloc(struct rig *rig)
{
	(void)rig;
	return cu->MemAlloc(&made_memory, 16);
}

static bi__cu_result call_alloc_async(struct rig *rig)
{
	return cu->MemAllocAsync(&made_memory, 16, rig->a);
}

static bi__cu_result call_free(struct rig *rig)
{
	return cu->MemFree(rig->m);
}

static bi__cu_result call_stream_create(struct rig *rig)
{
	(void)rig;
	return cu->StreamCreate(&made_stream, 0);
}

static bi__cu_result call_stream_destroy(struct rig *rig)
{
	return cu->StreamDestroy(rig->a);
}

static bi__cu_result call_event_create(struct rig *rig)
{
	(void)rig;
	return cu->EventCreate(&made_event, 0);
}

static bi__cu_result call_set(struct rig *rig)
{
	return cu->MemsetD8Async((uintptr_t)rig->pinned, 9, 4, rig->a);
}

static bi__cu_result call_copy(struct rig *rig)
{
	return cu->MemcpyAsync((uintptr_t)rig->pinned, rig->m, 4, rig->a);
}

static bi__cu_result call_wait(struct rig *rig)
{
	return cu->StreamWaitEvent(rig->b, rig->event, 0);
}

static void ran_host(void *data)
{
	(void)data;
	host_ran = 1;
}

static bi__cu_result call_host_function(struct rig *rig)
{
	return cu->LaunchHostFunc(rig->a, ran_host, NULL);
}

static bi__cu_result call_pop(struct rig *rig)
{
	bi__cu_context context;

	(void)rig;
	return cu->CtxPopCurrent(&context);
}

static const struct faulty faulty_calls[] = {
	{ "cuMemAlloc_v2", call_alloc, made_something, BI__CU_ERROR_OUT_OF_MEMORY },
	{ "cuMemAllocAsync", call_alloc_async, made_something, BI__CU_ERROR_OUT_OF_MEMORY },
	{ "cuMemFree_v2", call_free, made_something, BI__CU_ERROR_UNKNOWN },
	{ "cuStreamCreate", call_stream_create, made_something, BI__CU_ERROR_UNKNOWN },
	{ "cuStreamDestroy_v2", call_stream_destroy, made_something, BI__CU_ERROR_UNKNOWN },
	{ "cuEventCreate", call_event_create, made_something, BI__CU_ERROR_UNKNOWN },
	{ "cuMemsetD8Async", call_set, wrote_something, BI__CU_ERROR_UNKNOWN },
	{ "cuMemcpyAsync", call_copy, wrote_something, BI__CU_ERROR_UNKNOWN },
	{ "cuStreamWaitEvent", call_wait, waited, BI__CU_ERROR_UNKNOWN },
	{ "cuLaunchHostFunc", call_host_function, ran, BI__CU_ERROR_UNKNOWN },
	{ "cuCtxPopCurrent_v2", call_pop, current_has_changed, BI__CU_ERROR_UNKNOWN },
};

static void fail_call(const struct faulty *faulty, int code)
{
	struct rig rig;

	begin(&rig, 0);
	must(cu->MemsetD8Async(rig.m, 7, SIM_BYTES, rig.a));
	must(cu->StreamSynchronize(rig.a));
	host_ran = 0;
	live_before = live();
	waits_before = counted().waits;
	sim->arm(1, code, 0);
	assert_int_equal(faulty->call(&rig), code ? (bi__cu_result)code : faulty->code);
	assert_int_equal(counted().failed_calls, 1);
	assert_string_equal(sim->call_name(counted().calls), faulty->symbol);
	assert_false(faulty->has_effect(&rig));
	end_without_reports(&rig);
}

static void test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(faulty_calls); i++) {
		fail_call(&faulty_calls[i], 0);
		fail_call(&faulty_calls[i], BI__CU_ERROR_ILLEGAL_ADDRESS);
	}
}

/* The same calls have these effects if they are not made to fail. */
static void test_no_faults(void **state)
{
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(faulty_calls); i++) {
		const struct faulty *faulty = &faulty_calls[i];

		begin(&rig, 0);
		must(cu->MemsetD8Async(rig.m, 7, SIM_BYTES, rig.a));
		must(cu->StreamSynchronize(rig.a));
		host_ran = 0;
		live_before = live();
		waits_before = counted().waits;
		must(faulty->call(&rig));
		assert_true(faulty->has_effect(&rig));
		sim->end();
	}
}

/* A fault that is armed for the n-th call from now on fails that call, and no other. */
static void test_nth_call(void **state)
{
	struct rig rig;

	(void)state;
	for (uint64_t n = 1; n <= 5; n++) {
		begin(&rig, 0);
		sim->arm(n, 0, 0);
		for (uint64_t i = 1; i <= 5; i++)
			assert_int_equal(call_set(&rig), i == n ? BI__CU_ERROR_UNKNOWN : BI__CU_SUCCESS);
		end_without_reports(&rig);
	}
}

/* The nth call and the next one fail. Calls that release count until the nth, and succeed between the two. */
static void test_calls_from_the_nth_on(void **state)
{
	struct rig rig;
	bi__cu_event event;

	(void)state;
	for (uint64_t n = 1; n <= 3; n++) {
		begin(&rig, 0);
		sim->arm_from(n, 2, BI__CU_ERROR_ILLEGAL_ADDRESS);
		for (uint64_t i = 1; i <= 4; i++) {
			const int failed = i == n || i == n + 1;

			assert_int_equal(call_set(&rig), failed ? BI__CU_ERROR_ILLEGAL_ADDRESS : BI__CU_SUCCESS);
		}
		must(cu->EventCreate(&event, 0));
		sim->arm_from(2, 2, BI__CU_ERROR_ILLEGAL_ADDRESS);
		must(cu->EventDestroy(event));
		assert_int_equal(call_set(&rig), BI__CU_ERROR_ILLEGAL_ADDRESS);
		assert_int_equal(call_set(&rig), BI__CU_ERROR_ILLEGAL_ADDRESS);
		must(call_set(&rig));
		end_without_reports(&rig);
	}
}

/* The same from the options, which count from the beginning of the run. */
static void test_nth_call_of_run(void **state)
{
	struct cuda_sim_options options = seeded(0);
	bi__cu_context context;
	int number;

	(void)state;
	options.fail_call = 2;
	options.fail_code = BI__CU_ERROR_NO_DEVICE;
	sim->begin(&options);
	must(cu->DeviceGetCount(&number));
	assert_int_equal(cu->DevicePrimaryCtxRetain(&context, 0), BI__CU_ERROR_NO_DEVICE);
	must(cu->DeviceGetCount(&number));
	assert_int_equal(sim->end(), 0);
}

static void copy_with_waits(struct rig *rig)
{
	must(cu->MemsetD8Async(rig->m, 1, 16, rig->a));
	order(rig, rig->a, rig->b);
	must(cu->MemcpyAsync(rig->n, rig->m, 16, rig->b));
	order(rig, rig->b, rig->a);
	must(cu->MemsetD8Async(rig->m, 2, 16, rig->a));
}

/* Each of the two waits, if it is ignored, is a race in every schedule, also with eager execution. */
static void drop_wait(uint64_t n, uint64_t seed, int eager)
{
	static const char *const calls[] = { "race: cuMemcpyAsync (call ", "race: cuMemsetD8Async (call " };
	struct cuda_sim_options options = seeded(seed);
	struct rig rig;

	options.drop_wait = n;
	options.eager = eager;
	sim->begin(&options);
	rig_make(&rig);
	copy_with_waits(&rig);
	rig_take_away(&rig);
	assert_int_equal(counted().dropped, 1);
	assert_int_equal(counted().waits, 2);
	assert_int_equal(sim->end(), 1);
	assert_memory_equal(sim->report(0), calls[n - 1], strlen(calls[n - 1]));
}

static void test_dropped_waits(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SIM_SEEDS; seed++)
		for (uint64_t n = 1; n <= 2; n++) {
			drop_wait(n, seed, 0);
			drop_wait(n, seed, 1);
		}
}

const struct CMUnitTest fault_tests[] = {
	cmocka_unit_test(test_faults),        cmocka_unit_test(test_no_faults),
	cmocka_unit_test(test_nth_call),      cmocka_unit_test(test_nth_call_of_run),
	cmocka_unit_test(test_dropped_waits), cmocka_unit_test(test_calls_from_the_nth_on),
};
const size_t fault_test_count = COUNT_OF(fault_tests);
