#define _POSIX_C_SOURCE 200809L

#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void text_clean(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		/* In UTF-8, U+0080 to U+009F are 0xc2 and another byte. */
		int is_pair = *c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f;

		if (is_pair)
			*c++ = '?';
		*c = *c == '\n' ? ' ' : is_pair || iscntrl(*c) ? '?' : *c;
	}
}

void text_print_cleaned(FILE *out, const char *text, size_t length)
{
	char *cleaned = calloc(length + 1, 1);

	if (cleaned) {
		memcpy(cleaned, text, length);
		text_clean(cleaned);
		fputs(cleaned, out);
	}
	free(cleaned);
}

#ifdef _WIN32
#include <windows.h>

/* Windows has no open_memstream. The file is deleted when it is closed (D). */
FILE *text_open(char **text, size_t *length)
{
	char folder[MAX_PATH + 1], path[MAX_PATH + 1];

	*text = NULL;
	*length = 0;
	if (!GetTempPathA(sizeof(folder), folder) || !GetTempFileNameA(folder, "bi", 0, path))
		return NULL;
	return fopen(path, "w+bD");
}

static int read_back(FILE *stream, char **text, size_t *length)
{
	long end = ftell(stream);
	char *bytes = end < 0 ? NULL : calloc(1, (size_t)end + 1);

	rewind(stream);
	if (!bytes || ferror(stream) || fread(bytes, 1, (size_t)end, stream) != (size_t)end) {
		free(bytes);
		return -1;
	}
	*text = bytes;
	*length = (size_t)end;
	return 0;
}

int text_close(FILE *stream, char **text, size_t *length)
{
	int rc = read_back(stream, text, length);

	fclose(stream);
	return rc;
}
#else
FILE *text_open(char **text, size_t *length)
{
	return open_memstream(text, length);
}

int text_close(FILE *stream, char **text, size_t *length)
{
	int failed = ferror(stream);

	(void)length;
	if (!fclose(stream) && !failed)
		return 0;
	free(*text);
	*text = NULL;
	return -1;
}
#endif
