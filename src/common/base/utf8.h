/* Reads single characters of UTF-8. */
#ifndef BI_COMMON_BASE_UTF8_H
#define BI_COMMON_BASE_UTF8_H

#include <stddef.h>

/*
 * Returns the number of bytes of the character at `at`, which is before `end`, or 0 if the bytes are not UTF-8.
 * Surrogates, and characters with more bytes than they need, are not UTF-8.
 */
size_t bi__utf8_size(const char *at, const char *end);

#endif
