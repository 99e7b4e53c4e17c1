/*
 * What the tests of docs/ordering.md stand on: contexts and streams that are closed after each test, producers and
 * gates made behind the library's back, and the account of host waits. What depends on the driver is behind the table
 * of raw_driver.h, so that the rows are written once.
 *
 * A gate is something that a stream waits for and that a test opens. While it is closed, nothing behind it has run: a
 * library call that returns has not waited, and what it enqueued is where it is by rule and not by luck. A test closes
 * a gate, calls the library, lets everything run that may run (settle), opens the gate and looks at the bytes.
 *
 * On the simulated CUDA driver every test also ends without a report of it, bytes that a test looks at while no gate is
 * closed must be the CPU's to read, and memory that the library lets go of must be its producer's to write.
 *
 * Arrays are dense bytes, ARRAY_BYTES of them, all of one value where a test does not say otherwise.
 */
#ifndef BI_TESTS_ORDERING_OBJECTS_H
#define BI_TESTS_ORDERING_OBJECTS_H

#include <stdatomic.h>

#include "fixture.h"

#define ARRAY_BYTES 4096

/* ------------------------------------------------------------------------------------------------------------ tests */

#define ROWS 38

/* What a test needs of the devices that the suite was started with. */
enum need {
	NEED_DEVICE = 1, /* with streams */
	NEED_OPENCL = 2,
	NEED_CUDA = 4,
	NEED_GATE = 8, /* commands run after the call that enqueued them */
	NEED_PAIR = 16, /* two devices in one cl_context, of which one may be synchronous */
	NEED_CROSS = 32, /* the second context shares no events with the first */
	NEED_PEERS = 64, /* two CUDA devices */
	NEED_SIM = 128, /* the simulated driver */
	NEED_COUNTS = 256, /* calls of the driver are counted */
	NEED_INLINE = 512, /* the calling thread does small copies and fills in the library's own memory */
	NEED_TOLD = 1024 /* the driver fails the work behind failed work, and its events */
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
extern uint64_t rows_seen;
/* Tests that have run to their end, in all spaces. */
extern unsigned rows_run;

struct raw_driver;

/* The contexts under which the rows run now. `fixture.context` is where arrays live. */
struct setting {
	const char *name; /* words for the reader */
	unsigned needs; /* that are met */
	int is_shared; /* both contexts adopt one native context; else there is one context, opened */
	int is_pinned; /* host memory of the tests is pinned */
	int is_capturing; /* work that is enqueued runs later, and no driver can report its order */
	const struct raw_driver *driver; /* of the first device; NULL: the host */
	struct bi_context *other; /* where streams live */
};

extern struct setting setting;

/* --------------------------------------------------------------------------------------------------------- accounts */

void accounts_begin(const char *name);
/* Compares the waits that the drivers saw with those that the contexts reported and with those that the test expects.
 */
void accounts_end(void);
/* Host waits in tests of rows that allow none, and all that were compared with what drivers saw. */
unsigned long accounts_strict_waits(void);
unsigned long accounts_compared_waits(void);

/* The test makes the library wait so often. Fails the test if its row has no **host wait**. */
void expect_waits(const char *reason, unsigned count);
/* The test itself waited, so many times. */
void own_waits(uint64_t count);
/* Adds the report of a context that is about to be closed. */
void account_for(struct bi_context *context);
/* Do all drivers that the test uses count? */
int is_counted(void);
/* What they saw of the library so far, 0 if they do not count. */
uint64_t library_waits(void);
/* Something of the test itself that must not end it where it was noticed, such as in a callback. */
void note_violation(const char *words);

/* Calls of the first device's driver, 0 where they are not counted. */
uint64_t calls_of(const char *name);
/* Calls that enqueue something, and of them those that only order. */
uint64_t enqueued(void);
uint64_t ordered(void);
/* Events made of what is on a stream, streams that were made to wait for one, questions whether one is complete. */
uint64_t records(void);
uint64_t waits(void);
uint64_t queries(void);
uint64_t all_calls(void);
int64_t live_memory(void);

/* The library has waited so many times more. */
void check_waits(uint64_t before, uint64_t more);
/* How many more a count has become; anything where calls are not counted. */
void check_more(uint64_t now, uint64_t before, uint64_t more, const char *what, const char *file, int line);
#define MORE(counter, before, more) check_more((counter), (before), (more), #counter, __FILE__, __LINE__)

/* The nth call of that function from now on (1: the next) fails; 0: none will. */
void arm(const char *name, unsigned nth);
/* The nth call of any function and all after it fail, but for those that release; 0: none will. */
void arm_from(unsigned nth);
uint64_t failures(void);

/* One number of a report: "retired", "hits", or a reason of host waits. */
unsigned long reported(struct bi_context *context, const char *member);

/* ---------------------------------------------------------------------------------------------------------- objects */

/* cmocka's setup and teardown of each test. A test that fails leaves its objects to the end of the program. */
int open_row(void **state);
int close_row(void **state);

int is_device(const struct bi_context *context);
/* On the host nothing ever waits, and no driver is called. */
unsigned on_device(unsigned count);
/* Is own device memory allocated and freed in the order of the context stream? */
int allocates_in_order(void);

/* A further context with that device string, closed with the test. */
struct bi_context *open_context(const char *spec, struct bi_options options);
/* Of the second device, or of the first once more. */
struct bi_context *open_second(void);
/* With the native context of `fixture.context`. */
struct bi_context *open_again(void);
/* Closes it now, while the library waits so often. */
void close_context(struct bi_context *context, unsigned waits);
/* Releases one reference while something else may hold another. Returns whether that has closed it. */
int leave_context(struct bi_context *context);
/* In this test. */
int contexts_closed(void);
/* Lets every context reap what is retired. */
void trim_all(void);

/* Streams of `other`, released with the test. */
struct bi_stream *new_stream(unsigned flags);
struct bi_stream *new_stream_in(struct bi_context *context, unsigned flags);
/* A stream of the test's own, wrapped; destroyed when the library lets go of it. */
struct bi_stream *new_producer(unsigned flags);
struct bi_stream *new_producer_in(struct bi_context *context, unsigned flags);
/* A handle that is the test's, wrapped. */
struct bi_stream *wrap_stream(struct bi_context *context, uintptr_t handle);
struct bi_stream *home_of(struct bi_context *context);

/* The kinds of streams that the device has: in-order, out-of-order. */
size_t stream_kinds(void);

enum place { PLACE_DEVICE, PLACE_HOST };

/* Options of an array that is wrapped. */
struct producer {
	struct bi_stream *stream; /* that the producer names, or NULL */
	struct bi_event *event; /* for the first use, or NULL */
	atomic_int *released; /* counts calls of the release callback, or NULL */
	unsigned flags; /* enum bi_wrap_flag */
};

/* An array of the test's memory; all bytes are `value`, if a stream is named when it has come so far. */
struct bi_view *wrap_in(struct bi_context *context, enum place place, int value, struct producer producer);
struct bi_view *wrap(enum place place, int value, struct producer producer);
/* The same memory as another array, for a producer who has worked on it before. */
struct bi_view *wrap_again(struct bi_view *made, struct producer producer);
/* An array of the library's. */
struct bi_view *allocate(void);
/*
 * Between a call with 1 and one with 0, the driver of the context makes pinned memory and streams as if it did so
 * before any gate was closed: it may wait for all pending work. For what the test makes, and for operations that
 * allocate pinned memory if the pool has none.
 */
void make_early(const struct bi_context *context, int is_early);
struct bi_memory *create_memory(struct bi_context *context, int64_t nbytes, enum bi_memory_kind kind);
struct bi_view *allocate_in(struct bi_context *context, enum bi_memory_kind kind);
/* The first ARRAY_BYTES of a memory, which is taken. */
struct bi_view *view_bytes(struct bi_memory *memory);
/* `count` elements from `start` on, `step` apart. */
struct bi_view *slice(struct bi_view *view, int64_t start, int64_t count, int64_t step);

/* The value of all bytes, or -1 if they differ. The test waits; the library is not asked. */
int value_of(struct bi_view *view);
void peek(struct bi_view *view, unsigned char bytes[ARRAY_BYTES]);
void poke(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES]);
/* The native handle, which counts as shown from then on. */
uintptr_t handle_of(const struct bi_view *view);
/*
 * Between a call with 1 and one with 0, handles are asked for with bi_use_native, for work between bi_use_begin and
 * bi_use_end: memory that is private stays private.
 */
void borrow_handles(int is_borrowing);

/*
 * What the library is asked for, and, where somebody can be asked, what must hold when the call returns: the homes of
 * the test's arrays come after the work, the stream that acquires does too.
 */
void fill(struct bi_view *view, int value, struct bi_stream *stream);
void copy(struct bi_view *to, struct bi_view *from, struct bi_stream *stream);
void acquire(struct bi_view *view, struct bi_stream *stream);
void hand_back(struct bi_view *view, struct bi_stream *stream);
void unmap(struct bi_map *map, struct bi_view *view);
/* The home of an array that the test has wrapped comes after all work on it. */
void assert_home_follows(struct bi_view *view);

/* Commands of the test's own on a stream: set all bytes, copy them, copy them from host memory. */
void raw_write(struct bi_stream *stream, struct bi_view *view, int value);
void raw_copy(struct bi_stream *stream, struct bi_view *to, struct bi_view *from);
void raw_upload(struct bi_stream *stream, struct bi_view *to, struct bi_view *from);
/* The stream waits for a native event. */
void raw_wait(struct bi_stream *stream, uintptr_t event);
int is_done(uintptr_t event);

/*
 * Asks the simulated driver whether a write (or read) enqueued on the stream now would come after all work on the
 * array. Nothing where nobody can be asked. The handle counts as shown.
 */
void assert_ordered(struct bi_stream *stream, struct bi_view *view);
void assert_readable(struct bi_stream *stream, struct bi_view *view);
/* That it would not: the test has something to order. */
void assert_unordered(struct bi_stream *stream, struct bi_view *view);

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
/* An event that is complete, or, where the driver has such events, one that has failed. */
struct bi_event *complete_event(struct bi_context *context);
struct bi_event *failed_event(struct bi_context *context);
void open_gate(struct gate *gate);
/* What waits for it fails, where the driver has such gates. */
void fail_gate(struct gate *gate);
/* From another thread, after a while. */
void open_gate_soon(struct gate *gate);
int is_open(const struct gate *gate);

/* Time for everything that may run, so that what must not run is seen. */
void settle(void);
/* Time until that is so. Hardware takes as long as it needs. */
#define SETTLE_UNTIL(condition) \
	do { \
		int tries = 1000; \
\
		for (settle(); !(condition) && tries; tries--) \
			settle(); \
		if (!tries) \
			fail_msg("it does not become true: %s", #condition); \
	} while (0)
/* Does the driver still do work on the stream? */
int stream_works(struct bi_stream *stream);
/* Waits for everything on the streams of the test, without the library. */
void finish_all(void);
/* Waits for everything, and lets the library let go of all that it can. */
void empty_all(void);
/* Opens the gate and waits for everything. */
void open_and_finish(struct gate *gate);
/* Ends one case of a test: opens gates, waits for everything, lets go of the streams. */
void clear_case(void);

#endif
