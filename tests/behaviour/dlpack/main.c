/*
 * The rules of DLPack (docs/conformance.md) on a device:
 *
 *     dlpack DEVICE [OTHER_DEVICE]
 *
 * The second is another one of the same backend, or on OpenCL the same in a cl_context of its own, for memory that it
 * does not own.
 */
#include "tensors.h"

int main(int argc, char **argv)
{
	if (!fixture_start("dlpack", argc, argv))
		return 2;
	return exports_group() + imports_group();
}
