#include "common/base/utf8.h"

size_t bi__utf8_size(const char *at, const char *end)
{
	const unsigned char *byte = (const unsigned char *)at, lead = *byte;
	const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	if (size > (size_t)(end - at) || lead > 0xf4)
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and numbers above U+10FFFF. */
	if ((lead == 0xe0 && byte[1] < 0xa0) || (lead == 0xed && byte[1] > 0x9f) || (lead == 0xf0 && byte[1] < 0x90) ||
	    (lead == 0xf4 && byte[1] > 0x8f))
		return 0;
	return size;
}
