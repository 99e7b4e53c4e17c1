/*
 * Copies of pageable host memory. The driver's own copies of such memory block the calling thread. So the bytes are
 * copied through chunks of pinned memory. Host functions (functions that CUDA calls in stream order) fill and empty the
 * chunks.
 *
 * A chunk is reused after its last use. A queue prefers the chunks that it used last itself, because the order of the
 * queue protects them, and chunks that no work uses. It waits for a chunk of another queue only if there is no other
 * choice, because that queue may be waiting for work of this queue.
 */
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

/* The argument of a host function. The host function frees it. */
struct job {
	void *dst;
	const void *src;
	size_t nbytes;
	unsigned char bytes[]; /* a copy of the bytes of an immediate source */
};

static void run_job(void *data)
{
	struct job *job = data;

	memcpy(job->dst, job->src, job->nbytes);
	free(job);
}

/*
 * Enqueues a host function that copies. The bytes of an immediate source are copied into the job before the call
 * returns.
 */
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

/* The context must be current, in a relaxed scope. */
static int make_chunks_locked(struct bi__cuda_pageable *pageable, struct bi_error *err)
{
	void *bytes = pageable->bytes;
	int rc = BI_OK;

	if (!bytes)
		rc = bi__cuda_alloc_pinned(BI__CUDA_CHUNKS * BI__CUDA_CHUNK + BI__CUDA_SLOTS * BI__CUDA_SLOT, &bytes,
					   err);
	pageable->bytes = rc ? NULL : bytes;
	return rc;
}

int bi__cuda_make_chunks(struct bi__cuda_pageable *pageable, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_relax(&scope, err);

	if (rc)
		return rc;
	rc = make_chunks_locked(pageable, err);
	bi__cuda_leave(&scope);
	return rc;
}

/* The chunk that the queue used last, which the order of the queue protects; or NULL. */
static struct bi__cuda_chunk *find_own_chunk_locked(struct bi__cuda_pageable *pageable,
						    const struct bi__cuda_queue *queue)
{
	for (int i = 0; i < BI__CUDA_CHUNKS && !queue->per_thread; i++)
		if (pageable->chunks[i].queue == queue->serial)
			return &pageable->chunks[i];
	return NULL;
}

/* A chunk that no work uses, or NULL. The context must be current, in a relaxed scope. */
static struct bi__cuda_chunk *find_free_chunk_locked(struct bi__cuda_pageable *pageable)
{
	for (int i = 0; i < BI__CUDA_CHUNKS; i++) {
		struct bi__cuda_chunk *chunk = &pageable->chunks[i];

		if (!chunk->queue || (!chunk->is_lost && bi__cu->EventQuery(chunk->used) == BI__CU_SUCCESS))
			return chunk;
	}
	return NULL;
}

/* The chunk whose last use is the oldest, or NULL if all are lost. */
static struct bi__cuda_chunk *find_oldest_chunk_locked(struct bi__cuda_pageable *pageable)
{
	struct bi__cuda_chunk *oldest = NULL;

	for (int i = 0; i < BI__CUDA_CHUNKS; i++)
		if (!pageable->chunks[i].is_lost && (!oldest || pageable->chunks[i].last_use < oldest->last_use))
			oldest = &pageable->chunks[i];
	return oldest;
}

/*
 * Makes lost chunks usable: blocks the calling thread until all work of the context is complete. The context must be
 * current. It is called only when no chunk is left, so few copies wait.
 */
static int take_back_chunks_locked(struct bi__cuda_pageable *pageable, struct bi_error *err)
{
	int rc = bi__cu_check(bi__cu->CtxSynchronize(), "cuCtxSynchronize", err);

	for (int i = 0; i < BI__CUDA_CHUNKS && !rc; i++) {
		pageable->chunks[i].queue = 0;
		pageable->chunks[i].is_lost = 0;
	}
	return rc;
}

/* Chooses a chunk that another queue used last, if any. The context must be current, in a relaxed scope. */
static int take_chunk_locked(struct bi__cuda_pageable *pageable, const struct bi__cuda_queue *queue,
			     struct bi__cuda_chunk **out, struct bi_error *err)
{
	int rc = make_chunks_locked(pageable, err);

	*out = rc ? NULL : find_free_chunk_locked(pageable);
	if (rc || *out)
		return rc;
	*out = find_oldest_chunk_locked(pageable);
	if (*out)
		return bi__cu_check(bi__cu->StreamWaitEvent(queue->stream, (*out)->used, 0), "cuStreamWaitEvent", err);
	*out = &pageable->chunks[0];
	return take_back_chunks_locked(pageable, err);
}

/* Chooses a chunk that later work on the queue may overwrite. The context must be current. */
static int pick_chunk_locked(struct bi__cuda_pageable *pageable, const struct bi__cuda_queue *queue,
			     struct bi__cuda_chunk **out, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc;

	*out = find_own_chunk_locked(pageable, queue);
	if (*out)
		return BI_OK;
	rc = bi__cuda_relax(&scope, err);
	if (rc)
		return rc;
	rc = take_chunk_locked(pageable, queue, out, err);
	bi__cuda_leave(&scope);
	if (!rc && !(*out)->used)
		rc = bi__cu_check(bi__cu->EventCreate(&(*out)->used, BI__CU_EVENT_DISABLE_TIMING), "cuEventCreate",
				  err);
	return rc;
}

static char *bytes_of(const struct bi__cuda_queue *queue, const struct bi__cuda_chunk *chunk)
{
	const struct bi__cuda_pageable *pageable = &queue->cuda->shared->pageable;

	return pageable->bytes + (size_t)(chunk - pageable->chunks) * BI__CUDA_CHUNK;
}

/* Locks bi__cuda_pageable.lock and picks a chunk. On failure the lock is not held. The context must be current. */
static int begin_chunk(const struct bi__cuda_queue *queue, struct bi__cuda_chunk **out, struct bi_error *err)
{
	struct bi__cuda_pageable *pageable = &queue->cuda->shared->pageable;
	int rc;

	pthread_mutex_lock(&pageable->lock);
	rc = pick_chunk_locked(pageable, queue, out, err);
	if (rc)
		pthread_mutex_unlock(&pageable->lock);
	return rc;
}

/*
 * Marks the end of a use of the chunk and unlocks bi__cuda_pageable.lock. Must also be called if enqueuing failed,
 * because commands that were enqueued before use the chunk.
 */
static int end_chunk(struct bi__cuda_queue *queue, struct bi__cuda_chunk *chunk, struct bi_error *err)
{
	struct bi__cuda_pageable *pageable = &queue->cuda->shared->pageable;
	int rc = bi__cu_check(bi__cu->EventRecord(chunk->used, queue->stream), "cuEventRecord", err);

	chunk->queue = queue->serial;
	chunk->last_use = ++pageable->uses;
	chunk->is_lost = rc != BI_OK;
	/* The close of the stream records the end then. */
	atomic_fetch_or(&queue->is_used, rc != BI_OK);
	pthread_mutex_unlock(&pageable->lock);
	return rc;
}

static size_t bytes_of_chunk(size_t at, size_t nbytes)
{
	return nbytes - at < BI__CUDA_CHUNK ? nbytes - at : BI__CUDA_CHUNK;
}

int bi__cuda_send_pageable(struct bi__cuda_queue *queue, const struct bi__cuda_pageable_source *source,
			   bi__cuda_read_fn read, void *data, struct bi_error *err)
{
	struct bi__cuda_chunk *chunk;
	int rc = BI_OK, ended;

	for (size_t at = 0; at < source->nbytes && !rc; at += BI__CUDA_CHUNK) {
		size_t n = bytes_of_chunk(at, source->nbytes);

		rc = begin_chunk(queue, &chunk, err);
		if (rc)
			return rc;
		rc = enqueue_job(queue, bytes_of(queue, chunk), (const char *)source->bytes + at, n,
				 source->is_immediate, err);
		if (!rc)
			rc = read(data, (bi__cu_pointer)(uintptr_t)bytes_of(queue, chunk), at, n, err);
		ended = end_chunk(queue, chunk, rc ? NULL : err);
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
	const struct bi__cuda_pageable_source source = { src, nbytes, 0 };
	struct upload upload = { queue, dst };

	return bi__cuda_send_pageable(queue, &source, read_upload, &upload, err);
}

int bi__cuda_download(struct bi__cuda_queue *queue, void *dst, bi__cu_pointer src, size_t nbytes, struct bi_error *err)
{
	struct bi__cuda_chunk *chunk;
	int rc = BI_OK, ended;

	for (size_t at = 0; at < nbytes && !rc; at += BI__CUDA_CHUNK) {
		size_t n = bytes_of_chunk(at, nbytes);

		rc = begin_chunk(queue, &chunk, err);
		if (rc)
			return rc;
		rc = bi__cu_check(bi__cu->MemcpyAsync((bi__cu_pointer)(uintptr_t)bytes_of(queue, chunk), src + at, n,
						      queue->stream),
				  "cuMemcpyAsync", err);
		if (!rc)
			rc = enqueue_job(queue, (char *)dst + at, bytes_of(queue, chunk), n, 0, err);
		ended = end_chunk(queue, chunk, rc ? NULL : err);
		rc = rc ? rc : ended;
	}
	return rc;
}

char *bi__cuda_claim_slot(struct bi__cuda_pageable *pageable)
{
	char *slot = NULL;

	pthread_mutex_lock(&pageable->lock);
	for (unsigned i = 0; i < BI__CUDA_SLOTS && pageable->bytes && !slot; i++)
		if (!(pageable->claimed >> i & 1)) {
			pageable->claimed |= (uint64_t)1 << i;
			slot = pageable->bytes + BI__CUDA_CHUNKS * BI__CUDA_CHUNK + i * BI__CUDA_SLOT;
		}
	pthread_mutex_unlock(&pageable->lock);
	return slot;
}

void bi__cuda_free_slot(struct bi__cuda_pageable *pageable, const char *slot)
{
	const char *slots = pageable->bytes + BI__CUDA_CHUNKS * BI__CUDA_CHUNK;

	pthread_mutex_lock(&pageable->lock);
	pageable->claimed &= ~((uint64_t)1 << (size_t)(slot - slots) / BI__CUDA_SLOT);
	pthread_mutex_unlock(&pageable->lock);
}

void bi__cuda_free_chunks(struct bi__cuda_pageable *pageable)
{
	for (int i = 0; i < BI__CUDA_CHUNKS; i++) {
		struct bi__cuda_chunk *chunk = &pageable->chunks[i];

		if (chunk->queue && !chunk->is_lost)
			bi__cuda_wait_for_event(chunk->used);
		if (chunk->used)
			bi__cu->EventDestroy(chunk->used);
	}
	if (pageable->bytes)
		bi__cu->MemFreeHost(pageable->bytes);
}
