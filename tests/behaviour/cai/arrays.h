/* Random arrays as structs of the CUDA Array Interface, and what can be known of them by looking at every element. */
#ifndef BI_TESTS_CAI_ARRAYS_H
#define BI_TESTS_CAI_ARRAYS_H

#include "buffer_interface/cai.h"
#include "random.h"

struct array {
	struct bi_cai cai; /* points into the rest */
	uint32_t item_size;
	int64_t shape[BI_MAX_NDIM];
	int64_t strides[BI_MAX_NDIM];
	char descr[96];
};

/* How many types random_array knows; each number below it is another one. */
unsigned type_count(void);

/*
 * An array of that type, written down as this library does it: typestr in native order, strides only where it is not
 * C-contiguous, pointer 0 where no byte is reached. Otherwise the pointer is large enough for any stride.
 */
void random_array(struct test_random *random, unsigned type, struct array *out);

/* Sets the members that follow from type, shape and strides, after one of those was changed. */
void finish_array(struct array *array);

/* Element by element. `first` and `end` are counted from element [0, ..., 0]; both 0 without elements. */
int64_t naive_size(const struct bi_cai *cai);
void naive_extent(const struct array *array, int64_t *first, int64_t *end);

/* Ends the test unless both say the same, apart from stream, version and read-only flag. */
void assert_same_array(const struct bi_cai *got, const struct bi_cai *expected);

#endif
