/* Errors: bi__fail and bi__fail_vendor report each failure. Attributes that every source file may use. */
#ifndef BI_COMMON_BASE_STATUS_H
#define BI_COMMON_BASE_STATUS_H

#include <string.h>

#include "buffer_interface.h"

#if defined(__MINGW32__) && !defined(__clang__)
#define BI__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define BI__PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

#define BI__COLD __attribute__((cold)) /* keeps failing branches out of the hot code */

/*
 * Writes status and message into err and returns status. err may be NULL. A message that is too long loses its middle,
 * and each byte of a control character becomes '?'. `vendor` is the error code of a failed call of a driver or of the
 * system.
 */
int bi__fail_vendor(struct bi_error *err, int status, int vendor, const char *format, ...) BI__PRINTF(4, 5) BI__COLD;

/* Does the same with the vendor code 0, for a failure that no call of a driver or of the system caused. */
#define bi__fail(err, status, ...) bi__fail_vendor(err, status, 0, __VA_ARGS__)

/* The beginning of a text from outside of the library, for a message. */
struct bi__quote {
	char text[25];
};

/* Returns the whole characters in the first 24 bytes of a UTF-8 text. Each byte of a control character becomes '?'. */
struct bi__quote bi__quote(const char *text, size_t length) BI__COLD;

/*
 * The first check of a function that makes an object. Returns BI_EINVAL if `out` is NULL, else sets the pointer *out to
 * NULL. Returns BI_EINVAL with the message `fault` if `is_given` is 0: another argument is missing.
 */
static inline int bi__check_out(void *out, int is_given, const char *fault, struct bi_error *err)
{
	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	memset(out, 0, sizeof(void *));
	return is_given ? BI_OK : bi__fail(err, BI_EINVAL, "%s", fault);
}

#endif
