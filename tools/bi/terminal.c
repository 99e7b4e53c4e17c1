#define _DEFAULT_SOURCE

#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int terminal_is(FILE *stream)
{
	return isatty(fileno(stream));
}

int terminal_columns(FILE *stream)
{
	const char *text = getenv("COLUMNS");
	long columns = text ? strtol(text, NULL, 10) : 0;
	struct winsize size;

	if (columns >= 20 && columns <= 10000)
		return (int)columns;
	if (!ioctl(fileno(stream), TIOCGWINSZ, &size) && size.ws_col >= 20)
		return size.ws_col;
	return 80;
}

int terminal_has_colour(FILE *stream)
{
	const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");

	return terminal_is(stream) && !(refused && *refused) && !(term && !strcmp(term, "dumb"));
}
