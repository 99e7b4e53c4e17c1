/* Schedules: a seed gives one schedule, seeds differ, work runs late, and polling comes to an end. */
#include <string.h>

#include "sim_tests.h"

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

/* Records the order in which host functions of two streams run with this seed. */
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

/* Returns 1 if the work is done when the call that enqueues it returns. */
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

/* Repeated queries see the end of the work in every schedule. */
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

const struct CMUnitTest schedule_tests[] = {
	cmocka_unit_test(test_same_seed),      cmocka_unit_test(test_different_seeds),
	cmocka_unit_test(test_late_and_eager), cmocka_unit_test(test_asking_makes_progress),
	cmocka_unit_test(test_settle),         cmocka_unit_test(test_deadlock),
};
const size_t schedule_test_count = COUNT_OF(schedule_tests);
