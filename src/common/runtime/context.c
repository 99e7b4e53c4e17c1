/* Contexts: a context is made without a device, opened, and closed by its last release. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device_string.h"
#include "common/backend/dispatch.h"
#include "common/backend/registry.h"
#include "common/base/environment.h"
#include "common/base/sized.h"
#include "common/runtime/log.h"
#include "common/runtime/pinned_pieces.h"
#include "common/runtime/pool.h"
#include "common/runtime/report.h"
#include "common/runtime/retire.h"
#include "common/runtime/stream.h"

/* The limit of retired memory is the limit of the pool, but at least this: the limit of the pool may be small or 0. */
#define LEAST_RETIRED_LIMIT ((size_t)64 << 20)

static void init_settings(struct bi_context *context, const struct bi_options *options)
{
	const char *cai_sync = bi__environment("BI_CAI_SYNC");

	context->debug = options->debug;
	context->cai_unordered = cai_sync && strcmp(cai_sync, "0") == 0;
	context->default_memory = options->memory ? (enum bi_memory_kind)options->memory : BI_MEMORY_DEVICE;
	context->log.fn = options->log;
	context->log.data = options->log_data;
	context->log.level = !options->log ? 0 : options->log_level ? options->log_level : BI_LOG_WARNING;
	context->release.fn = options->release;
	context->release.data = options->release_data;
	context->around_close = options->around_close;
}

/* Frees a context that has no open device and owns no memory. */
static void free_context(struct bi_context *context)
{
	bi__report_free(context->report, &context->device);
	pthread_mutex_destroy(&context->retired.lock);
	bi__pool_finish(&context->pool);
	free(context->notes);
	free(context);
}

static struct bi_context *new_context(const struct bi_options *options)
{
	struct bi_context *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	atomic_init(&context->refs, 1);
	bi__stream_init(&context->stream, context);
	init_settings(context, options);
	bi__pool_init(&context->pool, options->pool_limit);
	context->retired.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	context->retired.limit = context->pool.limit > LEAST_RETIRED_LIMIT ? context->pool.limit : LEAST_RETIRED_LIMIT;
	if (options->profile && !(context->report = bi__report_create())) {
		free_context(context);
		return NULL;
	}
	return context;
}

static int check_options(const struct bi_options *options, struct bi_error *err)
{
	if (options->adopt_stream && !options->adopt_context)
		return bi__fail(err, BI_EINVAL,
				"options->adopt_context is 0, but adopt_stream is 0x%llx; set "
				"adopt_context to the context of the stream",
				(unsigned long long)options->adopt_stream);
	if (options->memory < BI_MEMORY_DEFAULT || options->memory > BI_MEMORY_HOST)
		return bi__fail(err, BI_EINVAL, "options->memory %d is not in 0..%d", options->memory, BI_MEMORY_HOST);
	if (options->log_level < 0 || options->log_level > BI_LOG_DEBUG)
		return bi__fail(err, BI_EINVAL, "options->log_level %d is not in 0..%d", options->log_level,
				BI_LOG_DEBUG);
	return BI_OK;
}

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

/* Joins the notes to one line for a message, in place. */
static const char *join_notes(struct bi_context *context)
{
	for (char *c = context->notes; (c = strchr(c, '\n'));)
		*c = c[1] ? ';' : '\0';
	return context->notes;
}

static int open_device(struct bi_context *context, const struct bi_device *device, const struct bi_options *options,
		       struct bi_error *err)
{
	struct bi__device *opened = &context->device;
	int rc;

	context->own_info = *device;
	opened->info = &context->own_info;
	opened->backend = bi__registry_find(device->backend, strlen(device->backend));
	rc = bi__dispatch_open(opened, options, &context->own_info, &context->stream.queue, err);
	if (options->adopt_stream)
		bi__stream_share(&context->stream);
	if (!rc && context->default_memory == BI_MEMORY_UNIFIED && !(opened->info->capabilities & BI_CAP_SVM)) {
		bi__dispatch_close(opened, &context->stream.queue);
		rc = bi__fail(err, BI_EUNSUPPORTED, "device %s has no unified memory: use BI_MEMORY_DEVICE",
			      opened->info->spec);
	}
	if (rc) {
		/* The next candidate is opened in the same context. */
		opened->state = (struct bi__device_state){ .native = 0 };
		context->stream.queue = (struct bi__queue){ .native = 0 };
		return rc;
	}
	bi__log(context, BI_LOG_INFO, "opened %s: %s", opened->info->spec, opened->info->name);
	return BI_OK;
}

/*
 * Opens the first candidate that can be opened. With "auto" and "gpu", adds a note for each candidate that did not open
 * or cannot be used. With other strings, the first failure is the error.
 */
static int open_first_candidate(struct bi_context *context, const struct bi__choice *choice,
				const struct bi_options *options, struct bi_error *err)
{
	struct bi_error local;
	int rc = BI_ENODEVICE;

	*local.message = '\0';
	for (int i = 0; i < choice->count; i++) {
		const struct bi_device *device = &choice->devices[i];

		if (!device->usable)
			rc = bi__fail(&local, BI_ENODEVICE, "%s", device->reason);
		else if ((rc = open_device(context, device, options, &local)) == BI_OK)
			break;
		if (choice->is_auto)
			add_note(context, device->spec, local.message);
		else
			return bi__fail_vendor(err, local.status, local.vendor, "device %s: %.200s", device->spec,
					       local.message);
	}
	if (rc)
		return bi__fail(err, rc, "no device opens: %s", context->notes ? join_notes(context) : local.message);
	for (int i = 0; i < choice->count && choice->is_auto; i++)
		if (!choice->devices[i].usable)
			add_note(context, choice->devices[i].spec, choice->devices[i].reason);
	return BI_OK;
}

static int open_chosen(struct bi_context *context, const struct bi_options *options, struct bi_error *err)
{
	struct bi__choice choice;
	int rc = bi__device_string_choose(options->device, &choice, err);

	if (rc)
		return rc;
	rc = open_first_candidate(context, &choice, options, err);
	bi__choice_free(&choice);
	return rc;
}

static int open_adopted(struct bi_context *context, const struct bi_options *options, struct bi_error *err)
{
	struct bi_device device;
	int rc = bi__device_string_adopted(options->device, &device, err);

	return rc ? rc : open_device(context, &device, options, err);
}

int bi_context_open(const struct bi_options *options, struct bi_context **out, struct bi_error *err)
{
	static const struct bi_options defaults = BI_OPTIONS_INIT;
	static const struct bi__sized options_size = { "options", sizeof(defaults),
						       BI__SIZED_END(struct bi_options, device) };
	struct bi_options known;
	struct bi_context *context;
	int rc = bi__check_out(out, 1, "", err);

	if (rc)
		return rc;
	options = bi__sized_read(&options_size, options ? options : &defaults, &known, err);
	if (!options)
		return BI_EINVAL;
	rc = check_options(options, err);
	if (rc)
		return rc;
	bi__fork_watch();
	context = new_context(options);
	if (!context)
		return bi__fail(err, BI_ENOMEM, "no memory for a context");
	rc = options->adopt_context ? open_adopted(context, options, err) : open_chosen(context, options, err);
	if (rc)
		free_context(context);
	else
		*out = context;
	return rc;
}

/* The open contexts of bi_context_shared. A forked child does not use the list: its lock may be held for ever. */
static struct {
	pthread_mutex_t lock;
	struct bi_context *first;
} shared = { PTHREAD_MUTEX_INITIALIZER, NULL };

/* Returns the shared context of the device with a new reference, or NULL. A context without references is closing. */
static struct bi_context *retain_shared_locked(const char *spec)
{
	for (struct bi_context *context = shared.first; context; context = context->next_shared) {
		unsigned refs = atomic_load(&context->refs);

		while (refs && !strcmp(context->device.info->spec, spec))
			if (atomic_compare_exchange_weak(&context->refs, &refs, refs + 1))
				return context;
	}
	return NULL;
}

static void forget_shared(struct bi_context *context)
{
	struct bi_context **at = &shared.first;

	pthread_mutex_lock(&shared.lock);
	while (*at != context)
		at = &(*at)->next_shared;
	*at = context->next_shared;
	pthread_mutex_unlock(&shared.lock);
}

int bi_context_shared(const char *device, struct bi_context **out, struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *present;
	int rc;

	options.device = device;
	/* A device string such as "auto" does not name the device. The opened context does. */
	rc = bi_context_open(&options, out, err);
	if (rc || bi__fork_generation)
		return rc;
	pthread_mutex_lock(&shared.lock);
	present = retain_shared_locked((*out)->device.info->spec);
	if (!present) {
		(*out)->is_shared = 1;
		(*out)->next_shared = shared.first;
		shared.first = *out;
	}
	pthread_mutex_unlock(&shared.lock);
	if (present) {
		bi_context_release(*out);
		*out = present;
	}
	return BI_OK;
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

	if (context->is_shared && !bi__fork_generation)
		forget_shared(context);
	/* Freeing memory retains and releases the context. This reference prevents a second close. */
	atomic_store_explicit(&context->refs, 1, memory_order_relaxed);
	/* A forked child calls no driver, and threads of the parent may hold the locks of the context for ever. */
	if (bi__dispatch_is_alive(&context->device))
		free_owned_memory(context);
	bi__report_free(context->report, &context->device);
	context->report = NULL;
	bi__dispatch_close(&context->device, &context->stream.queue);
	free_context(context);
	if (release)
		release(data);
}

struct bi_context *bi_context_retain(struct bi_context *context)
{
	atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
	return context;
}

/* Shared contexts need the atomic operation: another thread may take a reference from the list when the count is 1. */
static int release_reference(struct bi_context *context)
{
	if (!context->is_shared)
		return bi__release_reference(&context->refs);
	return atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) == 1;
}

/* Pauses the scopes in which the last release may be made, because the close calls functions of the caller. */
void bi_context_release(struct bi_context *context)
{
	struct bi__scope *scope;

	if (!context || !release_reference(context))
		return;
	scope = bi__dispatch_pause();
	if (context->around_close)
		context->around_close(close_context, context);
	else
		close_context(context);
	bi__dispatch_resume(scope);
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

uintptr_t bi_context_device_handle(const struct bi_context *context)
{
	return context->device.state.device;
}

bi_function *bi_context_symbol(const struct bi_context *context, const char *name)
{
	return bi__dispatch_symbol(&context->device, name);
}

int bi_context_push_current(struct bi_context *context, int *pushed, struct bi_error *err)
{
	if (pushed)
		*pushed = 0;
	if (!context || !pushed)
		return bi__fail(err, BI_EINVAL, "%s is NULL", context ? "pushed" : "context");
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
