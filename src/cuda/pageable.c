/*
 * Copies of pageable host memory. The driver's own copies of such memory may block the calling thread. So the bytes go
 * through chunks of pinned memory. Host functions, which CUDA calls in stream order, fill the chunks of a copy to the
 * device, and empty those of a copy to the host.
 *
 * The host functions of a small copy run on the queue. A copy of more than BI__CUDA_BUFFER bytes uses a pair if one is
 * free: a chunk of two buffers, with a stream for the host functions. The device copies one buffer while the CPU copies
 * the other.
 *
 * A chunk is reused after its last use. A queue takes a chunk that it used last itself, because its own order protects
 * this chunk. If there is none, it takes a chunk that no work uses. If there is none either, the queue waits for the
 * chunk whose last use is the oldest. This comes last, because the queue of that use may be waiting for work of this
 * queue. A queue never waits for a pair of another queue.
 */
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "common/engine/engine.h"

/* The argument of a host function, which frees it. */
struct job {
	void *dst;
	const void *src;
	size_t nbytes;
	unsigned char bytes[]; /* a copy of the bytes of an immediate source */
};

static void run_job(void *data)
{
	struct job *job = data;
	struct bi__plan plan;

	bi__plan_bytes(&plan, 0, 0, job->nbytes);
	bi__engine_copy(&plan, job->dst, job->src);
	free(job);
}

int bi__cuda_copy_by_host(bi__cu_stream stream, void *dst, const void *src, size_t nbytes, int is_immediate,
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
	rc = bi__cu_check(bi__cu->LaunchHostFunc(stream, run_job, job), "cuLaunchHostFunc", err);
	if (rc)
		free(job);
	return rc;
}

/* Offsets in the pinned memory: the chunks come first, then the slots, then the pairs. */
#define SLOTS_AT (BI__CUDA_CHUNKS * BI__CUDA_CHUNK)
#define PAIRS_AT (SLOTS_AT + BI__CUDA_SLOTS * BI__CUDA_SLOT)

/* Allocates the pinned memory if there is none. The context must be current, in a relaxed scope. */
static int alloc_chunks_locked(struct bi__cuda_pageable *pageable, struct bi_error *err)
{
	void *bytes = pageable->bytes;
	int rc = BI_OK;

	if (!bytes)
		rc = bi__cuda_alloc_pinned(PAIRS_AT + BI__CUDA_PAIRS * 2 * BI__CUDA_BUFFER, &bytes, err);
	pageable->bytes = rc ? NULL : bytes;
	return rc;
}

static int make_event(bi__cu_event *event, struct bi_error *err)
{
	if (*event)
		return BI_OK;
	return bi__cu_check(bi__cu->EventCreate(event, BI__CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
}

/* Makes the handles that earlier calls have not made. The context must be current. */
static int make_pair(struct bi__cuda_chunk *pair)
{
	int rc = make_event(&pair->used, NULL);

	for (int i = 0; i < 2 && !rc; i++)
		rc = make_event(&pair->passed[i], NULL);
	if (rc || pair->stream)
		return rc;
	return bi__cu_check(bi__cu->StreamCreate(&pair->stream, BI__CU_STREAM_NON_BLOCKING), "cuStreamCreate", NULL);
}

int bi__cuda_make_chunks(struct bi__cuda_pageable *pageable)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_relax(&scope, NULL);

	if (rc)
		return rc;
	rc = alloc_chunks_locked(pageable, NULL);
	for (int i = BI__CUDA_CHUNKS; i < BI__CUDA_ALL_CHUNKS; i++) {
		rc = rc ? rc : make_pair(&pageable->chunks[i]);
		pageable->chunks[i].is_unavailable = !pageable->chunks[i].stream;
	}
	bi__cuda_leave(&scope);
	return rc;
}

/*
 * Returns a chunk or pair whose last user is this queue, so that the order of the queue protects it. Returns NULL if
 * there is none, and for a per-thread stream.
 */
static struct bi__cuda_chunk *find_own_locked(struct bi__cuda_chunk *chunks, int count,
					      const struct bi__cuda_queue *queue)
{
	for (int i = 0; i < count && !queue->per_thread; i++)
		if (chunks[i].queue == queue->serial && !chunks[i].is_unavailable)
			return &chunks[i];
	return NULL;
}

/* Returns a chunk or pair that no work uses, or NULL. The context must be current, in a relaxed scope. */
static struct bi__cuda_chunk *find_free_locked(struct bi__cuda_chunk *chunks, int count)
{
	for (int i = 0; i < count; i++) {
		struct bi__cuda_chunk *chunk = &chunks[i];

		if (!chunk->is_unavailable && (!chunk->queue || bi__cu->EventQuery(chunk->used) == BI__CU_SUCCESS))
			return chunk;
	}
	return NULL;
}

/* Returns the chunk whose last use is the oldest, or NULL if all chunks are unavailable. */
static struct bi__cuda_chunk *find_oldest_chunk_locked(struct bi__cuda_pageable *pageable)
{
	struct bi__cuda_chunk *oldest = NULL;

	for (int i = 0; i < BI__CUDA_CHUNKS; i++)
		if (!pageable->chunks[i].is_unavailable && (!oldest || pageable->chunks[i].last_use < oldest->last_use))
			oldest = &pageable->chunks[i];
	return oldest;
}

/*
 * Blocks the calling thread until all work of the context is complete, so that no work uses a chunk. This invalidates
 * captures. It is called only if all chunks are unavailable. The context must be current.
 */
static int take_back_chunks_locked(struct bi__cuda_pageable *pageable, struct bi_error *err)
{
	int rc = bi__cu_check(bi__cu->CtxSynchronize(), "cuCtxSynchronize", err);

	for (int i = 0; i < BI__CUDA_CHUNKS && !rc; i++)
		pageable->chunks[i].is_unavailable = 0;
	return rc;
}

/*
 * Chooses a chunk if find_own_locked has found none, and makes the queue wait for its last use if that is not complete.
 * The context must be current, in a relaxed scope.
 */
static int take_chunk_locked(struct bi__cuda_pageable *pageable, const struct bi__cuda_queue *queue,
			     struct bi__cuda_chunk **out, struct bi_error *err)
{
	int rc = alloc_chunks_locked(pageable, err);

	*out = rc ? NULL : find_free_locked(pageable->chunks, BI__CUDA_CHUNKS);
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

	*out = find_own_locked(pageable->chunks, BI__CUDA_CHUNKS, queue);
	if (*out)
		return BI_OK;
	rc = bi__cuda_relax(&scope, err);
	if (rc)
		return rc;
	rc = take_chunk_locked(pageable, queue, out, err);
	bi__cuda_leave(&scope);
	return rc ? rc : make_event(&(*out)->used, err);
}

static char *bytes_of(const struct bi__cuda_pageable *pageable, const struct bi__cuda_chunk *chunk)
{
	size_t index = (size_t)(chunk - pageable->chunks);

	if (index < BI__CUDA_CHUNKS)
		return pageable->bytes + index * BI__CUDA_CHUNK;
	return pageable->bytes + PAIRS_AT + (index - BI__CUDA_CHUNKS) * 2 * BI__CUDA_BUFFER;
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
 * Blocks the calling thread until use number `use` of the chunk ends. If that fails, the chunk stays unavailable, and
 * closing the queue records the end of the use.
 */
static void await_chunk(struct bi__cuda_queue *queue, struct bi__cuda_chunk *chunk, uint64_t use)
{
	struct bi__cuda_pageable *pageable = &queue->cuda->shared->pageable;

	if (bi__cuda_drain(queue->stream)) {
		atomic_store_explicit(&queue->is_used, 1, memory_order_relaxed);
		return;
	}
	pthread_mutex_lock(&pageable->lock);
	if (chunk->last_use == use)
		chunk->is_unavailable = 0;
	pthread_mutex_unlock(&pageable->lock);
}

/*
 * Marks the end of a use of the chunk and unlocks bi__cuda_pageable.lock. Must also be called if enqueuing failed,
 * because the commands that were enqueued before the failure use the chunk. A driver may return the failure of earlier
 * work, so a failed record is tried once more. If the driver refuses twice, the calling thread waits for the end.
 */
static int end_chunk(struct bi__cuda_queue *queue, struct bi__cuda_chunk *chunk, struct bi_error *err)
{
	struct bi__cuda_pageable *pageable = &queue->cuda->shared->pageable;
	uint64_t use = ++pageable->uses;
	int rc = BI_OK;

	if (bi__cu->EventRecord(chunk->used, queue->stream) != BI__CU_SUCCESS)
		rc = bi__cu_check(bi__cu->EventRecord(chunk->used, queue->stream), "cuEventRecord", err);
	chunk->queue = rc ? 0 : queue->serial;
	chunk->last_use = use;
	chunk->is_unavailable = rc != BI_OK;
	pthread_mutex_unlock(&pageable->lock);
	if (rc)
		await_chunk(queue, chunk, use);
	return rc;
}

/* The bytes [at, at + nbytes) of a copy, and the pinned memory that they go through. */
struct piece {
	char *pinned;
	size_t at, nbytes;
};

static size_t bytes_of_piece(const struct bi__cuda_pageable_copy *copy, size_t at, size_t most)
{
	return copy->nbytes - at < most ? copy->nbytes - at : most;
}

/*
 * Enqueues the step that fills the pinned memory, or (`empties`) the step that empties it. One of the two steps is a
 * host function on `stream`, the other one commands of the device on the queue.
 */
static int enqueue_step(const struct bi__cuda_pageable_copy *copy, const struct piece *piece, int empties,
			bi__cu_stream stream, struct bi_error *err)
{
	bi__cu_pointer pinned = (bi__cu_pointer)(uintptr_t)piece->pinned, device = copy->device + piece->at;
	char *host = copy->host + piece->at;

	if (empties == copy->to_host)
		return bi__cuda_copy_by_host(stream, copy->to_host ? host : piece->pinned,
					     copy->to_host ? piece->pinned : host, piece->nbytes, copy->is_immediate,
					     err);
	if (copy->enqueue)
		return copy->enqueue(copy->data, pinned, piece->at, piece->nbytes, err);
	return bi__cu_check(bi__cu->MemcpyAsync(copy->to_host ? pinned : device, copy->to_host ? device : pinned,
						piece->nbytes, copy->queue->stream),
			    "cuMemcpyAsync", err);
}

static int copy_in_chunks(const struct bi__cuda_pageable_copy *copy, struct bi_error *err)
{
	const struct bi__cuda_pageable *pageable = &copy->queue->cuda->shared->pageable;
	bi__cu_stream stream = copy->queue->stream;
	struct bi__cuda_chunk *chunk;
	int rc = BI_OK, ended;

	for (size_t at = 0; at < copy->nbytes && !rc; at += BI__CUDA_CHUNK) {
		struct piece piece = { .at = at, .nbytes = bytes_of_piece(copy, at, BI__CUDA_CHUNK) };

		rc = begin_chunk(copy->queue, &chunk, err);
		if (rc)
			return rc;
		piece.pinned = bytes_of(pageable, chunk);
		rc = enqueue_step(copy, &piece, 0, stream, err);
		if (!rc)
			rc = enqueue_step(copy, &piece, 1, stream, err);
		ended = end_chunk(copy->queue, chunk, rc ? NULL : err);
		rc = rc ? rc : ended;
	}
	return rc;
}

/* Returns a pair that no other thread uses until end_pair has ended its use, or NULL. The context must be current. */
static struct bi__cuda_chunk *claim_pair(const struct bi__cuda_queue *queue)
{
	struct bi__cuda_pageable *pageable = &queue->cuda->shared->pageable;
	struct bi__cuda_chunk *pairs = pageable->chunks + BI__CUDA_CHUNKS, *pair;
	struct bi__cuda_scope scope;

	pthread_mutex_lock(&pageable->lock);
	pair = find_own_locked(pairs, BI__CUDA_PAIRS, queue);
	if (!pair && bi__cuda_relax(&scope, NULL) == BI_OK) {
		pair = find_free_locked(pairs, BI__CUDA_PAIRS);
		bi__cuda_leave(&scope);
	}
	if (pair)
		pair->is_unavailable = 1;
	pthread_mutex_unlock(&pageable->lock);
	return pair;
}

/* Makes later work on `to` wait for all work that is on `from` now. */
static int pass(bi__cu_event event, bi__cu_stream from, bi__cu_stream to, struct bi_error *err)
{
	int rc = bi__cu_check(bi__cu->EventRecord(event, from), "cuEventRecord", err);

	return rc ? rc : bi__cu_check(bi__cu->StreamWaitEvent(to, event, 0), "cuStreamWaitEvent", err);
}

/*
 * Enqueues a piece of a copy through a pair. A buffer is filled on streams[0] and emptied on streams[1]. The event of
 * the buffer is recorded after each of these steps.
 */
static int enqueue_in_pair(const struct bi__cuda_pageable_copy *copy, const struct bi__cuda_chunk *pair, size_t at,
			   struct bi_error *err)
{
	bi__cu_stream streams[] = { copy->to_host ? copy->queue->stream : pair->stream,
				    copy->to_host ? pair->stream : copy->queue->stream };
	size_t buffer = at / BI__CUDA_BUFFER % 2;
	bi__cu_event passed = pair->passed[buffer];
	struct piece piece = { .at = at, .nbytes = bytes_of_piece(copy, at, BI__CUDA_BUFFER) };
	int rc = BI_OK;

	piece.pinned = bytes_of(&copy->queue->cuda->shared->pageable, pair) + buffer * BI__CUDA_BUFFER;
	if (at >= 2 * BI__CUDA_BUFFER)
		rc = bi__cu_check(bi__cu->StreamWaitEvent(streams[0], passed, 0), "cuStreamWaitEvent", err);
	if (!rc)
		rc = enqueue_step(copy, &piece, 0, pair->stream, err);
	if (!rc)
		rc = pass(passed, streams[0], streams[1], err);
	if (!rc)
		rc = enqueue_step(copy, &piece, 1, pair->stream, err);
	return rc ? rc : bi__cu_check(bi__cu->EventRecord(passed, streams[1]), "cuEventRecord", err);
}

/*
 * Ends the use of a pair. If `waits` is set, makes the queue wait for the host functions. If the driver refuses that
 * twice, blocks the calling thread until the host functions end. If that fails too, the pair is not used again: closing
 * the queue records the end of its commands, and bi__cuda_free_chunks waits for the host functions.
 */
static int end_pair(struct bi__cuda_queue *queue, struct bi__cuda_chunk *pair, int waits, struct bi_error *err)
{
	int rc = waits ? pass(pair->used, pair->stream, queue->stream, NULL) : BI_OK, ended;

	/* The first call may return the failure of earlier work. */
	if (rc)
		rc = pass(pair->used, pair->stream, queue->stream, err);
	if (rc && bi__cuda_drain(pair->stream)) {
		atomic_store_explicit(&queue->is_used, 1, memory_order_relaxed);
		return rc;
	}
	pthread_mutex_lock(&queue->cuda->shared->pageable.lock);
	ended = end_chunk(queue, pair, rc ? NULL : err);
	return rc ? rc : ended;
}

/* A copy to the device needs no wait at the end: its last device command waits for the last host function. */
static int copy_in_pair(const struct bi__cuda_pageable_copy *copy, struct bi__cuda_chunk *pair, struct bi_error *err)
{
	int rc = copy->to_host ? BI_OK : pass(pair->used, copy->queue->stream, pair->stream, err), ended;

	for (size_t at = 0; at < copy->nbytes && !rc; at += BI__CUDA_BUFFER)
		rc = enqueue_in_pair(copy, pair, at, err);
	ended = end_pair(copy->queue, pair, rc || copy->to_host, rc ? NULL : err);
	return rc ? rc : ended;
}

int bi__cuda_copy_pageable(const struct bi__cuda_pageable_copy *copy, struct bi_error *err)
{
	struct bi__cuda_chunk *pair = copy->nbytes > BI__CUDA_BUFFER ? claim_pair(copy->queue) : NULL;

	return pair ? copy_in_pair(copy, pair, err) : copy_in_chunks(copy, err);
}

char *bi__cuda_claim_slot(struct bi__cuda_pageable *pageable)
{
	char *slot = NULL;

	pthread_mutex_lock(&pageable->lock);
	for (unsigned i = 0; i < BI__CUDA_SLOTS && pageable->bytes && !slot; i++)
		if (!(pageable->claimed >> i & 1)) {
			pageable->claimed |= (uint64_t)1 << i;
			slot = pageable->bytes + SLOTS_AT + i * BI__CUDA_SLOT;
		}
	pthread_mutex_unlock(&pageable->lock);
	return slot;
}

void bi__cuda_free_slot(struct bi__cuda_pageable *pageable, const char *slot)
{
	const char *slots = pageable->bytes + SLOTS_AT;

	pthread_mutex_lock(&pageable->lock);
	pageable->claimed &= ~((uint64_t)1 << (size_t)(slot - slots) / BI__CUDA_SLOT);
	pthread_mutex_unlock(&pageable->lock);
}

static void destroy_event(bi__cu_event event)
{
	if (event)
		bi__cu->EventDestroy(event);
}

void bi__cuda_free_chunks(struct bi__cuda_pageable *pageable)
{
	for (int i = 0; i < BI__CUDA_ALL_CHUNKS; i++) {
		struct bi__cuda_chunk *chunk = &pageable->chunks[i];

		if (chunk->queue && !chunk->is_unavailable)
			bi__cuda_wait_for_event(chunk->used);
		destroy_event(chunk->used);
		destroy_event(chunk->passed[0]);
		destroy_event(chunk->passed[1]);
		if (chunk->stream && chunk->is_unavailable)
			bi__cuda_drain(chunk->stream);
		if (chunk->stream)
			bi__cu->StreamDestroy(chunk->stream);
	}
	if (pageable->bytes)
		bi__cu->MemFreeHost(pageable->bytes);
}
