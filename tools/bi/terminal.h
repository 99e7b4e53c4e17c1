/* What a stream can show. */
#ifndef BI_TOOL_TERMINAL_H
#define BI_TOOL_TERMINAL_H

#include <stdio.h>

/* 1 if somebody watches it. */
int terminal_is(FILE *stream);

/* Columns of COLUMNS, else of the terminal, else 80. */
int terminal_columns(FILE *stream);

/* 1 on a terminal, unless NO_COLOR is set. */
int terminal_has_colour(FILE *stream);

#endif
