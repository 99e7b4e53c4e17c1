/* One character of UTF-8 at a time. */
#ifndef BI_TOOL_UTF8_H
#define BI_TOOL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text`, which goes into *point; 0 if these bytes are not UTF-8 (or size is 0). */
size_t utf8_decode(const char *text, size_t size, uint32_t *point);

/* Writes at most 2 bytes for a character of Latin-1 and returns how many. */
size_t utf8_from_latin1(unsigned char c, char out[2]);

/* Characters of a text; a byte that is not UTF-8 counts as one. */
size_t utf8_length(const char *text);

#endif
