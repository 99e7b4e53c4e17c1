/* Reads single characters of UTF-8. */
#ifndef BI_TOOL_UTF8_H
#define BI_TOOL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the character at `text` into *point. Returns its number of bytes, or 0 if the bytes are not UTF-8 or `size`
 * is 0.
 */
size_t utf8_decode(const char *text, size_t size, uint32_t *point);

/* Counts the characters of a text. A byte that is not UTF-8 counts as one. */
size_t utf8_length(const char *text);

#endif
