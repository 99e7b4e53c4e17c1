/*
 * A cursor over text that need not end with a NUL. Functions that can move the cursor first skip white space. If such a
 * function does not find the text that it looks for, the cursor stays behind the white space.
 */
#ifndef BI_TOOL_SCAN_H
#define BI_TOOL_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *at;
	const char *end;
};

/* Returns 1 at the end of the text, otherwise 0. */
int scan_done(struct scan *scan);

/* If the next character is c, moves behind it and returns 1. Otherwise returns 0. */
int scan_take(struct scan *scan, char c);

/* If the next word (letters, digits, '_' and '.') is `word`, moves behind it and returns 1. Otherwise returns 0. */
int scan_word(struct scan *scan, const char *word);

enum scan_number { SCAN_NO_INTEGER, SCAN_INTEGER, SCAN_CLIPPED };

/*
 * Reads a decimal integer. An integer above INT64_MAX or below -INT64_MAX is replaced by that limit, and SCAN_CLIPPED
 * is returned.
 */
enum scan_number scan_integer(struct scan *scan, int64_t *value);

/* Returns the length of the word at the cursor, with the signs before it. */
int scan_word_length(const struct scan *scan);

#endif
