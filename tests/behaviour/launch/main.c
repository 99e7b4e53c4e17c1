/*
 * Kernels of the caller on a device:
 *
 *     launch DEVICE [OTHER_DEVICE]
 *
 * The second is the same device in another native context.
 */
#include "programs.h"

int main(int argc, char **argv)
{
	if (!fixture_start("launch", argc, argv))
		return 2;
	return results_group() + refusals_group() + order_group();
}
