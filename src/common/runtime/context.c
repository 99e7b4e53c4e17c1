#include "common/runtime/context.h"

#include <stdlib.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/base/environment.h"
#include "common/runtime/pinned_pieces.h"
#include "common/runtime/pool.h"
#include "common/runtime/report.h"
#include "common/runtime/retire.h"
#include "common/runtime/stream.h"

/* Retired memory is bounded by the limit of the pool, but a pool may be small or absent. */
#define LEAST_RETIRED_LIMIT ((size_t)64 << 20)

static void init_retired(struct bi__retired *retired, size_t pool_limit)
{
	retired->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	retired->oldest = retired->newest = NULL;
	atomic_init(&retired->count, 0);
	atomic_init(&retired->bytes, 0);
	retired->limit = pool_limit > LEAST_RETIRED_LIMIT ? pool_limit : LEAST_RETIRED_LIMIT;
}

/* Returns 1 if the process opted out of the synchronisation of the CUDA Array Interface. */
static int is_cai_unordered(void)
{
	const char *value = bi__environment("BI_CAI_SYNC");

	return value && strcmp(value, "0") == 0;
}

static void init_settings(struct bi_context *context, const struct bi_options *options)
{
	context->debug = options->debug;
	context->cai_unordered = is_cai_unordered();
	context->default_memory = options->memory ? (enum bi_memory_kind)options->memory : BI_MEMORY_DEVICE;
	context->log.fn = options->log;
	context->log.data = options->log_data;
	context->log.level = !options->log ? 0 : options->log_level ? options->log_level : BI_LOG_WARNING;
	context->release.fn = options->release;
	context->release.data = options->release_data;
}

static void init_context(struct bi_context *context, const struct bi_options *options)
{
	atomic_init(&context->refs, 1);
	context->device = (struct bi__device){ .backend = NULL };
	bi__stream_init(&context->stream, context);
	atomic_init(&context->stream_ids, 0);
	init_settings(context, options);
	context->notes = NULL;
	bi__pool_init(&context->pool, options->pool_limit);
	context->pieces.first = NULL;
	context->pieces.count = 0;
	init_retired(&context->retired, context->pool.limit);
	atomic_init(&context->host_uses, 0);
	for (int i = 0; i < BI__WAIT_COUNT; i++)
		atomic_init(&context->waits[i], 0);
	context->report = NULL;
}

void bi__context_free(struct bi_context *context)
{
	bi__report_free(context->report, &context->device);
	pthread_mutex_destroy(&context->retired.lock);
	bi__pool_finish(&context->pool);
	free(context->notes);
	free(context);
}

struct bi_context *bi__context_new(const struct bi_options *options)
{
	struct bi_context *context = malloc(sizeof(*context));

	if (!context)
		return NULL;
	init_context(context, options);
	if (options->profile && !(context->report = bi__report_create())) {
		bi__context_free(context);
		return NULL;
	}
	return context;
}

/* Frees all memory that the context owns. No other thread uses the context, so no lock is needed to read members. */
static void free_owned_memory(struct bi_context *context)
{
	if (context->pool.oldest)
		bi__memory_trim_pool(context, 0);
	bi__memory_reap(context, BI__REAP_WAIT);
	if (context->pieces.first)
		bi__pinned_pieces_trim(context);
	bi__memory_reap(context, BI__REAP_WAIT);
}

static void close_context(struct bi_context *context)
{
	bi_release_fn release = context->release.fn;
	void *data = context->release.data;

	/* Freeing memory retains and releases the context. This reference prevents that the context closes again. */
	atomic_store_explicit(&context->refs, 1, memory_order_relaxed);
	/* In a forked child the locks may be held by threads that do not exist there. */
	if (bi__dispatch_alive(&context->device, NULL) == BI_OK)
		free_owned_memory(context);
	bi__report_free(context->report, &context->device);
	context->report = NULL;
	bi__dispatch_close(&context->device, &context->stream.queue);
	bi__context_free(context);
	if (release)
		release(data);
}

struct bi_context *bi_context_retain(struct bi_context *context)
{
	atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
	return context;
}

void bi_context_release(struct bi_context *context)
{
	if (context && bi__release_reference(&context->refs))
		close_context(context);
}

const struct bi_device *bi_context_device(const struct bi_context *context)
{
	return context->device.info;
}

const char *bi_context_notes(const struct bi_context *context)
{
	return context->notes ? context->notes : "";
}

struct bi_stream *bi_context_stream(const struct bi_context *context)
{
	return (struct bi_stream *)(uintptr_t)&context->stream;
}

uintptr_t bi_context_handle(const struct bi_context *context)
{
	return context->device.state.native;
}

int bi_context_push_current(struct bi_context *context, int *pushed, struct bi_error *err)
{
	if (!context || !pushed)
		return bi__fail(err, BI_EINVAL, "%s is NULL", context ? "pushed" : "context");
	*pushed = 0;
	return bi__dispatch_enter(&context->device, pushed, err);
}

void bi_context_pop_current(struct bi_context *context, int pushed)
{
	if (context && pushed)
		bi__dispatch_leave(&context->device);
}

int bi_context_trim(struct bi_context *context, size_t keep, struct bi_error *err)
{
	if (!context)
		return bi__fail(err, BI_EINVAL, "context is NULL");
	if (bi__dispatch_alive(&context->device, err))
		return BI_EFORK;
	bi__memory_reap(context, BI__REAP_ALL);
	bi__memory_trim_pool(context, keep);
	/*
	 * Host contexts have no pieces. bi__pinned_pieces_trim must not lock the pool of a host context, because in a
	 * forked child the lock may be held for ever (pool.c).
	 */
	if (keep == 0 && !context->device.backend->synchronous)
		bi__pinned_pieces_trim(context);
	if (keep == 0)
		bi__dispatch_drop_caches(&context->device);
	return BI_OK;
}
