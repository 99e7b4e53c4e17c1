/*
 * What every group of the contract suite stands on: the contexts under test, checked calls, and mirrored memories.
 *
 * A mirror is a memory together with a plain array of bytes that says what the memory must contain. Operations are
 * applied to both, to the memory by the library and to the array by explicit index arithmetic, and mirror_check
 * compares every byte of the two, so that a write outside of a view is seen as well.
 */
#ifndef BI_TESTS_CONTRACT_FIXTURE_H
#define BI_TESTS_CONTRACT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buffer_interface.h"
#include "random.h"

struct fixture {
	const char *spec;
	const char *second_spec; /* or NULL */
	struct bi_context *context; /* under test */
	struct bi_context *second; /* another device, or NULL */
	struct bi_context *host;
	int share; /* percentage of the random cases that this context gets */
	int effort; /* percentage that the whole run does, BI_TEST_EFFORT */
	struct test_random random;
	unsigned long cases;
};

extern struct fixture fixture;

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

/* Checked calls. `error` is what they pass to the library; a call that succeeds must leave it alone. */

extern struct bi_error error;

void mark_error(void);
void check_ok(int rc, const char *call, const char *file, int line);
/* `status` BI_OK: any failure will do. */
void check_refused(int rc, int status, const char *call, const char *file, int line);

#define OK(call) check_ok((mark_error(), (call)), #call, __FILE__, __LINE__)
#define REFUSED(status, call) check_refused((mark_error(), (call)), status, #call, __FILE__, __LINE__)
#define FAILS(call) REFUSED(BI_OK, call)

/* A pointer that no function may leave in *out. */
#define STALE(type) ((type *)(void *)&error)

/* Counts calls of a release callback. */
void count_release(void *data);
/* Makes the context let go of whatever was released while its work was pending. */
void let_go_of_retired(struct bi_context *context);

int is_opencl(const struct bi_context *context);
int is_cuda(const struct bi_context *context);
/* Not the host: work on it is pending when a call returns, and memory is its own. */
int is_device(const struct bi_context *context);
int can(const struct bi_context *context, unsigned capability);

/* Opens spec with the given options changed. Released by the caller. */
struct bi_context *open_context(const char *spec);
struct bi_context *open_with(const char *spec, struct bi_options options);
/*
 * The same device in a native context of its own, which goes with it: its streams cannot work on memory of
 * fixture.context. On the host, where there are no such contexts, just another one.
 */
struct bi_context *open_apart(void);

/*
 * Every call that enqueues leaves the memory's home behind the work (docs/ordering.md, row 10), so that whoever goes on
 * there needs no more. Checked as far as the driver can tell.
 */
void check_order(const struct bi_memory *memory);

/* Now and then gives free memory back to the driver: nobody may still be at work on what is kept for reuse. */
void trim_randomly(struct bi_context *context);

/* The CPU uses memory of the device under test at its address: whoever watches the driver is told before it does. */
void cpu_reads(const void *bytes, size_t nbytes);
void cpu_writes(void *bytes, size_t nbytes);

/* Element types of the random cases. */
struct item {
	const char *text;
	const char *descr; /* structured, or NULL */
};

#define SCALAR_ITEMS 16
extern const struct item element_types[];
extern const size_t item_count;

struct bi_dtype dtype_of(const char *text);
struct bi_dtype item_dtype(size_t item);
/* A random type of that size. */
size_t random_item(void);
size_t random_item_of_size(uint32_t size);

/* Random layouts. They are counted from offset 0 until settle gives them a place. */

enum spread {
	SPREAD_DENSE, /* C order */
	SPREAD_NESTED, /* axes in any order, gaps, any sign: no two elements share bytes */
	SPREAD_REPEAT, /* nested, with strides that became 0 */
	SPREAD_WILD /* any small strides */
};

int random_shape(int64_t *shape);
void random_layout(struct bi_layout *layout, size_t item, int ndim, const int64_t *shape, enum spread spread);
enum spread random_source_spread(void);
enum spread random_target_spread(void);

/* Sets the offset so that the first byte that is reached is at `start`; returns the end of the last one. */
size_t settle(struct bi_layout *layout, size_t start);
/* Settles behind a few unused bytes; returns the size of a memory that ends a few bytes later. */
size_t settle_randomly(struct bi_layout *layout);
/* "2-d <f4 offset 12 shape 3 2 strides -8 1", for messages; static storage, two at a time. */
const char *layout_text(const struct bi_layout *layout);

/* Naive reference. */

size_t naive_size(const struct bi_layout *layout);
/* Offset of each element in C order. Freed by the caller. */
int64_t *naive_offsets(const struct bi_layout *layout, size_t *count);
void naive_gather(const unsigned char *bytes, const struct bi_layout *layout, unsigned char *dense);
void naive_scatter(unsigned char *bytes, const struct bi_layout *layout, const unsigned char *dense);
/* As if the source had been copied aside first. */
void naive_copy(unsigned char *dst, const struct bi_layout *to, const unsigned char *src, const struct bi_layout *from);
void naive_fill(unsigned char *bytes, const struct bi_layout *layout, const void *element);
int naive_self_overlap(const struct bi_layout *layout, size_t nbytes);
int naive_overlap(const struct bi_layout *a, const struct bi_layout *b, size_t nbytes);

/* Mirrored memories. */

enum place {
	PLACE_DEVICE,
	PLACE_HOST, /* allocated on the host by the library */
	PLACE_WRAPPED, /* the test's own host bytes */
	PLACE_PINNED,
	PLACE_UNIFIED,
	PLACE_COUNT
};

struct mirror {
	struct bi_memory *memory;
	unsigned char *bytes;
	size_t nbytes;
};

int has_place(const struct bi_context *context, enum place place);
/* Random bytes. */
void mirror_open(struct mirror *mirror, struct bi_context *context, enum place place, size_t nbytes);
void mirror_check(const struct mirror *mirror, const char *what);
void mirror_close(struct mirror *mirror);
/* Makes what the memory holds the expectation. */
void mirror_read(const struct mirror *mirror, unsigned char *bytes);

struct bi_view *view_of(const struct mirror *mirror, const struct bi_layout *layout, unsigned flags);
/* Dense bytes of the memory as they are. */
struct bi_view *bytes_of(struct bi_memory *memory);
void random_bytes(unsigned char *bytes, size_t nbytes);

/*
 * A stream that can work on the memory: NULL, the context stream, a new one in order or (where there are such) out of
 * order; for host memory one of the host. Always released by the caller.
 */
struct bi_stream *random_stream(const struct bi_memory *memory);

/* Groups. Each returns the number of tests that failed. */
int tables_group(void);
int copy_group(void);
int plans_group(void);
int fill_group(void);
int elements_group(void);
int views_group(void);
int map_group(void);
int objects_group(void);
int uses_group(void);
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

#endif
