/*
 * The points of private memory: the end of its last write, and the ends of the reads since then, one for each stream. A
 * memory has points while a stream other than its home stream uses it. Then reads on several streams run side by side
 * (docs/ordering.md, row 38). A memory without points has the end of its work at the end of its home stream.
 *
 * Only order.c decides that a use becomes a point. Functions that end in _locked are called with the lock of the memory
 * held.
 */
#ifndef BI_COMMON_RUNTIME_POINTS_H
#define BI_COMMON_RUNTIME_POINTS_H

#include "common/runtime/step.h"

/* Returns 1 if each point is on the stream, so that the stream need not wait for them. */
int bi__points_are_on_locked(const struct bi_memory *memory, struct bi_stream *stream);

/*
 * Makes the stream of the step wait for the points that a use with this access (enum bi_access) comes after. Two reads
 * do not wait for each other.
 */
int bi__points_begin_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err);

/* Makes a point of all work that is on the stream of the step now. */
int bi__points_end_locked(struct bi_memory *memory, unsigned access, struct bi__step *step, struct bi_error *err);

/*
 * Returns BI_ECAPTURE if a point is not complete, which a graph that is being captured cannot wait for. If all are
 * complete, clears them.
 */
int bi__points_check_outside_locked(struct bi_memory *memory, struct bi_error *err);

/*
 * Makes the home stream wait for all points, and clears them. Called before other code learns of the memory or its home
 * stream, and before the end of all work is looked for.
 */
int bi__points_gather_locked(struct bi_memory *memory, struct bi_error *err);

/* Blocks the calling thread (`failure`) until the work of all points is complete. */
int bi__points_finish(struct bi_memory *memory);

/* Clears the points: their work is complete, or the home stream waits for it. */
void bi__points_clear(struct bi_memory *memory);

/* Returns 1 if all other work on the memory comes before the last use on the stream. */
int bi__points_come_before_locked(const struct bi_memory *memory, const struct bi_stream *stream);

#endif
