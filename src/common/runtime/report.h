/*
 * The record of the operations of a context, for bi_context_report. docs/report.md describes the JSON. Only contexts
 * that were opened with option `profile` have a record.
 */
#ifndef BI_COMMON_RUNTIME_REPORT_H
#define BI_COMMON_RUNTIME_REPORT_H

#include "common/runtime/object.h"
#include "common/runtime/operation.h"

struct bi__report *bi__report_create(void);
/* Frees the report, which may be NULL, and releases the events that its records still hold. */
void bi__report_free(struct bi__report *report, const struct bi__device *device);

/* Returns 1 if operations are being recorded now. */
int bi__report_active(const struct bi_context *context);

/*
 * Adds a record to the report of the context. Takes ownership of `event`, an event of the same context, which has the
 * time; if that is 0 then `nanoseconds` is the time, or -1 if it is not known.
 */
void bi__report_add(struct bi_context *context, const struct bi__operation *operation, unsigned stream_id,
		    int64_t nanoseconds, uintptr_t event);

#endif
