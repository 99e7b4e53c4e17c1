/*
 * Raw work of random programs: calls of the driver without the library. They use streams, memory and copies of a
 * producer or a consumer. raw_opencl.c and raw_cuda.c fill the table; the host has none.
 *
 * All objects exist as long as the context that the programs share. A call of the driver that fails is made once more,
 * because a fault may have been armed. If it fails again, the process ends.
 */
#ifndef BI_TESTS_FUZZ_RAW_H
#define BI_TESTS_FUZZ_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer_interface.h"
#include "faults.h"

/* Threads of a program. Each has its own stock (RAW_STOCK memories that the driver allocated) and witnesses. */
#define RAW_PARTS 3
#define RAW_STREAMS 2
#define RAW_BYTES 3000
#define RAW_STOCK 3
/* Four that steps share, and one for each memory of the stock. */
#define RAW_WITNESSES (4 + RAW_STOCK)

/* Bytes of a memory of the library or of the stock. */
struct raw_place {
	uintptr_t handle; /* of the driver, or 0 */
	size_t offset; /* from the start of the handle or of `host` */
	void *host; /* host memory, or NULL */
};

struct raw {
	void (*open)(struct bi_context *context);
	/* Called when the streams are finished, and nothing of the library refers to the objects. */
	void (*close)(void);
	/* Returns the handle of a stream: the first is in-order, the second out-of-order if uses_out_of_order. */
	uintptr_t (*stream)(int index);
	uintptr_t (*memory)(int part, int index);
	/* Returns RAW_BYTES bytes for `get` to write. */
	unsigned char *(*witness)(int part, int index);
	/* Enqueues a copy of constant bytes into the place, and one out of the place. */
	void (*put)(uintptr_t stream, struct raw_place place, size_t from, size_t nbytes);
	void (*get)(uintptr_t stream, struct raw_place place, unsigned char *witness, size_t nbytes);
	/* Waits until the stream is empty. */
	void (*finish)(uintptr_t stream);
	/* Add and release a reference to stock memory. NULL if the driver counts no references. */
	void (*retain)(int part, int index);
	void (*release)(int part, int index);
	/* Returns what is wrong with the stock memory that the library has released, or NULL. */
	const char *(*check)(int part, int index);
	/* Returns 1 if two threads that enqueue deadlock inside the driver; NULL: they do not. */
	int (*is_for_one_thread)(void);
	enum bi_handle_kind kind;
};

extern const struct raw raw_opencl, raw_cuda;

/*
 * Returns 1 if programs use out-of-order streams. BI_TEST_IN_ORDER is for drivers whose out-of-order queues do not work
 * in several threads (docs/opencl.md).
 */
static inline int uses_out_of_order(const struct bi_context *context)
{
	return (bi_context_device(context)->capabilities & BI_CAP_OUT_OF_ORDER) && !getenv("BI_TEST_IN_ORDER");
}

static inline unsigned char raw_source(size_t from)
{
	return (unsigned char)(from * 13 + 7);
}

static inline void raw_check(long code, const char *call)
{
	if (!code)
		return;
	fprintf(stderr, "random_programs: %s returned %ld\n", call, code);
	abort();
}

/* Makes a call that fails once more, without armed faults. */
#define RAW(call) raw_check((call) == 0 ? 0 : (faults_spare_driver(), (long)(call)), #call)

#endif
