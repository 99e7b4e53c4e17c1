/*
 * Operations: one copy or fill between two memories, given to a backend. This is where an operation is recorded for the
 * report, and where option `debug` waits for its end. Order and checks are the caller's part (order.h).
 */
#ifndef BI_COMMON_RUNTIME_OPERATION_H
#define BI_COMMON_RUNTIME_OPERATION_H

#include "common/runtime/object.h"

struct bi__operation {
	const char *name; /* in reports */
	const struct bi__plan *plan;
	const struct bi_memory *dst;
	const struct bi_memory *src; /* NULL: a fill with `element` */
	const void *element; /* read before the call returns */
	size_t element_size;
};

/*
 * Enqueues the operation on a stream. `end`, unless NULL, is a cleared fence. It becomes a fence behind all that is on
 * the stream now, if the driver makes an event for that along with work between device and host memory.
 */
int bi__operation_enqueue(struct bi_stream *stream, const struct bi__operation *operation, struct bi__fence *end,
			  struct bi_error *err);

/*
 * Executes the operation on the calling thread, at the CPU addresses of both memories. Reports name `stream`.
 */
int bi__operation_run_inline(const struct bi_stream *stream, const struct bi__operation *operation,
			     struct bi_error *err);

/*
 * Sets *takes to 1 if the device of the context moves the plan between device and host memory as it is, without
 * packing.
 */
int bi__operation_is_taken(struct bi_context *context, const struct bi__operation *operation, int *takes,
			   struct bi_error *err);

#endif
