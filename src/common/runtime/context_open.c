#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/backend/device_string.h"
#include "common/backend/dispatch.h"
#include "common/backend/registry.h"
#include "common/base/sized.h"
#include "common/runtime/context.h"
#include "common/runtime/log.h"

static int check_options(const struct bi_options *options, struct bi_error *err)
{
	if (options->adopt_stream && !options->adopt_context)
		return bi__fail(err, BI_EINVAL, "options->adopt_stream is given without adopt_context");
	if (options->memory < BI_MEMORY_DEFAULT || options->memory > BI_MEMORY_HOST)
		return bi__fail(err, BI_EINVAL, "options->memory %d is not in 0..%d", options->memory, BI_MEMORY_HOST);
	if (options->log_level < 0 || options->log_level > BI_LOG_DEBUG)
		return bi__fail(err, BI_EINVAL, "options->log_level %d is not in 0..%d", options->log_level,
				BI_LOG_DEBUG);
	return BI_OK;
}

/* Adds a line to the notes. If there is no memory, the note is dropped. */
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

static int open_device(struct bi_context *context, const struct bi_device *device, const struct bi_options *options,
		       struct bi_error *err)
{
	struct bi__device *opened = &context->device;
	int rc;

	context->own_info = *device;
	opened->info = &context->own_info;
	opened->backend = bi__registry_find(device->backend, strlen(device->backend));
	rc = bi__dispatch_open(opened, options, &context->own_info, &context->stream.queue, err);
	if (!rc && context->default_memory == BI_MEMORY_UNIFIED && !(opened->info->capabilities & BI_CAP_SVM)) {
		bi__dispatch_close(opened, &context->stream.queue);
		rc = bi__fail(err, BI_EUNSUPPORTED, "device %s has no unified memory", opened->info->spec);
	}
	if (rc) {
		/* Resets the context for the next candidate. */
		opened->state = (struct bi__device_state){ .native = 0 };
		context->stream.queue = (struct bi__queue){ .native = 0 };
		return rc;
	}
	bi__log(context, BI_LOG_INFO, "opened %s: %s", opened->info->spec, opened->info->name);
	return BI_OK;
}

/*
 * Opens the first candidate that can be opened. With "auto", adds a note for each device that did not open. Without
 * "auto", the first failure is the error.
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
		return bi__fail(err, rc, "no device opens: %s", context->notes ? context->notes : local.message);
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
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	options = bi__sized_read(&options_size, options ? options : &defaults, &known, err);
	if (!options)
		return BI_EINVAL;
	rc = check_options(options, err);
	if (rc)
		return rc;
	context = bi__context_new(options);
	if (!context)
		return bi__fail(err, BI_ENOMEM, "no memory for a context");
	rc = options->adopt_context ? open_adopted(context, options, err) : open_chosen(context, options, err);
	if (rc)
		bi__context_free(context);
	else
		*out = context;
	return rc;
}
