/* What was done, for bi_context_report. The JSON is described in docs/report.md. */
#ifndef BI_COMMON_RUNTIME_REPORT_H
#define BI_COMMON_RUNTIME_REPORT_H

#include "common/runtime/object.h"

struct bi__report *bi__report_create(void);
/* Releases the events that records still hold. */
void bi__report_free(struct bi__report *report, const struct bi_context *context);

/* Are operations being recorded now? */
int bi__report_active(const struct bi_context *context);

/* Adds a record; takes over `event` (0: `nanoseconds` is the time, -1 if it is not known). */
void bi__report_add(struct bi_context *context, const struct bi_stream *stream, const char *operation,
		    const struct bi__plan *plan, int64_t nanoseconds, uintptr_t event);

#endif
