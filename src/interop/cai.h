/*
 * Conversions between struct bi_cai and a layout, with the rules that need no driver. They only compute, so they are
 * tested and fuzzed without a device.
 */
#ifndef BI_INTEROP_CAI_H
#define BI_INTEROP_CAI_H

#include "buffer_interface/cai.h"

/* An array as struct bi_cai describes it, before the driver is queried. */
struct bi__cai_array {
	struct bi_layout layout; /* offset: from `address`; descr: borrowed from struct bi_cai */
	uintptr_t address; /* address of the lowest byte that an element covers; 0 if no byte is covered */
	size_t nbytes; /* from `address` to the end of the highest byte that an element covers */
	int ignores_descr; /* 1: the type is simple, and the descr is not the one that NumPy writes for it */
};

/*
 * Reads *cai and checks all rules that need no driver. If the array is masked, the mask is written to *mask; otherwise
 * *mask is not written. If `mask` is NULL, a masked array is refused. Returns the status of the rule that is broken.
 */
int bi__cai_read(const struct bi_cai *cai, struct bi__cai_array *array, struct bi__cai_array *mask,
		 struct bi_error *err);

/*
 * Writes type, shape, strides, descr and pointer of a layout whose offset counts from `address`. Version, read-only
 * flag and stream become 0. *out borrows the layout's shape, strides and descr. Returns BI_EDTYPE for an element type
 * that the interface cannot name, and for swapped bytes.
 */
int bi__cai_write(const struct bi_layout *layout, uintptr_t address, struct bi_cai *out, struct bi_error *err);

#endif
