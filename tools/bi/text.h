/* A stream that writes into memory. */
#ifndef BI_TOOL_TEXT_H
#define BI_TOOL_TEXT_H

#include <stdio.h>

/* Opens the stream. Returns NULL if memory is missing. */
FILE *text_open(char **text, size_t *length);

/*
 * Closes the stream. Returns 0; *text, which the caller frees, is what was written, and a 0 byte behind. Otherwise
 * returns -1, and *text is NULL. `text` and `length` are those of text_open.
 */
int text_close(FILE *stream, char **text, size_t *length);

#endif
