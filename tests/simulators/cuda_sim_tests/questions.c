/* Queries whether an access would be ordered (cuda_sim_ordered). */
#include "sim_tests.h"

/* An access to m or to the pinned memory, after stream a has written to m and copied from m into pinned memory. */
struct access {
	const char *what;
	int on_a, on_b, by_cpu; /* 1: ordered, before any wait */
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

/* A query is no access: a later access does not conflict with it. */
static void test_asking_is_no_access(void **state)
{
	struct rig rig;

	(void)state;
	begin(&rig, 0);
	assert_int_equal(sim->ordered((uintptr_t)rig.a, rig.m, 16, 1), 1);
	assert_int_equal(sim->ordered((uintptr_t)rig.b, rig.m, 16, 1), 1);
	end_without_reports(&rig);
}

const struct CMUnitTest question_tests[] = {
	cmocka_unit_test(test_ordered),
	cmocka_unit_test(test_asking_is_no_access),
};
const size_t question_test_count = COUNT_OF(question_tests);
