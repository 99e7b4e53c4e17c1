/* Two devices: of CUDA, and of CUDA and OpenCL. */
#include "raw.h"
#include "scenarios.h"

#define SIZE ((size_t)6000)

/* There and back, and both ends are taken by others. */
void peer_copy_linear(struct scene *scene)
{
	struct bi_context *first = scene_open(scene, "cuda:0"), *second = scene_open(scene, "cuda:1");
	struct array *here = scene_pattern(scene, first, BI_MEMORY_DEVICE, SIZE);
	struct array *there = scene_array(scene, second, BI_MEMORY_DEVICE, SIZE);
	struct array *back;

	scene_copy_all(scene, there, here, NULL);
	scene_fill_all(scene, here, 0xa1, scene_stream(scene, first));
	/* Both sides of the way back have work behind what the streams have waited for so far. */
	scene_fill_all(scene, there, 0xa2, NULL);
	back = scene_array(scene, first, BI_MEMORY_DEVICE, SIZE);
	scene_copy_all(scene, back, there, scene_stream(scene, first));
	scene_consume(scene, here);
	scene_consume(scene, there);
	scene_consume(scene, back);
}

void peer_copy_strided(struct scene *scene)
{
	const int64_t shape[2] = { 30, 40 }, rows[2] = { 160, 4 }, columns[2] = { 4, 140 };
	struct bi_context *first = scene_open(scene, "cuda:0"), *second = scene_open(scene, "cuda:1");
	struct array *here = scene_pattern(scene, first, BI_MEMORY_DEVICE, SIZE);
	struct array *there = scene_array(scene, second, BI_MEMORY_DEVICE, SIZE);
	struct bi_view *src = scene_view(scene, here, "float32", 2, shape, columns, 20);
	struct bi_view *dst = scene_view(scene, there, "float32", 2, shape, rows, 8);
	struct array *after;

	scene_copy(scene, there, dst, here, src, NULL);
	/* What the copy packed into comes from the pool again. */
	after = scene_array(scene, first, BI_MEMORY_DEVICE, 30 * 40 * 4);
	scene_fill_all(scene, after, 0xa4, NULL);
	scene_consume(scene, after);
	scene_fill_all(scene, here, 0xa2, NULL);
	scene_consume(scene, here);
	scene_consume(scene, there);
}

void cuda_to_opencl_and_back(struct scene *scene)
{
	struct bi_context *cuda = scene_open(scene, "cuda:0"), *opencl = scene_open(scene, "opencl");
	struct array *here = scene_pattern(scene, cuda, BI_MEMORY_DEVICE, SIZE);
	struct array *there = scene_array(scene, opencl, BI_MEMORY_DEVICE, SIZE);
	struct array *back = scene_array(scene, cuda, BI_MEMORY_DEVICE, SIZE);

	scene_copy_all(scene, there, here, NULL);
	scene_fill_all(scene, here, 0xa3, scene_stream(scene, cuda));
	scene_copy_all(scene, back, there, NULL);
	scene_check(scene, there);
	scene_consume(scene, here);
	scene_consume(scene, back);
}
