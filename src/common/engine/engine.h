/* The copy engine of the CPU executes plans on memory that the CPU can address. */
#ifndef BI_COMMON_ENGINE_ENGINE_H
#define BI_COMMON_ENGINE_ENGINE_H

#include "common/plan/plan.h"

/*
 * Executes the plan. dst and src are the addresses that the plan's offsets count from. The ranges of source and
 * destination must not overlap. Only bytes of units are read or written.
 *
 * All bytes are written when it returns; the caller orders other threads after that as after any store. Large plans are
 * cut into chunks for the threads of workers.h. May be called on any thread, also inside a driver's callback.
 */
void bi__engine_copy(const struct bi__plan *plan, void *dst, const void *src);

/*
 * Returns true if bi__engine_copy is faster for this plan than memcpy of as many dense bytes on one thread, because it
 * uses several threads or non-temporal stores.
 */
int bi__engine_beats_memcpy(const struct bi__plan *plan);

#endif
