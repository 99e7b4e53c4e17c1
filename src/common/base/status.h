/* Errors: the only way to fail, and attributes that every source file may use. */
#ifndef BI_COMMON_BASE_STATUS_H
#define BI_COMMON_BASE_STATUS_H

#include "buffer_interface.h"

#if defined(__MINGW32__) && !defined(__clang__)
#define BI__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#elif defined(__GNUC__)
#define BI__PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define BI__PRINTF(text, first)
#endif

#if defined(__GNUC__)
#define BI__COLD __attribute__((cold)) /* keeps the failing branches out of the hot code */
#else
#define BI__COLD
#endif

/* Writes status and message into err and returns status. err may be NULL. A message that is too long is cut. */
int bi__fail(struct bi_error *err, int status, const char *format, ...) BI__PRINTF(3, 4) BI__COLD;

/* Does the same as bi__fail for a failed driver call; `vendor` is the driver's error code. */
int bi__fail_vendor(struct bi_error *err, int status, int vendor, const char *format, ...) BI__PRINTF(4, 5) BI__COLD;

#endif
