/* Reads single characters of UTF-8. */
#ifndef BI_COMMON_BASE_UTF8_H
#define BI_COMMON_BASE_UTF8_H

#include <stddef.h>

/*
 * Returns the number of bytes of the character at `at`, or 0 if these bytes are not UTF-8. `at` is before `end`.
 * Overlong forms, surrogates and numbers above U+10FFFF are not UTF-8.
 */
size_t bi__utf8_size(const char *at, const char *end);

#endif
