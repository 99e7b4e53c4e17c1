/*
 * The driver of the device under test behind the library's back: to make objects that somebody else owns, and to look
 * at what the library left. One table for each API; what an API does not have is NULL there.
 */
#ifndef BI_TESTS_CONTRACT_DRIVER_H
#define BI_TESTS_CONTRACT_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "buffer_interface.h"

enum driver_kind { DRIVER_CONTEXT, DRIVER_STREAM, DRIVER_MEMORY, DRIVER_EVENT };

/* Native handles are numbers here, as in the library. Every function leaves the calling thread as it was. */
struct outside {
	const char *backend; /* the device string that adopts its contexts */
	enum bi_handle_kind memory_kind;
	/* A native context of the same device, and what can be made in one. Released by the caller. */
	uintptr_t (*new_context)(const struct bi_context *context);
	uintptr_t (*new_stream)(uintptr_t context);
	uintptr_t (*new_memory)(uintptr_t context, size_t nbytes);
	/* At the end of what is on the stream. */
	uintptr_t (*new_event)(uintptr_t context, uintptr_t stream);
	void (*release)(enum driver_kind kind, uintptr_t context, uintptr_t handle);
	/* Host wait for all that is on a stream, or for an event. */
	void (*finish)(enum driver_kind kind, uintptr_t context, uintptr_t handle);
	/* Work of somebody else: every byte of the memory's start becomes `value` when the stream comes to it. */
	void (*fill)(uintptr_t context, uintptr_t stream, uintptr_t memory, size_t nbytes, unsigned char value);
	/* Bytes of a memory on which nothing is pending. */
	void (*read)(uintptr_t context, uintptr_t memory, size_t offset, size_t nbytes, void *bytes);
	/* References to an object. Optional. */
	unsigned (*references)(enum driver_kind kind, uintptr_t handle);
	/* From the start of the allocation to this address. Optional: handles are no addresses. */
	size_t (*origin)(uintptr_t context, uintptr_t address);
	/*
	 * The CPU reads or writes these bytes now: whoever checks the driver's use is told. Bytes that are not the
	 * driver's are nobody's concern. Optional.
	 */
	void (*touch)(const void *bytes, size_t nbytes, int writes);
	/*
	 * Would work that somebody enqueues next on the memory's home, knowing nothing, come after all work on it?
	 * Optional: only who sees every command can tell.
	 */
	int (*is_ordered)(struct bi_memory *memory);
	/*
	 * Around each test. The end returns the number of things that are wrong since the beginning, told on stderr:
	 * what the driver has found, and what has changed about the calling thread. Optional.
	 */
	void (*begin_test)(const struct bi_context *context);
	unsigned long (*end_test)(const char *name);
	/* When everything is closed: also what was left behind. Optional. */
	unsigned long (*end_run)(void);
};

extern const struct outside outside_cuda;
extern const struct outside outside_opencl;

/* Of the device of the context; NULL on the host. */
const struct outside *outside_of(const struct bi_context *context);

/*
 * Fails unless the count becomes `expected` within seconds: a driver's threads may drop theirs after a command is done.
 * An API that does not count is taken at its word.
 */
void expect_references(const struct outside *outside, enum driver_kind kind, uintptr_t handle, unsigned expected);

#endif
