/*
 * Operations: one copy or fill between two memories, given to a backend. These functions also record operations for the
 * report, and wait for each operation if option `debug` is set. The caller has checked the memories, and orders the
 * work (order.h).
 */
#ifndef BI_COMMON_RUNTIME_OPERATION_H
#define BI_COMMON_RUNTIME_OPERATION_H

#include "common/runtime/object.h"

struct bi__operation {
	const char *name; /* name of the operation in reports */
	const struct bi__plan *plan;
	const struct bi_memory *dst;
	const struct bi_memory *src; /* NULL: a fill with `element` */
	const void *element; /* read before the call returns */
	size_t element_size;
};

/*
 * Enqueues the operation on a stream. `end` is NULL or a cleared fence. If the driver makes an event with the copy,
 * which is possible between device and host memory, *end becomes a fence for all work that is on the stream now.
 */
int bi__operation_enqueue(struct bi_stream *stream, const struct bi__operation *operation, struct bi__fence *end,
			  struct bi_error *err);

/* Executes the operation on the calling thread, at the CPU addresses of both memories. `stream` is used for reports. */
int bi__operation_run_inline(const struct bi_stream *stream, const struct bi__operation *operation,
			     struct bi_error *err);

/*
 * Sets *takes to 1 if the device of the context moves the plan directly between device and host memory, without
 * packing; else to 0.
 */
int bi__operation_is_taken(struct bi_context *context, const struct bi__operation *operation, int *takes,
			   struct bi_error *err);

#endif
