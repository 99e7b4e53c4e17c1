/* Lines for the log callback of a context's options; without a callback nothing happens. */
#ifndef BI_COMMON_LOG_H
#define BI_COMMON_LOG_H

#include "common/object.h"
#include "common/status.h"

/* Under no lock: the callback is foreign code. */
void bi__log(const struct bi_context *context, enum bi_log_level level, const char *format, ...) BI__PRINTF(3, 4);

#endif
