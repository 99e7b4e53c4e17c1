/* Lines for the log callback of a context's options; without a callback nothing happens. */
#ifndef BI_COMMON_RUNTIME_LOG_H
#define BI_COMMON_RUNTIME_LOG_H

#include "common/runtime/object.h"
#include "common/base/status.h"

/* Does anybody read lines of that level? Then what they say is worth finding out. */
static inline int bi__logs(const struct bi_context *context, enum bi_log_level level)
{
	return context->log.fn && (int)level <= context->log.level;
}

/* Under no lock: the callback is foreign code. */
void bi__log(const struct bi_context *context, enum bi_log_level level, const char *format, ...) BI__PRINTF(3, 4);

#endif
