/*
 * Reproducible random numbers for tests: splitmix64, seeded from BI_TEST_SEED or from the clock. BI_TEST_EFFORT says
 * how many random cases a test runs.
 */
#ifndef BI_TESTS_SUPPORT_RANDOM_H
#define BI_TESTS_SUPPORT_RANDOM_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "array_length.h"

#if defined(__GNUC__)
#define TEST_MAYBE_UNUSED __attribute__((unused))
#else
#define TEST_MAYBE_UNUSED
#endif

struct test_random {
	uint64_t state;
};

/* Returns the same number at each call. The first call prints it. */
TEST_MAYBE_UNUSED static uint64_t test_seed(void)
{
	static uint64_t seed;
	static int known;
	const char *text;

	if (known)
		return seed;
	known = 1;
	text = getenv("BI_TEST_SEED");
	seed = text && *text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);
	fprintf(stderr, "seed: %" PRIu64 "\n", seed);
	return seed;
}

/* Returns BI_TEST_EFFORT, a percentage above 0; 100 if it is not set. */
TEST_MAYBE_UNUSED static int test_effort(void)
{
	const char *text = getenv("BI_TEST_EFFORT");
	int value = text && *text ? atoi(text) : 100;

	return value > 0 ? value : 1;
}

/* Returns how many of `full` random cases a test runs, at least 1. */
TEST_MAYBE_UNUSED static int test_cases(int full)
{
	int cases = (int)((long long)full * test_effort() / 100);

	return cases > 0 ? cases : 1;
}

TEST_MAYBE_UNUSED static uint64_t test_next(struct test_random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Returns a number in [low, high], both included. The numbers are uniform enough for tests. */
TEST_MAYBE_UNUSED static int64_t test_between(struct test_random *random, int64_t low, int64_t high)
{
	uint64_t span = (uint64_t)high - (uint64_t)low + 1;

	return (int64_t)((uint64_t)low + (span ? test_next(random) % span : test_next(random)));
}

#endif
