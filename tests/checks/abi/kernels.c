/*
 * Host kernels at their limits: 32 parameters, a name of 39 characters, values that are const. headers.sh defines MORE
 * and NAME beyond the limits, and requires clear errors.
 */
#include "buffer_interface/kernel.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifndef MORE
#define MORE
#endif
#ifndef NAME
#define NAME name
#endif

struct pair {
	char first;
	const int second;
};
struct aligned {
	int number;
} __attribute__((aligned(16)));

#define EXPANDED(macro, ...) macro(__VA_ARGS__)
#define ONE BI_VALUE(int, more)
#define FOUR(a) BI_IN(int, a##0), BI_IN(int, a##1), BI_IN(int, a##2), BI_IN(int, a##3)
#define EIGHT FOUR(x), FOUR(y)

EXPANDED(BI_KERNEL, limits,
	 (FOUR(a), FOUR(b), FOUR(c), FOUR(d), FOUR(e), FOUR(f), FOUR(g), BI_VALUE(struct aligned, aligned),
	  BI_VALUE(const int, n), BI_VALUE(const struct pair, pair), BI_OUT(int, NAME) MORE))
{
	*EXPANDED(BI_DATA, NAME) = n + pair.second + aligned.number;
}
