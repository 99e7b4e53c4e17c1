#include "sim.h"

static uint64_t state;

void random_seed(uint64_t seed)
{
	state = seed;
}

/* A counter whose bits are mixed: neighbouring seeds give unrelated sequences. */
uint64_t random_next(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}
