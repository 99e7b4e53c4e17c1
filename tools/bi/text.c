#define _POSIX_C_SOURCE 200809L

#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

static int is_printable(uint32_t point)
{
	return point >= 0x20 && !(point >= 0x7f && point <= 0x9f);
}

void text_clean(char *text)
{
	size_t left = strlen(text), length;
	uint32_t point;

	for (; left; text += length, left -= length) {
		length = utf8_decode(text, left, &point);
		if (*text == '\n')
			*text = ' ';
		else if (!length || !is_printable(point))
			memset(text, '?', length += !length);
	}
}

int text_fit(const char *text, size_t size, size_t most)
{
	size_t fit = 0, length;
	uint32_t point;

	for (; fit < size; fit += length) {
		length = utf8_decode(text + fit, size - fit, &point);
		length += !length;
		if (fit + length > most)
			break;
	}
	return (int)fit;
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

void text_print_cut(FILE *out, const char *text, size_t space)
{
	size_t left = strlen(text), shown = 0, length;
	int is_long = utf8_length(text) > space;
	uint32_t point;

	for (size_t i = 1; is_long && i < space; i++) {
		length = utf8_decode(text + shown, left - shown, &point);
		shown += length + !length;
	}
	text_print_cleaned(out, text, is_long ? shown : left);
	fputs(is_long ? "…" : "", out);
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
