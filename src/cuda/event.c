/* Events: creation, reuse, timing, reference counts. */
#include "cuda/cuda.h"

#include <stdlib.h>

static struct bi__cuda_event *event_of(uintptr_t event)
{
	return (struct bi__cuda_event *)event;
}

static struct bi__cuda_event *new_event(struct bi__cuda *cuda, struct bi_error *err)
{
	struct bi__cuda_event *event = calloc(1, sizeof(*event));

	if (!event) {
		bi__fail(err, BI_ENOMEM, "no memory for an event");
		return NULL;
	}
	atomic_init(&event->refs, 1);
	event->cuda = cuda;
	return event;
}

static int create_event(unsigned flags, bi__cu_event *out, struct bi_error *err)
{
	return bi__cu_check(bi__cu->EventCreate(out, flags), "cuEventCreate", err);
}

/* The context must be current. */
static void destroy_event(struct bi__cuda_event *event)
{
	if (event->start)
		bi__cu->EventDestroy(event->start);
	if (event->handle)
		bi__cu->EventDestroy(event->handle);
	free(event);
}

static void put_event(struct bi__cuda_event *event)
{
	struct bi__cuda *cuda = event->cuda;

	pthread_mutex_lock(&cuda->lock);
	event->next = cuda->free_events;
	cuda->free_events = event;
	pthread_mutex_unlock(&cuda->lock);
}

/*
 * Takes an event without timing from cuda->free_events, or creates an event. *out has one reference. The context must
 * be current.
 */
static int take_event(struct bi__cuda *cuda, struct bi__cuda_event **out, struct bi_error *err)
{
	int rc;

	pthread_mutex_lock(&cuda->lock);
	*out = cuda->free_events;
	if (*out)
		cuda->free_events = (*out)->next;
	pthread_mutex_unlock(&cuda->lock);
	if (*out) {
		atomic_store(&(*out)->refs, 1);
		return BI_OK;
	}
	*out = new_event(cuda, err);
	if (!*out)
		return BI_ENOMEM;
	rc = create_event(BI__CU_EVENT_DISABLE_TIMING, &(*out)->handle, err);
	if (rc)
		free(*out);
	return rc;
}

/* Records an event behind all work on the queue. *out has one reference. The context must be current. */
static int record_event(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err)
{
	int rc = take_event(queue->cuda, out, err);

	if (rc)
		return rc;
	rc = bi__cu_check(bi__cu->EventRecord((*out)->handle, queue->stream), "cuEventRecord", err);
	if (rc)
		put_event(*out);
	return rc;
}

int bi__cuda_record(struct bi__queue *queue, uintptr_t *event, struct bi_error *err)
{
	struct bi__cuda_queue *on = bi__cuda_queue_of(queue);
	struct bi__cuda_event *made;
	struct bi__cuda_scope scope;
	uint64_t capture;
	int rc = bi__cuda_enter(on->cuda->context, &scope, err);

	if (rc)
		return rc;
	rc = bi__cuda_find_capture(on, &capture, err);
	if (!rc)
		rc = record_event(on, &made, err);
	bi__cuda_leave(&scope);
	if (rc)
		return rc;
	made->is_captured = capture != 0;
	*event = (uintptr_t)made;
	return BI_OK;
}

/* The context must be current. */
static int enqueue_wait(struct bi__cuda_queue *waiter, const struct bi__cuda_event *event, struct bi_error *err)
{
	return bi__cu_check(bi__cu->StreamWaitEvent(waiter->stream, event->handle, 0), "cuStreamWaitEvent", err);
}

static int enter_and_wait(struct bi__cuda_queue *waiter, const struct bi__cuda_event *event, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_enter(waiter->cuda->context, &scope, err);

	if (rc)
		return rc;
	rc = enqueue_wait(waiter, event, err);
	bi__cuda_leave(&scope);
	return rc;
}

int bi__cuda_wait(struct bi__queue *queue, uintptr_t event, struct bi_error *err)
{
	return event ? enter_and_wait(bi__cuda_queue_of(queue), event_of(event), err) : BI_OK;
}

/* The event is reused immediately: the waiting stream waits for what was recorded when cuStreamWaitEvent was called. */
int bi__cuda_follow(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err)
{
	struct bi__cuda_queue *behind = bi__cuda_queue_of(waiter), *before = bi__cuda_queue_of(on);
	int is_same = behind->cuda->context == before->cuda->context, rc;
	struct bi__cuda_event *event;
	struct bi__cuda_scope scope;

	if (is_same && behind->stream == before->stream)
		return BI_OK;
	rc = bi__cuda_enter(before->cuda->context, &scope, err);
	if (rc)
		return rc;
	rc = record_event(before, &event, err);
	if (!rc) {
		rc = is_same ? enqueue_wait(behind, event, err) : enter_and_wait(behind, event, err);
		put_event(event);
	}
	bi__cuda_leave(&scope);
	return rc;
}

/*
 * Tells a failure of the work before this event from a failure of other work. After a failure of its work a CUDA
 * context fails in every call, so the failure is confirmed by a second query. If the second query succeeds, an earlier
 * call failed, not the work before this event. The context must be current.
 */
static int explain_failure(const struct bi__cuda_event *event, bi__cu_result code, const char *call,
			   struct bi_error *err)
{
	int rc = bi__cu_check(code, call, err);

	if (rc != BI_EPRODUCER)
		return rc;
	rc = bi__cu_check(bi__cu->EventQuery(event->handle), call, NULL);
	if (rc == BI_EPRODUCER)
		return bi__fail_vendor(err, BI_EPRODUCER, (int)code, "work that was waited for failed: %s (%u)",
				       bi__cu_name(code), code);
	return bi__fail_vendor(err, BI_EDRIVER, (int)code, "%s failed: %s (%u)", call, bi__cu_name(code), code);
}

/* The context must be current. */
static int query_event(const struct bi__cuda_event *event, int block, int *done, struct bi_error *err)
{
	bi__cu_result code = block ? bi__cu->EventSynchronize(event->handle) : bi__cu->EventQuery(event->handle);

	*done = code == BI__CU_SUCCESS;
	if (*done || (code == BI__CU_ERROR_NOT_READY && !block))
		return BI_OK;
	return explain_failure(event, code, block ? "cuEventSynchronize" : "cuEventQuery", err);
}

int bi__cuda_poll(uintptr_t event, int block, int *done, struct bi_error *err)
{
	const struct bi__cuda_event *queried = event_of(event);
	struct bi__cuda_scope scope;
	int rc;

	*done = !event;
	if (!event)
		return BI_OK;
	if (queried->is_captured)
		return bi__fail(err, BI_ECAPTURE, "the event was recorded in a graph capture and never completes");
	rc = bi__cuda_enter_relaxed(queried->cuda->context, &scope, err);
	if (rc == BI_EPRODUCER)
		rc = bi__cuda_enter_relaxed(queried->cuda->context, &scope, err);
	if (rc)
		return rc;
	rc = query_event(queried, block, done, err);
	bi__cuda_leave(&scope);
	return rc;
}

int bi__cuda_event_wrap(struct bi__device_state *device, uintptr_t native, uintptr_t *event, struct bi_error *err)
{
	struct bi__cuda_event *made;

	if (!native)
		return bi__fail(err, BI_EINVAL, "the CUevent is 0");
	made = new_event(device->state, err);
	if (!made)
		return BI_ENOMEM;
	made->handle = (bi__cu_event)native;
	made->is_foreign = 1;
	*event = (uintptr_t)made;
	return BI_OK;
}

int bi__cuda_event_retain(uintptr_t event, struct bi_error *err)
{
	(void)err;
	if (event)
		atomic_fetch_add_explicit(&event_of(event)->refs, 1, memory_order_relaxed);
	return BI_OK;
}

static void destroy_timed(struct bi__cuda_event *event)
{
	struct bi__cuda_scope scope;
	bi__cu_context context = event->cuda->context;

	bi__cuda_enter_to_release(context, &scope);
	destroy_event(event);
	bi__cuda_leave(&scope);
}

void bi__cuda_event_release(uintptr_t event)
{
	struct bi__cuda_event *released = event_of(event);

	if (!event || atomic_fetch_sub_explicit(&released->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (released->is_foreign)
		free(released);
	else if (released->start)
		destroy_timed(released);
	else
		put_event(released);
}

uintptr_t bi__cuda_event_handle(uintptr_t event)
{
	return event ? (uintptr_t)event_of(event)->handle : 0;
}

int bi__cuda_timing_start(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err)
{
	struct bi__cuda_event *event = new_event(queue->cuda, err);
	int rc;

	if (!event)
		return BI_ENOMEM;
	rc = create_event(BI__CU_EVENT_TIMED, &event->start, err);
	if (!rc)
		rc = create_event(BI__CU_EVENT_TIMED, &event->handle, err);
	if (!rc)
		rc = bi__cu_check(bi__cu->EventRecord(event->start, queue->stream), "cuEventRecord", err);
	if (rc) {
		destroy_event(event);
		return rc;
	}
	*out = event;
	return BI_OK;
}

int bi__cuda_timing_end(struct bi__cuda_queue *queue, struct bi__cuda_event *event, struct bi_error *err)
{
	return bi__cu_check(bi__cu->EventRecord(event->handle, queue->stream), "cuEventRecord", err);
}

int64_t bi__cuda_elapsed(uintptr_t event)
{
	const struct bi__cuda_event *timed = event_of(event);
	struct bi__cuda_scope scope;
	float milliseconds = -1;

	if (!event || !timed->start || bi__cuda_enter(timed->cuda->context, &scope, NULL))
		return -1;
	if (bi__cu->EventElapsedTime(&milliseconds, timed->start, timed->handle) != BI__CU_SUCCESS)
		milliseconds = -1;
	bi__cuda_leave(&scope);
	return milliseconds < 0 ? -1 : (int64_t)((double)milliseconds * 1e6);
}

/* Removes the complete events from cuda->uses. Returns them as a list. The context must be current. */
static struct bi__cuda_event *take_complete_uses_locked(struct bi__cuda *cuda)
{
	struct bi__cuda_event **link = &cuda->uses, *complete = NULL;

	while (*link) {
		struct bi__cuda_event *event = *link;

		if (bi__cu->EventQuery(event->handle) != BI__CU_SUCCESS) {
			link = &event->next;
			continue;
		}
		*link = event->next;
		event->next = complete;
		complete = event;
	}
	return complete;
}

/* Adds an event to cuda->uses. The context must be current, in a relaxed scope. */
static void add_use(struct bi__cuda *cuda, struct bi__cuda_event *event)
{
	struct bi__cuda_event *complete;

	pthread_mutex_lock(&cuda->lock);
	complete = take_complete_uses_locked(cuda);
	event->next = cuda->uses;
	cuda->uses = event;
	pthread_mutex_unlock(&cuda->lock);
	while (complete) {
		struct bi__cuda_event *next = complete->next;

		put_event(complete);
		complete = next;
	}
}

/*
 * Adds an event behind all work on the queue to cuda->uses. If recording fails twice, waits until the stream is empty.
 * Does nothing for a captured stream: its work runs when the graph is launched, and the caller must not launch the
 * graph after the context is closed. The context must be current, in a relaxed scope.
 */
static void record_last_use(struct bi__cuda_queue *queue)
{
	struct bi__cuda_event *event;
	uint64_t id;

	int rc = bi__cuda_find_capture(queue, &id, NULL);

	if (rc == BI_ECAPTURE || (rc == BI_OK && id))
		return;
	if (bi__cu->StreamQuery(queue->stream) == BI__CU_SUCCESS)
		return;
	if (record_event(queue, &event, NULL) == BI_OK || record_event(queue, &event, NULL) == BI_OK)
		add_use(queue->cuda, event);
	else
		bi__cu->StreamSynchronize(queue->stream);
}

void bi__cuda_use(struct bi__cuda_queue *queue)
{
	struct bi__cuda_scope scope;

	if (!queue->per_thread) {
		atomic_store_explicit(&queue->is_used, 1, memory_order_relaxed);
		return;
	}
	/* The handle of a per-thread stream names another stream on another thread, so the event is recorded now. */
	bi__cuda_enter_to_release(queue->cuda->context, &scope);
	record_last_use(queue);
	bi__cuda_leave(&scope);
}

void bi__cuda_stream_close(struct bi__queue *queue)
{
	struct bi__cuda_queue *closed = bi__cuda_queue_of(queue);
	int is_used = atomic_load_explicit(&closed->is_used, memory_order_relaxed);
	struct bi__cuda_scope scope;

	if (is_used || closed->is_own) {
		bi__cuda_enter_to_release(closed->cuda->context, &scope);
		if (is_used)
			record_last_use(closed);
		if (closed->is_own)
			bi__cu->StreamDestroy(closed->stream);
		bi__cuda_leave(&scope);
	}
	free(closed);
}

/* Waits for an event. Most events are complete, and a query is cheaper than a wait. */
static void wait_for_use(bi__cu_event event)
{
	if (bi__cu->EventQuery(event) == BI__CU_SUCCESS)
		return;
	if (bi__cu->EventSynchronize(event) != BI__CU_SUCCESS)
		bi__cu->EventSynchronize(event);
}

void bi__cuda_wait_for_uses(struct bi__cuda *cuda)
{
	for (struct bi__cuda_event *event = cuda->uses; event; event = event->next)
		wait_for_use(event->handle);
}

static void destroy_list(struct bi__cuda_event *event)
{
	while (event) {
		struct bi__cuda_event *next = event->next;

		destroy_event(event);
		event = next;
	}
}

void bi__cuda_destroy_events(struct bi__cuda *cuda)
{
	destroy_list(cuda->free_events);
	destroy_list(cuda->uses);
	cuda->free_events = cuda->uses = NULL;
}
