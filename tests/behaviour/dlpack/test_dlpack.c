/*
 * The rules of DLPack (docs/conformance.md) on a device:
 *
 *     test_dlpack DEVICE [OTHER_DEVICE]
 *
 * The second is another one of the same backend, or on OpenCL the same in a cl_context of its own, for memory that it
 * does not own.
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
