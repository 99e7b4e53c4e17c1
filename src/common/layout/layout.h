/* The internal functions on layouts. */
#ifndef BI_COMMON_LAYOUT_LAYOUT_H
#define BI_COMMON_LAYOUT_LAYOUT_H

#include "buffer_interface.h"

/*
 * Checks a layout whose members the caller may have set, as bi_layout_init checks its arguments. The descr is not
 * checked.
 */
int bi__layout_check(const struct bi_layout *layout, struct bi_error *err);

/*
 * Returns BI_EDTYPE if the descr does not describe a VOID type of the size of `dtype`, or is no descr. Returns
 * BI_EOVERFLOW if its length does not fit into a layout.
 */
int bi__layout_check_descr(const char *descr, size_t length, struct bi_dtype dtype, struct bi_error *err);

/* Returns 1 if the elements, of which there is at least one, are dense in C order ('C') or in Fortran order ('F'). */
static inline int bi__is_dense(const int64_t *shape, const int64_t *strides, int ndim, int64_t item, char order)
{
	for (int k = 0; k < ndim; k++) {
		const int i = order == 'C' ? ndim - 1 - k : k;

		if (shape[i] != 1 && strides[i] != item)
			return 0;
		item *= shape[i];
	}
	return 1;
}

/*
 * Computes the range of addresses that a layout covers: *nbytes bytes from *address on. `data` is the address from
 * which the offset of the layout counts, and lies in the range or at an end of it. On success, sets layout->offset so
 * that it counts from *address. Returns BI_EINVAL if data is 0 and the layout has bytes. Returns BI_EBOUNDS or
 * BI_EOVERFLOW if some of the bytes are not addressable.
 */
int bi__layout_place(struct bi_layout *layout, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err);

/*
 * Moves `a` by `distance` bytes and returns what bi_layout_overlap returns for `a` and `b`. Returns 0 if the move
 * overflows.
 */
int bi__layout_overlap_at(const struct bi_layout *a, int64_t distance, const struct bi_layout *b);

#endif
