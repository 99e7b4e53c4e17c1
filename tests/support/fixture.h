/*
 * The fixture of every suite in tests/behaviour: the devices that the command line names, contexts of them, random
 * numbers, and checked calls of the library.
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

/* Sets the strings and the random numbers. Opens nothing. Returns 0, and has told the usage, if arguments are wrong. */
int fixture_start(const char *suite, int argc, char **argv);

/* Opens a device. Ends the program if that fails, so it can be called outside of a test. */
struct bi_context *fixture_open(const char *spec, const struct bi_options *options);

/* cmocka's setup and teardown for suites whose tests each have contexts of their own: `context` and `second`. */
int fixture_open_contexts(void **state);
int fixture_close_contexts(void **state);

/*
 * Checked calls. `error` is the error that the calls pass to the library: a call that succeeds must not write to it, a
 * call that fails must write its status and one sentence.
 */
extern struct bi_error error;

#define OK(call) check_ok((mark_error(), (call)), #call, __FILE__, __LINE__)
/* The call returns that status. */
#define REFUSED(status, call) check_refused((mark_error(), (call)), status, "", #call, __FILE__, __LINE__)
/* The message contains `reason` as well. */
#define REFUSED_FOR(status, reason, call) \
	check_refused((mark_error(), (call)), status, reason, #call, __FILE__, __LINE__)
/* The call returns any status but BI_OK. */
#define FAILS(call) REFUSED(BI_OK, call)

void mark_error(void);
void check_ok(int rc, const char *call, const char *file, int line);
void check_refused(int rc, int status, const char *reason, const char *call, const char *file, int line);

/* A pointer that no function may leave in *out. */
#define STALE(type) ((type *)(void *)&error)

/* A release callback that counts its calls in an atomic_int. */
void count_release(void *data);

/* Leaves out the test if BI_TEST_ONE_THREAD is set: calls of several threads end the process in the driver. */
void skip_for_one_thread(void);

int is_opencl(const struct bi_context *context);
int is_cuda(const struct bi_context *context);
int can(const struct bi_context *context, unsigned capability);

struct bi_dtype dtype_of(const char *text);

/* Seconds of a clock that never goes back. */
double seconds_now(void);

#endif
