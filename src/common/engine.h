/* The copy engine of the CPU: executes a plan on memory that the CPU can address. */
#ifndef BI_COMMON_ENGINE_H
#define BI_COMMON_ENGINE_H

#include "common/plan.h"

/*
 * Moves what the plan says; dst and src are the addresses that the plan's offsets count from. The ranges of source and
 * destination do not overlap. Calls nothing but memcpy; safe on any thread, also inside a driver's callback.
 */
void bi__engine_copy(const struct bi__plan *plan, void *dst, const void *src);

#endif
