/* The abilities of an output stream. */
#ifndef BI_TOOL_TERMINAL_H
#define BI_TOOL_TERMINAL_H

#include <stdio.h>

/* Returns 1 if the stream is a terminal. */
int terminal_is(FILE *stream);

/* Returns the value of COLUMNS, or else the width of the terminal, or else 80. */
int terminal_columns(FILE *stream);

/* Returns 1 for a terminal, unless NO_COLOR is set. */
int terminal_has_colour(FILE *stream);

#endif
