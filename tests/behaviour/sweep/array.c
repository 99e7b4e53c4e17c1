/* Arrays and their mirrors. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_driver.h"

void *must_alloc(size_t nbytes)
{
	void *bytes = malloc(nbytes ? nbytes : 1);

	if (!bytes) {
		fprintf(stderr, "cuda_sweep: no memory for %zu bytes\n", nbytes);
		exit(EXIT_FAILURE);
	}
	return bytes;
}

void fill_pattern(unsigned char *bytes, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)(i * 37 + (i >> 8) * 11 + 5);
}

struct array *scene_adopt(struct scene *scene, struct bi_view *whole, size_t nbytes)
{
	struct array *array;

	if (scene->array_count == SCENE_ARRAYS) {
		fprintf(stderr, "cuda_sweep: a scenario has more than %d arrays\n", SCENE_ARRAYS);
		exit(EXIT_FAILURE);
	}
	array = &scene->arrays[scene->array_count++];
	array->whole = scene_keep_view(scene, whole);
	array->mirror = must_alloc(nbytes);
	array->nbytes = nbytes;
	memset(array->mirror, 0, nbytes);
	return array;
}

static int byte_layout(struct bi_layout *layout, size_t nbytes, struct bi_error *err)
{
	const int64_t shape[1] = { (int64_t)nbytes };
	struct bi_dtype dtype;
	int rc = bi_dtype_parse("uint8", &dtype, err);

	return rc ? rc : bi_layout_init(layout, dtype, 1, shape, NULL, 0, err);
}

static struct array *allocate(struct scene *scene, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	struct bi_memory *memory = NULL;
	struct bi_layout layout;
	struct bi_view *whole = NULL;

	TRY(scene, byte_layout(&layout, nbytes, scene->err));
	TRY(scene, bi_memory_create(context, nbytes, kind, &memory, scene->err));
	TRY(scene, bi_view_create(memory, &layout, 0, &whole, scene->err));
	bi_memory_release(memory);
	return scene_adopt(scene, whole, nbytes);
}

struct array *scene_array(struct scene *scene, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	struct array *array = allocate(scene, context, kind, nbytes);

	scene_fill_all(scene, array, 0x11, NULL);
	return array;
}

struct array *scene_pattern(struct scene *scene, struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	struct array *array = allocate(scene, context, kind, nbytes), *host = scene_host(scene, context, nbytes, NULL);

	scene_copy_all(scene, array, host, NULL);
	scene_release(scene, host);
	return array;
}

/* Bytes of a host array, and who wants to know that they are free. */
struct host_bytes {
	struct scene *scene;
	unsigned char bytes[];
};

static void free_host_bytes(void *data)
{
	struct host_bytes *host = data;

	host->scene->released++;
	free(host);
}

static int wrap_host_bytes(struct scene *scene, struct bi_context *context, struct host_bytes *host, size_t nbytes,
			   struct bi_stream *stream, struct bi_memory **out)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	int rc;

	foreign.handle = (uintptr_t)host->bytes;
	foreign.nbytes = nbytes;
	foreign.stream = stream;
	foreign.release = free_host_bytes;
	foreign.release_data = host;
	rc = bi_memory_wrap(context, &foreign, out, scene->err);
	if (rc)
		free(host);
	else
		scene->taken++;
	return rc;
}

struct array *scene_host(struct scene *scene, struct bi_context *context, size_t nbytes, struct bi_stream *stream)
{
	struct host_bytes *host;
	struct bi_memory *memory = NULL;
	struct bi_layout layout;
	struct bi_view *whole = NULL;
	struct array *array;

	if (!TRY(scene, byte_layout(&layout, nbytes, scene->err))) {
		host = must_alloc(sizeof(*host) + nbytes);
		host->scene = scene;
		fill_pattern(host->bytes, nbytes);
		TRY(scene, wrap_host_bytes(scene, context, host, nbytes, stream, &memory));
	}
	TRY(scene, bi_view_create(memory, &layout, 0, &whole, scene->err));
	bi_memory_release(memory);
	array = scene_adopt(scene, whole, nbytes);
	fill_pattern(array->mirror, nbytes);
	return array;
}

void scene_release(struct scene *scene, struct array *array)
{
	scene_release_view(scene, array->whole);
	array->whole = NULL;
}

struct bi_view *scene_view(struct scene *scene, const struct array *array, const char *type, int ndim,
			   const int64_t *shape, const int64_t *strides, int64_t offset)
{
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view = NULL;

	TRY(scene, bi_dtype_parse(type, &dtype, scene->err));
	TRY(scene, bi_layout_init(&layout, dtype, ndim, shape, strides, offset, scene->err));
	TRY(scene, bi_view_with_layout(array->whole, &layout, &view, scene->err));
	return scene_keep_view(scene, view);
}

/* Offset of the element that is number `i` in C order. */
static int64_t offset_of(const struct bi_layout *layout, int64_t i)
{
	int64_t offset = layout->offset;

	for (int axis = layout->ndim - 1; axis >= 0; axis--) {
		offset += i % layout->shape[axis] * layout->strides[axis];
		i /= layout->shape[axis];
	}
	return offset;
}

void scene_fill(struct scene *scene, struct array *array, struct bi_view *view, const void *item,
		struct bi_stream *stream)
{
	struct bi_layout layout;

	if (TRY(scene, bi_fill(view, item, stream, scene->err)))
		return;
	bi_view_layout(view, &layout);
	for (int64_t i = 0; i < bi_layout_size(&layout); i++)
		memcpy(array->mirror + offset_of(&layout, i), item, layout.dtype.item_size);
}

void scene_fill_all(struct scene *scene, struct array *array, unsigned char value, struct bi_stream *stream)
{
	if (!TRY(scene, bi_fill(array->whole, &value, stream, scene->err)))
		memset(array->mirror, value, array->nbytes);
}

/* The source is copied aside first: the two may be one array. */
static void copy_mirror(struct array *to, const struct bi_layout *dst, const struct array *from,
			const struct bi_layout *src)
{
	unsigned char *aside = must_alloc(from->nbytes);

	memcpy(aside, from->mirror, from->nbytes);
	for (int64_t i = 0; i < bi_layout_size(dst); i++)
		memcpy(to->mirror + offset_of(dst, i), aside + offset_of(src, i), dst->dtype.item_size);
	free(aside);
}

void scene_copy(struct scene *scene, struct array *to, struct bi_view *dst, const struct array *from,
		struct bi_view *src, struct bi_stream *stream)
{
	struct bi_layout to_layout, from_layout;

	if (TRY(scene, bi_copy(dst, src, stream, scene->err)))
		return;
	bi_view_layout(dst, &to_layout);
	bi_view_layout(src, &from_layout);
	copy_mirror(to, &to_layout, from, &from_layout);
}

void scene_copy_all(struct scene *scene, struct array *to, const struct array *from, struct bi_stream *stream)
{
	if (!TRY(scene, bi_copy(to->whole, from->whole, stream, scene->err)))
		memcpy(to->mirror, from->mirror, to->nbytes);
}

void scene_touch(const void *pointer, size_t nbytes, int writes)
{
	if (cuda_sim())
		cuda_sim()->touch(pointer, nbytes, writes);
}

void scene_compare(struct scene *scene, const struct array *array, const void *bytes, const char *reader)
{
	const unsigned char *found = bytes;

	for (size_t i = 0; i < array->nbytes; i++)
		if (found[i] != array->mirror[i]) {
			scene_wrong(scene, "byte %zu of %zu: %s sees 0x%02x, not 0x%02x", i, array->nbytes, reader,
				    found[i], array->mirror[i]);
			return;
		}
}

void scene_check(struct scene *scene, const struct array *array)
{
	unsigned char *bytes = must_alloc(array->nbytes);

	if (!TRY(scene, bi_view_read(array->whole, bytes, array->nbytes, scene->err)))
		scene_compare(scene, array, bytes, "bi_view_read");
	free(bytes);
}
