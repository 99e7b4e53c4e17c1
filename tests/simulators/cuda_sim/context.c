#include "context.h"

#include <stdlib.h>

#include "capture.h"
#include "memory.h"
#include "module.h"
#include "scheduler.h"
#include "stream.h"

static struct context *contexts;
static uint64_t last_id;
static struct {
	struct context *context;
	unsigned retained;
} primaries[SIM_DEVICES];

struct context *contexts_first(void)
{
	return contexts;
}

struct context *context_current(bi__cu_result *code)
{
	struct context *context = thread_top();

	*code = BI__CU_SUCCESS;
	if (!context) {
		report(REPORT_NO_CONTEXT, "the call needs one");
		*code = BI__CU_ERROR_INVALID_CONTEXT;
		return NULL;
	}
	if (context->is_destroyed) {
		report(REPORT_DESTROYED_CONTEXT, "it is current");
		*code = BI__CU_ERROR_CONTEXT_IS_DESTROYED;
		return NULL;
	}
	return context;
}

struct context *context_find(bi__cu_context handle, bi__cu_result *code)
{
	struct context *context = handle_find(OBJECT_CONTEXT, handle, code);

	if (!context || !context->is_destroyed)
		return context;
	report(REPORT_DESTROYED_CONTEXT, "%p was destroyed before", (void *)handle);
	*code = BI__CU_ERROR_CONTEXT_IS_DESTROYED;
	return NULL;
}

int is_device(int device)
{
	return device >= 0 && device < sim.options.devices;
}

static bi__cu_context succeed(struct context *old, struct context *context)
{
	old->has_successor = 1;
	return handle_rebind(old->handle, context);
}

/*
 * Returns a handle for a new context. A primary context has the handle of the one before (`reset`) if that was reset.
 */
static bi__cu_context name_context(struct context *context, struct context *reset)
{
	if (reset && reset->is_reset && !reset->has_successor)
		return succeed(reset, context);
	for (struct context *old = contexts; old && switched(SWITCH_context_returns); old = old->next)
		if (old->is_destroyed && !old->has_successor)
			return succeed(old, context);
	return handle_make(OBJECT_CONTEXT, context);
}

static struct context *create(int device, struct context *reset)
{
	struct context *context = must_alloc(1, sizeof(*context));

	context->device = device;
	context->handle = name_context(context, reset);
	context->id = ++last_id;
	context->legacy = stream_new(context, STREAM_LEGACY);
	context->next = contexts;
	contexts = context;
	return context;
}

void context_join(const struct context *context, struct clock *into)
{
	clock_join(into, &context->gone_clock);
	for (const struct stream *stream = context->streams; stream; stream = stream->next)
		clock_join(into, &stream->clock);
}

/* The count must not depend on the schedule, so it depends on the work that the host has seen complete. */
bi__cu_result context_drain(struct context *context)
{
	struct clock enqueued = { NULL, 0 };

	context_join(context, &enqueued);
	if (!clock_covers(&host_clock, &enqueued))
		count_host_wait();
	clock_clear(&enqueued);
	return wait_for_context(context);
}

static void forget_gone(struct context *context)
{
	op_release(context->gone);
	context->gone = NULL;
	clock_clear(&context->gone_clock);
	clock_clear(&context->gone_blocking_clock);
}

static void lose_work(const struct context *context)
{
	size_t lost = scheduler_drop(context);

	if (lost && !sim.is_resetting)
		report(REPORT_LEFT, "%zu pending operations, lost when their context was destroyed", lost);
}

/* Destroys the context with all its objects, and reports these as left behind. */
static bi__cu_result destroy(struct context *context)
{
	bi__cu_result code = BI__CU_SUCCESS;

	if (switched(SWITCH_work_lost))
		lose_work(context);
	else
		code = context_drain(context);
	if (code)
		return code;
	modules_destroy_of(context);
	events_destroy_of(context);
	memory_free_of(context);
	context_join(context, &host_clock);
	streams_destroy_of(context);
	forget_gone(context);
	context->is_destroyed = 1;
	return BI__CU_SUCCESS;
}

void contexts_report_left(void)
{
	for (const struct context *context = contexts; context; context = context->next) {
		unsigned retained = primaries[context->device].retained;

		if (context->is_destroyed)
			continue;
		if (primaries[context->device].context == context)
			report(REPORT_LEFT, "the primary context of device %d, retained %u times", context->device,
			       retained);
		else
			report(REPORT_LEFT, "a context of device %d", context->device);
	}
}

void contexts_forget(void)
{
	while (contexts) {
		struct context *context = contexts;

		contexts = context->next;
		modules_forget_of(context);
		events_forget_of(context);
		streams_forget_of(context);
		forget_gone(context);
		free(context);
	}
	streams_count_anew();
	for (int i = 0; i < SIM_DEVICES; i++) {
		primaries[i].context = NULL;
		primaries[i].retained = 0;
	}
}

static bi__cu_result retain(bi__cu_context *out, int device)
{
	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
	if (!primaries[device].retained && sim.options.prohibited >> device & 1)
		return BI__CU_ERROR_UNKNOWN;
	if (!primaries[device].retained++ || primaries[device].context->is_destroyed)
		primaries[device].context = create(device, primaries[device].context);
	*out = primaries[device].context->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuDevicePrimaryCtxRetain(bi__cu_context *context, bi__cu_device device)
{
	bi__cu_result code = ENTER(cuDevicePrimaryCtxRetain);

	return leave(code ? code : retain(context, device));
}

static bi__cu_result release(int device)
{
	bi__cu_result code;

	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
	if (!primaries[device].retained) {
		report(REPORT_WRONG_CONTEXT, "the primary context of device %d is not retained", device);
		return BI__CU_ERROR_INVALID_CONTEXT;
	}
	if (primaries[device].retained == 1 && !primaries[device].context->is_destroyed) {
		code = destroy(primaries[device].context);
		if (code)
			return code;
	}
	primaries[device].retained--;
	return BI__CU_SUCCESS;
}

bi__cu_result cuDevicePrimaryCtxRelease_v2(bi__cu_device device)
{
	bi__cu_result code = ENTER(cuDevicePrimaryCtxRelease_v2);

	return leave(code ? code : release(device));
}

static bi__cu_result primary_state(int device, unsigned *flags, int *active)
{
	if (!flags || !active)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = primaries[device].retained > 0 && !primaries[device].context->is_destroyed;
	return BI__CU_SUCCESS;
}

/* Destroys a context that may be retained. Its count stays, so its owners can still release it. */
static bi__cu_result reset(int device)
{
	bi__cu_result code;

	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
	if (!primaries[device].context || primaries[device].context->is_destroyed)
		return BI__CU_SUCCESS;
	sim.is_resetting = 1;
	code = destroy(primaries[device].context);
	sim.is_resetting = 0;
	primaries[device].context->is_reset = !code;
	return code;
}

bi__cu_result cuDevicePrimaryCtxReset_v2(bi__cu_device device)
{
	bi__cu_result code = ENTER(cuDevicePrimaryCtxReset_v2);

	return leave(code ? code : reset(device));
}

bi__cu_result cuDevicePrimaryCtxGetState(bi__cu_device device, unsigned *flags, int *active)
{
	bi__cu_result code = ENTER(cuDevicePrimaryCtxGetState);

	return leave(code ? code : primary_state(device, flags, active));
}

static bi__cu_result create_current(bi__cu_context *out, unsigned flags, int device)
{
	struct context *context;

	if (!out || flags > 0xff)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
	context = create(device, NULL);
	thread_push(context, context->handle);
	*out = context->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuCtxCreate_v2(bi__cu_context *context, unsigned flags, bi__cu_device device)
{
	bi__cu_result code = ENTER(cuCtxCreate_v2);

	return leave(code ? code : create_current(context, flags, device));
}

static bi__cu_result destroy_created(bi__cu_context handle)
{
	bi__cu_result code;
	struct context *context = context_find(handle, &code);

	if (!context)
		return code;
	if (primaries[context->device].context == context) {
		report(REPORT_WRONG_CONTEXT, "a primary context is released, not destroyed");
		return BI__CU_ERROR_INVALID_CONTEXT;
	}
	code = destroy(context);
	if (!code && thread_top() == context)
		thread_self()->depth--;
	return code;
}

bi__cu_result cuCtxDestroy_v2(bi__cu_context context)
{
	bi__cu_result code = ENTER(cuCtxDestroy_v2);

	return leave(code ? code : destroy_created(context));
}

static bi__cu_result get_current(bi__cu_context *out)
{
	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	*out = thread_top_handle();
	return BI__CU_SUCCESS;
}

bi__cu_result cuCtxGetCurrent(bi__cu_context *context)
{
	bi__cu_result code = ENTER(cuCtxGetCurrent);

	return leave(code ? code : get_current(context));
}

/* A context that was reset can be pushed. Calls that need it fail then. */
static bi__cu_result push(bi__cu_context handle)
{
	bi__cu_result code;
	struct context *context = handle_find(OBJECT_CONTEXT, handle, &code);

	if (!context || !context->is_reset)
		context = context_find(handle, &code);
	if (context)
		thread_push(context, handle);
	return code;
}

bi__cu_result cuCtxPushCurrent_v2(bi__cu_context context)
{
	bi__cu_result code = ENTER(cuCtxPushCurrent_v2);

	return leave(code ? code : push(context));
}

/* Pops a destroyed context too. */
static bi__cu_result pop(bi__cu_context *out)
{
	const struct context *context = thread_top();

	if (!context) {
		report(REPORT_NO_CONTEXT, "the stack is empty");
		return BI__CU_ERROR_INVALID_CONTEXT;
	}
	if (out)
		*out = thread_top_handle();
	thread_self()->depth--;
	return BI__CU_SUCCESS;
}

bi__cu_result cuCtxPopCurrent_v2(bi__cu_context *context)
{
	bi__cu_result code = ENTER(cuCtxPopCurrent_v2);

	return leave(code ? code : pop(context));
}

static bi__cu_result set_current(bi__cu_context handle)
{
	struct thread *self = thread_self();
	struct context *context = NULL;
	bi__cu_result code = BI__CU_SUCCESS;

	if (handle)
		context = context_find(handle, &code);
	if (code)
		return code;
	if (self->depth)
		self->depth--;
	if (context)
		thread_push(context, handle);
	return BI__CU_SUCCESS;
}

bi__cu_result cuCtxSetCurrent(bi__cu_context context)
{
	bi__cu_result code = ENTER(cuCtxSetCurrent);

	return leave(code ? code : set_current(context));
}

static bi__cu_result get_device(bi__cu_device *device)
{
	if (!device)
		return BI__CU_ERROR_INVALID_VALUE;
	*device = thread_top()->device;
	return BI__CU_SUCCESS;
}

bi__cu_result cuCtxGetDevice(bi__cu_device *device)
{
	bi__cu_result code = ENTER(cuCtxGetDevice);

	return leave(code ? code : get_device(device));
}

static bi__cu_result synchronize(void)
{
	struct context *context = thread_top();
	struct clock enqueued = { NULL, 0 };
	bi__cu_result code = capture_admits_synchronising(context);

	if (code)
		return code;
	count_host_wait();
	context_join(context, &enqueued);
	code = wait_for_context(context);
	if (!code)
		clock_join(&host_clock, &enqueued);
	clock_clear(&enqueued);
	return code;
}

bi__cu_result cuCtxSynchronize(void)
{
	bi__cu_result code = ENTER(cuCtxSynchronize);

	return leave(code ? code : synchronize());
}

/* INVALID_CONTEXT and CONTEXT_IS_DESTROYED are documented results, so a destroyed context is not reported. */
static bi__cu_result get_id(bi__cu_context handle, unsigned long long *id)
{
	bi__cu_result code = BI__CU_ERROR_INVALID_CONTEXT;
	const struct context *context = handle ? handle_find(OBJECT_CONTEXT, handle, &code) : thread_top();

	if (!context)
		return code;
	if (context->is_destroyed)
		return BI__CU_ERROR_CONTEXT_IS_DESTROYED;
	if (!id)
		return BI__CU_ERROR_INVALID_VALUE;
	*id = context->id;
	return BI__CU_SUCCESS;
}

bi__cu_result cuCtxGetId(bi__cu_context context, unsigned long long *id)
{
	bi__cu_result code = ENTER(cuCtxGetId);

	return leave(code ? code : get_id(context, id));
}
