/*
 * What the tests of the CUDA Array Interface with a device stand on: contexts, memory that the library knows nothing
 * of, and the eyes of the simulated driver. On a real driver the tests run as well; what only the simulated one can see
 * (calls, order) is then taken for granted.
 */
#ifndef BI_TESTS_CAI_BENCH_H
#define BI_TESTS_CAI_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arrays.h"
#include "cuda_driver.h"

struct bench {
	const char *spec;
	const char *second_spec; /* or NULL */
	int has_pools, has_concurrent_managed; /* of the simulated driver */
	struct bi_context *context;
	struct bi_context *second; /* of another device, or NULL */
	char log[512]; /* the last line of `context` */
	int lines;
	struct test_random random;
};

extern struct bench bench;

/* Before and after each test; the latter fails a test that leaves anything behind or was reported. */
int open_bench(void **state);
int close_bench(void **state);
/* Another context of the device under test, which writes to bench.log too. */
struct bi_context *open_context(const char *spec);

/* Checked calls. `error` is what they pass to the library. */
extern struct bi_error error;
void check_ok(int rc, const char *call, const char *file, int line);
/* The message must have `reason` in it. */
void check_refused(int rc, int status, const char *reason, const char *call, const char *file, int line);

#define OK(call) check_ok((call), #call, __FILE__, __LINE__)
#define REFUSED(status, reason, call) check_refused((call), status, reason, #call, __FILE__, __LINE__)
#define CU(call) assert_int_equal((call), BI__CU_SUCCESS)

/* Memory and streams made with the driver itself, in the context of `context`. */
#define RAW_MAP(X) \
	X(PLAIN) \
	X(PINNED) \
	X(MANAGED) \
	X(POOL)

enum raw_kind {
#define RAW_ENUM(name) RAW_##name,
	RAW_MAP(RAW_ENUM)
#undef RAW_ENUM
		RAW_COUNT
};

struct raw {
	struct bi_context *context;
	enum raw_kind kind;
	bi__cu_pointer pointer;
	size_t nbytes;
};

int has_raw(enum raw_kind kind);
void raw_open(struct raw *raw, struct bi_context *context, enum raw_kind kind, size_t nbytes);
/* Waits for the whole context first. */
void raw_close(struct raw *raw);
void raw_fill(const struct raw *raw, uintptr_t stream, unsigned char value);
/* All bytes have this value. Waits for the whole context. */
void raw_check(const struct raw *raw, unsigned char value);

uintptr_t raw_stream_open(struct bi_context *context);
void raw_stream_close(struct bi_context *context, uintptr_t stream);

/* The struct that a producer of all bytes of the memory writes. */
struct bi_cai bytes_of(const struct raw *raw);
struct bi_cai bytes_on(const struct raw *raw, uintptr_t stream);

/* What the simulated driver saw. Without it the numbers stand still. */
uint64_t driver_calls(void);
uint64_t driver_waits(void);
uint64_t driver_host_waits(void);
/* Would a write of these bytes on the stream (0: of this thread) come after all work on them? */
void check_ordered(int expected, uintptr_t stream, const struct raw *raw, const char *file, int line);

#define assert_ordered(expected, stream, raw) check_ordered(expected, stream, raw, __FILE__, __LINE__)

void count_release(void *data);

int exports_group(void);
int imports_group(void);
int pointers_group(void);

#endif
