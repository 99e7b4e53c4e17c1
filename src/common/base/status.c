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

BI__PRINTF(4, 0)
static int write_error(struct bi_error *err, int status, int vendor, const char *format, va_list args)
{
	if (err) {
		err->status = status;
		err->vendor = vendor;
		vsnprintf(err->message, sizeof(err->message), format, args);
	}
	return status;
}

int bi__fail(struct bi_error *err, int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_error(err, status, 0, format, args);
	va_end(args);
	return status;
}

int bi__fail_vendor(struct bi_error *err, int status, int vendor, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_error(err, status, vendor, format, args);
	va_end(args);
	return status;
}
