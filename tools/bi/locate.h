/*
 * Which elements of a layout begin in a range of bytes: the layout read backwards.
 *
 * A search over the axes, longest stride first, that leaves out what cannot reach the range. Layouts whose elements do
 * not overlap need one step per axis; the work for others is bounded, and beyond the bound the counts are too small.
 */
#ifndef BI_TOOL_LOCATE_H
#define BI_TOOL_LOCATE_H

#include <stdint.h>

#include "buffer_interface.h"

struct locator_axis {
	int64_t stride; /* > 0 */
	int64_t extent; /* > 1 */
	int64_t weight; /* of the index, in the C-order number of an element */
	int64_t reach; /* bytes that this axis and those after it can add */
	int backwards; /* the index runs against memory */
};

struct locator {
	int count;
	int empty;
	int64_t lowest; /* the byte at which the first element in memory begins */
	int64_t repeats; /* elements at each place, from axes of stride 0 */
	struct locator_axis axes[BI_MAX_NDIM];
};

struct located {
	int64_t count; /* elements that begin in it */
	int64_t number; /* the lowest C-order number of them; -1 if there is none */
};

void locator_init(struct locator *locator, const struct bi_layout *layout);

/* The elements whose first byte is in [first, last]. */
struct located locate(const struct locator *locator, int64_t first, int64_t last);

#endif
