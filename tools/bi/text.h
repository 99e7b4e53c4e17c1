/* A stream that writes into memory. */
#ifndef BI_TOOL_TEXT_H
#define BI_TOOL_TEXT_H

#include <stdio.h>

/* Opens the stream. Returns NULL if memory is missing. */
FILE *text_open(char **text, size_t *length);

/*
 * Closes the stream. Returns 0 and sets *text to the written bytes with a NUL behind them; the caller frees it. On
 * failure returns -1 and sets *text to NULL. `text` and `length` are those of text_open.
 */
int text_close(FILE *stream, char **text, size_t *length);

/*
 * Replaces what a terminal cannot print in a text of another origin: "\n" by " ", other control characters and bytes
 * that are not UTF-8 by "?".
 */
void text_clean(char *text);

/* Prints the first `length` bytes of a text, cleaned. Prints nothing if memory is missing. */
void text_print_cleaned(FILE *out, const char *text, size_t length);

/* Prints a text, cleaned. Of a text with more than `space` characters prints the beginning and "…". */
void text_print_cut(FILE *out, const char *text, size_t space);

#endif
