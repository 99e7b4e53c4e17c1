/*
 * A cursor over text that need not end with a NUL. Every function first skips white space, and leaves the cursor behind
 * it when what it looks for is not there.
 */
#ifndef BI_TOOL_SCAN_H
#define BI_TOOL_SCAN_H

#include <stddef.h>
#include <stdint.h>

struct scan {
	const char *at;
	const char *end;
};

/* 1 if nothing is left. */
int scan_done(struct scan *scan);

/* 1 if the next character is c; it is taken. */
int scan_take(struct scan *scan, char c);

/* 1 if the next word (letters, digits, '_' and '.') is `word`; it is taken. */
int scan_word(struct scan *scan, const char *word);

enum scan_number { SCAN_NO_INTEGER, SCAN_INTEGER, SCAN_CLIPPED };

/* A decimal integer; one that is beyond INT64_MAX or -INT64_MAX becomes that, and is SCAN_CLIPPED. */
enum scan_number scan_integer(struct scan *scan, int64_t *value);

/* Length of the word at the cursor, with signs before it: what somebody meant to be a number. */
int scan_word_length(const struct scan *scan);

/* 1 if a Python string follows: *start and *length are what stands between the quotes, escapes as they are. */
int scan_string(struct scan *scan, char *quote, const char **start, size_t *length);

/* What an error message can quote: at most a few characters from the cursor on. */
int scan_shown(const struct scan *scan);

#endif
