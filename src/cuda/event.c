/* Events: creation, reuse, timing, reference counts, and the waits for kernels. */
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

static struct bi__cuda_event *event_of(uintptr_t event)
{
	return (struct bi__cuda_event *)event;
}

static struct bi__cuda_event *new_event(struct bi__cuda_shared *shared, struct bi_error *err)
{
	struct bi__cuda_event *event = calloc(1, sizeof(*event));

	if (!event) {
		bi__fail(err, BI_ENOMEM, "no memory for an event");
		return NULL;
	}
	atomic_init(&event->refs, 1);
	event->shared = shared;
	return event;
}

static int create_event(unsigned flags, bi__cu_event *out, struct bi_error *err)
{
	return bi__cu_check(bi__cu->EventCreate(out, flags), "cuEventCreate", err);
}

/* The context must be current, or have been reset. */
static void destroy_event(struct bi__cuda_event *event)
{
	int has_handles = !atomic_load(&event->shared->is_reset);

	if (event->start && has_handles)
		bi__cu->EventDestroy(event->start);
	if (event->handle && has_handles)
		bi__cu->EventDestroy(event->handle);
	free(event);
}

static void put_event_locked(struct bi__cuda_event *event)
{
	event->next = event->shared->free_events;
	event->shared->free_events = event;
}

static void put_event(struct bi__cuda_event *event)
{
	pthread_mutex_lock(&event->shared->lock);
	put_event_locked(event);
	pthread_mutex_unlock(&event->shared->lock);
}

/*
 * Takes an event without timing from shared->free_events, or creates an event. *out has one reference. The context
 * must be current.
 */
static int take_event(struct bi__cuda_shared *shared, struct bi__cuda_event **out, struct bi_error *err)
{
	int rc;

	pthread_mutex_lock(&shared->lock);
	*out = shared->free_events;
	if (*out)
		shared->free_events = (*out)->next;
	pthread_mutex_unlock(&shared->lock);
	if (*out) {
		atomic_store(&(*out)->refs, 1);
		return BI_OK;
	}
	*out = new_event(shared, err);
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
	int rc = take_event(queue->cuda->shared, out, err);

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
	uint64_t capture;
	int rc = bi__cuda_find_capture(on, &capture, err);

	if (!rc)
		rc = record_event(on, &made, err);
	if (rc)
		return rc;
	made->is_captured = capture != 0;
	*event = (uintptr_t)made;
	return BI_OK;
}

/*
 * Makes the stream wait for the event. Clears the captures that the scope has stored, because the stream may join the
 * capture in which the event was recorded.
 */
static int enqueue_wait(bi__cu_stream waiter, const struct bi__cuda_event *event, struct bi_error *err)
{
	bi__scope_forget();
	return bi__cu_check(bi__cu->StreamWaitEvent(waiter, event->handle, 0), "cuStreamWaitEvent", err);
}

int bi__cuda_wait(struct bi__queue *queue, uintptr_t event, struct bi_error *err)
{
	struct bi__cuda_queue *waiter = bi__cuda_queue_of(queue);

	/* bi__cuda_begin has checked the context of the waiting queue. */
	if (event_of(event)->shared != waiter->cuda->shared && bi__cuda_is_reset(event_of(event)->shared))
		return bi__fail_vendor(err, BI_EDRIVER, BI__CU_ERROR_CONTEXT_IS_DESTROYED,
				       "the work to be waited for was lost when other code reset its CUDA device");
	return enqueue_wait(waiter->stream, event_of(event), err);
}

/* Records an event on a queue of another context than the current one. */
static int record_elsewhere(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_refuse_reset(queue->cuda, err);

	if (!rc)
		rc = bi__cuda_enter(queue->cuda->context, &scope, err);
	if (rc)
		return rc;
	rc = record_event(queue, out, err);
	bi__cuda_leave(&scope);
	return rc;
}

/* The event may be reused immediately: the waiter waits for what was recorded when cuStreamWaitEvent was called. */
int bi__cuda_follow(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err)
{
	struct bi__cuda_queue *behind = bi__cuda_queue_of(waiter), *before = bi__cuda_queue_of(on);
	int is_same = behind->cuda->shared == before->cuda->shared, rc;
	struct bi__cuda_event *event;

	if (is_same && behind->stream == before->stream)
		return BI_OK;
	rc = is_same ? record_event(before, &event, err) : record_elsewhere(before, &event, err);
	if (rc)
		return rc;
	rc = enqueue_wait(behind->stream, event, err);
	put_event(event);
	return rc;
}

static bi__cu_result query_once(const struct bi__cuda_event *event, int block)
{
	if (event->read.slot)
		return block ? bi__cu->StreamSynchronize(event->read.stream) : bi__cu->StreamQuery(event->read.stream);
	return block ? bi__cu->EventSynchronize(event->handle) : bi__cu->EventQuery(event->handle);
}

/*
 * Returns the status of a failed query. Before BI_EPRODUCER is returned, the event is queried again: after a failure of
 * its work a CUDA context fails in every call. If the second query does not fail in this way, the first one returned
 * the failure of an earlier call, and the status is BI_EDRIVER. The context must be current.
 */
static int explain_failure(const struct bi__cuda_event *event, bi__cu_result code, const char *call,
			   struct bi_error *err)
{
	int rc = bi__cu_check(code, call, err);

	if (rc != BI_EPRODUCER)
		return rc;
	rc = bi__cu_check(query_once(event, 0), call, NULL);
	if (rc == BI_EPRODUCER)
		return bi__fail_vendor(err, BI_EPRODUCER, (int)code, "work that was waited for failed: %s (%u)",
				       bi__cu_name(code), code);
	return bi__fail_vendor(err, BI_EDRIVER, (int)code, "%s failed: %s (%u)", call, bi__cu_name(code), code);
}

/* Copies the bytes from the slot to their destination. Does nothing when it is called again. */
static void end_read(struct bi__cuda_event *event)
{
	if (!event->read.dst)
		return;
	memcpy(event->read.dst, event->read.slot, event->read.nbytes);
	event->read.dst = NULL;
}

/* The context must be current. */
static int query_event(struct bi__cuda_event *event, int block, int *done, struct bi_error *err)
{
	bi__cu_result code = query_once(event, block);
	const char *calls[2][2] = { { "cuEventQuery", "cuEventSynchronize" },
				    { "cuStreamQuery", "cuStreamSynchronize" } };

	*done = code == BI__CU_SUCCESS;
	if (*done && event->read.slot)
		end_read(event);
	if (*done || (code == BI__CU_ERROR_NOT_READY && !block))
		return BI_OK;
	return explain_failure(event, code, calls[event->read.slot != NULL][block != 0], err);
}

int bi__cuda_poll(uintptr_t event, int block, int *done, struct bi_error *err)
{
	struct bi__cuda_event *queried = event_of(event);
	struct bi__cuda_scope scope;
	int rc;

	*done = 0;
	if (queried->is_captured)
		return bi__fail(err, BI_ECAPTURE, "the event was recorded in a graph capture and never completes");
	/* The first call may return the failure of earlier work. */
	if (bi__cuda_relax(&scope, NULL) && (rc = bi__cuda_relax(&scope, err)))
		return rc;
	rc = query_event(queried, block, done, err);
	bi__cuda_leave(&scope);
	return rc;
}

int bi__cuda_event_wrap(struct bi__device_state *device, uintptr_t native, uintptr_t *event, struct bi_error *err)
{
	const struct bi__cuda *cuda = device->state;
	struct bi__cuda_event *made = new_event(cuda->shared, err);

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
	atomic_fetch_add_explicit(&event_of(event)->refs, 1, memory_order_relaxed);
	return BI_OK;
}

static void destroy_timed(struct bi__cuda_event *event)
{
	struct bi__cuda_scope scope = { NULL, 0, 0 };

	if (!bi__cuda_is_reset(event->shared))
		bi__cuda_enter_to_release(event->shared->context, &scope);
	destroy_event(event);
	bi__cuda_leave(&scope);
}

/* If the end of the copy was not seen, the slot stays in use for ever, because the copy may still write to it. */
static void release_read(struct bi__cuda_event *event)
{
	if (!event->read.dst)
		bi__cuda_free_slot(&event->shared->pageable, event->read.slot);
	free(event);
}

int bi__cuda_read(struct bi__cuda_queue *queue, void *dst, bi__cu_pointer src, size_t nbytes,
		  struct bi__cuda_event **out, struct bi_error *err)
{
	struct bi__cuda_pageable *pageable = &queue->cuda->shared->pageable;
	char *slot = bi__cuda_claim_slot(pageable);
	int rc;

	*out = slot ? new_event(queue->cuda->shared, err) : NULL;
	if (!slot)
		return BI_OK;
	if (!*out) {
		bi__cuda_free_slot(pageable, slot);
		return BI_ENOMEM;
	}
	(*out)->read.slot = slot;
	(*out)->read.dst = dst;
	(*out)->read.nbytes = nbytes;
	(*out)->read.stream = queue->stream;
	rc = bi__cu_check(bi__cu->MemcpyDtoHAsync(slot, src, nbytes, queue->stream), "cuMemcpyDtoHAsync", err);
	/* The driver may have enqueued the copy although it returns a failure. release_read keeps the slot. */
	if (rc) {
		release_read(*out);
		*out = NULL;
	}
	return rc;
}

void bi__cuda_event_release(uintptr_t event)
{
	struct bi__cuda_event *released = event_of(event);

	if (atomic_fetch_sub_explicit(&released->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (released->read.slot)
		release_read(released);
	else if (released->is_foreign)
		free(released);
	else if (released->start)
		destroy_timed(released);
	else
		put_event(released);
}

uintptr_t bi__cuda_event_handle(uintptr_t event)
{
	return (uintptr_t)event_of(event)->handle;
}

int bi__cuda_timing_start(struct bi__cuda_queue *queue, struct bi__cuda_event **out, struct bi_error *err)
{
	struct bi__cuda_event *event = new_event(queue->cuda->shared, err);
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

int64_t bi__cuda_elapsed(uintptr_t event)
{
	const struct bi__cuda_event *timed = event_of(event);
	struct bi__cuda_scope scope;
	float milliseconds = -1;

	if (!timed->start || bi__cuda_is_reset(timed->shared))
		return -1;
	bi__cuda_enter_to_release(timed->shared->context, &scope);
	if (bi__cu->EventElapsedTime(&milliseconds, timed->start, timed->handle) != BI__CU_SUCCESS)
		milliseconds = -1;
	bi__cuda_leave(&scope);
	return milliseconds < 0 ? -1 : (int64_t)((double)milliseconds * 1e6);
}

/* Moves the complete events of shared->uses to shared->free_events. The context must be current. */
static void put_complete_uses_locked(struct bi__cuda_shared *shared)
{
	struct bi__cuda_event **link = &shared->uses, *event;

	while ((event = *link)) {
		if (bi__cu->EventQuery(event->handle) == BI__CU_SUCCESS) {
			*link = event->next;
			put_event_locked(event);
		} else {
			link = &event->next;
		}
	}
}

/* Adds an event to shared->uses. The context must be current, in a relaxed scope. */
static void add_use(struct bi__cuda_event *event)
{
	struct bi__cuda_shared *shared = event->shared;

	pthread_mutex_lock(&shared->lock);
	put_complete_uses_locked(shared);
	event->next = shared->uses;
	shared->uses = event;
	pthread_mutex_unlock(&shared->lock);
}

/*
 * Records queue->used behind all kernels on the queue. bi__cuda_shared.lock is not held, because the driver may wait if
 * the stream is full of commands. The context must be current.
 */
static int record_use(struct bi__cuda_queue *queue)
{
	struct bi__cuda_shared *shared = queue->cuda->shared;
	struct bi__cuda_event *event, *first;
	int rc;

	pthread_mutex_lock(&shared->lock);
	event = queue->used;
	pthread_mutex_unlock(&shared->lock);
	if (!event) {
		/*
		 * The event is recorded before other threads can find it in queue->used and wait for it: its earlier
		 * record may belong to a capture.
		 */
		rc = record_event(queue, &first, NULL);
		if (rc)
			return rc;
		pthread_mutex_lock(&shared->lock);
		event = queue->used;
		if (!event)
			queue->used = first;
		pthread_mutex_unlock(&shared->lock);
		if (!event)
			return BI_OK;
		put_event(first);
	}
	return bi__cu_check(bi__cu->EventRecord(event->handle, queue->stream), "", NULL);
}

/* Each use has an event of its own, because the handle of a per-thread stream names another stream on each thread. */
static int record_use_of_thread(struct bi__cuda_queue *queue)
{
	struct bi__cuda_event *event;
	struct bi__cuda_scope scope;
	int rc = record_event(queue, &event, NULL);

	if (rc)
		return rc;
	bi__cuda_enter_to_release(queue->cuda->context, &scope);
	add_use(event);
	bi__cuda_leave(&scope);
	return BI_OK;
}

/*
 * Does not record captured kernels. The caller must not launch the graph after the context is closed or the program is
 * released.
 */
void bi__cuda_use(struct bi__cuda_queue *queue)
{
	int (*record)(struct bi__cuda_queue *) = queue->per_thread ? record_use_of_thread : record_use;
	uint64_t id;
	int rc;

	if (queue->is_own) {
		atomic_store_explicit(&queue->is_used, 1, memory_order_relaxed);
		return;
	}
	rc = bi__cuda_find_capture(queue, &id, NULL);
	if (rc != BI_ECAPTURE && !(rc == BI_OK && id) && record(queue) && record(queue))
		bi__cuda_drain(queue->stream);
}

/*
 * If queue->is_used is set, records the end of all work on the stream. Records nothing on a stream that is empty or
 * captured. If the driver refuses twice, waits until the stream is empty.
 */
static void record_end(struct bi__cuda_queue *queue)
{
	uint64_t id;

	if (atomic_load_explicit(&queue->is_used, memory_order_relaxed) && !bi__cuda_find_capture(queue, &id, NULL) &&
	    !id && bi__cu->StreamQuery(queue->stream) != BI__CU_SUCCESS && record_use(queue) && record_use(queue))
		bi__cuda_drain(queue->stream);
}

/* Removes the queue from the list, and moves its event to shared->uses (after a reset: to shared->free_events). */
static void leave_list(struct bi__cuda_queue *queue, int is_reset)
{
	struct bi__cuda_shared *shared = queue->cuda->shared;
	struct bi__cuda_queue **link = &shared->queues;

	pthread_mutex_lock(&shared->queues_lock);
	while (*link != queue)
		link = &(*link)->next;
	*link = queue->next;
	if (queue->used && !is_reset)
		add_use(queue->used);
	pthread_mutex_unlock(&shared->queues_lock);
	if (queue->used && is_reset)
		put_event(queue->used);
}

/*
 * The handle of a wrapped stream is not used, because the owner may have destroyed the stream. The exception is a
 * stream with is_used, because the end of a chunk's last use has to be recorded.
 */
int bi__cuda_stream_close(struct bi__queue *queue)
{
	struct bi__cuda_queue *closed = bi__cuda_queue_of(queue);
	struct bi__cuda_scope scope = { NULL, 0, 0 };
	int has_handles = closed->is_own || closed->used || closed->is_used;
	int is_reset = has_handles && bi__cuda_is_reset(closed->cuda->shared);

	if (has_handles && !is_reset)
		bi__cuda_enter_to_release(closed->cuda->context, &scope);
	if (!is_reset)
		record_end(closed);
	leave_list(closed, is_reset);
	if (closed->is_own && !is_reset)
		bi__cu->StreamDestroy(closed->stream);
	bi__cuda_leave(&scope);
	free(closed);
	return 0;
}

/*
 * Makes the waiter wait for the kernels in shared->uses. bi__cuda_shared.lock is not held while the waits are enqueued,
 * because the driver may wait if the stream is full of commands. Meanwhile the events are not in the list, so that no
 * thread reuses them. shared->queues_lock is held.
 */
static int follow_uses(bi__cu_stream waiter, struct bi__cuda_shared *shared)
{
	struct bi__cuda_event *uses, **end = &uses;
	int rc = BI_OK;

	pthread_mutex_lock(&shared->lock);
	uses = shared->uses;
	shared->uses = NULL;
	pthread_mutex_unlock(&shared->lock);
	for (; *end; end = &(*end)->next)
		rc = rc ? rc : enqueue_wait(waiter, *end, NULL);
	pthread_mutex_lock(&shared->lock);
	*end = shared->uses;
	shared->uses = uses;
	pthread_mutex_unlock(&shared->lock);
	return rc;
}

/* Makes the waiter wait for the kernels on the queue. */
static int follow_queue(bi__cu_stream waiter, struct bi__cuda_queue *queue)
{
	struct bi__cuda_event *event;
	int rc;

	pthread_mutex_lock(&queue->cuda->shared->lock);
	event = queue->used;
	pthread_mutex_unlock(&queue->cuda->shared->lock);
	if (event)
		return enqueue_wait(waiter, event, NULL);
	if (!queue->is_own || !atomic_load_explicit(&queue->is_used, memory_order_relaxed))
		return BI_OK;
	rc = bi__cuda_refuse_capture(queue, "", NULL);
	if (!rc)
		rc = record_event(queue, &event, NULL);
	if (rc)
		return rc;
	rc = enqueue_wait(waiter, event, NULL);
	put_event(event);
	return rc;
}

/* A new stream waits for the kernels, because cuCtxSynchronize would invalidate captures in the context. */
int bi__cuda_wait_for_kernels(struct bi__cuda_shared *shared)
{
	bi__cu_stream waiter;
	int rc = bi__cu_check(bi__cu->StreamCreate(&waiter, BI__CU_STREAM_NON_BLOCKING), "cuStreamCreate", NULL);

	if (rc)
		return rc;
	pthread_mutex_lock(&shared->queues_lock);
	for (struct bi__cuda_queue *queue = shared->queues; queue && !rc; queue = queue->next)
		rc = follow_queue(waiter, queue);
	if (!rc)
		rc = follow_uses(waiter, shared);
	pthread_mutex_unlock(&shared->queues_lock);
	rc = rc ? rc : bi__cuda_drain(waiter);
	bi__cu->StreamDestroy(waiter);
	return rc;
}

void bi__cuda_wait_for_uses(const struct bi__cuda_shared *shared)
{
	for (const struct bi__cuda_event *event = shared->uses; event; event = event->next)
		bi__cuda_wait_for_event(event->handle);
}

static void destroy_list(struct bi__cuda_event *event)
{
	while (event) {
		struct bi__cuda_event *next = event->next;

		destroy_event(event);
		event = next;
	}
}

void bi__cuda_drop_events(struct bi__cuda_shared *shared)
{
	struct bi__cuda_event *dropped;

	pthread_mutex_lock(&shared->lock);
	dropped = shared->free_events;
	shared->free_events = NULL;
	pthread_mutex_unlock(&shared->lock);
	destroy_list(dropped);
}

void bi__cuda_destroy_events(struct bi__cuda_shared *shared)
{
	destroy_list(shared->free_events);
	destroy_list(shared->uses);
}
