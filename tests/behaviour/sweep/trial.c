#include "trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void trial_begin(struct trial *trial, struct bi_error *err)
{
	memset(trial, 0, sizeof(*trial));
	memset(err, 0, sizeof(*err));
	trial->err = err;
}

int trial_note(struct trial *trial, int rc)
{
	trial->rc = rc;
	return rc != BI_OK;
}

void trial_wrong(struct trial *trial, const char *format, ...)
{
	va_list arguments;

	if (*trial->wrong)
		return;
	va_start(arguments, format);
	vsnprintf(trial->wrong, sizeof(trial->wrong), format, arguments);
	va_end(arguments);
}

void trial_keep(struct trial_objects *objects, trial_release_fn release, uintptr_t object, uintptr_t context)
{
	if (objects->count == TRIAL_OBJECTS) {
		fprintf(stderr, "sweep: a scenario keeps more than %d objects\n", TRIAL_OBJECTS);
		exit(EXIT_FAILURE);
	}
	objects->list[objects->count++] = (struct trial_object){ release, object, context };
}

void trial_forget(struct trial_objects *objects, uintptr_t object)
{
	for (size_t i = objects->count; i-- > 0;)
		if (objects->list[i].object == object) {
			objects->list[i].release = NULL;
			return;
		}
}

static void release_all(struct trial_objects *objects)
{
	while (objects->count) {
		const struct trial_object *last = &objects->list[--objects->count];

		if (last->release)
			last->release(last->object, last->context);
	}
}

int trial_end(struct trial *trial)
{
	trial_settle(trial);
	release_all(&trial->library);
	if (!trial->rc && trial->err->status)
		trial_wrong(trial, "a call wrote an error although it succeeded: %s", trial->err->message);
	if (trial->released != trial->taken)
		trial_wrong(trial, "%u of %u release callbacks were called", trial->released, trial->taken);
	release_all(&trial->driver);
	while (trial->array_count)
		free(trial->arrays[--trial->array_count].expected);
	return trial->rc;
}

static void close_context(uintptr_t context, uintptr_t unused)
{
	(void)unused;
	bi_context_release((struct bi_context *)context);
}

static void close_stream(uintptr_t stream, uintptr_t unused)
{
	(void)unused;
	bi_stream_release((struct bi_stream *)stream);
}

static void close_view(uintptr_t view, uintptr_t unused)
{
	(void)unused;
	bi_view_release((struct bi_view *)view);
}

struct bi_context *trial_open_with(struct trial *trial, const struct bi_options *options)
{
	struct bi_context *context = NULL;

	if (TRY(trial, bi_context_open(options, &context, trial->err)))
		return NULL;
	trial_keep(&trial->library, close_context, (uintptr_t)context, 0);
	if (!trial->context)
		trial->context = context;
	return context;
}

struct bi_context *trial_open(struct trial *trial, const char *device)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = device;
	return trial_open_with(trial, &options);
}

void trial_close(struct trial *trial, struct bi_context *context)
{
	if (!context)
		return;
	trial_forget(&trial->library, (uintptr_t)context);
	bi_context_release(context);
}

static struct bi_stream *keep_stream(struct trial *trial, struct bi_stream *stream)
{
	if (stream)
		trial_keep(&trial->library, close_stream, (uintptr_t)stream, 0);
	return stream;
}

struct bi_stream *trial_stream(struct trial *trial, struct bi_context *context)
{
	struct bi_stream *stream = NULL;

	TRY(trial, bi_stream_create(context, BI_STREAM_IN_ORDER, &stream, trial->err));
	return keep_stream(trial, stream);
}

struct bi_stream *trial_wrap_stream(struct trial *trial, struct bi_context *context, uintptr_t handle)
{
	struct bi_stream *stream = NULL;

	TRY(trial, bi_stream_wrap(context, handle, NULL, NULL, &stream, trial->err));
	return keep_stream(trial, stream);
}

struct bi_view *trial_keep_view(struct trial *trial, struct bi_view *view)
{
	if (view)
		trial_keep(&trial->library, close_view, (uintptr_t)view, 0);
	return view;
}

void trial_release_view(struct trial *trial, struct bi_view *view)
{
	if (!view)
		return;
	trial_forget(&trial->library, (uintptr_t)view);
	bi_view_release(view);
}
