/*
 * The rules of DLPack (docs/conformance.md) on a device:
 *
 *     test_dlpack DEVICE [OTHER_DEVICE]
 *
 * The second device is another one of the same backend, for memory that the first does not own.
 */
#include <stdio.h>

#include "bench.h"

int main(int count, char **specs)
{
	if (count < 2 || count > 3) {
		fprintf(stderr, "usage: %s DEVICE [OTHER_DEVICE]\n", specs[0]);
		return 2;
	}
	bench.spec = specs[1];
	bench.second_spec = count > 2 ? specs[2] : NULL;
	bench.random.state = test_seed();
	return exports_group() + imports_group();
}
