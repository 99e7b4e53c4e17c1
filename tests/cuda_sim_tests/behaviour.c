/* What is no defect: schedules, faults that are injected, counters, the question whether an access is ordered. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_tests.h"

static void begin(struct rig *rig, uint64_t seed)
{
	const struct cuda_sim_options options = seeded(seed);

	sim->begin(&options);
	rig_make(rig);
}

static void end_without_reports(struct rig *rig)
{
	rig_take_away(rig);
	if (sim->end() == 0)
		return;
	for (uint64_t i = 0; sim->report(i); i++)
		print_message("    %s\n", sim->report(i));
	fail();
}

/* -------------------------------------------------------------------------------------------------------- schedules */

enum { STEPS = 6 };

struct trace {
	char order[2 * STEPS + 1];
	size_t length;
};

struct step {
	struct trace *trace;
	char stream;
};

static void note(void *data)
{
	const struct step *step = data;

	step->trace->order[step->trace->length++] = step->stream;
}

/* The order in which host functions of two streams run, under a seed. */
static void trace_run(uint64_t seed, struct trace *trace)
{
	struct rig rig;
	struct step on_a = { trace, 'a' }, on_b = { trace, 'b' };

	memset(trace, 0, sizeof(*trace));
	begin(&rig, seed);
	for (int i = 0; i < STEPS; i++) {
		must(cu->LaunchHostFunc(rig.a, note, &on_a));
		must(cu->LaunchHostFunc(rig.b, note, &on_b));
	}
	must(cu->CtxSynchronize());
	end_without_reports(&rig);
	assert_int_equal(trace->length, 2 * STEPS);
}

static void test_same_seed(void **state)
{
	struct trace first, again;

	(void)state;
	for (uint64_t seed = 0; seed < SIM_SEEDS; seed++) {
		trace_run(seed, &first);
		trace_run(seed, &again);
		assert_string_equal(first.order, again.order);
	}
}

static void test_different_seeds(void **state)
{
	struct trace traces[16];
	size_t different = 0;

	(void)state;
	for (uint64_t seed = 0; seed < COUNT_OF(traces); seed++) {
		size_t i = 0;

		trace_run(seed, &traces[seed]);
		while (strcmp(traces[i].order, traces[seed].order) != 0)
			i++;
		different += i == seed;
	}
	assert_true(different >= COUNT_OF(traces) / 2);
}

/* Is the value there when the call that enqueued it has returned? */
static int is_done_at_once(const struct cuda_sim_options *options)
{
	struct rig rig;
	int done;

	sim->begin(options);
	rig_make(&rig);
	must(cu->MemsetD8Async((uintptr_t)rig.pinned, 5, 1, rig.a));
	done = rig.pinned[0] == 5;
	end_without_reports(&rig);
	return done;
}

static void test_late_and_eager(void **state)
{
	struct cuda_sim_options options;
	int late = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 16; seed++) {
		options = seeded(seed);
		late += !is_done_at_once(&options);
		options.eager = 1;
		assert_true(is_done_at_once(&options));
	}
	assert_true(late > 0);
}

/* However lazy a schedule is, whoever asks again and again sees the end. */
static void test_asking_makes_progress(void **state)
{
	struct rig rig;

	(void)state;
	for (uint64_t seed = 0; seed < SIM_SEEDS; seed++) {
		int asked = 0;

		begin(&rig, seed);
		must(cu->MemsetD8Async(rig.m, 1, 16, rig.a));
		must(cu->EventRecord(rig.event, rig.a));
		while (cu->EventQuery(rig.event) == BI__CU_ERROR_NOT_READY && asked < 10000)
			asked++;
		must(cu->EventQuery(rig.event));
		end_without_reports(&rig);
	}
}

static void close_gate(struct rig *rig, bi__cu_stream stream)
{
	__atomic_store_n((uint32_t *)(void *)rig->pinned, 0, __ATOMIC_SEQ_CST);
	must(cu->StreamWaitValue32(stream, (uintptr_t)rig->pinned, 1, 0));
}

static void open_gate(struct rig *rig)
{
	__atomic_store_n((uint32_t *)(void *)rig->pinned, 1, __ATOMIC_SEQ_CST);
}

static void test_settle(void **state)
{
	struct rig rig;

	(void)state;
	for (uint64_t seed = 0; seed < SIM_SEEDS; seed++) {
		begin(&rig, seed);
		close_gate(&rig, rig.a);
		must(cu->MemsetD8Async((uintptr_t)rig.pinned + 4, 5, 1, rig.a));
		must(cu->MemsetD8Async((uintptr_t)rig.pinned + 5, 5, 1, rig.b));
		sim->settle();
		assert_int_equal(rig.pinned[4], 0);
		assert_int_equal(rig.pinned[5], 5);
		open_gate(&rig);
		sim->settle();
		assert_int_equal(rig.pinned[4], 5);
		end_without_reports(&rig);
	}
}

/* Takes as long as the simulator waits before it gives up. */
static void test_deadlock(void **state)
{
	static const char expected[] = "deadlock: cuStreamSynchronize (call ";
	struct rig rig;

	(void)state;
	begin(&rig, 0);
	close_gate(&rig, rig.a);
	assert_int_equal(cu->StreamSynchronize(rig.a), BI__CU_ERROR_LAUNCH_TIMEOUT);
	open_gate(&rig);
	rig_take_away(&rig);
	assert_int_equal(sim->end(), 1);
	assert_memory_equal(sim->report(0), expected, strlen(expected));
}

/* ----------------------------------------------------------------------------------------------------------- faults */

/* One call of each sort that fails without having done anything; each says whether it has. */
struct faulty {
	const char *symbol;
	bi__cu_result (*call)(struct rig *rig);
	int (*has_effect)(struct rig *rig);
	bi__cu_result code; /* where none is asked for */
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

/* The same calls, not made to fail, have the effects that were looked for. */
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

/* Armed for the n-th call from now on: that one, and no other. */
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

/* Each of the two waits, forgotten, is a race that any schedule shows; with eager execution too. */
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

/* --------------------------------------------------------------------------------------------------------- counters */

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

/* Work that is certainly pending: a gate holds it, until the call, if it waits, has no other chance. */
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

/* A call that waits for pending work returns when that is done. */
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
	must(cu->LaunchHostFunc(rig.a, ran_host, NULL));
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

/* --------------------------------------------------------------------------------------------------- is it ordered? */

/* On m and the pinned memory, after a write of m and a read of it into the pinned memory on stream a. */
struct access {
	const char *what;
	int on_a, on_b, by_cpu; /* ordered? before anybody waits */
	int of_pinned, writes;
	size_t offset, nbytes;
};

static const struct access accesses[] = {
	{ "read of what a wrote", 1, 0, 0, 0, 0, 0, 16 },
	{ "write of what a wrote", 1, 0, 0, 0, 1, 0, 16 },
	{ "read of its last byte", 1, 0, 0, 0, 0, 15, 1 },
	{ "read of what lies behind it", 1, 1, 1, 0, 0, 16, 16 },
	{ "read of what a reads", 1, 1, 1, 0, 0, 64, 16 },
	{ "write of what a reads", 1, 0, 0, 0, 1, 64, 16 },
	{ "read that reaches into what a wrote", 1, 0, 0, 0, 0, 15, 16 },
	{ "read of pinned memory that a writes", 1, 0, 0, 1, 0, 0, 16 },
	{ "write of pinned memory beside it", 1, 1, 1, 1, 1, 16, 16 },
};

static void check_access(const struct rig *rig, const struct access *access, bi__cu_stream stream, int expected)
{
	unsigned long long base = access->of_pinned ? (uintptr_t)rig->pinned : rig->m;
	int ordered = sim->ordered((uintptr_t)stream, base + access->offset, access->nbytes, access->writes);

	if (ordered == expected)
		return;
	print_message("%s on %s: %d\n", access->what, stream == rig->a ? "a" : stream ? "b" : "the CPU", ordered);
	fail();
}

static void check_accesses(const struct rig *rig, int b_waited, int cpu_waited)
{
	for (size_t i = 0; i < COUNT_OF(accesses); i++) {
		const struct access *access = &accesses[i];

		check_access(rig, access, rig->a, access->on_a);
		check_access(rig, access, rig->b, access->on_b || b_waited);
		check_access(rig, access, NULL, access->by_cpu || cpu_waited);
	}
}

static void test_ordered(void **state)
{
	struct rig rig;

	(void)state;
	for (uint64_t seed = 0; seed < SIM_SEEDS; seed++) {
		begin(&rig, seed);
		must(cu->MemsetD8Async(rig.m, 1, 16, rig.a));
		must(cu->MemcpyAsync((uintptr_t)rig.pinned, rig.m + 64, 16, rig.a));
		check_accesses(&rig, 0, 0);
		order(&rig, rig.a, rig.b);
		check_accesses(&rig, 1, 0);
		must(cu->StreamSynchronize(rig.b));
		check_accesses(&rig, 1, 1);
		end_without_reports(&rig);
	}
}

/* The question itself is no access: it leaves nothing to race with. */
static void test_asking_is_no_access(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig, 0);
	assert_int_equal(sim->ordered((uintptr_t)rig.a, rig.m, 16, 1), 1);
	assert_int_equal(sim->ordered((uintptr_t)rig.b, rig.m, 16, 1), 1);
	end_without_reports(&rig);
}

/* ------------------------------------------------------------------------------------------------------------- fork */

/* 0 if every call is refused. */
static int calls_in_child(const struct rig *rig)
{
	bi__cu_context context;
	bi__cu_pointer memory;
	int count;

	if (cu->DeviceGetCount(&count) != BI__CU_ERROR_NOT_INITIALIZED || cu->Init(0) != BI__CU_ERROR_NOT_INITIALIZED)
		return 1;
	if (cu->CtxGetCurrent(&context) != BI__CU_ERROR_NOT_INITIALIZED)
		return 2;
	if (cu->StreamSynchronize(rig->a) != BI__CU_ERROR_NOT_INITIALIZED)
		return 3;
	return cu->MemAlloc(&memory, 16) == BI__CU_ERROR_NOT_INITIALIZED ? 0 : 4;
}

static void test_fork(void **state)
{
	struct rig rig;
	int status;
	pid_t child;

	(void)state;
	begin(&rig, 0);
	must(cu->MemsetD8Async((uintptr_t)rig.pinned, 5, 1, rig.a));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(20);
		_exit(calls_in_child(&rig));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	must(cu->StreamSynchronize(rig.a));
	assert_int_equal(rig.pinned[0], 5);
	end_without_reports(&rig);
}

const struct CMUnitTest behaviour_tests[] = {
	cmocka_unit_test(test_same_seed),
	cmocka_unit_test(test_different_seeds),
	cmocka_unit_test(test_late_and_eager),
	cmocka_unit_test(test_asking_makes_progress),
	cmocka_unit_test(test_settle),
	cmocka_unit_test(test_deadlock),
	cmocka_unit_test(test_faults),
	cmocka_unit_test(test_no_faults),
	cmocka_unit_test(test_nth_call),
	cmocka_unit_test(test_nth_call_of_run),
	cmocka_unit_test(test_dropped_waits),
	cmocka_unit_test(test_host_waits),
	cmocka_unit_test(test_waits_are_waits),
	cmocka_unit_test(test_counts),
	cmocka_unit_test(test_launches_counted),
	cmocka_unit_test(test_ordered),
	cmocka_unit_test(test_asking_is_no_access),
	cmocka_unit_test(test_fork),
};
const size_t behaviour_test_count = COUNT_OF(behaviour_tests);
