/*
 * The part of the CUDA Array Interface that needs no driver: it converts struct bi_cai to a layout, and a layout to
 * struct bi_cai. It only computes, so these rules are tested and fuzzed without a device.
 */
#ifndef BI_INTEROP_CAI_H
#define BI_INTEROP_CAI_H

#include "buffer_interface/cai.h"

/* An array as struct bi_cai describes it, before the driver is queried. */
struct bi__cai_array {
	struct bi_layout layout; /* offset: from `address`; descr: borrowed from struct bi_cai */
	uintptr_t address; /* address of the lowest byte that an element covers; 0 if no byte is covered */
	size_t nbytes; /* from `address` to the end of the highest byte that an element covers */
	int ignores_descr; /* 1: the descr contradicts the typestr of a simple type, and is ignored */
};

/*
 * Reads *cai and checks all rules that need no driver. If the array is masked, the mask is written to *mask; otherwise
 * *mask is not written. If `mask` is NULL, a masked array is refused. Returns the status of the rule that is broken.
 */
int bi__cai_read(const struct bi_cai *cai, struct bi__cai_array *array, struct bi__cai_array *mask,
		 struct bi_error *err);

/*
 * Writes type, shape, strides and pointer of a layout whose offset counts from `address`. Version, read-only flag and
 * stream become 0. The pointers in *out point into the layout. Fails for an element type that the interface cannot
 * name.
 */
int bi__cai_write(const struct bi_layout *layout, uintptr_t address, struct bi_cai *out, struct bi_error *err);

#endif
