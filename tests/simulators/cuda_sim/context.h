/* Contexts, and the calling thread's current one. */
#ifndef BI_TESTS_CUDA_SIM_CONTEXT_H
#define BI_TESTS_CUDA_SIM_CONTEXT_H

#include "clock.h"
#include "sim.h"

/* Lives until the end of the run, so that it can be told when it is used after it was destroyed. */
struct context {
	struct context *next; /* in the list of all */
	bi__cu_context handle;
	bi__cu_context green; /* another one: of a green context in it. NULL: it has none */
	uint64_t id; /* unique in the process */
	int device;
	int is_destroyed;
	int is_reset; /* the primary context was destroyed by a reset */
	int has_successor; /* the handle means another context now */
	struct stream *streams; /* the legacy stream, streams of threads, created streams */
	struct stream *legacy;
	struct op *gone; /* comes after the work of blocking streams that are destroyed */
	struct clock gone_clock, gone_blocking_clock; /* of streams that are destroyed */
	struct event *events;
	struct module *modules;
};

struct context *contexts_first(void);
/* NULL after a report, with *code set: there is none, or it is destroyed. */
struct context *context_current(bi__cu_result *code);
struct context *context_find(bi__cu_context handle, bi__cu_result *code);
/* Joins everything that has been enqueued in the context. */
void context_join(const struct context *context, struct clock *into);
/* Waits for it, without learning anything; counts if there was something to wait for. */
bi__cu_result context_drain(struct context *context);
void contexts_report_left(void);
void contexts_forget(void);
int is_device(int device);

#endif
