#include "fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

int fail(struct bi_error *err, enum bi_status status, const char *format, ...)
{
	va_list args;

	if (!err)
		return status;
	err->status = status;
	err->vendor = 0;
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	return status;
}

int fail_errno(struct bi_error *err, const char *what)
{
	int code = errno;
	enum bi_status status = code == ENOMEM ? BI_ENOMEM : BI_EDRIVER;

	fail(err, status, "%s: %s", what, strerror(code));
	if (err)
		err->vendor = code;
	return status;
}

int input_exit_code(int status)
{
	int is_content = status == BI_EINVAL || status == BI_EDTYPE || status == BI_EBOUNDS || status == BI_EOVERFLOW;

	return is_content ? EXIT_CODE_INPUT : EXIT_CODE_FAILURE;
}

int fail_about(struct bi_error *err, const char *about)
{
	char message[sizeof(err->message)];

	memcpy(message, err->message, sizeof(message));
	snprintf(err->message, sizeof(err->message), "%.*s: %.*s", text_fit(about, strlen(about), 60), about,
		 text_fit(message, strlen(message), 190), message);
	return err->status;
}

void say(const char *format, ...)
{
	char text[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_clean(text);
	fprintf(stderr, "bi: %s\n", text);
}
