#include "common/runtime/log.h"

#include <stdarg.h>
#include <stdio.h>

void bi__log(const struct bi_context *context, enum bi_log_level level, const char *format, ...)
{
	struct bi__pause pause;
	char line[512];
	va_list args;

	if ((int)level > context->log.level)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	pause = bi__dispatch_pause();
	context->log.fn(context->log.data, level, line);
	bi__dispatch_resume(pause);
}
