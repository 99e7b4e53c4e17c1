/*
 * The seam between the suite and a driver: how a test makes memory, streams, producers and gates behind the library's
 * back, and how it counts calls. raw_opencl.c and raw_cuda.c fill it; objects.c and accounts.c alone call through it.
 *
 * Contexts, streams and arrays are the library's objects of that driver. A function that cannot do what it is asked
 * fails the test. What is optional is NULL.
 */
#ifndef BI_TESTS_ORDERING_RAW_DRIVER_H
#define BI_TESTS_ORDERING_RAW_DRIVER_H

#include <pthread.h>

#include "objects.h"

struct gate {
	const struct raw_driver *driver;
	struct bi_context *context;
	uintptr_t handle; /* the driver's */
	atomic_int open;
	int soon; /* `thread` runs */
	pthread_t thread;
};

/* Groups of calls that are counted together. */
enum counted {
	COUNT_ALL,
	COUNT_ENQUEUED, /* that enqueue something */
	COUNT_RECORDS, /* that make an event of what is on a stream */
	COUNT_WAITS, /* that make a stream wait */
	COUNT_QUERIES /* that ask whether an event is complete */
};

struct raw_driver {
	const char *backend; /* of the library */
	enum bi_handle_kind handle_kind;
	enum bi_order_kind stream_kind;

	/* Whatever the suite needs of the device; ends the program if the counter is missing that must be there. */
	unsigned (*open)(const char *spec);
	/* A test begins: counts are 0, nothing is armed. */
	void (*begin)(void);
	/* It has ended, and closed everything. Fails it if the driver has something to say. */
	void (*end)(void);

	int (*counts)(void); /* 0: the driver does not, and everything below is 0 */
	uint64_t (*host_waits)(void);
	/* Waits of a kind that the end of a context may add. Optional. */
	uint64_t (*closing_waits)(void);
	void (*tell_waits)(void); /* names the last calls that waited, for the words of a failure; optional */
	uint64_t (*count)(enum counted what);
	uint64_t (*calls)(const char *name);
	int64_t (*live_memory)(void);
	void (*arm)(const char *name, unsigned nth);
	/* The nth call of any function and all after it fail, but for those that release; 0: none will. */
	void (*arm_from)(unsigned nth);
	uint64_t (*failures)(void);

	/* A native context of one or two devices for contexts to adopt, with their device strings. */
	uintptr_t (*share)(const char *const specs[2], const char *adopt[2]);
	void (*unshare)(uintptr_t native);
	/* Keeps the native context until the test has ended. Optional. */
	void (*hold)(struct bi_context *context);

	/* 1 until the call with 0: no allocation and no new stream waits, as if all were made before a gate was closed.
	 * Optional. */
	void (*make_early)(int is_early);
	uintptr_t (*stream_create)(struct bi_context *context, unsigned flags);
	/* In the native context that it was made in. */
	void (*stream_release)(uintptr_t native, uintptr_t stream);
	/* Waits until all of them are empty, in a way that no driver counts. */
	void (*finish)(struct bi_stream *const *streams, size_t count);
	void (*settle)(struct bi_context *context);
	/* Does the stream still do work? Drivers may refuse work on a stream whose work has failed. Optional. */
	int (*works)(struct bi_stream *stream);

	uintptr_t (*alloc)(struct bi_context *context, int value);
	/* Its handle is taken by the library that wraps it, or else let go with this when the test has ended. */
	unsigned wrap_flags;
	void (*free)(uintptr_t handle);
	/* Host memory that the driver knows, let go in the same way. Optional. */
	void *(*host_alloc)(const struct bi_context *context);
	void (*host_free)(void *bytes);
	/* Does the library allocate in the order of the context stream? Optional. */
	int (*allocates_in_order)(const struct bi_context *context);
	/* Frees what was let go and waits for nothing, because everything is done. */
	void (*bury)(void);
	/* `is_quiet`: no gate is closed, everything was waited for. */
	void (*peek)(struct bi_view *view, unsigned char bytes[ARRAY_BYTES], int is_quiet);
	void (*poke)(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES]);
	/* Is the memory its producer's again: on the stream that is its home, or (0) the CPU's? Optional. */
	int (*is_free)(uintptr_t handle, uintptr_t stream);
	/* Would an access on the stream be ordered? -1: nobody knows. */
	int (*ordered)(struct bi_stream *stream, struct bi_view *view, int writes);

	/* Sets all bytes, of device or host memory; `gate` and `event` may be NULL. */
	void (*write)(struct bi_stream *stream, struct bi_view *view, int value, struct gate *gate, uintptr_t *event);
	void (*copy)(struct bi_stream *stream, struct bi_view *to, struct bi_view *from);
	void (*upload)(struct bi_stream *stream, struct bi_view *to, struct bi_view *from);

	void (*gate_init)(struct gate *gate);
	void (*gate_close)(struct gate *gate, struct bi_stream *stream);
	void (*gate_open)(struct gate *gate);
	void (*gate_fail)(struct gate *gate); /* optional */
	void (*gate_release)(struct gate *gate);

	uintptr_t (*event_complete)(struct bi_context *context);
	uintptr_t (*event_failed)(struct bi_context *context); /* optional */
	/* Of the test's reference; the library has its own if the driver counts. */
	void (*event_release)(uintptr_t native, uintptr_t event);
	void (*event_wait)(struct bi_stream *stream, uintptr_t event);
	int (*event_done)(uintptr_t event);
};

extern const struct raw_driver raw_opencl, raw_cuda;
/* Of a backend that only a program of the tests has; at address NULL in the others. */
extern const struct raw_driver raw_extra __attribute__((weak));

/* NULL: the host. */
const struct raw_driver *driver_of(const struct bi_context *context);
/* All drivers whose devices the suite was started with. */
const struct raw_driver *raw_driver(size_t i);
void add_driver(const struct raw_driver *driver);

#endif
