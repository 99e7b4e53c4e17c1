#include "kernels/image.h"

#include <stdlib.h>
#include <string.h>

/* The string is longer than the 4095 characters that ISO C guarantees. GCC and clang accept it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
const char bi__image_ptx[] =
#include "kernels/generated/image_ptx.inc"
	;
#pragma GCC diagnostic pop

static const unsigned char packed_7_5[] = {
#include "kernels/generated/image_7_5.inc"
};
static const unsigned char packed_8_0[] = {
#include "kernels/generated/image_8_0.inc"
};
static const unsigned char packed_9_0[] = {
#include "kernels/generated/image_9_0.inc"
};
static const unsigned char packed_10_0[] = {
#include "kernels/generated/image_10_0.inc"
};
static const unsigned char packed_12_0[] = {
#include "kernels/generated/image_12_0.inc"
};

static const struct image {
	int major, minor;
	const unsigned char *packed;
	size_t nbytes; /* bytes of `packed` */
} images[] = {
#define IMAGE(major, minor) { major, minor, packed_##major##_##minor, sizeof(packed_##major##_##minor) },
	BI__IMAGE_MAP(IMAGE)
#undef IMAGE
};

/*
 * Returns the best image for a device, or NULL. An image runs on devices with the same major capability and an equal or
 * higher minor capability.
 */
static const struct image *find_image(int major, int minor)
{
	const struct image *best = NULL;

	for (size_t i = 0; i < sizeof(images) / sizeof(*images); i++) {
		if (images[i].major == major && images[i].minor <= minor && (!best || images[i].minor > best->minor))
			best = &images[i];
	}
	return best;
}

/*
 * Reads a number as scripts/make-kernels writes it: seven bits in each byte, the lowest bits first. The top bit of a
 * byte means that more bytes follow. Returns the address behind the number.
 */
static const unsigned char *read_number(const unsigned char *in, size_t *number)
{
	unsigned shift = 0;

	*number = 0;
	do {
		*number |= (size_t)(*in & 127) << shift;
		shift += 7;
	} while (*in++ & 128);
	return in;
}

/*
 * Unpacks machine code. `in` has pairs of a run of new bytes and a repetition of earlier bytes; the last pair may lack
 * the repetition. A run is its length and its bytes. A repetition is its length and its distance back. If the distance
 * is smaller than the length, the repetition reads bytes that it has just written.
 */
static void unpack_image(unsigned char *out, size_t nbytes, const unsigned char *in)
{
	size_t at = 0, length, back;

	while (at < nbytes) {
		in = read_number(in, &length);
		memcpy(out + at, in, length);
		in += length;
		at += length;
		if (at == nbytes)
			return;
		in = read_number(in, &length);
		in = read_number(in, &back);
		for (; length > 0; length--, at++)
			out[at] = out[at - back];
	}
}

void *bi__image_load(int major, int minor, size_t *nbytes)
{
	const struct image *image = find_image(major, minor);
	const unsigned char *in;
	unsigned char *bytes;

	*nbytes = 0;
	if (!image)
		return NULL;
	in = read_number(image->packed, nbytes);
	bytes = malloc(*nbytes);
	if (bytes)
		unpack_image(bytes, *nbytes, in);
	return bytes;
}
