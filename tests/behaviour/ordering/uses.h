/* Ways to use an array, and what they leave behind. */
#ifndef BI_TESTS_ORDERING_USES_H
#define BI_TESTS_ORDERING_USES_H

#include "objects.h"

enum use {
	USE_FILL, /* with USED */
	USE_COPY_FROM, /* view -> other */
	USE_COPY_TO, /* other -> view */
	USE_ACQUIRE, /* a consumer's own command on the stream copies view -> other; handed back */
	USE_COUNT
};

#define USED 9

/* `stream` may be NULL. Device memory only. */
void apply(enum use use, struct bi_view *view, struct bi_view *other, struct bi_stream *stream);
/* What the library is asked for in that use, without a check of what it returns. */
int try(enum use use, struct bi_view *view, struct bi_view *other, struct bi_stream *stream);

/* Values afterwards, of arrays that had these values. */
int applied_to_view(enum use use, int view, int other);
int applied_to_other(enum use use, int view, int other);

/* An export names that stream; NULL: none. */
void assert_exported_stream(struct bi_view *view, struct bi_stream *stream);

/* The nth call of that function of OpenCL, or of any of CUDA, fails from now on; 0: none will. */
void arm_any(const char *function, unsigned nth);

/* Accounts for the waits of a call. A wait that the driver refuses is one for the library, but not for every driver. */
struct wait_count {
	uint64_t driver;
	unsigned long value, failure;
};

struct wait_count count_waits(struct bi_context *context);
/* Returns the number of waits with the reason `failure`. */
unsigned expect_waits_since(struct bi_context *context, struct wait_count before);

/* Groups. Each returns the number of tests that failed. */
int homes_rows(void);
int operations_rows(void);
int copies_rows(void);
int exchange_rows(void);
int release_rows(void);
int cross_rows(void);
int failures_rows(void);
int fork_rows(void);
int waits_rows(void);
int pair_rows(void);
int joins_rows(void);
int cuda_streams_rows(void);
int cai_rows(void);
int capture_rows(void);
int cuda_memory_rows(void);
int peers_rows(void);
int dlpack_rows(void);
int inline_copies_rows(void);
int readers_rows(void);
int several_rows(void);

/*
 * The test makes one piece of pinned memory, of one of the two (`b` may be NULL). OpenCL maps it once; who makes it
 * waits for that, and for no work.
 */
void expect_piece(const struct bi_context *a, const struct bi_context *b);

#endif
