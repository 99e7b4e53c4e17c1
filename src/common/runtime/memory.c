#include "common/runtime/memory.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/backend/registry.h"
#include "common/base/fork.h"
#include "common/base/sized.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/points.h"
#include "common/runtime/pool.h"
#include "common/runtime/retire.h"
#include "common/runtime/stream.h"

#define WRAP_FLAGS ((unsigned)(BI_WRAP_READONLY | BI_WRAP_STEAL | BI_WRAP_UNORDERED | BI_WRAP_UNCHECKED))

/* Origin of own blocks with option `debug`. Code that ignores the origin uses wrong bytes, which tests can find. */
#define POISON_OFFSET 64

/* The most bytes of a memory. A backend can add the origin and an alignment without an overflow. */
#define MOST_BYTES ((size_t)PTRDIFF_MAX - 4096)

/* Initialises an idle memory, except for the members that the pool, the retired list and a copy (partner) set later. */
static void init_memory(struct bi_memory *memory, struct bi_context *context, const struct bi__backend *backend)
{
	atomic_init(&memory->refs, 1);
	memory->flags = 0;
	memory->context = context;
	memory->backend = backend;
	memory->block = (struct bi__block){ .handle = 0 };
	memory->nbytes = 0;
	memory->release.fn = NULL;
	memory->release.data = NULL;
	memory->release.done = NULL;
	memory->own = memory->borrowed = false;
	memory->producer = NULL;
	atomic_init(&memory->marks, 0);
	atomic_init(&memory->idle, true);
	atomic_init(&memory->on_home, false);
	atomic_init(&memory->readers, 0);
	atomic_init(&memory->home, backend->synchronous ? NULL : &context->stream);
	/* Does the same as pthread_mutex_init without attributes, but without a call. */
	memory->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_init(&memory->lock_process, bi__fork_generation);
	bi__order_init(&memory->order);
	memory->partner.memory = NULL;
	memory->partner.stream = NULL;
}

/*
 * Allocates and initialises a memory that is followed by `behind` bytes. Does not use calloc, which in older versions
 * of glibc is slower, because it does not use the cache of the thread.
 */
static struct bi_memory *new_memory(struct bi_context *context, int on_host, size_t behind)
{
	struct bi_memory *memory = malloc(sizeof(*memory) + behind);

	if (!memory)
		return NULL;
	init_memory(memory, bi_context_retain(context), on_host ? bi__registry_host() : context->device.backend);
	return memory;
}

void bi__memory_borrow(struct bi_memory *memory, struct bi_context *context, void *bytes, size_t nbytes)
{
	init_memory(memory, context, bi__registry_host());
	memory->block.kind = BI_HANDLE_HOST;
	memory->block.host = bytes;
	memory->nbytes = memory->block.nbytes = nbytes;
	memory->borrowed = true;
}

static int allocate_block(struct bi_memory *memory, struct bi_error *err)
{
	struct bi_context *context = memory->context;
	struct bi__scope scope;
	int rc;

	if (memory->block.memory == BI_MEMORY_UNIFIED && !(context->device.info->capabilities & BI_CAP_SVM))
		return bi__fail(err, BI_EUNSUPPORTED, "device %s has no unified memory: use BI_MEMORY_DEVICE",
				context->device.info->spec);
	if (memory->backend->synchronous)
		return bi__dispatch_alloc(memory->backend, &context->device, &memory->block, err);
	bi__dispatch_begin(&scope, &context->device);
	rc = bi__stream_refuse_capture(&context->stream, "no memory is allocated", err);
	if (!rc)
		rc = bi__dispatch_alloc(memory->backend, &context->device, &memory->block, err);
	bi__dispatch_end(&scope);
	return rc;
}

int bi__memory_new(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind, size_t behind,
		   struct bi_memory **out, struct bi_error *err)
{
	struct bi_memory *memory = new_memory(context, kind == BI_MEMORY_HOST, behind);
	int rc = BI_OK;

	if (!memory)
		return bi__fail(err, BI_ENOMEM, "no memory for a memory object");
	memory->own = 1;
	memory->nbytes = memory->block.nbytes = nbytes;
	memory->block.memory = kind;
	memory->block.kind = memory->backend->handle;
	memory->block.origin = context->debug ? POISON_OFFSET : 0;
	if (nbytes)
		rc = allocate_block(memory, err);
	if (rc) {
		bi__memory_destroy(context, memory);
		bi_context_release(context);
		return rc;
	}
	memory->order.pending = memory->block.alloc_pending;
	atomic_init(&memory->idle, !memory->order.pending);
	*out = memory;
	return BI_OK;
}

/* Memory that the pool can accept later is allocated with the rounded size of its class. */
static int allocate_pooled(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind, struct bi_memory **out,
			   struct bi_error *err)
{
	size_t rounded = bi__pool_round(nbytes);
	int rc = BI_OK;

	if (rounded > context->pool.limit)
		return bi__memory_new(context, nbytes, kind, 0, out, err);
	*out = bi__pool_take(context, kind, rounded);
	if (*out) {
		atomic_store(&(*out)->refs, 1);
		(*out)->context = bi_context_retain(context);
	} else {
		rc = bi__memory_new(context, rounded, kind, 0, out, err);
	}
	if (rc)
		return rc;
	(*out)->nbytes = nbytes;
	return BI_OK;
}

/* Returns 1 if the driver refused a size that the device never has memory for, whatever is freed. */
static int is_above_limit(const struct bi_context *context, const struct bi_error *failure)
{
	return failure->vendor && failure->vendor == context->device.backend->above_limit;
}

/*
 * Frees the memory in the pool, and waits for retired memory. The caller has closed the pool (pool.emptying), so the
 * retired memory is freed and does not enter the pool.
 */
static void free_unused(struct bi_context *context, enum bi_memory_kind kind)
{
	bi__memory_reap(context, BI__REAP_ALL);
	bi__memory_trim_pool(context, 0);
	bi__memory_await_retired(&context->stream, 0);
	/*
	 * A free of device memory may be work on the context stream. Until that work is complete, the driver does not
	 * count the memory as free for managed memory.
	 */
	if (kind == BI_MEMORY_UNIFIED)
		bi__fence_await(&context->stream, BI__WAIT_PRESSURE, NULL);
}

static int allocate_or_trim(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind, struct bi_memory **out,
			    struct bi_error *err)
{
	struct bi_error failure;
	int rc = allocate_pooled(context, nbytes, kind, out, &failure);

	/* The next tries do without the rounding of the pool: the size may be the largest that there is memory for. */
	if (rc == BI_ENOMEM && is_above_limit(context, &failure))
		rc = bi__memory_new(context, nbytes, kind, 0, out, &failure);
	if (rc == BI_ENOMEM && !is_above_limit(context, &failure)) {
		/* Until the last try, what other threads release is freed, and not kept by the pool. */
		atomic_fetch_add(&context->pool.emptying, 1);
		free_unused(context, kind);
		rc = bi__memory_new(context, nbytes, kind, 0, out, &failure);
		atomic_fetch_sub(&context->pool.emptying, 1);
	}
	if (rc == BI_ENOMEM)
		return bi__fail_vendor(err, rc, failure.vendor,
				       "no memory for %zu bytes: %s; release other arrays, or make a smaller one",
				       nbytes, failure.message);
	return rc ? bi__fail_vendor(err, rc, failure.vendor, "%s", failure.message) : BI_OK;
}

int bi_memory_create(struct bi_context *context, size_t nbytes, enum bi_memory_kind kind, struct bi_memory **out,
		     struct bi_error *err)
{
	if (bi__check_out(out, context != NULL, "context is NULL", err))
		return BI_EINVAL;
	if ((unsigned)kind > BI_MEMORY_HOST)
		return bi__fail(err, BI_EINVAL, "memory kind %d is not in 0..%d", (int)kind, BI_MEMORY_HOST);
	if (nbytes > MOST_BYTES)
		return bi__fail(err, BI_ENOMEM, "%zu bytes do not fit into the address space", nbytes);
	if (nbytes)
		bi__memory_limit_retired(&context->stream);
	if (kind == BI_MEMORY_DEFAULT)
		kind = context->default_memory;
	if (kind != BI_MEMORY_HOST && bi__dispatch_alive(&context->device, err))
		return BI_EFORK;
	if (!bi__pool_serves(context, kind, nbytes))
		return bi__memory_new(context, nbytes, kind, 0, out, err);
	return allocate_or_trim(context, nbytes, kind, out, err);
}

int bi__memory_create_for(struct bi_context *context, const struct bi_layout *layout, enum bi_memory_kind kind,
			  struct bi_memory **out, struct bi_error *err)
{
	uint64_t nbytes = (uint64_t)bi_layout_nbytes(layout);

	if (nbytes > SIZE_MAX)
		return bi__fail(err, BI_ENOMEM, "%" PRIu64 " bytes do not fit into the address space", nbytes);
	return bi_memory_create(context, (size_t)nbytes, kind, out, err);
}

static int check_foreign(const struct bi_context *context, const struct bi_foreign *foreign, struct bi_error *err)
{
	if (foreign->flags & ~WRAP_FLAGS)
		return bi__fail(err, BI_EINVAL, "flags 0x%x has unknown bits, not in 0x%x", foreign->flags, WRAP_FLAGS);
	if ((foreign->kind < BI_HANDLE_HOST || foreign->kind > BI_HANDLE_CL_USM) &&
	    foreign->kind != context->device.backend->handle)
		return bi__fail(err, BI_EINVAL, "handle kind %d is not in %d..%d", (int)foreign->kind, BI_HANDLE_HOST,
				BI_HANDLE_CL_USM);
	if (foreign->kind != BI_HANDLE_HOST && context->device.backend == bi__registry_host())
		return bi__fail(err, BI_EINVAL, "handle kind %d cannot be reached from the host", (int)foreign->kind);
	if (!foreign->handle && (foreign->nbytes || foreign->kind != BI_HANDLE_HOST))
		return bi__fail(err, BI_EINVAL,
				"handle is 0, which only host memory of 0 bytes may have, and nbytes is %zu",
				foreign->nbytes);
	if (foreign->nbytes > UINTPTR_MAX - foreign->handle && !bi__registry_is_object(foreign->kind))
		return bi__fail(err, BI_EBOUNDS, "handle 0x%llx and nbytes %zu are beyond the address space",
				(unsigned long long)foreign->handle, foreign->nbytes);
	if (foreign->stream && !bi__same_space(foreign->stream->context, context))
		return bi__fail(err, BI_EINVAL, "stream belongs to another context than the memory");
	if (foreign->event_count && !foreign->events)
		return bi__fail(err, BI_EINVAL, "events is NULL but event_count is %zu", foreign->event_count);
	for (size_t i = 0; i < foreign->event_count; i++)
		if (!foreign->events[i] ||
		    (foreign->events[i]->fence.context && !bi__same_space(foreign->events[i]->fence.context, context)))
			return bi__fail(err, BI_EINVAL, "events[%zu] %s", i,
					foreign->events[i] ? "belongs to another context" : "is NULL");
	return BI_OK;
}

static int retain_first_use(struct bi__first_use *first_use, const struct bi_foreign *foreign, struct bi_error *err)
{
	if (!foreign->event_count)
		return BI_OK;
	first_use->events = malloc(foreign->event_count * sizeof(struct bi_event *));
	if (!first_use->events)
		return bi__fail(err, BI_ENOMEM, "no memory for %zu events", foreign->event_count);
	for (size_t i = 0; i < foreign->event_count; i++)
		first_use->events[i] = bi_event_retain(foreign->events[i]);
	first_use->count = foreign->event_count;
	return BI_OK;
}

/*
 * Makes the stream that the producer named the home stream. There are two exceptions. Host memory has no home stream:
 * its last-use event is recorded on the producer's stream. A per-thread stream cannot be a home stream, because it is
 * another stream on each thread: the context stream stays the home stream, and waits for the per-thread stream of the
 * calling thread.
 */
static int adopt_stream(struct bi_memory *memory, struct bi_stream *stream, struct bi_error *err)
{
	struct bi__scope scope;
	int rc;

	if (!memory->backend->synchronous && !stream->queue.per_thread) {
		memory->home = memory->producer = bi_stream_retain(stream);
		memory->order.pending = true;
		return BI_OK;
	}
	bi__order_lock(memory, NULL);
	bi__dispatch_begin(&scope, &stream->context->device);
	rc = bi__order_check_capture_locked(stream, memory, NULL, err);
	if (!rc)
		rc = bi__order_end_locked(memory, stream, err);
	bi__dispatch_end(&scope);
	bi__order_unlock(memory, NULL);
	return rc;
}

static int adopt_foreign(struct bi_memory *memory, const struct bi_foreign *foreign, struct bi_error *err)
{
	struct bi__device *device = &memory->context->device;
	int rc = bi__dispatch_adopt(memory->backend, device, foreign, &memory->block, err);

	if (rc || !foreign->stream || memory->flags & BI_WRAP_UNORDERED)
		return rc;
	return adopt_stream(memory, foreign->stream, err);
}

int bi_memory_wrap(struct bi_context *context, const struct bi_foreign *foreign, struct bi_memory **out,
		   struct bi_error *err)
{
	int rc = bi__check_out(out, 1, "", err);

	return rc ? rc : bi__memory_wrap(context, foreign, 0, out, err);
}

int bi__memory_wrap(struct bi_context *context, const struct bi_foreign *foreign, size_t behind, struct bi_memory **out,
		    struct bi_error *err)
{
	static const struct bi__sized foreign_size = { "foreign", sizeof(*foreign),
						       BI__SIZED_END(struct bi_foreign, flags) };
	struct bi_foreign known;
	struct bi__first_use first_use = { NULL, 0 };
	struct bi_memory *memory;
	int rc;

	if (!context || !foreign)
		return bi__fail(err, BI_EINVAL, "%s is NULL", context ? "foreign" : "context");
	foreign = bi__sized_read(&foreign_size, foreign, &known, err);
	if (!foreign)
		return BI_EINVAL;
	rc = check_foreign(context, foreign, err);
	if (rc)
		return rc;
	bi__memory_reap(context, BI__REAP_SOME); /* for callers that import and release arrays and do nothing else */
	memory = new_memory(context, foreign->kind == BI_HANDLE_HOST, behind);
	if (!memory)
		return bi__fail(err, BI_ENOMEM, "no memory for a memory object");
	memory->block.nbytes = foreign->nbytes;
	memory->flags = foreign->flags;
	/* The backend may take over a reference (BI_WRAP_STEAL), so allocations that can fail come first. */
	if (!(memory->flags & BI_WRAP_UNORDERED))
		rc = retain_first_use(&first_use, foreign, err);
	if (!rc)
		rc = adopt_foreign(memory, foreign, err);
	/* This follows adopt_foreign, because the work on the producer's stream is not the first use. */
	memory->order.first_use = first_use;
	if (foreign->stream || foreign->event_count)
		bi__order_note_idle(memory);
	if (rc) {
		bi_memory_release(memory);
		return rc;
	}
	memory->nbytes = memory->block.nbytes;
	bi__memory_set_release(memory, foreign->release, foreign->release_data);
	*out = memory;
	return BI_OK;
}

void bi__memory_mark_pending(struct bi_memory *memory)
{
	memory->order.pending = true;
	bi__order_note_idle(memory);
}

void bi__memory_set_release(struct bi_memory *memory, bi_release_fn release, void *data)
{
	memory->release.fn = release;
	memory->release.data = data;
}

struct bi_memory *bi_memory_retain(struct bi_memory *memory)
{
	atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
	return memory;
}

static void end_memory(struct bi_memory *memory)
{
	struct bi_context *context = memory->context;
	int is_over;

	/* Idle memory that is not own, and memory that a forked child cannot use, is destroyed immediately. */
	is_over = (!memory->own && memory->idle) ||
		  bi__dispatch_check_reach(memory->backend, &context->device, NULL) != BI_OK;
	memory->context = NULL;
	if (is_over)
		bi__memory_destroy(context, memory);
	else
		bi__memory_retire(context, memory);
	bi_context_release(context);
}

void bi_memory_release(struct bi_memory *memory)
{
	if (memory && bi__release_reference(&memory->refs))
		end_memory(memory);
}

/* Gathers the points, then marks and unlocks the memory. The home stream waits for all work before the mark is set. */
static int gather_and_mark_locked(struct bi_memory *memory, unsigned char *marks, struct bi_error *err)
{
	struct bi_error failure;
	struct bi__scope scope;
	int rc = BI_OK;

	if (memory->order.spread) {
		bi__dispatch_begin(&scope, &memory->context->device);
		rc = bi__points_gather_locked(memory, &failure);
		if (rc && rc != BI_ECAPTURE && !bi__points_finish(memory)) {
			bi__points_clear(memory);
			rc = BI_OK;
		}
		bi__dispatch_end(&scope);
	}
	if (rc && err)
		*err = failure;
	*marks = atomic_fetch_or(&memory->marks, BI__MARK_EXPORTED);
	bi__order_unlock(memory, NULL);
	return rc;
}

/*
 * Marks private memory under its lock. With `blocks` 0, returns BI_EBUSY if the lock is not free or the home stream
 * would have to wait. With `blocks` 1, and if another thread has the lock, idle memory is marked without the lock, and
 * `idle` is read again after that. The other thread may be in a step, which clears `idle` and then reads the mark. If
 * `idle` is still 1, that step sees the mark, and makes the home stream wait for its work. If `idle` is 0, this thread
 * waits for the lock.
 */
static int mark_private(struct bi_memory *memory, int blocks, unsigned char *marks, struct bi_error *err)
{
	if (bi__order_try_lock(memory)) {
		if (blocks || !memory->order.spread)
			return gather_and_mark_locked(memory, marks, err);
		bi__order_unlock(memory, NULL);
		return bi__fail(err, BI_EBUSY, "work on other streams is pending and has to be waited for");
	}
	if (!blocks)
		return bi__fail(err, BI_EBUSY, "another thread works on the memory");
	if (memory->idle) {
		*marks = atomic_fetch_or(&memory->marks, BI__MARK_EXPORTED);
		if (memory->idle)
			return BI_OK;
	}
	bi__order_lock(memory, NULL);
	return gather_and_mark_locked(memory, marks, err);
}

int bi__memory_mark_first_export(struct bi_memory *memory, int blocks, struct bi_error *err)
{
	int rc = BI_OK, is_private = memory->own && memory->home && !memory->backend->synchronous &&
				     !(memory->marks & BI__MARK_EXPORTED) &&
				     !bi__dispatch_check_reach(memory->backend, &memory->context->device, NULL);
	unsigned char marks;

	if (is_private)
		rc = mark_private(memory, blocks, &marks, err);
	else
		marks = atomic_fetch_or(&memory->marks, BI__MARK_EXPORTED);
	if (rc)
		return rc;
	/* An inline copy is short (bi__inline_limit). In a forked child, the thread that copied is missing. */
	while (marks & BI__MARK_INLINE && memory->context->device.fork_generation == bi__fork_generation) {
		if (!blocks)
			return bi__fail(err, BI_EBUSY, "another thread copies bytes of the memory; try again");
		sched_yield();
		marks = atomic_load_explicit(&memory->marks, memory_order_acquire);
	}
	return bi__order_check_mapped(memory, 0, err); /* also for a mapping that began after the mark */
}

size_t bi_memory_nbytes(const struct bi_memory *memory)
{
	return memory->nbytes;
}

struct bi_context *bi_memory_context(const struct bi_memory *memory)
{
	return memory->context;
}

int bi_memory_is_host(const struct bi_memory *memory)
{
	return memory->backend->cpu_addressable;
}
