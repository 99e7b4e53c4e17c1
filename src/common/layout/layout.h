/* The internal functions on layouts. */
#ifndef BI_COMMON_LAYOUT_LAYOUT_H
#define BI_COMMON_LAYOUT_LAYOUT_H

#include "buffer_interface.h"

/* The bytes [first, end) that a layout reaches, as bi_layout_extent counts them. */
struct bi__span {
	int64_t first, end;
};

/*
 * Checks a layout whose members the caller may have set, as bi_layout_init checks its arguments. Writes *span. The
 * descr is not checked.
 */
int bi__layout_check(const struct bi_layout *layout, struct bi__span *span, struct bi_error *err);

/*
 * Computes the range of addresses that a layout covers: *nbytes bytes from *address on. `data` is the address from
 * which the offset of the layout counts. Returns BI_EINVAL if data is 0 and the layout has bytes. Returns BI_EBOUNDS or
 * BI_EOVERFLOW if some of the bytes are not addressable.
 */
int bi__layout_place(struct bi__span span, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err);

/*
 * Moves `a` by `distance` bytes and returns what bi_layout_overlap returns for `a` and `b`. Returns 0 if the move
 * overflows.
 */
int bi__layout_overlap_at(const struct bi_layout *a, int64_t distance, const struct bi_layout *b);

#endif
