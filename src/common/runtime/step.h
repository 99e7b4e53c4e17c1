/* The waits and records of one step (order.h). */
#ifndef BI_COMMON_RUNTIME_STEP_H
#define BI_COMMON_RUNTIME_STEP_H

#include "common/runtime/object.h"

#define BI__STEP_STREAMS 4
#define BI__STEP_ENDS 8

/*
 * The waits and records of a step so far. A step on several memories waits once for what they share, and records one
 * event for all of them. All memories of the step are locked. Made by BI__STEP_ON, once for the beginning and once for
 * the end.
 */
struct bi__step {
	struct bi_stream *stream;
	/* The end of the context stream, and of `stream`, for private memory. A memory of the step owns it. Or NULL. */
	struct bi__end *home, *end;
	struct bi__fence *made; /* end: the event of a copy, which becomes the last-use event of host memory; or NULL */
	unsigned stream_count, end_count;
	const struct bi_stream *streams[BI__STEP_STREAMS]; /* begin: `stream` waits for them; end: they wait for it */
	const struct bi__end *ends[BI__STEP_ENDS]; /* for which `stream` waits */
};

#define BI__STEP_ON(waiter) ((struct bi__step){ .stream = (waiter) })

/* Returns 1 if the stream was noted: its work is ordered by this step already. */
static inline int bi__step_has(const struct bi__step *step, const struct bi_stream *stream)
{
	for (unsigned i = 0; i < step->stream_count; i++)
		if (step->streams[i] == stream)
			return 1;
	return 0;
}

static inline void bi__step_note(struct bi__step *step, const struct bi_stream *stream)
{
	if (step->stream_count < BI__STEP_STREAMS)
		step->streams[step->stream_count++] = stream;
}

#endif
