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

/* Copies a text, and replaces its control characters. A text that is too long is cut between two UTF-8 characters. */
static void copy_text(const char *text, size_t length, char *out, size_t capacity)
{
	if (length >= capacity)
		for (length = capacity - 1; length && (text[length] & 0xc0) == 0x80;)
			length--;
	memcpy(out, text, length);
	out[length] = '\0';
	replace_controls(out);
}

int bi__fail_vendor(struct bi_error *err, int status, int vendor, const char *format, ...)
{
	char text[sizeof(err->message) + 1];
	va_list args;

	if (!err)
		return status;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err->status = status;
	err->vendor = vendor;
	copy_text(text, strlen(text), err->message, sizeof(err->message));
	return status;
}

struct bi__quote bi__quote(const char *text, size_t length)
{
	struct bi__quote quote;

	copy_text(text, length, quote.text, sizeof(quote.text));
	return quote;
}
