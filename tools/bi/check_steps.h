/* The steps of `bi check`. */
#ifndef BI_TOOL_CHECK_STEPS_H
#define BI_TOOL_CHECK_STEPS_H

#include "check_child.h"

/* Check the function of the task. Return CHECK_FATAL if nothing could be checked, otherwise CHECK_ENDED. */
enum check_end check_producer(struct check_task *task, struct check_report *report);
enum check_end check_consumer(struct check_task *task, struct check_report *report);

/* Judges B-34: a write of the elements waits for a gate, which opens while the consumer is running. */
void step_pending(const struct check_task *task, const void *data);

#endif
