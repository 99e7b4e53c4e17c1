/*
 * Pageable host memory. A copy from or to it makes the calling thread wait, so its bytes travel through pinned chunks,
 * which functions of the host fill and empty when the stream comes to them.
 *
 * A chunk is used again behind its last use. A stream prefers its own chunks, where it comes there by itself, or those
 * that are free: to wait for another stream could be to wait for something that this one is to bring about.
 */
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

/* The argument of a host function, which frees it. */
struct job {
	void *dst;
	const void *src;
	size_t nbytes;
	unsigned char bytes[]; /* of an immediate source */
};

static void run_job(void *data)
{
	struct job *job = data;

	memcpy(job->dst, job->src, job->nbytes);
	free(job);
}

/* Copies when the stream comes to it. */
static int enqueue_job(const struct bi__cuda_queue *queue, void *dst, const void *src, size_t nbytes, int is_immediate,
		       struct bi_error *err)
{
	struct job *job = malloc(sizeof(*job) + (is_immediate ? nbytes : 0));
	int rc;

	if (!job)
		return bi__fail(err, BI_ENOMEM, "no memory for a copy of %zu bytes", nbytes);
	*job = (struct job){ dst, src, nbytes };
	if (is_immediate) {
		memcpy(job->bytes, src, nbytes);
		job->src = job->bytes;
	}
	rc = bi__cu_check(bi__cu->LaunchHostFunc(queue->stream, run_job, job), "cuLaunchHostFunc", err);
	if (rc)
		free(job);
	return rc;
}

int bi__cuda_copy_by_host(const struct bi__cuda_queue *queue, void *dst, const void *src, size_t nbytes,
			  struct bi_error *err)
{
	return enqueue_job(queue, dst, src, nbytes, 0, err);
}

static int is_own(const struct bi__cuda_chunk *chunk, const struct bi__cuda_queue *queue)
{
	return chunk->queue == queue->serial && !queue->per_thread;
}

static int is_free(const struct bi__cuda_chunk *chunk)
{
	return !chunk->queue || bi__cu->EventQuery(chunk->used) == BI__CU_SUCCESS;
}

static struct bi__cuda_chunk *older(struct bi__cuda_chunk *a, struct bi__cuda_chunk *b)
{
	return !a || b->turn < a->turn ? b : a;
}

static int alloc_bytes(char **out, struct bi_error *err)
{
	void *bytes = NULL;
	bi__cu_result code =
		bi__cu->MemHostAlloc(&bytes, BI__CUDA_CHUNK, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP);

	*out = bytes;
	if (code != BI__CU_ERROR_OUT_OF_MEMORY)
		return bi__cu_check(code, "cuMemHostAlloc", err);
	return bi__fail_vendor(err, BI_ENOMEM, (int)code, "there are no %zu bytes of pinned memory: %s (%u)",
			       BI__CUDA_CHUNK, bi__cu_name(code), code);
}

/* Locked, entered. Room for one more is there. The memory comes last: to free it would be to wait. */
static int add_chunk(struct bi__cuda_staging *staging, struct bi__cuda_chunk **out, struct bi_error *err)
{
	struct bi__cuda_chunk *chunk = &staging->chunks[staging->count];
	int rc;

	*chunk = (struct bi__cuda_chunk){ .bytes = NULL };
	rc = bi__cu_check(bi__cu->EventCreate(&chunk->used, BI__CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	if (rc)
		return rc;
	rc = alloc_bytes(&chunk->bytes, err);
	if (rc) {
		bi__cu->EventDestroy(chunk->used);
		return rc;
	}
	staging->count++;
	*out = chunk;
	return BI_OK;
}

/* What there is to choose from. */
struct choice {
	struct bi__cuda_chunk *own, *free, *any; /* the one used longest ago, or NULL */
	int own_count;
};

/* Locked, entered. */
static struct choice look_around(struct bi__cuda_staging *staging, const struct bi__cuda_queue *queue)
{
	struct choice choice = { NULL, NULL, NULL, 0 };

	for (int i = 0; i < staging->count; i++) {
		struct bi__cuda_chunk *chunk = &staging->chunks[i];

		if (chunk->is_lost)
			continue;
		choice.any = older(choice.any, chunk);
		if (is_own(chunk, queue)) {
			choice.own = older(choice.own, chunk);
			choice.own_count++;
		}
	}
	if (choice.own_count >= BI__CUDA_QUEUE_CHUNKS)
		return choice;
	for (int i = 0; i < staging->count && !choice.free; i++)
		if (!staging->chunks[i].is_lost && is_free(&staging->chunks[i]))
			choice.free = &staging->chunks[i];
	return choice;
}

/* Locked, entered. Later work on the queue may use the chunk. */
static int pick(struct bi__cuda_staging *staging, const struct bi__cuda_queue *queue, struct bi__cuda_chunk **out,
		struct bi_error *err)
{
	struct choice choice = look_around(staging, queue);
	int rc = BI_OK;

	*out = choice.free;
	if (!*out && choice.own_count < BI__CUDA_QUEUE_CHUNKS && staging->count < BI__CUDA_CHUNKS)
		rc = add_chunk(staging, out, choice.any ? NULL : err);
	if (*out)
		return BI_OK;
	*out = choice.own;
	if (*out)
		return BI_OK;
	*out = choice.any;
	if (*out)
		return bi__cu_check(bi__cu->StreamWaitEvent(queue->stream, (*out)->used, 0), "cuStreamWaitEvent", err);
	return rc ? rc : bi__fail(err, BI_EDRIVER, "the driver failed; no staging memory is left");
}

/* On success the lock is held. Entered. */
static int begin(const struct bi__cuda_queue *queue, struct bi__cuda_chunk **out, struct bi_error *err)
{
	struct bi__cuda_staging *staging = &queue->cuda->staging;
	struct bi__cuda_scope scope;
	int rc;

	pthread_mutex_lock(&staging->lock);
	rc = bi__cuda_relax(&scope, err);
	if (!rc) {
		rc = pick(staging, queue, out, err);
		bi__cuda_leave(&scope);
	}
	if (rc)
		pthread_mutex_unlock(&staging->lock);
	return rc;
}

/* Also after a failure: what is enqueued uses the chunk. Drops the lock. */
static int end(struct bi__cuda_queue *queue, struct bi__cuda_chunk *chunk, struct bi_error *err)
{
	struct bi__cuda_staging *staging = &queue->cuda->staging;
	int rc = bi__cu_check(bi__cu->EventRecord(chunk->used, queue->stream), "cuEventRecord", err);

	chunk->queue = queue->serial;
	chunk->turn = ++staging->turns;
	chunk->is_lost = rc != BI_OK;
	pthread_mutex_unlock(&staging->lock);
	bi__cuda_use(queue);
	return rc;
}

static size_t piece(size_t at, size_t nbytes)
{
	return nbytes - at < BI__CUDA_CHUNK ? nbytes - at : BI__CUDA_CHUNK;
}

int bi__cuda_stage(struct bi__cuda_queue *queue, const void *src, size_t nbytes, int is_immediate,
		   bi__cuda_read_fn read, void *data, struct bi_error *err)
{
	struct bi__cuda_chunk *chunk;
	int rc = BI_OK, ended;

	for (size_t at = 0; at < nbytes && !rc; at += BI__CUDA_CHUNK) {
		size_t n = piece(at, nbytes);

		rc = begin(queue, &chunk, err);
		if (rc)
			return rc;
		rc = enqueue_job(queue, chunk->bytes, (const char *)src + at, n, is_immediate, err);
		if (!rc)
			rc = read(data, (bi__cu_pointer)(uintptr_t)chunk->bytes, at, n, err);
		ended = end(queue, chunk, rc ? NULL : err);
		rc = rc ? rc : ended;
	}
	return rc;
}

struct upload {
	const struct bi__cuda_queue *queue;
	bi__cu_pointer dst;
};

static int read_upload(void *data, bi__cu_pointer chunk, size_t at, size_t nbytes, struct bi_error *err)
{
	const struct upload *upload = data;

	return bi__cu_check(bi__cu->MemcpyAsync(upload->dst + at, chunk, nbytes, upload->queue->stream),
			    "cuMemcpyAsync", err);
}

int bi__cuda_upload(struct bi__cuda_queue *queue, bi__cu_pointer dst, const void *src, size_t nbytes,
		    struct bi_error *err)
{
	struct upload upload = { queue, dst };

	return bi__cuda_stage(queue, src, nbytes, 0, read_upload, &upload, err);
}

int bi__cuda_download(struct bi__cuda_queue *queue, void *dst, bi__cu_pointer src, size_t nbytes, struct bi_error *err)
{
	struct bi__cuda_chunk *chunk;
	int rc = BI_OK, ended;

	for (size_t at = 0; at < nbytes && !rc; at += BI__CUDA_CHUNK) {
		size_t n = piece(at, nbytes);

		rc = begin(queue, &chunk, err);
		if (rc)
			return rc;
		rc = bi__cu_check(
			bi__cu->MemcpyAsync((bi__cu_pointer)(uintptr_t)chunk->bytes, src + at, n, queue->stream),
			"cuMemcpyAsync", err);
		if (!rc)
			rc = enqueue_job(queue, (char *)dst + at, chunk->bytes, n, 0, err);
		ended = end(queue, chunk, rc ? NULL : err);
		rc = rc ? rc : ended;
	}
	return rc;
}

void bi__cuda_free_chunks(struct bi__cuda *cuda)
{
	struct bi__cuda_staging *staging = &cuda->staging;

	for (int i = 0; i < staging->count; i++) {
		bi__cu->EventDestroy(staging->chunks[i].used);
		bi__cu->MemFreeHost(staging->chunks[i].bytes);
	}
	staging->count = 0;
}
