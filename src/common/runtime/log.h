/* Lines for the log callback that a context got with its options. */
#ifndef BI_COMMON_RUNTIME_LOG_H
#define BI_COMMON_RUNTIME_LOG_H

#include "common/base/status.h"
#include "common/runtime/object.h"

/*
 * Formats a line and passes it to the callback, if context->log.level includes the level. The caller holds no lock,
 * because the callback is foreign code.
 */
void bi__log(const struct bi_context *context, enum bi_log_level level, const char *format, ...) BI__PRINTF(3, 4);

#endif
