/* Lines for the log callback of a context (bi_options.log). */
#ifndef BI_COMMON_RUNTIME_LOG_H
#define BI_COMMON_RUNTIME_LOG_H

#include "common/base/status.h"
#include "common/runtime/object.h"

/*
 * Formats a line of up to 511 bytes and passes it to the callback, if `level` is at most context->log.level. The caller
 * holds no lock, because the callback is foreign code.
 */
void bi__log(const struct bi_context *context, enum bi_log_level level, const char *format, ...) BI__PRINTF(3, 4);

#endif
