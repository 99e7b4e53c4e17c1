/* Contexts, and the calling thread's current one. */
#ifndef BI_TESTS_CUDA_SIM_CONTEXT_H
#define BI_TESTS_CUDA_SIM_CONTEXT_H

#include "clock.h"
#include "sim.h"

/* Exists until the end of the run, so that a use after its destruction can be reported. */
struct context {
	struct context *next; /* in the list of all */
	bi__cu_context handle;
	bi__cu_context green; /* handle of a green context in it, or NULL */
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
/* Return NULL after a report, with *code set, if there is no such context or it is destroyed. */
struct context *context_current(bi__cu_result *code);
struct context *context_find(bi__cu_context handle, bi__cu_result *code);
/* Joins the clocks of all work that was enqueued in the context. */
void context_join(const struct context *context, struct clock *into);
/*
 * Waits for the work of the context. The host has not seen it complete then. Counts a host wait unless it had before.
 */
bi__cu_result context_drain(struct context *context);
void contexts_report_left(void);
void contexts_forget(void);
int is_device(int device);

#endif
