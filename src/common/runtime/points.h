/*
 * The points of private memory: the end of its last write, and the ends of the reads since then, one for each stream.
 * With points, reads on several streams run side by side (docs/ordering.md, row 38). A memory has points from its first
 * use on a stream other than its home stream until all work on it is complete or the home stream waits for that work. A
 * memory without points has the end of its work at the end of its home stream.
 *
 * order.c decides which uses have points. Functions that end in _locked are called with the lock of the memory held.
 */
#ifndef BI_COMMON_RUNTIME_POINTS_H
#define BI_COMMON_RUNTIME_POINTS_H

#include "common/runtime/step.h"

/* Returns 1 if each point is on the stream and the stream is in-order, so that it need not wait for them. */
int bi__points_are_on_locked(const struct bi_memory *memory, struct bi_stream *stream);

/*
 * Makes the stream of the step wait for the points before a use with this access (enum bi_access). Two reads do not
 * wait for each other.
 */
int bi__points_begin_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err);

/* Stores the end of all work that is on the stream of the step now. For the home stream, records no event (38.4). */
int bi__points_end_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err);

/*
 * Returns BI_ECAPTURE if a point on another stream than the home stream is not complete, because a graph that is being
 * captured cannot wait for it. Otherwise clears the points.
 */
int bi__points_check_outside_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Makes the home stream wait for all points, and clears them. Does nothing without points. Returns BI_ECAPTURE if the
 * home stream is captured. Called before other code can use the memory, before a use that is not private, and before
 * the end of all work is recorded.
 */
int bi__points_gather_locked(struct bi_memory *memory, struct bi_error *err);

/* Blocks the calling thread (`failure`) until the work of all points is complete. */
int bi__points_finish(struct bi_memory *memory);

/* Clears the points: their work is complete, or the home stream waits for it. */
void bi__points_clear(struct bi_memory *memory);

/* Called after a use on the stream. Returns 1 if all other work on the memory comes before that use. */
int bi__points_come_before_locked(const struct bi_memory *memory, const struct bi_stream *stream);

#endif
