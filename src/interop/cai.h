/*
 * The part of the CUDA Array Interface that needs no driver: struct bi_cai to a layout and back. Pure arithmetic, so
 * that these rules are tested and fuzzed without a device.
 */
#ifndef BI_INTEROP_CAI_H
#define BI_INTEROP_CAI_H

#include "buffer_interface/cai.h"

/* An array as its producer describes it, before any query to a driver. */
struct bi__cai_array {
	struct bi_layout
		layout; /* its offset counts from the lowest byte that an element covers; its descr is the producer's */
	uintptr_t address; /* of that lowest byte */
	size_t nbytes; /* from there to the end of the highest byte; 0: no byte is covered, and address is 0 */
	int ignores_descr; /* the descr of a simple type contradicts the typestr and is ignored */
};

/*
 * Reads *cai and checks everything that needs no driver. If the array is masked, its mask is read into *mask; otherwise
 * *mask is left alone. With mask NULL a masked array is refused. Returns the status of the rule that was broken.
 */
int bi__cai_read(const struct bi_cai *cai, struct bi__cai_array *array, struct bi__cai_array *mask,
		 struct bi_error *err);

/*
 * Writes type, shape, strides and pointer of a layout whose offset counts from `address`. Version, read-only flag and
 * stream become 0. *out borrows from the layout. Fails for types that the interface cannot name.
 */
int bi__cai_write(const struct bi_layout *layout, uintptr_t address, struct bi_cai *out, struct bi_error *err);

#endif
