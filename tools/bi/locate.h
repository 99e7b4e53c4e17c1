/*
 * Finds the elements of a layout that begin in a range of bytes: the inverse of a layout.
 *
 * The search goes through the axes, the longest stride first. It skips the indices from which the later axes cannot
 * reach the range. The number of steps is limited.
 */
#ifndef BI_TOOL_LOCATE_H
#define BI_TOOL_LOCATE_H

#include <stdint.h>

#include "buffer_interface.h"

struct locator_axis {
	int64_t stride; /* > 0 */
	int64_t extent; /* > 1 */
	int64_t weight; /* difference of the C-order numbers of neighbours along the axis */
	int64_t reach; /* the most bytes that this axis and the axes after it can add */
	int backwards; /* 1: the index decreases as the address increases */
};

struct locator {
	int count;
	int empty;
	int64_t lowest; /* the byte at which the element with the lowest address begins */
	int64_t repeats; /* elements at the same address, because of axes with stride 0 */
	struct locator_axis axes[BI_MAX_NDIM];
};

struct located {
	int64_t count; /* number of elements that begin in the range */
	int64_t number; /* the lowest C-order number among these elements; -1: there are none */
	int is_cut; /* 1: the limit of steps was reached; there may be more elements, with lower numbers too */
};

void locator_init(struct locator *locator, const struct bi_layout *layout);

/* Finds the elements whose first byte is in [first, last]. */
struct located locate(const struct locator *locator, int64_t first, int64_t last);

#endif
