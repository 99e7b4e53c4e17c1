/*
 * Allocations of the library that fail on demand. The program is linked with --wrap for malloc, calloc, realloc and
 * aligned_alloc, so the library's calls come here and those of drivers and of the C library do not.
 *
 * Arming and counting is for one thread; the allocations themselves may come from any thread.
 */
#ifndef BI_TESTS_FAULT_ALLOCATIONS_H
#define BI_TESTS_FAULT_ALLOCATIONS_H

enum allocation_mode {
	FAIL_ONCE, /* the n-th allocation fails */
	FAIL_FROM /* the n-th and all that follow fail */
};

/* The n-th allocation from now on fails, n >= 1; 0: none fails. The count starts again at 0. */
void allocations_arm(unsigned long n, enum allocation_mode mode);

/* Allocations since allocations_arm, the failed ones too. */
unsigned long allocations_made(void);

/* Allocations since allocations_arm that were made to fail. */
unsigned long allocations_failed(void);

/* Blocks that were allocated and not yet freed since the process began. */
long allocations_alive(void);

/*
 * Returns how many more blocks there are than `before`. Waits up to two seconds for them, because threads of a driver
 * may still copy, or delete buffers.
 */
long allocations_left(long before);

#endif
