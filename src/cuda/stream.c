/* Streams: creation, wrapping, synchronisation, and the graph captures that they take part in. */
#include "cuda/cuda.h"

#include <stdlib.h>

/*
 * Reads the context of a stream. The stream of a green context belongs to two contexts, and either may be the opened
 * one. cuStreamGetCtx_v2 gives the primary context, whose memory and events the stream uses. cuStreamGetCtx gives the
 * context that was made from the green context.
 */
static bi__cu_result query_context_once(const struct bi__cuda *cuda, bi__cu_stream stream, bi__cu_context *out)
{
	bi__cu_green_context green = NULL;
	bi__cu_result code = BI__CU_SUCCESS;

	if (bi__cu->StreamGetCtx_v2)
		code = bi__cu->StreamGetCtx_v2(stream, out, &green);
	if (!bi__cu->StreamGetCtx_v2 || (code == BI__CU_SUCCESS && green && *out != cuda->context))
		code = bi__cu->StreamGetCtx(stream, out);
	return code;
}

/* A driver may require a current context. If it refuses the query, the query is repeated with cuda->context current. */
static int query_context(const struct bi__cuda *cuda, bi__cu_stream stream, bi__cu_context *out, struct bi_error *err)
{
	bi__cu_result code = query_context_once(cuda, stream, out);
	struct bi__cuda_scope scope;

	if (code == BI__CU_ERROR_INVALID_CONTEXT) {
		int rc = bi__cuda_enter(cuda->context, &scope, err);

		if (rc)
			return rc;
		code = query_context_once(cuda, stream, out);
		bi__cuda_leave(&scope);
	}
	if (code == BI__CU_ERROR_INVALID_HANDLE)
		return bi__fail_vendor(err, BI_EINVAL, (int)code,
				       "stream 0x%llx is no CUstream: cuStreamGetCtx says %s",
				       (unsigned long long)(uintptr_t)stream, bi__cu_name(code));
	return bi__cu_check(code, "cuStreamGetCtx", err);
}

static int check_stream(struct bi__cuda *cuda, bi__cu_stream stream, struct bi_error *err)
{
	bi__cu_context context = NULL;
	int rc = bi__cuda_refuse_reset(cuda, err);

	/* The handle of a default stream belongs to no context: it means the stream of the current context. */
	if (rc || stream == BI__CU_STREAM_LEGACY || stream == BI__CU_STREAM_PER_THREAD)
		return rc;
	rc = query_context(cuda, stream, &context, err);
	if (rc || context == cuda->context)
		return rc;
	return bi__fail(err, BI_EINVAL, "stream 0x%llx belongs to another CUcontext than that of cuda:%d",
			(unsigned long long)(uintptr_t)stream, cuda->ordinal);
}

static int create_stream(struct bi__cuda_queue *queue, unsigned flags, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_refuse_reset(queue->cuda, err);

	if (!rc)
		rc = bi__cuda_enter(queue->cuda->context, &scope, err);
	if (rc)
		return rc;
	queue->is_own = 1;
	rc = bi__cu_check(bi__cu->StreamCreate(&queue->stream, flags), "cuStreamCreate", err);
	bi__cuda_leave(&scope);
	return rc;
}

static int wrap_stream(struct bi__cuda_queue *queue, uintptr_t native, struct bi_error *err)
{
	queue->stream = (bi__cu_stream)native;
	queue->per_thread = queue->stream == BI__CU_STREAM_PER_THREAD;
	return check_stream(queue->cuda, queue->stream, err);
}

int bi__cuda_queue_open(struct bi__cuda *cuda, struct bi__queue *queue, unsigned flags, struct bi_error *err)
{
	struct bi__cuda_queue *made = malloc(sizeof(*made));
	struct bi__cuda_shared *shared = cuda->shared;
	int rc;

	if (!made)
		return bi__fail(err, BI_ENOMEM, "no memory for a stream");
	*made = (struct bi__cuda_queue){ .cuda = cuda };
	made->serial = atomic_fetch_add_explicit(&shared->serials, 1, memory_order_relaxed) + 1;
	rc = queue->native ? wrap_stream(made, queue->native, err) : create_stream(made, flags, err);
	if (rc) {
		free(made);
		return rc;
	}
	pthread_mutex_lock(&shared->queues_lock);
	made->next = shared->queues;
	shared->queues = made;
	pthread_mutex_unlock(&shared->queues_lock);
	queue->native = (uintptr_t)made->stream;
	queue->per_thread = made->per_thread;
	queue->kind = BI_ORDER_CUDA;
	queue->state = made;
	return BI_OK;
}

int bi__cuda_stream_open(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err)
{
	return bi__cuda_queue_open(device->state, queue, BI__CU_STREAM_NON_BLOCKING, err);
}

/* Refuses a captured stream, because a synchronisation with it would invalidate the capture. */
int bi__cuda_finish(struct bi__queue *queue, struct bi_error *err)
{
	struct bi__cuda_queue *finished = bi__cuda_queue_of(queue);
	struct bi__cuda_scope scope;
	int rc = bi__cuda_refuse_capture(finished, "it cannot be waited for", err);

	if (!rc)
		rc = bi__cuda_relax(&scope, err);
	if (rc)
		return rc;
	rc = bi__cu_check(bi__cu->StreamSynchronize(finished->stream), "cuStreamSynchronize", err);
	bi__cuda_leave(&scope);
	return rc;
}

int bi__cuda_drain(bi__cu_stream stream)
{
	struct bi__cuda_scope scope;
	bi__cu_result code;

	bi__cuda_relax(&scope, NULL);
	code = bi__cu->StreamSynchronize(stream);
	if (code != BI__CU_SUCCESS)
		code = bi__cu->StreamSynchronize(stream);
	bi__cuda_leave(&scope);
	return bi__cu_check(code, "cuStreamSynchronize", NULL);
}

/*
 * Reads the status and the number of the stream's capture. For a driver that reports only the status, the number is 1.
 * The nodes of the capture are not queried, because that fails if edges have data (programmatic dependent launch).
 */
static bi__cu_result query_capture(bi__cu_stream stream, unsigned *status, uint64_t *id)
{
	if (bi__cu->StreamGetCaptureInfo_v2)
		return bi__cu->StreamGetCaptureInfo_v2(stream, status, id, NULL, NULL, NULL);
	if (bi__cu->StreamGetCaptureInfo)
		return bi__cu->StreamGetCaptureInfo(stream, status, id);
	*id = 1;
	return bi__cu->StreamIsCapturing(stream, status);
}

static int check_capture_status(bi__cu_result code, unsigned status, struct bi_error *err)
{
	if (code == BI__CU_ERROR_STREAM_CAPTURE_IMPLICIT)
		return bi__fail_vendor(
			err, BI_ECAPTURE, (int)code,
			"the legacy default stream cannot be used while a blocking stream of its context "
			"is being captured into a graph");
	if (code != BI__CU_SUCCESS)
		return bi__cu_check(code,
				    bi__cu->StreamGetCaptureInfo_v2 || bi__cu->StreamGetCaptureInfo
					    ? "cuStreamGetCaptureInfo"
					    : "cuStreamIsCapturing",
				    err);
	if (status == BI__CU_CAPTURE_INVALIDATED)
		return bi__fail(err, BI_ECAPTURE, "the graph capture of the stream has been invalidated");
	return BI_OK;
}

int bi__cuda_find_capture(const struct bi__cuda_queue *queue, uint64_t *id, struct bi_error *err)
{
	unsigned status = BI__CU_CAPTURE_NONE;
	bi__cu_result code;
	uint64_t found = 0;
	int rc;

	if (bi__scope_recall(queue, id))
		return BI_OK;
	*id = 0;
	code = query_capture(queue->stream, &status, &found);
	rc = check_capture_status(code, status, err);
	if (rc)
		return rc;
	if (status == BI__CU_CAPTURE_ACTIVE)
		*id = found ? found : 1;
	bi__scope_note(queue, *id);
	return BI_OK;
}

int bi__cuda_capture(struct bi__queue *queue, uint64_t *id, struct bi_error *err)
{
	return bi__cuda_find_capture(bi__cuda_queue_of(queue), id, err);
}

int bi__cuda_refuse_capture(const struct bi__cuda_queue *queue, const char *what, struct bi_error *err)
{
	uint64_t id;
	int rc = bi__cuda_find_capture(queue, &id, err);

	if (rc || !id)
		return rc;
	return bi__fail(err, BI_ECAPTURE, "the stream is being captured into a graph (capture %llu): %s",
			(unsigned long long)id, what);
}
