/*
 * What the tests of docs/ordering.md stand on: contexts and streams that are closed after each test, producers and
 * gates made behind the library's back, and the account of host waits.
 *
 * A gate is a user event that a command on a queue waits for. While it is closed, nothing behind it has run: a library
 * call that returns has not waited, and what it enqueued is where it is by rule and not by luck. A test closes a gate,
 * calls the library, lets everything run that may run (settle), opens the gate and looks at the bytes.
 *
 * Arrays are dense bytes, ARRAY_BYTES of them, all of one value where a test does not say otherwise.
 */
#ifndef BI_TESTS_ORDERING_BENCH_H
#define BI_TESTS_ORDERING_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "buffer_interface.h"
#include "opencl_driver.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define ARRAY_BYTES 4096

/* ------------------------------------------------------------------------------------------------------------- tests
 */

/* What a test needs of the devices that the suite was started with. */
enum need {
	NEED_OPENCL = 1,
	NEED_GATE = 2, /* OpenCL whose commands run after the call that enqueued them */
	NEED_PAIR = 4 /* two devices in one cl_context, of which one may be synchronous */
};

/* A test is named after the row that it belongs to: row_03_..., 3. */
struct row {
	const char *name;
	unsigned needs;
	void (*run)(void **state);
};

#define ROW(function, needs) \
	{ \
#function, needs, function \
	}

/* Returns the number of tests that failed. Those that the devices do not allow are named on stderr. */
int run_rows(const char *group, const struct row *rows, size_t count);

/* Bit n is set if a test of row n has run. */
extern unsigned rows_seen;

struct bench {
	const char *spec;
	const char *second_spec; /* or NULL */
	const char *space; /* words for the reader */
	unsigned needs; /* that are met */
	cl_context shared; /* that both contexts adopt, or NULL: there is one context, opened */
	const char *adopt[2]; /* device strings for that */
	struct bi_context *context; /* where arrays live */
	struct bi_context *other; /* where streams live */
};

extern struct bench bench;
extern struct bi_error error;

void check_ok(int rc, const char *call, const char *file, int line);
void check_refused(int rc, int status, const char *call, const char *file, int line);

#define OK(call) check_ok((call), #call, __FILE__, __LINE__)
#define REFUSED(status, call) check_refused((call), status, #call, __FILE__, __LINE__)

/* ---------------------------------------------------------------------------------------------------------- accounts
 */

/* Opens the layer; ends the program if `spec` is an OpenCL device and the layer is not there. */
void accounts_open(void);
void accounts_begin(const char *name);
/* Compares the waits that the layer saw with those that the contexts reported and with those that the test expects. */
void accounts_end(void);
/* Host waits in tests of rows that allow none. */
unsigned long accounts_strict_waits(void);

/* The test makes the library wait so often. Fails the test if its row has no **host wait**. */
void expect_waits(const char *reason, unsigned count);
/* The test itself waited, by one call. */
void own_wait(void);
/* Adds the report of a context that is about to be closed. */
void account_for(struct bi_context *context);
/* What the layer saw of the library so far. */
uint64_t library_waits(void);

uint64_t calls_of(const char *name);
/* Calls that enqueue something, and of them those that only order. */
uint64_t enqueued(void);
uint64_t ordered(void);
/* All calls that went through the layer. */
uint64_t all_calls(void);
int64_t live_buffers(void);
/* The nth call of that function from now on (1: the next) fails; 0: none will. */
void arm(const char *name, unsigned nth);
uint64_t failures(void);

/* One number of a report: "retired", "hits", or a reason of host waits. */
unsigned long reported(struct bi_context *context, const char *member);

/* ----------------------------------------------------------------------------------------------------------- objects
 */

/* cmocka's setup and teardown of each test. A test that fails leaves its objects to the end of the program. */
int bench_setup(void **state);
int bench_teardown(void **state);

int is_opencl(const struct bi_context *context);
int can(const struct bi_context *context, unsigned capability);

/* A further context with that device string, closed with the test. */
struct bi_context *open_context(const char *spec, struct bi_options options);
/* Closes it now, while the library waits so often. */
void close_context(struct bi_context *context, unsigned waits);
/* Lets every context reap what is retired. */
void trim_all(void);

/* Streams of `other`, released with the test. */
struct bi_stream *new_stream(unsigned flags);
/* A queue of the test's own, wrapped. */
struct bi_stream *new_producer(unsigned flags);
struct bi_stream *new_producer_in(struct bi_context *context, unsigned flags);
cl_command_queue queue_of(const struct bi_stream *stream);
struct bi_stream *home_of(struct bi_context *context);

/* The kinds of streams that the device has: in-order, out-of-order. */
size_t stream_kinds(void);

enum place { PLACE_DEVICE, PLACE_HOST };

/* Options of an array that is wrapped. */
struct producer {
	struct bi_stream *stream; /* that the producer names, or NULL */
	struct bi_event *event; /* for the first use, or NULL */
	atomic_int *released; /* counts calls of the release callback, or NULL */
};

/* An array of the test's memory; all bytes are `value`. */
struct bi_view *wrap_in(struct bi_context *context, enum place place, int value, struct producer producer);
struct bi_view *wrap(enum place place, int value, struct producer producer);
/* The same memory as another array, for a producer who has worked on it before. */
struct bi_view *wrap_again(struct bi_view *made, struct producer producer);
/* An array of the library's. */
struct bi_view *allocate(void);
/* `count` elements from `start` on, `step` apart. */
struct bi_view *slice(struct bi_view *view, int64_t start, int64_t count, int64_t step);

/* The value of all bytes, or -1 if they differ. The test waits; the library is not asked. */
int value_of(struct bi_view *view);
void peek(struct bi_view *view, unsigned char bytes[ARRAY_BYTES]);
void poke(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES]);
cl_mem buffer_of(const struct bi_view *view);

void fill(struct bi_view *view, int value, struct bi_stream *stream);

/* A command of the test's own on a stream: sets all bytes. */
void raw_write(struct bi_stream *stream, struct bi_view *view, int value);

struct gate;

/* Whatever is enqueued on the stream next waits. */
struct gate *close_gate(struct bi_stream *stream);
/* Only a write of the producer waits; on an in-order stream what is enqueued next does too. */
struct gate *close_gate_on_write(struct bi_stream *stream, struct bi_view *view, int value);
/* An array that its producer is about to write on the stream that he names, behind the gate. */
struct bi_view *wrap_gated(enum place place, int value, struct bi_stream *stream, struct gate **gate);
/* The event of a write that waits. */
struct bi_event *gated_event(struct bi_context *context, struct bi_stream *stream, struct bi_view *view, int value,
			     struct gate **gate);
/* A user event as it is: pending, or with that status (CL_COMPLETE or an error). */
struct bi_event *user_event(struct bi_context *context, cl_int status);
void open_gate(struct gate *gate);
void fail_gate(struct gate *gate);
/* From another thread, after a while. */
void open_gate_soon(struct gate *gate);
int is_open(const struct gate *gate);

/* Time for everything that may run. */
void settle(void);
/* Waits for everything on the streams of the test, without the library. */
void finish_all(void);
/* Opens the gate and waits for everything. */
void open_and_finish(struct gate *gate);
/* Ends one case of a test: opens gates, waits for everything, lets go of the streams. */
void clear_case(void);

#endif
