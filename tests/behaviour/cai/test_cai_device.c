/*
 * The CUDA Array Interface on a device:
 *
 *     test_cai_device cuda [cuda:1]
 *
 * The second device is another one, for memory that the first does not own. BI_CUDA_LIBRARY names the driver; all
 * kinds of drivers that the simulated one can be are gone through.
 */
#include <stdio.h>

#include "bench.h"

int main(int count, char **specs)
{
	int failed = 0;

	if (count < 2 || count > 3) {
		fprintf(stderr, "usage: %s DEVICE [OTHER_DEVICE]\n", specs[0]);
		return 2;
	}
	bench.spec = specs[1];
	bench.second_spec = count > 2 ? specs[2] : NULL;
	bench.random.state = test_seed();
	for (int kind = 0; kind < (cuda_sim() ? 4 : 1); kind++) {
		bench.has_pools = kind & 1;
		bench.has_concurrent_managed = kind >> 1;
		failed += exports_group() + imports_group() + pointers_group();
	}
	return failed;
}
