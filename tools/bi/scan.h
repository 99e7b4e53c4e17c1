/*
 * A cursor over text that need not end with a NUL. Every function first skips white space, and stops there if it does
 * not find what it looks for.
 */
#ifndef BI_TOOL_SCAN_H
#define BI_TOOL_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *at;
	const char *end;
};

/* Returns 1 at the end of the text. */
int scan_done(struct scan *scan);

/* Returns 1 and moves on if the next character is c. */
int scan_take(struct scan *scan, char c);

/* Returns 1 and moves on if the next word (letters, digits, '_' and '.') is `word`. */
int scan_word(struct scan *scan, const char *word);

enum scan_number { SCAN_NO_INTEGER, SCAN_INTEGER, SCAN_CLIPPED };

/* Reads a decimal integer. One beyond INT64_MAX or -INT64_MAX is set to that limit and reported as SCAN_CLIPPED. */
enum scan_number scan_integer(struct scan *scan, int64_t *value);

/* Returns the length of the word at the cursor with any signs before it, for messages about malformed numbers. */
int scan_word_length(const struct scan *scan);

/* Returns 1 if a Python string follows. *start and *length are the text between the quotes, escapes included. */
int scan_string(struct scan *scan, char *quote, const char **start, size_t *length);

/* Returns how many characters from the cursor on a message should quote. */
int scan_shown(const struct scan *scan);

#endif
