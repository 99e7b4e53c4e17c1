/* Chooses which calls a test makes fail. */
#ifndef BI_TESTS_SUPPORT_EVERY_H
#define BI_TESTS_SUPPORT_EVERY_H

#include <stdint.h>
#include <stdlib.h>

/* Returns K of BI_TEST_EVERY=K: a test makes each K-th call fail. Returns 1 if the variable is not set, or is 0. */
static inline uint64_t test_every(void)
{
	const char *text = getenv("BI_TEST_EVERY");
	unsigned long long every = text ? strtoull(text, NULL, 10) : 1;

	return every ? every : 1;
}

#endif
