/* The kernels of heat.c, for OpenCL C, CUDA C++ and C (buffer_interface/kernel.h). */

/* One step of the heat equation. The edge of the plate keeps its temperature. */
BI_KERNEL(spread, (BI_IN(float, now), BI_OUT(float, next), BI_VALUE(float, rate)))
{
	bi_i64 x = BI_GLOBAL_ID(x), columns = BI_GLOBAL_SIZE(x);
	bi_i64 y = BI_GLOBAL_ID(y), rows = BI_GLOBAL_SIZE(y);
	bi_i64 i = y * columns + x;
	float here = BI_DATA(now)[i];

	if (x > 0 && x < columns - 1 && y > 0 && y < rows - 1)
		here += rate * (BI_DATA(now)[i - 1] + BI_DATA(now)[i + 1] + BI_DATA(now)[i - columns] +
				BI_DATA(now)[i + columns] - 4.0f * here);
	BI_DATA(next)[i] = here;
}

/* Temperatures from 0 to 1 become shades from 0 to 255. */
BI_KERNEL(shade, (BI_IN(float, now), BI_OUT(unsigned char, picture)))
{
	bi_i64 i = BI_GLOBAL_ID(y) * BI_GLOBAL_SIZE(x) + BI_GLOBAL_ID(x);

	BI_DATA(picture)[i] = (unsigned char)(BI_DATA(now)[i] * 255.0f + 0.5f);
}
