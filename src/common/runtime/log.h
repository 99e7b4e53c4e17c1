/* Lines for the log callback that a context got with its options. Without a callback nothing happens. */
#ifndef BI_COMMON_RUNTIME_LOG_H
#define BI_COMMON_RUNTIME_LOG_H

#include "common/runtime/object.h"
#include "common/base/status.h"

/* Returns 1 if the context has a callback for lines of that level. Saves the work for lines that nobody reads. */
static inline int bi__logs(const struct bi_context *context, enum bi_log_level level)
{
	return context->log.fn && (int)level <= context->log.level;
}

/* Formats a line and passes it to the callback. The caller holds no lock, because the callback is foreign code. */
void bi__log(const struct bi_context *context, enum bi_log_level level, const char *format, ...) BI__PRINTF(3, 4);

#endif
