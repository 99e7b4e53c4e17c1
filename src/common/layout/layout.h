/* Internal functions on layouts. */
#ifndef BI_COMMON_LAYOUT_LAYOUT_H
#define BI_COMMON_LAYOUT_LAYOUT_H

#include "buffer_interface.h"

/* Returns BI_EINVAL if the layout is NULL, or its ndim is not in 0..BI_MAX_NDIM. */
int bi__layout_check_ndim(const struct bi_layout *layout, struct bi_error *err);

/*
 * Checks a layout whose members the caller may have set, as bi_layout_init checks its arguments. The descr is not
 * checked.
 */
int bi__layout_check(const struct bi_layout *layout, struct bi_error *err);

/*
 * Returns BI_EDTYPE if the text is no descr, or if `dtype` is not VOID with the item size that the text describes.
 * Returns BI_EOVERFLOW if the length or this item size does not fit into 32 bits, or an extent not into int64_t.
 */
int bi__layout_check_descr(const char *descr, size_t length, struct bi_dtype dtype, struct bi_error *err);

/* Returns 1 if the elements are dense in C order ('C') or in Fortran order ('F'). There is at least one element. */
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
 * Computes the range of addresses that a layout covers: *nbytes bytes from *address on. layout->offset is 0, and `data`
 * is the address of element [0, ..., 0]. On success, layout->offset becomes the offset of this element from *address.
 * Returns BI_EINVAL if data is 0 and the range is not empty, BI_EOVERFLOW if the range is longer than SIZE_MAX / 2, and
 * BI_EBOUNDS if a byte is outside of the address space.
 */
int bi__layout_place(struct bi_layout *layout, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err);

/*
 * Returns the result of bi_layout_overlap for `a`, moved by `distance` bytes, and `b`. Returns 0 if the move overflows:
 * then the two have no byte in common.
 */
int bi__layout_overlap_at(const struct bi_layout *a, int64_t distance, const struct bi_layout *b);

#endif
