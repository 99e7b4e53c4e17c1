#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/runtime/log.h"
#include "common/runtime/retire.h"
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

static void init_retired(struct bi__retired *retired)
{
	retired->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	retired->oldest = retired->newest = NULL;
	atomic_init(&retired->count, 0);
}

static void init_settings(struct bi_context *context, const struct bi_options *options)
{
	context->debug = options->debug;
	context->cai_unordered = opted_out();
	context->default_memory = options->memory ? (enum bi_memory_kind)options->memory : BI_MEMORY_DEVICE;
	context->log.fn = options->log;
	context->log.data = options->log_data;
	context->log.level = options->log_level ? options->log_level : BI_LOG_WARNING;
	context->release.fn = options->release;
	context->release.data = options->release_data;
}

static void init_context(struct bi_context *context, const struct bi_options *options)
{
	atomic_init(&context->refs, 1);
	context->device = (struct bi__device){ .backend = NULL };
	context->own_info = NULL;
	bi__stream_init(&context->stream, context);
	atomic_init(&context->stream_ids, 0);
	init_settings(context, options);
	context->notes = NULL;
	bi__pool_init(&context->pool, options->pool_limit);
	context->pieces.first = NULL;
	context->pieces.count = 0;
	init_retired(&context->retired);
	for (int i = 0; i < BI__WAIT_COUNT; i++)
		atomic_init(&context->waits[i], 0);
	context->report = NULL;
}

static void free_context(struct bi_context *context)
{
	bi__report_free(context->report, context);
	pthread_mutex_destroy(&context->retired.lock);
	bi__pool_finish(&context->pool);
	free(context->notes);
	free(context->own_info);
	free(context);
}

/* A context without a device. */
static struct bi_context *new_context(const struct bi_options *options)
{
	struct bi_context *context = malloc(sizeof(*context));

	if (!context)
		return NULL;
	init_context(context, options);
	if (options->profile && !(context->report = bi__report_create())) {
		free_context(context);
		return NULL;
	}
	return context;
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

	context->device.info = device;
	context->device.backend = backend ? backend : bi__registry_find(device->backend);
	rc = bi__dispatch_open(context, options, err);
	if (!rc && context->default_memory == BI_MEMORY_UNIFIED && !(context->device.info->capabilities & BI_CAP_SVM)) {
		bi__dispatch_close(context);
		rc = bi__fail(err, BI_EUNSUPPORTED, "device %s has no unified memory", context->device.info->spec);
	}
	if (rc) {
		/* The next candidate starts afresh. */
		context->device.state = (struct bi__device_state){ .native = 0 };
		context->stream.queue = (struct bi__queue){ .native = 0 };
		return rc;
	}
	if (bi__logs(context, BI_LOG_INFO))
		bi__log(context, BI_LOG_INFO, "opened %s: %s", context->device.info->spec, context->device.info->name);
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
	context->own_info = malloc(sizeof(*context->own_info));
	return context->own_info ? BI_OK : bi__fail(err, BI_ENOMEM, "no memory for a context");
}

static void keep_device(struct bi_context *context)
{
	*context->own_info = *context->device.info;
	context->device.info = context->own_info;
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
		rc = bi__registry_adopted(options->device, context->own_info, err);
	return rc ? rc : open_device(context, NULL, context->own_info, options, err);
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
	*out = context;
	return BI_OK;
}

/* Nobody else has the context, so what there is of it can be seen without a lock. */
static void empty(struct bi_context *context)
{
	if (context->pool.oldest)
		bi__memory_trim_pool(context, 0);
	bi__memory_reap(context, BI__REAP_WAIT);
	if (context->pieces.first)
		bi__staging_trim(context);
	bi__memory_reap(context, BI__REAP_WAIT);
}

static void close_context(struct bi_context *context)
{
	bi_release_fn release = context->release.fn;
	void *data = context->release.data;

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

static int is_immortal(const struct bi_context *context)
{
	return (atomic_load_explicit(&context->refs, memory_order_relaxed) & BI__IMMORTAL) != 0;
}

struct bi_context *bi_context_retain(struct bi_context *context)
{
	if (!is_immortal(context))
		atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
	return context;
}

void bi_context_release(struct bi_context *context)
{
	if (context && !is_immortal(context) && bi__drop_reference(&context->refs))
		close_context(context);
}

void bi_context_keep(struct bi_context *context)
{
	atomic_fetch_or_explicit(&context->refs, BI__IMMORTAL, memory_order_relaxed);
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
	return bi__dispatch_enter(context, pushed, err);
}

void bi_context_pop_current(struct bi_context *context, int pushed)
{
	if (context && pushed)
		bi__dispatch_leave(context);
}

int bi_context_trim(struct bi_context *context, size_t keep, struct bi_error *err)
{
	if (!context)
		return bi__fail(err, BI_EINVAL, "context is NULL");
	if (bi__dispatch_alive(context, err))
		return BI_EFORK;
	bi__memory_reap(context, BI__REAP_ALL);
	bi__memory_trim_pool(context, keep);
	/* The host keeps no pieces, and nobody waits for the lock of its pool (pool.c), which is that of pieces too. */
	if (keep == 0 && !context->device.backend->synchronous)
		bi__staging_trim(context);
	if (keep == 0)
		bi__dispatch_drop_caches(context);
	return BI_OK;
}
