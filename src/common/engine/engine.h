/* The copy engine of the CPU: executes a plan on memory that the CPU can address. */
#ifndef BI_COMMON_ENGINE_ENGINE_H
#define BI_COMMON_ENGINE_ENGINE_H

#include "common/plan/plan.h"

/*
 * Moves what the plan says; dst and src are the addresses that the plan's offsets count from. The ranges of source and
 * destination do not overlap. Nothing outside of the units is read or written. When it returns, all is written for
 * whoever the caller tells so; large plans are shared with the threads of workers.h. Safe on any thread, also inside a
 * driver's callback.
 */
void bi__engine_copy(const struct bi__plan *plan, void *dst, const void *src);

/*
 * Is the plan so large that bi__engine_copy does better than the memcpy of one thread with as many dense bytes: by
 * several threads, or past the caches?
 */
int bi__engine_beats_memcpy(const struct bi__plan *plan);

#endif
