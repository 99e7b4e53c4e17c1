/* The copy engine of the CPU executes plans on memory that the CPU can address. */
#ifndef BI_COMMON_ENGINE_ENGINE_H
#define BI_COMMON_ENGINE_ENGINE_H

#include "common/plan/plan.h"

/*
 * Executes the plan. The offsets of the plan count from dst and src. Units of the source and of the destination must
 * not share a byte; the ranges may interleave. Only bytes of units are written. Bytes between the units of the source
 * may be read, but no byte outside of the range that its units span.
 *
 * All bytes are written when the function returns. Other threads see them like ordinary stores of the calling thread.
 * Large plans are cut into chunks for the threads of workers.h. The function may be called on any thread, also in a
 * callback of a driver.
 */
void bi__engine_copy(const struct bi__plan *plan, void *dst, const void *src);

#endif
