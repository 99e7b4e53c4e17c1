/* Work that is captured into a CUDA graph and runs when the graph does. */
#include "raw.h"
#include "scenarios.h"

void capture_copy_and_fill(struct scene *scene)
{
	const int64_t shape[2] = { 20, 20 }, columns[2] = { 4, 80 };
	uintptr_t primary = raw_primary(scene, 0), stream;
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *from = scene_pattern(scene, context, BI_MEMORY_DEVICE, 1600);
	struct array *to = scene_array(scene, context, BI_MEMORY_DEVICE, 1600);
	struct bi_view *dst = scene_view(scene, to, "int32", 2, shape, NULL, 0);
	struct bi_view *src = scene_view(scene, from, "int32", 2, shape, columns, 0);

	stream = scene->rc ? 0 : bi_stream_handle(bi_context_stream(context));
	raw_capture(scene, primary, stream);
	scene_copy(scene, to, dst, from, src, NULL);
	scene_fill_all(scene, from, 0xb1, NULL);
	raw_launch(scene, primary, stream, 1);
	scene_consume(scene, to);
	scene_consume(scene, from);
}

/* The capture reaches a second stream through the library, and comes back from it. */
void capture_on_two_streams(struct scene *scene)
{
	uintptr_t primary = raw_primary(scene, 0), stream;
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *from = scene_pattern(scene, context, BI_MEMORY_DEVICE, 1600);
	struct array *to = scene_array(scene, context, BI_MEMORY_DEVICE, 1600);
	struct bi_stream *home = scene->rc ? NULL : bi_context_stream(context), *other = scene_stream(scene, context);

	stream = home ? bi_stream_handle(home) : 0;
	raw_capture(scene, primary, stream);
	TRY(scene, bi_stream_join(other, &home, 1, scene->err));
	/* Behind what the join has waited for. */
	scene_fill_all(scene, from, 0xb2, NULL);
	scene_copy_all(scene, to, from, other);
	raw_launch(scene, primary, stream, 2);
	scene_consume(scene, from);
	scene_consume(scene, to);
}
