#include "common/engine/simd.h"

#include <string.h>

static int runs_here(void)
{
	return 1;
}

#define TURN(size) \
	static void turn_##size(unsigned char *dst, ptrdiff_t dst_pitch, const unsigned char *src, \
				ptrdiff_t src_pitch, ptrdiff_t height, ptrdiff_t width) \
	{ \
		for (ptrdiff_t y = 0; y < height; y++) \
			for (ptrdiff_t x = 0; x < width; x++) \
				memcpy(dst + y * dst_pitch + x * (size), src + x * src_pitch + y * (size), size); \
	}

TURN(1)
TURN(2)
TURN(4)
TURN(8)
TURN(16)

const struct bi__simd bi__simd_portable = {
	.name = "portable",
	.runs_here = runs_here,
	.turn = { turn_1, turn_2, turn_4, turn_8, turn_16 },
};
