/* Copies from and to strided host memory that are too large for one piece of pinned memory (src/common/runtime/pinned_pieces.h). */
#include "scenarios.h"

/* Two rows do not fit into one piece, so there are three, and the first one is used again. */
#define ROWS 3
#define ITEMS (((int64_t)2 << 20) / 8 + 1)
#define BYTES(gap) ((size_t)(ROWS * (ITEMS + (gap)) * 8))

/* So many items between one row and the next. */
static struct bi_view *rows(struct scene *scene, const struct array *array, int64_t gap)
{
	const int64_t shape[2] = { ROWS, ITEMS }, strides[2] = { (ITEMS + gap) * 8, 8 };

	return scene_view(scene, array, "uint64", 2, shape, strides, 0);
}

void upload_pieces(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *host = scene_host(scene, context, BYTES(1), NULL);
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, BYTES(0));

	scene_copy(scene, array, rows(scene, array, 0), host, rows(scene, host, 1), scene_stream(scene, context));
	scene_consume(scene, array);
	scene_consume(scene, host);
}

void download_pieces(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *array = scene_pattern(scene, context, BI_MEMORY_DEVICE, BYTES(0));
	struct array *host = scene_host(scene, context, BYTES(1), NULL);

	scene_copy(scene, host, rows(scene, host, 1), array, rows(scene, array, 0), scene_stream(scene, context));
	scene_fill_all(scene, array, 0x57, NULL);
	scene_consume(scene, array);
	scene_consume(scene, host);
}
