/* The one way to fail, and what every source file of the library needs. */
#ifndef BI_COMMON_BASE_STATUS_H
#define BI_COMMON_BASE_STATUS_H

#include "buffer_interface.h"

#if defined(__GNUC__)
#define BI__PRINTF(text, first) __attribute__((format(printf, text, first)))
#define BI__COLD __attribute__((cold)) /* whatever leads there is out of the way of what succeeds */
#else
#define BI__PRINTF(text, first)
#define BI__COLD
#endif

/* Writes status and sentence into err (which may be NULL) and returns status. A sentence that is too long is cut. */
int bi__fail(struct bi_error *err, int status, const char *format, ...) BI__PRINTF(3, 4) BI__COLD;

/* The same for a driver call: `vendor` is the driver's code. */
int bi__fail_vendor(struct bi_error *err, int status, int vendor, const char *format, ...) BI__PRINTF(4, 5) BI__COLD;

#endif
