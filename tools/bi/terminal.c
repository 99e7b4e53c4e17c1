#define _DEFAULT_SOURCE

#include "terminal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <io.h>
#include <windows.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

#ifdef _WIN32
/* Only a console that reads escape sequences is a terminal. */
int terminal_is(FILE *stream)
{
	HANDLE console = (HANDLE)_get_osfhandle(_fileno(stream));
	DWORD mode;

	SetConsoleOutputCP(CP_UTF8);
	return GetConsoleMode(console, &mode) && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

static int window_columns(FILE *stream)
{
	CONSOLE_SCREEN_BUFFER_INFO info;

	return GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(_fileno(stream)), &info) ? info.dwSize.X : 0;
}
#else
int terminal_is(FILE *stream)
{
	return isatty(fileno(stream));
}

static int window_columns(FILE *stream)
{
	struct winsize size;

	return ioctl(fileno(stream), TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
#endif

int terminal_columns(FILE *stream)
{
	const char *text = getenv("COLUMNS");
	long columns = text ? strtol(text, NULL, 10) : 0;

	if (columns >= 20 && columns <= 10000)
		return (int)columns;
	columns = window_columns(stream);
	return columns >= 20 ? (int)columns : 80;
}

int terminal_has_colour(FILE *stream)
{
	const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");

	return terminal_is(stream) && !(refused && *refused) && !(term && !strcmp(term, "dumb"));
}

void print_tuple(FILE *out, const int64_t *values, int count)
{
	fputc('(', out);
	for (int i = 0; i < count; i++)
		fprintf(out, i ? ", %" PRId64 : "%" PRId64, values[i]);
	fputs(count == 1 ? ",)" : ")", out);
}

size_t tuple_length(const int64_t *values, int count)
{
	size_t length = strlen("()") + (count == 1);

	for (int i = 0; i < count; i++)
		length += (size_t)snprintf(NULL, 0, i ? ", %" PRId64 : "%" PRId64, values[i]);
	return length;
}

const char *type_text(const struct bi_layout *layout, char text[BI_DTYPE_TEXT])
{
	if (layout->descr)
		return layout->descr;
	if (bi_dtype_typestr(layout->dtype, text, NULL) != BI_OK)
		bi_dtype_name(layout->dtype, text);
	return text;
}

void print_wrapped(FILE *out, const char *label, int indent, int columns, const char *text)
{
	int column = fprintf(out, "%s", label);

	while (*text) {
		int length = (int)strcspn(text, " ");

		if (column + 1 + length > columns)
			column = fprintf(out, "\n%*s", indent, "") - 1;
		column += fprintf(out, " %.*s", length, text);
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}
