/*
 * Tests of the simulated driver. A defect has a small wrong program, which must get exactly the named reports, and a
 * correct twin, which must get none. Both run in SIM_SEEDS schedules.
 */
#ifndef BI_TESTS_CUDA_SIM_TESTS_H
#define BI_TESTS_CUDA_SIM_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_driver.h"

extern const struct cuda_driver *cu;
extern const struct cuda_sim *sim;

enum { SIM_BYTES = 1024, SIM_SEEDS = 8 };

/* The objects of every program, in the primary context of device 0, which is current. */
struct rig {
	bi__cu_context context;
	bi__cu_stream a, b; /* non-blocking */
	bi__cu_stream blocking;
	bi__cu_event event, second_event; /* without timing */
	bi__cu_pointer m, n; /* SIM_BYTES each, by cuMemAlloc */
	unsigned char *pinned; /* SIM_BYTES */
	unsigned char pageable[SIM_BYTES];
};

void must(bi__cu_result result);

void rig_make(struct rig *rig);
void rig_take_away(struct rig *rig);

/* Begin a run and make its rig; end the run, which must have no reports. */
void begin(struct rig *rig, uint64_t seed);
void end_without_reports(struct rig *rig);

struct cuda_sim_options seeded(uint64_t seed);
struct cuda_sim_counts counted(void);

/* Makes the stream `later` wait for the work that is now on `earlier`. */
void order(struct rig *rig, bi__cu_stream earlier, bi__cu_stream later);

/* A program that uses the rig of its run. */
typedef void program(struct rig *rig);

struct defect {
	const char *name;
	program *right, *wrong;
	const char *reports[4]; /* beginnings of the reports of `wrong`, in order; NULL: no more */
	const char *mentions; /* text in the first report, or NULL */
	int concurrent_managed; /* -1: both run without this option */
};

#define DEFECT_TABLES(X) X(race) X(object) X(memory_use) X(kernel_launch) X(capture) X(leak)
#define DEFECT_TABLE(topic) \
	extern const struct defect topic##_defects[]; \
	extern const size_t topic##_defect_count;
DEFECT_TABLES(DEFECT_TABLE)
#undef DEFECT_TABLE

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* kernel_launches.c */
void test_launches_counted(void **state);

/* Tests that are no defects. */
#define TEST_TABLES(X) X(schedule) X(fault) X(counter) X(question) X(fork)
#define TEST_TABLE(topic) \
	extern const struct CMUnitTest topic##_tests[]; \
	extern const size_t topic##_test_count;
TEST_TABLES(TEST_TABLE)
#undef TEST_TABLE

#endif
