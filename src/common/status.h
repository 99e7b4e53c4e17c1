/* The one way to fail, and what every source file of the library needs. */
#ifndef BI_COMMON_STATUS_H
#define BI_COMMON_STATUS_H

#include "buffer_interface.h"

#if defined(__GNUC__)
#define BI__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define BI__PRINTF(text, first)
#endif

/*
 * Writes status and sentence into err (which may be NULL) and returns status. A sentence that is too long is cut. What
 * leads there is laid out of the way of what does not.
 */
__attribute__((cold)) int bi__fail(struct bi_error *err, int status, const char *format, ...) BI__PRINTF(3, 4);

/* The same for a driver call: `vendor` is the driver's code. */
__attribute__((cold)) int bi__fail_vendor(struct bi_error *err, int status, int vendor, const char *format, ...)
	BI__PRINTF(4, 5);

#endif
