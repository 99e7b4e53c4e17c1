#include "sim_tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cuda_driver *cu;
const struct cuda_sim *sim;

void must(bi__cu_result result)
{
	assert_int_equal(result, BI__CU_SUCCESS);
}

struct cuda_sim_options seeded(uint64_t seed)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;

	options.seed = seed;
	return options;
}

struct cuda_sim_counts counted(void)
{
	struct cuda_sim_counts counts;

	sim->count(&counts);
	return counts;
}

void rig_make(struct rig *rig)
{
	void *pinned;

	memset(rig, 0, sizeof(*rig));
	must(cu->DevicePrimaryCtxRetain(&rig->context, 0));
	must(cu->CtxPushCurrent(rig->context));
	must(cu->StreamCreate(&rig->a, BI__CU_STREAM_NON_BLOCKING));
	must(cu->StreamCreate(&rig->b, BI__CU_STREAM_NON_BLOCKING));
	must(cu->StreamCreate(&rig->blocking, BI__CU_STREAM_BLOCKING));
	must(cu->EventCreate(&rig->event, BI__CU_EVENT_DISABLE_TIMING));
	must(cu->EventCreate(&rig->second_event, BI__CU_EVENT_DISABLE_TIMING));
	must(cu->MemAlloc(&rig->m, SIM_BYTES));
	must(cu->MemAlloc(&rig->n, SIM_BYTES));
	must(cu->MemHostAlloc(&pinned, SIM_BYTES, BI__CU_HOST_ALLOC_PORTABLE));
	rig->pinned = pinned;
	memset(pinned, 0, SIM_BYTES);
}

/* Members that a program has freed itself are 0. */
void rig_take_away(struct rig *rig)
{
	must(cu->CtxSynchronize());
	if (rig->a)
		must(cu->StreamDestroy(rig->a));
	must(cu->StreamDestroy(rig->b));
	must(cu->StreamDestroy(rig->blocking));
	if (rig->event)
		must(cu->EventDestroy(rig->event));
	must(cu->EventDestroy(rig->second_event));
	if (rig->m)
		must(cu->MemFree(rig->m));
	must(cu->MemFree(rig->n));
	if (rig->pinned)
		must(cu->MemFreeHost(rig->pinned));
	must(cu->CtxPopCurrent(&rig->context));
	must(cu->DevicePrimaryCtxRelease(0));
}

void order(struct rig *rig, bi__cu_stream earlier, bi__cu_stream later)
{
	must(cu->EventRecord(rig->event, earlier));
	must(cu->StreamWaitEvent(later, rig->event, 0));
}

void begin(struct rig *rig, uint64_t seed)
{
	const struct cuda_sim_options options = seeded(seed);

	sim->begin(&options);
	rig_make(rig);
}

void end_without_reports(struct rig *rig)
{
	rig_take_away(rig);
	if (sim->end() == 0)
		return;
	for (uint64_t i = 0; sim->report(i); i++)
		print_message("    %s\n", sim->report(i));
	fail();
}

static uint64_t run(const struct defect *defect, program *run_it, uint64_t seed)
{
	struct cuda_sim_options options = seeded(seed);
	struct rig rig;

	options.concurrent_managed = defect->concurrent_managed >= 0;
	sim->begin(&options);
	rig_make(&rig);
	run_it(&rig);
	rig_take_away(&rig);
	return sim->end();
}

static void print_reports(const char *which, uint64_t seed)
{
	print_message("%s twin, seed %ju:\n", which, (uintmax_t)seed);
	for (uint64_t i = 0; sim->report(i); i++)
		print_message("    %s\n", sim->report(i));
}

static int begins_with(const char *text, const char *beginning)
{
	return text && strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Returns true if the reports are those of the defect, in their order, and no others. */
static int reports_are(const struct defect *defect)
{
	uint64_t i = 0;

	for (; i < COUNT_OF(defect->reports) && defect->reports[i]; i++)
		if (!begins_with(sim->report(i), defect->reports[i]))
			return 0;
	if (defect->mentions && !strstr(sim->report(0), defect->mentions))
		return 0;
	return !sim->report(i) && counted().reports == i;
}

static void test_defect(void **state)
{
	const struct defect *defect = *state;

	for (uint64_t seed = 0; seed < SIM_SEEDS; seed++) {
		if (run(defect, defect->right, seed) != 0) {
			print_reports("correct", seed);
			fail();
		}
		run(defect, defect->wrong, seed);
		if (!reports_are(defect)) {
			print_reports("wrong", seed);
			fail();
		}
	}
}

static size_t add_defects(struct CMUnitTest *tests, const struct defect *defects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tests[i] = (struct CMUnitTest){ .name = defects[i].name,
						.test_func = test_defect,
						.initial_state = (void *)(uintptr_t)&defects[i] };
	return count;
}

static size_t add_tests(struct CMUnitTest *tests, const struct CMUnitTest *more, size_t count)
{
	memcpy(tests, more, count * sizeof(*tests));
	return count;
}

int main(int argc, char **argv)
{
	size_t room = 0, count = 0;
	struct CMUnitTest *tests;
	int failed;

	cu = cuda_driver();
	sim = cuda_sim();
	if (!sim) {
		fprintf(stderr, "BI_CUDA_LIBRARY names no simulated driver\n");
		return EXIT_FAILURE;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
#define ADD_ROOM(topic) room += topic##_defect_count;
	DEFECT_TABLES(ADD_ROOM)
#undef ADD_ROOM
#define ADD_ROOM(topic) room += topic##_test_count;
	TEST_TABLES(ADD_ROOM)
#undef ADD_ROOM
	tests = calloc(room, sizeof(*tests));
	if (!tests)
		return EXIT_FAILURE;
#define ADD_DEFECTS(topic) count += add_defects(tests + count, topic##_defects, topic##_defect_count);
	DEFECT_TABLES(ADD_DEFECTS)
#undef ADD_DEFECTS
#define ADD_TESTS(topic) count += add_tests(tests + count, topic##_tests, topic##_test_count);
	TEST_TABLES(ADD_TESTS)
#undef ADD_TESTS
	failed = _cmocka_run_group_tests("simulated driver", tests, room, NULL, NULL);
	free(tests);
	return failed;
}
