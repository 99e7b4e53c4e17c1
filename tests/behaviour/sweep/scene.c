#include "scene.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scene_begin(struct scene *scene, struct bi_error *err)
{
	memset(scene, 0, sizeof(*scene));
	memset(err, 0, sizeof(*err));
	scene->err = err;
}

int scene_note(struct scene *scene, int rc)
{
	scene->rc = rc;
	return rc != BI_OK;
}

void scene_wrong(struct scene *scene, const char *format, ...)
{
	va_list arguments;

	if (*scene->wrong)
		return;
	va_start(arguments, format);
	vsnprintf(scene->wrong, sizeof(scene->wrong), format, arguments);
	va_end(arguments);
}

void scene_keep(struct scene_objects *objects, scene_let_go_fn let_go, uintptr_t object, uintptr_t context)
{
	if (objects->count == SCENE_OBJECTS) {
		fprintf(stderr, "cuda_sweep: a scenario keeps more than %d objects\n", SCENE_OBJECTS);
		exit(EXIT_FAILURE);
	}
	objects->list[objects->count++] = (struct scene_object){ let_go, object, context };
}

void scene_forget(struct scene_objects *objects, uintptr_t object)
{
	for (size_t i = objects->count; i-- > 0;)
		if (objects->list[i].object == object) {
			objects->list[i].let_go = NULL;
			return;
		}
}

static void let_go_all(struct scene_objects *objects)
{
	while (objects->count) {
		const struct scene_object *last = &objects->list[--objects->count];

		if (last->let_go)
			last->let_go(last->object, last->context);
	}
}

int scene_end(struct scene *scene)
{
	scene_settle(scene);
	let_go_all(&scene->library);
	if (scene->released != scene->taken)
		scene_wrong(scene, "%u of %u release callbacks were called", scene->released, scene->taken);
	let_go_all(&scene->driver);
	while (scene->array_count)
		free(scene->arrays[--scene->array_count].mirror);
	return scene->rc;
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

struct bi_context *scene_open_with(struct scene *scene, const struct bi_options *options)
{
	struct bi_context *context = NULL;

	if (TRY(scene, bi_context_open(options, &context, scene->err)))
		return NULL;
	scene_keep(&scene->library, close_context, (uintptr_t)context, 0);
	if (!scene->context)
		scene->context = context;
	return context;
}

struct bi_context *scene_open(struct scene *scene, const char *device)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = device;
	return scene_open_with(scene, &options);
}

void scene_close(struct scene *scene, struct bi_context *context)
{
	if (!context)
		return;
	scene_forget(&scene->library, (uintptr_t)context);
	bi_context_release(context);
}

static struct bi_stream *keep_stream(struct scene *scene, struct bi_stream *stream)
{
	if (stream)
		scene_keep(&scene->library, close_stream, (uintptr_t)stream, 0);
	return stream;
}

struct bi_stream *scene_stream(struct scene *scene, struct bi_context *context)
{
	struct bi_stream *stream = NULL;

	TRY(scene, bi_stream_create(context, BI_STREAM_IN_ORDER, &stream, scene->err));
	return keep_stream(scene, stream);
}

struct bi_stream *scene_wrap_stream(struct scene *scene, struct bi_context *context, uintptr_t handle)
{
	struct bi_stream *stream = NULL;

	TRY(scene, bi_stream_wrap(context, handle, NULL, NULL, &stream, scene->err));
	return keep_stream(scene, stream);
}

struct bi_view *scene_keep_view(struct scene *scene, struct bi_view *view)
{
	if (view)
		scene_keep(&scene->library, close_view, (uintptr_t)view, 0);
	return view;
}

void scene_release_view(struct scene *scene, struct bi_view *view)
{
	if (!view)
		return;
	scene_forget(&scene->library, (uintptr_t)view);
	bi_view_release(view);
}
