/*
 * The CUDA Array Interface without a device: what a struct says, and how a layout is said in one. Pure arithmetic, so
 * that every rule which needs no driver is tested, and fuzzed, without one.
 */
#ifndef BI_INTEROP_CAI_H
#define BI_INTEROP_CAI_H

#include "buffer_interface/cai.h"

/* An array that a producer describes, as far as it is known without asking a driver. */
struct bi__cai_array {
	struct bi_layout layout; /* counted from the lowest byte that an element reaches; descr is the producer's */
	uintptr_t address; /* of that byte */
	size_t nbytes; /* from there to the end of the highest one; 0: no byte is reached and address is 0 */
	int ignores_descr; /* the descr of a simple type says something else than the typestr */
};

/*
 * Reads and checks all that can be checked. `mask` receives cai->mask, if there is one, and is left alone otherwise; if
 * it is NULL a masked array is refused.
 */
int bi__cai_read(const struct bi_cai *cai, struct bi__cai_array *array, struct bi__cai_array *mask,
		 struct bi_error *err);

/*
 * The other way: type, shape, strides and pointer of a layout that is counted from `address`. Version, read-only flag
 * and stream are 0. *out borrows from the layout.
 */
int bi__cai_write(const struct bi_layout *layout, uintptr_t address, struct bi_cai *out, struct bi_error *err);

#endif
