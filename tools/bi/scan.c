#include "scan.h"

#include <string.h>

static void skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end && memchr(" \t\r\n", *scan->at, 4))
		scan->at++;
}

int scan_done(struct scan *scan)
{
	skip_blanks(scan);
	return scan->at == scan->end;
}

int scan_take(struct scan *scan, char c)
{
	if (scan_done(scan) || *scan->at != c)
		return 0;
	scan->at++;
	return 1;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

int scan_word(struct scan *scan, const char *word)
{
	size_t length = strlen(word);

	skip_blanks(scan);
	if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length))
		return 0;
	if (scan->at + length < scan->end && is_word(scan->at[length]))
		return 0;
	scan->at += length;
	return 1;
}

enum scan_number scan_integer(struct scan *scan, int64_t *value)
{
	enum scan_number found = SCAN_INTEGER;
	const char *at;
	int64_t number = 0;
	int negative;

	skip_blanks(scan);
	at = scan->at;
	negative = at < scan->end && *at == '-';
	if (at < scan->end && (*at == '-' || *at == '+'))
		at++;
	if (at == scan->end || !is_digit(*at))
		return SCAN_NO_INTEGER;
	for (; at < scan->end && is_digit(*at); at++) {
		int digit = *at - '0';

		if (number > (INT64_MAX - digit) / 10)
			found = SCAN_CLIPPED;
		number = found == SCAN_CLIPPED ? INT64_MAX : number * 10 + digit;
	}
	*value = negative ? -number : number;
	scan->at = at;
	return found;
}

int scan_word_length(const struct scan *scan)
{
	const char *at = scan->at;

	while (at < scan->end && (*at == '-' || *at == '+'))
		at++;
	while (at < scan->end && is_word(*at))
		at++;
	return (int)(at - scan->at);
}
