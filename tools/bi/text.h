/* A stream that writes into memory, and texts of other origin, cleaned for a terminal. */
#ifndef BI_TOOL_TEXT_H
#define BI_TOOL_TEXT_H

#include <stdio.h>

/* Opens the stream. Returns NULL on failure. */
FILE *text_open(char **text, size_t *length);

/*
 * Closes the stream. Returns 0, sets *text to the written bytes with a NUL behind them, and sets *length to their
 * number; the caller frees *text. On failure returns -1 and sets *text to NULL. `text` and `length` are those of
 * text_open.
 */
int text_close(FILE *stream, char **text, size_t *length);

/*
 * Replaces characters that a terminal cannot print, in a text of another origin: "\n" by " ", other control characters
 * and bytes that are not UTF-8 by "?".
 */
void text_clean(char *text);

/* Returns the number of bytes, at most `most`, of the whole characters at the beginning of the `size` bytes of a text.
 */
int text_fit(const char *text, size_t size, size_t most);

/* Prints the first `length` bytes of a text, cleaned. Prints nothing if memory is missing. */
void text_print_cleaned(FILE *out, const char *text, size_t length);

/* Prints a text, cleaned. Of a text with more than `space` characters prints the beginning and "…". */
void text_print_cut(FILE *out, const char *text, size_t space);

#endif
