#include "utf8.h"

#include <string.h>

static size_t sequence_length(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead < 0xe0)
		return 2;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

size_t utf8_decode(const char *text, size_t size, uint32_t *point)
{
	static const uint32_t lead_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 }, lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = size ? sequence_length((unsigned char)*text) : 0;
	uint32_t found;

	if (!length || length > size)
		return 0;
	found = (unsigned char)*text & lead_mask[length];
	for (size_t i = 1; i < length; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		found = found << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (found < lowest[length] || found > 0x10ffff || (found >= 0xd800 && found < 0xe000))
		return 0;
	*point = found;
	return length;
}

size_t utf8_length(const char *text)
{
	size_t left = strlen(text), count = 0, length;
	uint32_t point;

	for (; left; count++) {
		length = utf8_decode(text, left, &point);
		length += !length;
		text += length;
		left -= length;
	}
	return count;
}
