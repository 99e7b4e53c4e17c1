/*
 * The CUDA Array Interface on a device:
 *
 *     cai cuda [cuda:1]
 *
 * The second device is another one, for memory that the first does not own. BI_CUDA_LIBRARY names the driver; all
 * kinds of drivers that the simulated one can be are gone through.
 */
#include "raw.h"

int main(int argc, char **argv)
{
	int failed = 0;

	if (!fixture_start("cai", argc, argv))
		return 2;
	cuda_driver_hold(fixture.spec);
	for (int kind = 0; kind < (cuda_sim() ? 4 : 1); kind++) {
		cai_test.has_pools = kind & 1;
		cai_test.has_concurrent_managed = kind >> 1;
		failed += exports_group() + imports_group() + pointers_group();
	}
	return failed;
}
