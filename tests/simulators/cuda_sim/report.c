#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* Number of reports whose texts are kept. All reports are counted. */
#define KEPT 4096

static const char *const words[] = {
#define SIM_REPORT(name, text) text,
	SIM_REPORTS(SIM_REPORT)
#undef SIM_REPORT
};

static char **texts;
static size_t text_count;

static char *copy_of(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(must_alloc(size, 1), text, size);
}

static void keep(const char *text)
{
	sim.counts.reports++;
	if (text_count == KEPT)
		return;
	if (!texts)
		texts = must_alloc(KEPT, sizeof(*texts));
	texts[text_count++] = copy_of(text);
}

void report(enum report what, const char *format, ...)
{
	const struct thread *self = thread_self();
	char text[1024];
	int length;
	va_list arguments;

	if (sim.is_resetting && what == REPORT_LEFT)
		return;
	if (self->entry < ENTRY_COUNT)
		length = snprintf(text, sizeof(text), "%s: %s (call %ju): ", words[what], entry_name(self->entry),
				  (uintmax_t)self->call);
	else
		length = snprintf(text, sizeof(text), "%s: %s: ", words[what], entry_name(self->entry));
	va_start(arguments, format);
	vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
	va_end(arguments);
	keep(text);
}

const char *report_text(uint64_t i)
{
	return i < text_count ? texts[i] : NULL;
}

void forget_reports(void)
{
	while (text_count)
		free(texts[--text_count]);
	free(texts);
	texts = NULL;
}
