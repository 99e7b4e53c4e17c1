/* Contexts, and memory from its allocation to its end. */
#include <stdlib.h>
#include <string.h>

#include "raw.h"
#include "scenarios.h"

#define SIZE ((size_t)4096)

void open_and_close(struct scene *scene)
{
	scene_open(scene, "cuda:0");
}

/* Never fails for a driver's sake; what cannot be used is listed with the reason. */
void list_devices(struct scene *scene)
{
	struct bi_device devices[16];
	int count = 0;

	TRY(scene, bi_devices(devices, (int)COUNT(devices), &count, scene->err));
	for (int i = 0; i < count && i < (int)COUNT(devices); i++)
		if (!devices[i].usable && !*devices[i].reason)
			scene_wrong(scene, "%s is not usable and says not why", devices[i].spec);
	if (!scene->rc && !count)
		scene_wrong(scene, "not even the host is listed");
}

/* Both ends of an order: work before, work after. */
static void use(struct scene *scene, struct bi_context *context)
{
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);

	scene_fill_all(scene, array, 0x31, scene_stream(scene, context));
	scene_consume(scene, array);
}

static struct bi_context *adopt(struct scene *scene, uintptr_t context, uintptr_t stream)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = "cuda";
	options.adopt_context = context;
	options.adopt_stream = stream;
	return scene_open_with(scene, &options);
}

void adopted_context(struct scene *scene)
{
	use(scene, adopt(scene, raw_context(scene, 0), 0));
}

void adopted_stream(struct scene *scene)
{
	uintptr_t primary = raw_primary(scene, 0);

	use(scene, adopt(scene, primary, raw_stream(scene, primary)));
}

void adopted_legacy_stream(struct scene *scene)
{
	use(scene, adopt(scene, raw_primary(scene, 0), 1));
}

static void allocate(struct scene *scene, enum bi_memory_kind kind)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *array = scene_array(scene, context, kind, SIZE);

	scene_fill_all(scene, array, 0x32, scene_stream(scene, context));
	scene_consume(scene, array);
	scene_fill_all(scene, array, 0x33, scene_stream(scene, context));
	scene_settle(scene);
	scene_check(scene, array);
}

void allocate_device(struct scene *scene)
{
	allocate(scene, BI_MEMORY_DEVICE);
}

void allocate_pinned(struct scene *scene)
{
	allocate(scene, BI_MEMORY_PINNED);
}

void allocate_managed(struct scene *scene)
{
	allocate(scene, BI_MEMORY_UNIFIED);
}

/* The next owner of the bytes comes behind what the last one did on another stream. */
void pool_reuse(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct bi_stream *stream = scene_stream(scene, context);
	struct array *array;

	for (int i = 0; i < 3; i++) {
		array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);
		scene_fill_all(scene, array, (unsigned char)(0x40 + i), stream);
		scene_release(scene, array);
	}
	array = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);
	scene_consume(scene, array);
}

void trim(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");

	scene_release(scene, scene_array(scene, context, BI_MEMORY_DEVICE, SIZE));
	scene_release(scene, scene_array(scene, context, BI_MEMORY_PINNED, SIZE));
	TRY(scene, bi_context_trim(context, 0, scene->err));
	use(scene, context);
}

void report_and_profile(struct scene *scene)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	char *report = NULL;

	options.device = "cuda:0";
	options.profile = 1;
	context = scene_open_with(scene, &options);
	use(scene, context);
	if (TRY(scene, bi_context_report(context, &report, scene->err)))
		return;
	if (!strstr(report, "\"operation\": \"fill\""))
		scene_wrong(scene, "the report names no fill");
	bi_report_free(report);
}

void debug_option(struct scene *scene)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct array *from, *to;

	options.device = "cuda:0";
	options.debug = 1;
	context = scene_open_with(scene, &options);
	from = scene_pattern(scene, context, BI_MEMORY_DEVICE, SIZE);
	to = scene_array(scene, context, BI_MEMORY_DEVICE, SIZE);
	scene_copy_all(scene, to, from, NULL);
	scene_consume(scene, to);
	scene_consume(scene, from);
}
