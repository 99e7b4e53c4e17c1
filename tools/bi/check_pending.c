#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "check_cases.h"
#include "check_child.h"

#define CLOSED_MS 2000 /* a consumer that does not wait has read the elements by then */

/* A gate: a user event of OpenCL, for which work on a queue waits, and the functions for it. */
static struct gate {
	void *(*create)(void *context, int32_t *code);
	int32_t (*open)(void *event, int32_t status);
	int32_t (*barrier)(void *queue, uint32_t count, void *const *events, void **event);
	void *event;
	unsigned closed_ms;
} gate;

static void *open_later(void *data)
{
	const long ms = (long)gate.closed_ms;
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
	gate.open(gate.event, 0);
	return data;
}

/* Makes later work on the context stream wait for the gate. Returns 0, or -1 if the driver cannot do that. */
static int close_gate(const struct bi_context *context)
{
	void *queue = (void *)bi_stream_handle(bi_context_stream(context));

	gate.create = (void *(*)(void *, int32_t *))bi_context_symbol(context, "clCreateUserEvent");
	gate.open = (int32_t(*)(void *, int32_t))bi_context_symbol(context, "clSetUserEventStatus");
	gate.barrier = (int32_t(*)(void *, uint32_t, void *const *, void **))bi_context_symbol(
		context, "clEnqueueBarrierWithWaitList");
	if (!gate.create || !gate.open || !gate.barrier)
		return -1;
	gate.event = gate.create((void *)bi_context_handle(context), NULL);
	return gate.event && !gate.barrier(queue, 1, &gate.event, NULL) ? 0 : -1;
}

/* Makes an array whose elements are 1, and 2 once the gate is open. */
static int make_pending(const struct case_type *type, const struct check_case *plain, struct bi_exchange *out)
{
	struct bi_options opening = BI_OPTIONS_INIT;
	unsigned char one[CASE_ITEM_MAX], two[CASE_ITEM_MAX];
	struct bi_context *context;
	struct bi_view *view;
	struct bi_dtype dtype;
	int rc;

	case_write_number(type, one, 1);
	case_write_number(type, two, 2);
	opening.device = "opencl";
	rc = bi_context_open(&opening, &context, NULL);
	if (!rc)
		rc = bi_dtype_parse(type->name, &dtype, NULL);
	if (!rc)
		rc = bi_view_empty(context, dtype, plain->ndim, plain->shape, &view, NULL);
	if (!rc)
		rc = bi_fill(view, one, NULL, NULL);
	if (!rc)
		rc = bi_view_synchronize(view, NULL);
	if (!rc)
		rc = close_gate(context);
	if (!rc)
		rc = bi_fill(view, two, NULL, NULL);
	return rc ? rc : bi_view_export(view, 0, out, NULL);
}

void step_pending(const struct check_task *task)
{
	const struct case_type *type = &case_types[task->choice / CASE_PLAIN];
	const struct check_case *plain = &check_cases[task->choice % CASE_PLAIN];
	struct bi_exchange array = BI_EXCHANGE_INIT;
	unsigned char elements[CASE_COUNT * CASE_ITEM_MAX] = { 0 };
	pthread_t thread;
	int number;

	gate.closed_ms = task->seconds * 250 < CLOSED_MS ? task->seconds * 250 : CLOSED_MS;
	setenv("BI_INLINE_LIMIT", "0", 1); /* the fill goes to the queue, behind the gate */
	if (make_pending(type, plain, &array) || pthread_create(&thread, NULL, open_later, NULL)) {
		judge_skip("B-34", "no pending work of OpenCL can be made");
		return;
	}
	judge_note(0); /* the time of the consumer begins here */
	if (((check_consumer_fn *)task->entry)(&array, elements, sizeof(elements))) {
		judge_skip("B-34", "memory of OpenCL is refused");
		return;
	}
	number = case_read_number(type, elements);
	judge("B-34", number == 2, "the first element is %s while a write of 2 is pending",
	      number == 1 ? "1" : "another number");
}
