/* Between the device and the host: copies, elements, mappings. */
#include <stdlib.h>
#include <string.h>

#include "scenarios.h"

#define SMALL ((size_t)3000)
/* More than all pieces of the staging together, and no multiple of one. */
#define LARGE (((size_t)5 << 20) + 1234)

/* Three quarters of each row. */
static struct bi_view *columns(struct scene *scene, const struct array *array)
{
	const int64_t shape[2] = { 30, 75 }, strides[2] = { 100, 1 };

	return scene_view(scene, array, "uint8", 2, shape, strides, 5);
}

static void upload(struct scene *scene, size_t nbytes)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *host = scene_host(scene, context, nbytes, NULL);
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, nbytes);

	scene_copy_all(scene, array, host, NULL);
	scene_release(scene, host);
	scene_consume(scene, array);
}

void upload_small(struct scene *scene)
{
	upload(scene, SMALL);
}

void upload_large(struct scene *scene)
{
	upload(scene, LARGE);
}

void upload_strided(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *host = scene_host(scene, context, SMALL, NULL);
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SMALL);

	scene_copy(scene, array, columns(scene, array), host, columns(scene, host), scene_stream(scene, context));
	scene_consume(scene, array);
	scene_consume(scene, host);
}

static void download(struct scene *scene, size_t nbytes)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, nbytes);
	struct array *host = scene_host(scene, context, nbytes, NULL);

	scene_copy_all(scene, host, array, NULL);
	scene_fill_all(scene, array, 0x51, scene_stream(scene, context));
	scene_consume(scene, host);
	scene_consume(scene, array);
}

void download_small(struct scene *scene)
{
	download(scene, SMALL);
}

void download_large(struct scene *scene)
{
	download(scene, LARGE);
}

void download_strided(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *array = scene_pattern(scene, context, BI_MEMORY_DEVICE, SMALL);
	struct array *host = scene_host(scene, context, SMALL, NULL);

	scene_fill_all(scene, host, 0x52, NULL);
	scene_copy(scene, host, columns(scene, host), array, columns(scene, array), scene_stream(scene, context));
	scene_consume(scene, array);
	scene_consume(scene, host);
}

static void get_and_set(struct scene *scene, struct array *array)
{
	const int64_t index[1] = { -7 };
	const size_t place = array->nbytes - 7;
	unsigned char item = 0x53;

	if (!TRY(scene, bi_view_set_element(array->whole, index, &item, scene->err)))
		array->mirror[place] = item;
	item = 0;
	if (!TRY(scene, bi_view_get_element(array->whole, index, &item, scene->err)) && item != array->mirror[place])
		scene_wrong(scene, "bi_view_get_element reads 0x%02x, not 0x%02x", item, array->mirror[place]);
}

void read_write_get_set(struct scene *scene)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *array = scene_array(scene, context, BI_MEMORY_DEVICE, SMALL);
	unsigned char bytes[SMALL];

	fill_pattern(bytes, sizeof(bytes));
	if (!TRY(scene, bi_view_write(array->whole, bytes, sizeof(bytes), scene->err)))
		memcpy(array->mirror, bytes, sizeof(bytes));
	memset(bytes, 0, sizeof(bytes));
	scene_check(scene, array);
	get_and_set(scene, array);
	scene_consume(scene, array);
}

static void write_mapped(struct array *array, unsigned char *data, int is_read)
{
	if (!is_read)
		memset(data, 0x54, array->nbytes);
	data[3] = 0x55;
	memcpy(array->mirror, data, array->nbytes);
}

/* Maps all of it, looks at what is there, and changes it. */
static void map(struct scene *scene, struct array *array, unsigned mode)
{
	struct bi_map *mapping = NULL;
	unsigned char *data;

	if (TRY(scene, bi_view_map(array->whole, mode, &mapping, scene->err)))
		return;
	data = bi_map_data(mapping);
	scene_touch(data, array->nbytes, (mode & BI_MAP_WRITE) != 0);
	if (mode & BI_MAP_READ)
		scene_compare(scene, array, data, "a mapping");
	if (mode & BI_MAP_WRITE)
		write_mapped(array, data, (mode & BI_MAP_READ) != 0);
	scene_note(scene, bi_unmap(mapping, scene->err));
}

static void map_kind(struct scene *scene, enum bi_memory_kind kind, unsigned mode)
{
	struct bi_context *context = scene_open(scene, "cuda:0");
	struct array *array = scene_array(scene, context, kind, SMALL);

	scene_fill_all(scene, array, 0x56, scene_stream(scene, context));
	map(scene, array, BI_MAP_READ);
	map(scene, array, mode);
	scene_consume(scene, array);
}

void map_device(struct scene *scene)
{
	map_kind(scene, BI_MEMORY_DEVICE, BI_MAP_READ | BI_MAP_WRITE);
}

void map_device_to_write(struct scene *scene)
{
	map_kind(scene, BI_MEMORY_DEVICE, BI_MAP_WRITE | BI_MAP_DISCARD);
}

void map_pinned(struct scene *scene)
{
	map_kind(scene, BI_MEMORY_PINNED, BI_MAP_READ | BI_MAP_WRITE);
}

void map_managed(struct scene *scene)
{
	map_kind(scene, BI_MEMORY_UNIFIED, BI_MAP_READ | BI_MAP_WRITE);
}
