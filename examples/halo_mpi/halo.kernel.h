/* The kernel of halo.c, for OpenCL C, CUDA C++ and C (buffer_interface/kernel.h). */

/* One step of the heat equation inside of the shell. The arrays may have any strides. */
BI_KERNEL(spread_block, (BI_STRIDED_IN(float, 3, now), BI_STRIDED_OUT(float, 3, next), BI_VALUE(float, rate)))
{
	bi_i64 z = BI_GLOBAL_ID(z) + 1, y = BI_GLOBAL_ID(y) + 1, x = BI_GLOBAL_ID(x) + 1;
	float here = BI_AT3(now, z, y, x);

	here += rate * (BI_AT3(now, z - 1, y, x) + BI_AT3(now, z + 1, y, x) + BI_AT3(now, z, y - 1, x) +
			BI_AT3(now, z, y + 1, x) + BI_AT3(now, z, y, x - 1) + BI_AT3(now, z, y, x + 1) - 6.0f * here);
	BI_AT3(next, z, y, x) = here;
}
