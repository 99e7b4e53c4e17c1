#include "common/runtime/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

void bi__log(const struct bi_context *context, enum bi_log_level level, const char *format, ...)
{
	struct bi__scope *scope;
	char line[512];
	va_list args;
	int state;

	if ((int)level > context->log.level)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	scope = bi__dispatch_pause();
	/* The callback may reach a cancellation point. A cancelled thread would leave the operation half done. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	context->log.fn(context->log.data, level, line);
	pthread_setcancelstate(state, NULL);
	bi__dispatch_resume(scope);
}
