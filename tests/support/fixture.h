/*
 * The fixture of most suites in tests/behaviour, and of unit tests: the devices that the command line names, contexts
 * of them, random numbers, and checked calls of the library.
 *
 * A suite's main() calls fixture_start, which reads the command line and the environment:
 *
 *     SUITE DEVICE [OTHER_DEVICE]     device strings as bi_context_open takes them
 *     BI_TEST_SEED                    repeats the random numbers of a run
 *     BI_TEST_FILTER, BI_TEST_SKIP    patterns: the only tests to run, and those not to run
 */
#ifndef BI_TESTS_SUPPORT_FIXTURE_H
#define BI_TESTS_SUPPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "array_length.h"
#include "buffer_interface.h"
#include "random.h"

struct fixture {
	const char *suite; /* name of the program, for messages */
	const char *spec; /* device under test */
	const char *second_spec; /* the other device, or NULL */
	struct bi_context *context; /* of the device under test */
	struct bi_context *second; /* of the other device, or NULL */
	struct bi_context *host;
	struct test_random random;
	unsigned long cases; /* so far, for messages */
};

extern struct fixture fixture;

/* Sets the strings and the random numbers. Opens nothing. Prints the usage and returns 0 if arguments are wrong. */
int fixture_start(const char *suite, int argc, char **argv);

/* Opens a device. Ends the program if that fails, so it can be called outside of a test. */
struct bi_context *fixture_open(const char *spec, const struct bi_options *options);

/* cmocka's setup and teardown for suites whose tests each have contexts of their own: `context` and `second`. */
int fixture_open_contexts(void **state);
int fixture_close_contexts(void **state);

/*
 * Checked calls pass `error` to the library. A call that succeeds must not write to `error`. A call that fails must
 * write its status and a message of one line.
 */
extern struct bi_error error;

#define OK(call) check_ok((mark_error(), (call)), #call, __FILE__, __LINE__)
/* Ends the test unless the call fails with this status. */
#define REFUSED(status, call) check_refused((mark_error(), (call)), status, "", #call, __FILE__, __LINE__)
/* As REFUSED. The message must also contain `reason`. */
#define REFUSED_FOR(status, reason, call) \
	check_refused((mark_error(), (call)), status, reason, #call, __FILE__, __LINE__)
/* As REFUSED, with any status of a failure. */
#define FAILS(call) REFUSED(BI_OK, call)

void mark_error(void);
void check_ok(int rc, const char *call, const char *file, int line);
void check_refused(int rc, int status, const char *reason, const char *call, const char *file, int line);

/* The value of *out before a call. No function may leave it there. */
#define STALE(type) ((type *)(void *)&error)

/* A release callback that counts its calls in an atomic_int. */
void count_release(void *data);

/* Skips the test if BI_TEST_ONE_THREAD is set: in some drivers, calls of several threads end the process. */
void skip_for_one_thread(void);

int is_opencl(const struct bi_context *context);
int is_cuda(const struct bi_context *context);
int can(const struct bi_context *context, unsigned capability);

struct bi_dtype dtype_of(const char *text);

/* Seconds of a clock that never goes back. */
double seconds_now(void);

#endif
