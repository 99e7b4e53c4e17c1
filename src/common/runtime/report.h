/*
 * The recorded operations of a context, for bi_context_report. docs/report.md describes the JSON. Only contexts that
 * were opened with option `profile` have a struct bi__report.
 */
#ifndef BI_COMMON_RUNTIME_REPORT_H
#define BI_COMMON_RUNTIME_REPORT_H

#include "common/runtime/object.h"

/* One operation. */
struct bi__record {
	const char *operation;
	enum bi_plan_kind plan;
	uint64_t bytes;
	unsigned stream; /* bi_stream.id */
	int64_t nanoseconds; /* duration; -1: not known, or not read from `event` yet */
	uintptr_t event; /* owned; a report reads the duration from it and releases it. 0: no event */
};

struct bi__report *bi__report_create(void);
/* Frees the report, which may be NULL, and releases the events that its records still hold. */
void bi__report_free(struct bi__report *report, const struct bi__device *device);

/* Returns 0 if recording is paused, else 1. */
int bi__report_is_recording(struct bi__report *report);

/* Adds a record to the report of the context. Takes ownership of record->event, an event of the same native context. */
void bi__report_add(struct bi_context *context, const struct bi__record *record);

#endif
