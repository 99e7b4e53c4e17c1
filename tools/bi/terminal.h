/* Properties of an output stream; wrapped texts; numbers and element types as Python prints them. */
#ifndef BI_TOOL_TERMINAL_H
#define BI_TOOL_TERMINAL_H

#include <stdint.h>
#include <stdio.h>

#include "buffer_interface.h"

/* Returns 1 if the stream is a terminal, otherwise 0. */
int terminal_is(FILE *stream);

/*
 * Returns the width of a line: the environment variable COLUMNS if it is 20 to 10000, else the width of the terminal if
 * it is at least 20, else 80.
 */
int terminal_columns(FILE *stream);

/* Returns 1 if the stream is a terminal, NO_COLOR is unset or empty, and TERM is not "dumb". Otherwise returns 0. */
int terminal_has_colour(FILE *stream);

/* Prints a tuple such as "(3, 4)" or "(3,)". */
void print_tuple(FILE *out, const int64_t *values, int count);

/* Returns the number of characters that print_tuple prints. */
size_t tuple_length(const int64_t *values, int count);

/* Returns the text of the element type: the fields of a structured type (the descr), or `text`, which it fills. */
const char *type_text(const struct bi_layout *layout, char text[BI_DTYPE_TEXT]);

/*
 * Prints a label and a text, broken between words into lines of at most `columns` bytes; a longer word has a line of
 * its own. Lines after the first are indented by `indent` columns and a blank.
 */
void print_wrapped(FILE *out, const char *label, int indent, int columns, const char *text);

#endif
