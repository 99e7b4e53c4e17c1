/*
 * Command queues and events. Only two functions block the calling thread: bi__opencl_poll with `block`, and
 * bi__opencl_finish.
 */
#include "opencl/opencl.h"

#include <stdlib.h>

static cl_command_queue queue_handle(const struct bi__queue *queue)
{
	return (cl_command_queue)queue->native;
}

static int create_queue(const struct bi__opencl *opencl, cl_command_queue_properties wanted, struct bi__queue *queue,
			struct bi_error *err)
{
	cl_command_queue made;
	cl_int code;

	if (opencl->profile)
		wanted |= CL_QUEUE_PROFILING_ENABLE;
	/*
	 * clCreateCommandQueueWithProperties of OpenCL 2.0 has no property that is needed here, and drivers take longer
	 * for it.
	 */
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
		return bi__fail(err, BI_EINVAL, "the cl_command_queue belongs to another cl_context [O6]");
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
 * Makes later work on the queue wait for the event. On an out-of-order queue of PoCL 3.1, after a barrier with a wait
 * list later commands ignore the earlier barriers. A second barrier without a wait list corrects that.
 */
static int enqueue_wait(const struct bi__queue *queue, cl_event event, struct bi_error *err)
{
	int rc = enqueue_barrier(queue_handle(queue), event, err);

	return rc || !queue->out_of_order ? rc : enqueue_barrier(queue_handle(queue), NULL, err);
}

/*
 * Enqueues a marker and flushes the queue. Without the flush, the event of the marker might never complete for another
 * queue that waits for it.
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

/*
 * An out-of-order queue that the library created. Intel's CPU driver deadlocks if such a queue is released before its
 * work has ended, even for some time after its events are complete. Therefore a closed stream leaves its queue to a
 * later stream, and the context releases it after clFinish.
 */
struct bi__opencl_spare {
	struct bi__opencl *opencl;
	cl_command_queue queue;
	cl_event end; /* of the work of the closed stream; NULL: unknown */
	struct bi__opencl_spare *next;
};

/* Removes a queue whose work has ended from the list, and returns it. Returns NULL if there is none. */
static struct bi__opencl_spare *take_spare(struct bi__opencl *opencl)
{
	struct bi__opencl_spare *spare, **link = &opencl->spares;
	int done = 0;

	pthread_mutex_lock(&opencl->lock);
	while ((spare = *link) && (!spare->end || bi__opencl_poll((uintptr_t)spare->end, 0, &done, NULL) || !done))
		link = &spare->next;
	if (spare)
		*link = spare->next;
	pthread_mutex_unlock(&opencl->lock);
	return spare;
}

static void free_spare(struct bi__opencl_spare *spare)
{
	bi__cl->Finish(spare->queue);
	bi__opencl_event_release((uintptr_t)spare->end);
	bi__cl->ReleaseCommandQueue(spare->queue);
	free(spare);
}

void bi__opencl_release_spares(struct bi__opencl *opencl)
{
	for (struct bi__opencl_spare *spare; (spare = opencl->spares);) {
		opencl->spares = spare->next;
		free_spare(spare);
	}
}

static int open_out_of_order(struct bi__opencl *opencl, struct bi__queue *queue, struct bi_error *err)
{
	struct bi__opencl_spare *spare = take_spare(opencl);
	int rc;

	if (spare) {
		bi__opencl_event_release((uintptr_t)spare->end);
		queue->native = (uintptr_t)spare->queue;
	} else {
		spare = malloc(sizeof(*spare));
		if (!spare)
			return bi__fail(err, BI_ENOMEM, "no memory for a stream");
		rc = create_queue(opencl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, queue, err);
		if (rc) {
			free(spare);
			return rc;
		}
	}
	*spare = (struct bi__opencl_spare){ .opencl = opencl, .queue = queue_handle(queue) };
	queue->state = spare;
	return BI_OK;
}

int bi__opencl_stream_open(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err)
{
	queue->kind = BI_STREAM_KIND_CL_QUEUE;
	if (queue->native)
		return wrap_queue(device->state, queue, err);
	return queue->out_of_order ? open_out_of_order(device->state, queue, err)
				   : create_queue(device->state, 0, queue, err);
}

void bi__opencl_stream_close(struct bi__queue *queue)
{
	struct bi__opencl_spare *spare = queue->state;

	if (!spare) {
		bi__cl->ReleaseCommandQueue(queue_handle(queue));
		return;
	}
	if (enqueue_marker(spare->queue, &spare->end, NULL))
		spare->end = NULL;
	pthread_mutex_lock(&spare->opencl->lock);
	spare->next = spare->opencl->spares;
	spare->opencl->spares = spare;
	pthread_mutex_unlock(&spare->opencl->lock);
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
	return event ? enqueue_wait(queue, (cl_event)event, err) : BI_OK;
}

int bi__opencl_poll(uintptr_t event, int block, int *done, struct bi_error *err)
{
	cl_event handle = (cl_event)event;
	cl_int waited = CL_SUCCESS, status, code;

	*done = 1;
	if (!event)
		return BI_OK;
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

int bi__opencl_finish(struct bi__queue *queue, struct bi_error *err)
{
	return bi__cl_check(bi__cl->Finish(queue_handle(queue)), "clFinish", err);
}

int bi__opencl_event_retain(uintptr_t event, struct bi_error *err)
{
	return bi__cl_check(bi__cl->RetainEvent((cl_event)event), "clRetainEvent", err);
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
	*event = native;
	return bi__opencl_event_retain(native, err);
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
