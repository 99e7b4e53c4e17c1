/*
 * Command queues and events. These functions block the calling thread: bi__opencl_poll with `block`, bi__opencl_drain,
 * bi__opencl_finish, bi__opencl_release_spares, and bi__opencl_stream_close if many queues are kept.
 */
#include "opencl/opencl.h"

#include <stdlib.h>

static cl_command_queue queue_handle(const struct bi__queue *queue)
{
	return (cl_command_queue)queue->native;
}

static int create_queue(const struct bi__opencl *opencl, struct bi__queue *queue, struct bi_error *err)
{
	cl_command_queue_properties wanted = queue->out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
	cl_command_queue made;
	cl_int code;

	if (opencl->profile)
		wanted |= CL_QUEUE_PROFILING_ENABLE;
	/* clCreateCommandQueueWithProperties of OpenCL 2.0 has no property that is needed here. */
	made = bi__cl->CreateCommandQueue(opencl->context, opencl->device, wanted, &code);
	queue->native = (uintptr_t)made;
	return bi__cl_check(code, "clCreateCommandQueue", err);
}

static int wrap_queue(const struct bi__opencl *opencl, struct bi__queue *queue, struct bi_error *err)
{
	cl_command_queue handle = queue_handle(queue);
	cl_context context;
	cl_device_id device;
	cl_command_queue_properties properties;
	cl_int code = bi__cl->GetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);

	if (code == CL_SUCCESS)
		code = bi__cl->GetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	if (code == CL_SUCCESS)
		code = bi__cl->GetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clGetCommandQueueInfo", err);
	if (context != opencl->context)
		return bi__fail(err, BI_EINVAL,
				"the cl_command_queue belongs to another cl_context, %p: a queue of %p is needed [O6]",
				(void *)context, (void *)opencl->context);
	if (device != opencl->device)
		return bi__fail(err, BI_EINVAL, "the cl_command_queue belongs to another device of the cl_context");
	queue->out_of_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
	return bi__cl_check(bi__cl->RetainCommandQueue(handle), "clRetainCommandQueue", err);
}

static int enqueue_barrier(cl_command_queue queue, cl_event event, struct bi_error *err)
{
	return bi__cl_check(bi__cl->EnqueueBarrierWithWaitList(queue, event != NULL, event ? &event : NULL, NULL),
			    "clEnqueueBarrierWithWaitList", err);
}

/*
 * Makes later work on the queue wait for the event. On an out-of-order queue of PoCL 3.1, a barrier with a wait list
 * makes later commands ignore the barriers before it. A second barrier without a wait list corrects that.
 */
static int enqueue_wait(const struct bi__queue *queue, cl_event event, struct bi_error *err)
{
	int rc = enqueue_barrier(queue_handle(queue), event, err);

	return rc || !queue->out_of_order ? rc : enqueue_barrier(queue_handle(queue), NULL, err);
}

/*
 * Enqueues a marker and flushes the queue. Without the flush, the marker might never be executed, and another queue
 * would wait for it for ever.
 */
static int enqueue_marker(cl_command_queue queue, cl_event *event, struct bi_error *err)
{
	int rc = bi__cl_check(bi__cl->EnqueueMarkerWithWaitList(queue, 0, NULL, event), "clEnqueueMarkerWithWaitList",
			      err);

	if (rc)
		return rc;
	rc = bi__cl_check(bi__cl->Flush(queue), "clFlush", err);
	if (rc)
		bi__cl->ReleaseEvent(*event);
	return rc;
}

/* Kinds of queues that are kept. A later stream reuses queues that the library created. */
enum kind { IN_ORDER, OUT_OF_ORDER, OUT_OF_ORDER_OF_CALLER };

/*
 * A queue of a closed stream. AMD's driver waits for the work of a queue when the last reference is released. Intel's
 * CPU driver deadlocks if an out-of-order queue is destroyed before its work has ended, and even for some time after
 * its events are complete. Therefore the library keeps a queue that it created, and its reference to an out-of-order
 * queue of the caller, until the context is closed. If many queues are kept, it releases a queue of the caller earlier,
 * once its own reference is the last one and the work has ended. An out-of-order queue to which the caller has no
 * reference is finished (clFinish) before its release.
 */
struct bi__opencl_spare {
	struct bi__opencl *opencl;
	cl_command_queue queue;
	enum kind kind;
	cl_event end; /* marker behind all work; NULL: has_ended has not enqueued it yet */
	struct bi__opencl_spare *next;
};

/*
 * Returns true if the library created the queue, or if the caller has no reference to it any more. PoCL itself has
 * references to a queue with pending commands. So the function returns false for a queue of the caller until its
 * commands have ended.
 */
static bool is_last_reference(const struct bi__opencl_spare *spare)
{
	cl_uint references = 0;

	if (spare->kind != OUT_OF_ORDER_OF_CALLER)
		return true;
	bi__cl->GetCommandQueueInfo(spare->queue, CL_QUEUE_REFERENCE_COUNT, sizeof(references), &references, NULL);
	return references == 1;
}

/*
 * Returns true if the work of the queue has ended. Enqueues the marker `end` once the caller has no reference, because
 * only then no more work can follow. A marker that failed does not show that the work before it has ended, so a new one
 * takes its place.
 */
static bool has_ended(struct bi__opencl_spare *spare)
{
	int done = 0;

	if (spare->end && bi__opencl_poll((uintptr_t)spare->end, 0, &done, NULL)) {
		bi__cl->ReleaseEvent(spare->end);
		spare->end = NULL;
	}
	if (!spare->end && (!is_last_reference(spare) || enqueue_marker(spare->queue, &spare->end, NULL)))
		spare->end = NULL;
	return spare->end && !bi__opencl_poll((uintptr_t)spare->end, 0, &done, NULL) && done;
}

/* Removes a queue of this kind whose work has ended from the list, and returns it, or NULL if there is none. */
static struct bi__opencl_spare *take_spare(struct bi__opencl *opencl, enum kind kind)
{
	struct bi__opencl_spare *spare, **link = &opencl->spares;

	pthread_mutex_lock(&opencl->lock);
	while ((spare = *link) && (spare->kind != kind || !has_ended(spare)))
		link = &spare->next;
	if (spare)
		*link = spare->next;
	pthread_mutex_unlock(&opencl->lock);
	return spare;
}

/*
 * Adds a queue to the list, and returns the number of queues before it. If the list contains this queue already, adds
 * nothing and returns -1.
 */
static int put_spare(struct bi__opencl_spare *spare)
{
	struct bi__opencl_spare **link = &spare->opencl->spares;
	int count = 0;

	pthread_mutex_lock(&spare->opencl->lock);
	for (; *link && (*link)->queue != spare->queue; count++)
		link = &(*link)->next;
	if (*link)
		count = -1;
	else
		*link = spare;
	pthread_mutex_unlock(&spare->opencl->lock);
	return count;
}

static void free_spare(struct bi__opencl_spare *spare)
{
	if (spare->kind == OUT_OF_ORDER || (spare->kind == OUT_OF_ORDER_OF_CALLER && spare->end))
		bi__cl->Finish(spare->queue);
	bi__opencl_event_release((uintptr_t)spare->end);
	bi__cl->ReleaseCommandQueue(spare->queue);
	free(spare);
}

void bi__opencl_release_spares(struct bi__opencl *opencl)
{
	for (struct bi__opencl_spare *spare; (spare = opencl->spares);) {
		opencl->spares = spare->next;
		has_ended(spare);
		free_spare(spare);
	}
}

/* Gives the stream a queue of a closed stream. Returns false if there is none whose work has ended. */
static bool reuse_spare(struct bi__opencl *opencl, struct bi__queue *queue)
{
	struct bi__opencl_spare *spare = take_spare(opencl, queue->out_of_order ? OUT_OF_ORDER : IN_ORDER);

	if (!spare)
		return false;
	bi__opencl_event_release((uintptr_t)spare->end);
	*spare = (struct bi__opencl_spare){ .opencl = opencl, .queue = spare->queue, .kind = spare->kind };
	queue->native = (uintptr_t)spare->queue;
	queue->state = spare;
	return true;
}

/* Allocates the entry that keeps the queue of a stream after its close. On failure, releases the queue. */
static int prepare_spare(struct bi__opencl *opencl, struct bi__queue *queue, enum kind kind, struct bi_error *err)
{
	struct bi__opencl_spare *spare = malloc(sizeof(*spare));

	queue->state = spare;
	if (!spare) {
		bi__cl->ReleaseCommandQueue(queue_handle(queue));
		return bi__fail(err, BI_ENOMEM, "no memory for a stream");
	}
	*spare = (struct bi__opencl_spare){ .opencl = opencl, .queue = queue_handle(queue), .kind = kind };
	return BI_OK;
}

int bi__opencl_stream_open(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err)
{
	const bool wrapped = queue->native != 0;
	int rc;

	queue->kind = BI_ORDER_OPENCL;
	if (!wrapped && reuse_spare(device->state, queue))
		return BI_OK;
	rc = wrapped ? wrap_queue(device->state, queue, err) : create_queue(device->state, queue, err);
	if (rc || (wrapped && !queue->out_of_order))
		return rc;
	return prepare_spare(device->state, queue,
			     wrapped             ? OUT_OF_ORDER_OF_CALLER :
			     queue->out_of_order ? OUT_OF_ORDER :
						   IN_ORDER,
			     err);
}

/*
 * If more queues are kept, bi__opencl_stream_close releases the out-of-order queues of the caller whose work has ended,
 * and to which the caller has no reference.
 */
#define MOST_SPARES 256

int bi__opencl_stream_close(struct bi__queue *queue)
{
	struct bi__opencl_spare *spare = queue->state;
	struct bi__opencl *opencl = spare ? spare->opencl : NULL;
	int count = -1, waits = 0;

	if (spare) {
		bi__cl->Flush(queue_handle(queue)); /* as clReleaseCommandQueue does: the caller may not have flushed */
		count = put_spare(spare); /* from now on another thread may take `spare` */
	}
	if (count < 0) {
		bi__cl->ReleaseCommandQueue(queue_handle(queue));
		free(spare);
	}
	for (; count >= MOST_SPARES && (spare = take_spare(opencl, OUT_OF_ORDER_OF_CALLER)); waits++)
		free_spare(spare);
	return waits;
}

int bi__opencl_follow(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err)
{
	cl_event event;
	int rc;

	if (waiter->native == on->native)
		return enqueue_barrier(queue_handle(waiter), NULL, err);
	rc = enqueue_marker(queue_handle(on), &event, err);
	if (rc)
		return rc;
	rc = enqueue_wait(waiter, event, err);
	bi__cl->ReleaseEvent(event);
	return rc;
}

int bi__opencl_record(struct bi__queue *queue, uintptr_t *event, struct bi_error *err)
{
	cl_event made;
	int rc = enqueue_marker(queue_handle(queue), &made, err);

	if (!rc)
		*event = (uintptr_t)made;
	return rc;
}

int bi__opencl_wait(struct bi__queue *queue, uintptr_t event, struct bi_error *err)
{
	return enqueue_wait(queue, (cl_event)event, err);
}

int bi__opencl_poll(uintptr_t event, int block, int *done, struct bi_error *err)
{
	cl_event handle = (cl_event)event;
	cl_int waited = CL_SUCCESS, status, code;

	*done = 1;
	if (block)
		waited = bi__cl->WaitForEvents(1, &handle);
	if (block && waited == CL_SUCCESS)
		return BI_OK;
	code = bi__cl->GetEventInfo(handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clGetEventInfo", err);
	if (status < 0)
		return bi__fail_vendor(err, BI_EPRODUCER, status, "work that was waited for failed: %s (%d)",
				       bi__cl_name(status), status);
	*done = status == CL_COMPLETE;
	return bi__cl_check(waited, "clWaitForEvents", err);
}

/*
 * Needed after a failed event: a driver may fail the commands behind a failed one, markers included, while commands
 * before it still run.
 */
int bi__opencl_drain(uintptr_t event)
{
	cl_command_queue queue = NULL;

	bi__cl->GetEventInfo((cl_event)event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL);
	if (queue)
		bi__cl->Finish(queue);
	return queue != NULL;
}

int bi__opencl_finish(struct bi__queue *queue, struct bi_error *err)
{
	return bi__cl_check(bi__cl->Finish(queue_handle(queue)), "clFinish", err);
}

int bi__opencl_event_retain(uintptr_t event, struct bi_error *err)
{
	return bi__cl_check(bi__cl->RetainEvent((cl_event)event), "clRetainEvent", err);
}

/*
 * Flushes the queue of an event that is not complete. Before the flush, a driver need not execute the command, and a
 * wait for the event in another queue need not end. User events have no queue. The queue of a complete event may be
 * gone. The caller keeps the queue of any other event alive.
 */
static int flush_queue_of(cl_event event, struct bi_error *err)
{
	cl_command_queue queue = NULL;
	cl_int status;
	cl_int code = bi__cl->GetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);

	if (code == CL_SUCCESS && status > CL_COMPLETE)
		code = bi__cl->GetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL);
	if (code != CL_SUCCESS)
		return bi__cl_fail(code, "clGetEventInfo", err);
	return queue ? bi__cl_check(bi__cl->Flush(queue), "clFlush", err) : BI_OK;
}

int bi__opencl_event_wrap(struct bi__device_state *device, uintptr_t native, uintptr_t *event, struct bi_error *err)
{
	cl_event handle = (cl_event)native;
	cl_context context;
	int rc = bi__cl_check(bi__cl->GetEventInfo(handle, CL_EVENT_CONTEXT, sizeof(context), &context, NULL),
			      "clGetEventInfo", err);

	if (rc)
		return rc;
	if ((uintptr_t)context != device->native)
		return bi__fail(err, BI_EINVAL, "the cl_event belongs to another cl_context");
	rc = flush_queue_of(handle, err);
	*event = native;
	return rc ? rc : bi__opencl_event_retain(native, err);
}

void bi__opencl_event_release(uintptr_t event)
{
	if (event)
		bi__cl->ReleaseEvent((cl_event)event);
}

int64_t bi__opencl_elapsed(uintptr_t event)
{
	cl_ulong start, end;

	if (bi__cl->GetEventProfilingInfo((cl_event)event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL) ||
	    bi__cl->GetEventProfilingInfo((cl_event)event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL) ||
	    end < start)
		return -1;
	return (int64_t)(end - start);
}
