#include "common/base/status.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
	int value;
	const char *name;
	const char *text;
} statuses[] = {
#define STATUS(status, number, words) { number, "BI_" #status, words },
	BI_STATUS_MAP(STATUS)
#undef STATUS
};

const char *bi_version(void)
{
	return BI_VERSION_STRING;
}

const char *bi_status_name(int status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		if (statuses[i].value == status)
			return statuses[i].name;
	return "BI_E?";
}

const char *bi_status_text(int status)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
		if (statuses[i].value == status)
			return statuses[i].text;
	return "not a status";
}

/* Replaces each byte of a control character by '?', so that a message is one line. */
static void replace_controls(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F */
			*c = c[1] = '?';
}

/* Returns `length`, or up to 3 less if the text would end inside of a UTF-8 character. */
static size_t whole_characters(const char *text, size_t length)
{
	for (size_t less = 0; less <= 3 && less <= length; less++)
		if ((text[length - less] & 0xc0) != 0x80)
			return length - less;
	return length; /* not UTF-8 */
}

/* Copies a text, and replaces its control characters. A text that is too long is cut between two UTF-8 characters. */
static void copy_text(const char *text, size_t length, char *out, size_t capacity)
{
	if (length >= capacity)
		length = whole_characters(text, capacity - 1);
	memcpy(out, text, length);
	out[length] = '\0';
	replace_controls(out);
}

#define GAP "..."
/* The most bytes of a text whose end is kept: a path of 4095 bytes and a sentence fit. */
#define MOST_FORMATTED 8192

/* Writes the message. The middle of a text that is too long is left out, because sentences end with the reason. */
static void put_message(const char *text, char *out, size_t capacity)
{
	const size_t length = strlen(text), half = (capacity - sizeof(GAP)) / 2;
	const char *end;

	if (length < capacity) {
		copy_text(text, length, out, capacity);
		return;
	}
	end = text + length - half;
	while ((*end & 0xc0) == 0x80) /* inside of a UTF-8 character */
		end++;
	copy_text(text, length, out, half + 1);
	strcat(out, GAP);
	copy_text(end, strlen(end), out + strlen(out), half + 1);
}

int bi__fail_vendor(struct bi_error *err, int status, int vendor, const char *format, ...)
{
	char text[MOST_FORMATTED];
	va_list args;

	if (!err)
		return status;
	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) >= (int)sizeof(text))
		text[whole_characters(text, sizeof(text) - 2)] = '\0';
	va_end(args);
	err->status = status;
	err->vendor = vendor;
	put_message(text, err->message, sizeof(err->message));
	return status;
}

struct bi__quote bi__quote(const char *text, size_t length)
{
	struct bi__quote quote;

	copy_text(text, length, quote.text, sizeof(quote.text));
	return quote;
}
