/*
 * What every group of the contract suite shares, on top of tests/support: how much of the random cases to run, contexts
 * of several kinds, and what the raw driver (driver.h) can tell.
 */
#ifndef BI_TESTS_CONTRACT_CONTRACT_H
#define BI_TESTS_CONTRACT_CONTRACT_H

#include "oracle.h"

/* How many of the random cases to run, in percent. */
struct share {
	int context; /* of a test's cases, on the present context */
	int effort; /* of all cases in the whole run, BI_TEST_EFFORT */
};

extern struct share share;

/* The number of cases that a test runs in this round, at least 1; more than `full` if the effort is above 100. */
int effort(int full);
/* Does this round run all of what it can? */
int is_thorough(void);
/* A list of `full` cases: which of them is number i of the effort(full) that are run. All, or some by chance. */
int chosen(int i, int full);

/* One test, after which the driver of the device has nothing to complain about. */
#define TEST(function) cmocka_unit_test_prestate_setup_teardown(function, begin_test, end_test, (void *)#function)

int begin_test(void **state);
int end_test(void **state);

/* Makes the context let go of whatever was released while its work was pending. */
void let_go_of_retired(struct bi_context *context);

/* Not the host: work on it is pending when a call returns, and memory is its own. */
int is_device(const struct bi_context *context);

/* Opens spec with the given options changed. Released by the caller. */
struct bi_context *open_context(const char *spec);
struct bi_context *open_with(const char *spec, struct bi_options options);
/*
 * The same device in a native context of its own, which goes with it: its streams cannot work on memory of
 * fixture.context. On the host, where there are no such contexts, just another one.
 */
struct bi_context *open_apart(void);

/*
 * After every call that enqueues, the home stream comes after the work (docs/ordering.md, row 10), or, for private
 * memory, every stream that begins a write (row 38). Checked as far as the driver can tell.
 */
void check_order(struct bi_memory *memory);

/* Now and then gives free memory back to the driver: nobody may still be at work on what is kept for reuse. */
void trim_randomly(struct bi_context *context);

/* Reports to a simulated driver that the CPU is about to use memory of the device under test at its address. */
void cpu_reads(const void *bytes, size_t nbytes);
void cpu_writes(void *bytes, size_t nbytes);
void cpu_accesses(const void *bytes, size_t nbytes, int writes);

/*
 * A stream that can work on the memory: NULL, the context stream, a new one in order or (where there are such) out of
 * order; for host memory one of the host. Always released by the caller.
 */
struct bi_stream *random_stream(const struct bi_memory *memory);

/* Describes three bytes of host memory as an array of uint8. The release does nothing. */
struct bi_exchange exchange_of(const unsigned char bytes[3]);

/* Groups. Each returns the number of tests that failed. */
int tables_group(void);
int copy_group(void);
int plans_group(void);
int fill_group(void);
int elements_group(void);
int views_group(void);
int map_group(void);
int objects_group(void);
int foreign_group(void);
int describe_group(void);
int foreign_opencl_group(void);
int foreign_cuda_group(void);
int peers_group(void);
int transfers_group(void);
int failures_group(void);
int pool_group(void);
int report_group(void);
int errors_group(void);
int threads_group(void);
int fork_group(void);
int conveniences_group(void);
int uses_group(void);
int npy_group(void);

#endif
