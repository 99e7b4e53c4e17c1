/*
 * Finds the elements of a layout that begin in a range of bytes: the inverse of a layout.
 *
 * It searches the axes, longest stride first, and skips those that cannot reach the range. Layouts without overlapping
 * elements need one step for each axis. For other layouts the work is bounded; beyond the bound the counts are too
 * small.
 */
#ifndef BI_TOOL_LOCATE_H
#define BI_TOOL_LOCATE_H

#include <stdint.h>

#include "buffer_interface.h"

struct locator_axis {
	int64_t stride; /* > 0 */
	int64_t extent; /* > 1 */
	int64_t weight; /* weight of the index in the C-order number of an element */
	int64_t reach; /* most bytes that this axis and the following ones can add */
	int backwards; /* the index decreases with increasing addresses */
};

struct locator {
	int count;
	int empty;
	int64_t lowest; /* the byte at which the lowest element begins */
	int64_t repeats; /* elements at each place, because of axes with stride 0 */
	struct locator_axis axes[BI_MAX_NDIM];
};

struct located {
	int64_t count; /* elements that begin in the range */
	int64_t number; /* the lowest C-order number of these; -1: there are none */
};

void locator_init(struct locator *locator, const struct bi_layout *layout);

/* Finds the elements whose first byte is in [first, last]. */
struct located locate(const struct locator *locator, int64_t first, int64_t last);

#endif
