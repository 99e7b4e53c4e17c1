/*
 * Memory and streams that the tests of the CUDA Array Interface make with the driver itself, and what the simulated
 * driver reports. On a real driver the tests run as well; they then assume what only the simulated one can see (calls,
 * order).
 */
#ifndef BI_TESTS_CAI_RAW_H
#define BI_TESTS_CAI_RAW_H

#include "arrays.h"
#include "cuda_driver.h"
#include "fixture.h"

/* The drivers that the simulated one can be, and what the library logs in one test. */
struct cai_test {
	int has_pools, has_concurrent_managed; /* of the simulated driver */
	char log[512]; /* the last line of `fixture.context` */
	int lines;
};

extern struct cai_test cai_test;

/* Setup and teardown of each test. The latter fails a test that leaves anything behind or that the driver reported. */
int open_contexts(void **state);
int close_contexts(void **state);
/* Another context of the device under test, which writes to cai_test.log too. */
struct bi_context *open_context(const char *spec);

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

int exports_group(void);
int imports_group(void);
int pointers_group(void);

#endif
