#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/runtime/log.h"
#include "common/runtime/memory.h"
#include "common/runtime/pool.h"
#include "common/backend/registry.h"
#include "common/runtime/report.h"
#include "common/runtime/pinned_pieces.h"
#include "common/runtime/stream.h"

static int check_options(const struct bi_options *options, struct bi_error *err)
{
	if (options->struct_size != sizeof(*options))
		return bi__fail(err, BI_EINVAL, "options->struct_size is %zu, not %zu", options->struct_size,
				sizeof(*options));
	if (options->adopt_stream && !options->adopt_context)
		return bi__fail(err, BI_EINVAL, "options->adopt_stream is given without adopt_context");
	if (options->memory < BI_MEMORY_DEFAULT || options->memory > BI_MEMORY_HOST)
		return bi__fail(err, BI_EINVAL, "options->memory %d is not in 0..%d", options->memory, BI_MEMORY_HOST);
	if (options->log_level < 0 || options->log_level > BI_LOG_DEBUG)
		return bi__fail(err, BI_EINVAL, "options->log_level %d is not in 0..%d", options->log_level,
				BI_LOG_DEBUG);
	return BI_OK;
}

/* CAI's opt-out for a process. */
static int opted_out(void)
{
	const char *value = getenv("BI_CAI_SYNC");

	return value && strcmp(value, "0") == 0;
}

/* Everything but the device. */
static struct bi_context *new_context(const struct bi_options *options)
{
	struct bi_context *context = malloc(sizeof(*context));

	if (!context)
		return NULL;
	/*
	 * Not calloc, which passes over what the C library keeps for a thread. A compiler makes calloc of malloc and a
	 * memset of the whole.
	 */
	memset(&context->backend, 0, sizeof(*context) - offsetof(struct bi_context, backend));
	if (options->profile && !(context->report = bi__report_create())) {
		free(context);
		return NULL;
	}
	atomic_init(&context->refs, 1);
	bi__stream_init(&context->stream, context);
	bi__pool_init(&context->pool, options->pool_limit);
	context->retired_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	context->debug = options->debug;
	context->memory = options->memory ? (enum bi_memory_kind)options->memory : BI_MEMORY_DEVICE;
	context->log = options->log;
	context->log_data = options->log_data;
	context->log_level = options->log_level ? options->log_level : BI_LOG_WARNING;
	return context;
}

static inline void free_context(struct bi_context *context)
{
	bi__report_free(context->report, context);
	pthread_mutex_destroy(&context->retired_lock);
	bi__pool_finish(&context->pool);
	/* Notes are about devices of a list, and then the device was copied from there. */
	if (context->own_device) {
		free(context->notes);
		free(context->own_device);
	}
	free(context);
}

/* Adds a line to the notes; without memory the note is lost, not the context. */
static void add_note(struct bi_context *context, const char *spec, const char *reason)
{
	size_t used = context->notes ? strlen(context->notes) : 0;
	size_t more = strlen(spec) + strlen(reason) + 4;
	char *notes = realloc(context->notes, used + more);

	if (!notes)
		return;
	snprintf(notes + used, more, "%s: %s\n", spec, reason);
	context->notes = notes;
	bi__log(context, BI_LOG_INFO, "passed over %s: %s", spec, reason);
}

static inline int open_device(struct bi_context *context, const struct bi__backend *backend,
			      const struct bi_device *device, const struct bi_options *options, struct bi_error *err)
{
	int rc;

	context->device = device;
	context->backend = backend ? backend : bi__registry_find(device->backend);
	context->unordered = context->backend->handle == BI_HANDLE_CUDA && opted_out();
	rc = bi__dispatch_open(context, options, err);
	if (!rc && context->memory == BI_MEMORY_UNIFIED && !(context->device->capabilities & BI_CAP_SVM)) {
		bi__dispatch_close(context);
		rc = bi__fail(err, BI_EUNSUPPORTED, "device %s has no unified memory", context->device->spec);
	}
	if (rc) {
		/* The next candidate starts afresh. */
		context->state = (struct bi__device_state){ .native = 0 };
		context->stream.queue = (struct bi__queue){ .native = 0 };
		return rc;
	}
	if (bi__logs(context, BI_LOG_INFO))
		bi__log(context, BI_LOG_INFO, "opened %s: %s", context->device->spec, context->device->name);
	return BI_OK;
}

/* The first candidate that opens; "auto" goes on to the next, and notes why. */
static inline int open_first(struct bi_context *context, const struct bi__choice *choice,
			     const struct bi_options *options, struct bi_error *err)
{
	struct bi_error local;
	int rc = BI_ENODEVICE;

	*local.message = '\0';
	for (int i = 0; i < choice->count; i++) {
		const struct bi_device *device = &choice->devices[i];

		if (!device->usable)
			rc = bi__fail(&local, BI_ENODEVICE, "%s", device->reason);
		else if ((rc = open_device(context, choice->backend, device, options, &local)) == BI_OK)
			break;
		if (choice->is_auto)
			add_note(context, device->spec, local.message);
		else
			return bi__fail_vendor(err, local.status, local.vendor, "device %s: %.200s", device->spec,
					       local.message);
	}
	if (rc)
		return bi__fail(err, rc, "no device opens: %s", context->notes ? context->notes : local.message);
	for (int i = 0; i < choice->count && choice->is_auto; i++)
		if (!choice->devices[i].usable)
			add_note(context, choice->devices[i].spec, choice->devices[i].reason);
	return BI_OK;
}

/* For the description of a device that is nobody else's for as long as the context lives. */
static int make_room(struct bi_context *context, struct bi_error *err)
{
	context->own_device = malloc(sizeof(*context->own_device));
	return context->own_device ? BI_OK : bi__fail(err, BI_ENOMEM, "no memory for a context");
}

static void keep_device(struct bi_context *context)
{
	*context->own_device = *context->device;
	context->device = context->own_device;
}

static int open_listed(struct bi_context *context, struct bi__choice *choice, const struct bi_options *options,
		       struct bi_error *err)
{
	int rc = make_room(context, err);

	if (!rc)
		rc = open_first(context, choice, options, err);
	if (!rc)
		keep_device(context);
	bi__registry_forget(choice);
	return rc;
}

static int open_chosen(struct bi_context *context, const struct bi_options *options, struct bi_error *err)
{
	struct bi__choice choice;
	int rc = bi__registry_choose(options->device, &choice, err);

	if (rc)
		return rc;
	return choice.list ? open_listed(context, &choice, options, err) : open_first(context, &choice, options, err);
}

static int open_adopted(struct bi_context *context, const struct bi_options *options, struct bi_error *err)
{
	int rc = make_room(context, err);

	if (!rc)
		rc = bi__registry_adopted(options->device, context->own_device, err);
	return rc ? rc : open_device(context, NULL, context->own_device, options, err);
}

int bi_context_open(const struct bi_options *options, struct bi_context **out, struct bi_error *err)
{
	static const struct bi_options defaults = BI_OPTIONS_INIT;
	struct bi_context *context;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	options = options ? options : &defaults;
	rc = check_options(options, err);
	if (rc)
		return rc;
	context = new_context(options);
	if (!context)
		return bi__fail(err, BI_ENOMEM, "no memory for a context");
	rc = options->adopt_context ? open_adopted(context, options, err) : open_chosen(context, options, err);
	if (rc) {
		free_context(context);
		return rc;
	}
	context->release = options->release;
	context->release_data = options->release_data;
	*out = context;
	return BI_OK;
}

/* Nobody else has the context, so what there is of it can be seen without a lock. */
static void empty(struct bi_context *context)
{
	if (context->pool.oldest)
		bi__pool_trim(context, 0);
	bi__memory_reap(context, BI__REAP_WAIT);
	if (context->staged)
		bi__staging_trim(context);
	bi__memory_reap(context, BI__REAP_WAIT);
}

static void close_context(struct bi_context *context)
{
	bi_release_fn release = context->release;
	void *data = context->release_data;

	/* What is let go below takes references and gives them back; none of them is the last again. */
	atomic_store_explicit(&context->refs, 1, memory_order_relaxed);
	/* In a forked child their locks may be held by threads that are not there. */
	if (bi__dispatch_alive(context, NULL) == BI_OK)
		empty(context);
	bi__report_free(context->report, context);
	context->report = NULL;
	bi__dispatch_close(context);
	free_context(context);
	if (release)
		release(data);
}

/*
 * Beside the count, of which it is never a part. Who has the context from a thread that saw the bit sees it too, so
 * nothing is given back that was not counted.
 */
#define KEPT 0x80000000u

static int is_kept(const struct bi_context *context)
{
	return (atomic_load_explicit(&context->refs, memory_order_relaxed) & KEPT) != 0;
}

struct bi_context *bi_context_retain(struct bi_context *context)
{
	if (!is_kept(context))
		atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
	return context;
}

void bi_context_release(struct bi_context *context)
{
	if (context && !is_kept(context) && bi__drop_reference(&context->refs))
		close_context(context);
}

void bi_context_keep(struct bi_context *context)
{
	atomic_fetch_or_explicit(&context->refs, KEPT, memory_order_relaxed);
}

const struct bi_device *bi_context_device(const struct bi_context *context)
{
	return context->device;
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
	return context->state.native;
}

int bi_context_enter(struct bi_context *context, int *entered, struct bi_error *err)
{
	if (!context || !entered)
		return bi__fail(err, BI_EINVAL, "%s is NULL", context ? "entered" : "context");
	*entered = 0;
	return bi__dispatch_enter(context, entered, err);
}

void bi_context_leave(struct bi_context *context, int entered)
{
	if (context && entered)
		bi__dispatch_leave(context);
}

int bi_context_trim(struct bi_context *context, size_t keep, struct bi_error *err)
{
	if (!context)
		return bi__fail(err, BI_EINVAL, "context is NULL");
	if (bi__dispatch_alive(context, err))
		return BI_EFORK;
	bi__memory_reap(context, BI__REAP_ALL);
	bi__pool_trim(context, keep);
	/* The host keeps no pieces, and nobody waits for the lock of its pool (pool.c), which is that of pieces too. */
	if (keep == 0 && !context->backend->synchronous)
		bi__staging_trim(context);
	if (keep == 0)
		bi__dispatch_drop_caches(context);
	return BI_OK;
}
