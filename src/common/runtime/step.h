/* The waits and records of one step (order.h). */
#ifndef BI_COMMON_RUNTIME_STEP_H
#define BI_COMMON_RUNTIME_STEP_H

#include "common/runtime/object.h"

#define BI__STEP_STREAMS 4
#define BI__STEP_ENDS 8

/*
 * The waits and records of a step so far. A step on several memories waits once for what they share, and records one
 * event for the private memories among them. All memories of the step are locked. A step makes one struct for its
 * beginning and one for its end, with BI__STEP_ON.
 */
struct bi__step {
	struct bi_stream *stream;
	/* For private memory: the ends of its home stream and of `stream`. Memories of the step own them. Or NULL. */
	struct bi__end *home, *end;
	struct bi__fence *made; /* at the end of a copy: its event, which becomes the last-use event of host memory */
	unsigned stream_count, end_count;
	/* At the beginning: streams for which `stream` waits. At the end: streams that wait for `stream`. */
	const struct bi_stream *streams[BI__STEP_STREAMS];
	const struct bi__end *ends[BI__STEP_ENDS]; /* `stream` waits for them */
};

#define BI__STEP_ON(waiter) ((struct bi__step){ .stream = (waiter) })

/* Returns 1 if the stream was noted: this step needs no further wait between it and step->stream. */
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
