/* The two halves of the comparison with cuda.h: each includes the vendor's header in another way. */
#ifndef BI_TESTS_CUDA_TYPES_H
#define BI_TESTS_CUDA_TYPES_H

/* values.c: the special streams have the vendor's values. */
int streams_are_the_same(void);

#endif
