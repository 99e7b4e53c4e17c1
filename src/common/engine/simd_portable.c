#include "common/engine/simd.h"

#include <string.h>

static int runs_here(void)
{
	return 1;
}

#define TRANSPOSE(size) \
	static void transpose_##size(unsigned char *dst, int64_t dst_pitch, const unsigned char *src, \
				     const int64_t *rows, int64_t height, int64_t width) \
	{ \
		for (int64_t y = 0; y < height; y++) \
			for (int64_t x = 0; x < width; x++) \
				memcpy(dst + y * dst_pitch + x * (size), src + rows[x] + y * (size), size); \
	}

TRANSPOSE(1)
TRANSPOSE(2)
TRANSPOSE(3)
TRANSPOSE(4)
TRANSPOSE(6)
TRANSPOSE(8)

const struct bi__simd bi__simd_portable = {
	.name = "portable",
	.runs_here = runs_here,
	.transpose = { [1] = transpose_1,
		       [2] = transpose_2,
		       [3] = transpose_3,
		       [4] = transpose_4,
		       [6] = transpose_6,
		       [8] = transpose_8 },
	.transpose_narrow = bi__simd_portable.transpose,
};
