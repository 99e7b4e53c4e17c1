/* How many of the calls that can be made to fail are. */
#ifndef BI_TESTS_SUPPORT_EVERY_H
#define BI_TESTS_SUPPORT_EVERY_H

#include <stdint.h>
#include <stdlib.h>

/* Returns BI_TEST_EVERY=K: each K-th call is made to fail. Returns 1 if it is not set, or not above 0. */
static inline uint64_t test_every(void)
{
	const char *text = getenv("BI_TEST_EVERY");
	unsigned long long every = text ? strtoull(text, NULL, 10) : 1;

	return every ? every : 1;
}

#endif
