/* What the other files need of layouts beyond the public functions. */
#ifndef BI_COMMON_LAYOUT_LAYOUT_H
#define BI_COMMON_LAYOUT_LAYOUT_H

#include "buffer_interface.h"

/*
 * A layout that a caller may have filled in himself: the checks of bi_layout_init, and what bi_layout_extent says. Its
 * descr is not looked at.
 */
int bi__layout_check(const struct bi_layout *layout, int64_t *first, int64_t *end, struct bi_error *err);

/*
 * The bytes of a layout of which bi__layout_check says *first and *end, if the byte from which its offset counts is at
 * `data`: *nbytes from *address on. BI_EINVAL: data is 0 and there are bytes; BI_EBOUNDS, BI_EOVERFLOW: they are not
 * all addresses.
 */
int bi__layout_place(int64_t first, int64_t end, uint64_t data, uintptr_t *address, size_t *nbytes,
		     struct bi_error *err);

/* bi_layout_overlap of `a`, moved by `distance` bytes, with b. 0 where that is beyond all addresses. */
int bi__layout_overlap_at(const struct bi_layout *a, int64_t distance, const struct bi_layout *b);

#endif
