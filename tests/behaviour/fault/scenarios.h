/*
 * The scenarios of the fault suite. Each opens what it needs on a device, uses a part of the public interface, compares
 * the bytes, and releases all that it made whatever fails. A scenario goes on after a failure only with what it has.
 */
#ifndef BI_TESTS_FAULT_SCENARIOS_H
#define BI_TESTS_FAULT_SCENARIOS_H

#include "buffer_interface.h"

#define MOST_OBJECTS 64

/* What a scenario works with. */
struct scenario_state {
	const char *device; /* device string */
	struct bi_error *err; /* of the call that failed first */
	int rc; /* its status, or BI_OK */
	char wrong[200]; /* a result that differs from the expected one although no call failed; "": none */
	struct bi_context *context;
	struct {
		void (*release)(void *object);
		void *object;
	} objects[MOST_OBJECTS]; /* released from the last to the first */
	int count;
	int taken, released; /* release callbacks whose ownership was transferred, and those that were called */
};

typedef void scenario_fn(struct scenario_state *state);

#define SCENARIOS(X) \
	X(values) \
	X(layouts) \
	X(devices) \
	X(open_context) \
	X(profiled_context) \
	X(streams_and_events) \
	X(memories) \
	X(pooled_memories) \
	X(wrapped_memories) \
	X(stolen_buffers) \
	X(views) \
	X(structured_views) \
	X(elements) \
	X(copies) \
	X(overlapping_copy) \
	X(large_copies) \
	X(copies_between_contexts) \
	X(maps) \
	X(uses) \
	X(launches) \
	X(exchange) \
	X(dlpack) \
	X(cuda_array_interface) \
	X(bindings) \
	X(several_arrays) \
	X(other_arrays) \
	X(numpy_files)

#define SCENARIO_DECLARE(name) scenario_fn scenario_##name;
SCENARIOS(SCENARIO_DECLARE)
#undef SCENARIO_DECLARE

#endif
