/* Between the device and the host: copies, elements, mappings. */
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/binding.h"
#include "buffer_interface/npy.h"
#include "scenarios.h"

#define SMALL ((size_t)3000)
/* More than the two staging buffers of a large copy, and no multiple of one. */
#define LARGE (((size_t)4 << 20) + 1234)

/* Three quarters of each row. */
static struct bi_view *columns(struct trial *trial, const struct array *array)
{
	const int64_t shape[2] = { 30, 75 }, strides[2] = { 100, 1 };

	return trial_view(trial, array, "uint8", 2, shape, strides, 5);
}

static void upload(struct trial *trial, size_t nbytes)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *host = trial_host(trial, context, nbytes, NULL);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, nbytes);

	trial_copy_all(trial, array, host, NULL);
	trial_release(trial, host);
	trial_consume(trial, array);
}

void upload_small(struct trial *trial)
{
	upload(trial, SMALL);
}

/* Work on the same stream has written some of the bytes. */
void upload_large(struct trial *trial)
{
	const int64_t shape[1] = { (int64_t)SMALL };
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *part = trial_pattern(trial, context, BI_MEMORY_DEVICE, SMALL);
	struct array *host = trial_host(trial, context, LARGE, NULL);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, LARGE);

	trial_copy(trial, host, trial_view(trial, host, "uint8", 1, shape, NULL, 7), part, part->whole, NULL);
	trial_copy_all(trial, array, host, NULL);
	trial_release(trial, host);
	trial_consume(trial, array);
}

void upload_strided(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *host = trial_host(trial, context, SMALL, NULL);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SMALL);

	trial_copy(trial, array, columns(trial, array), host, columns(trial, host), trial_stream(trial, context));
	trial_consume(trial, array);
	trial_consume(trial, host);
}

/* Another context with the same CUcontext sends the staging buffer, and is closed before it is used again. */
void upload_by_a_closed_context(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0"), *other = trial_open(trial, "cuda:0");
	struct array *host = trial_host(trial, context, SMALL, NULL);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SMALL);
	struct bi_stream *stream = other ? bi_context_stream(other) : NULL;

	trial_copy(trial, array, columns(trial, array), host, columns(trial, host), stream);
	trial_close(trial, other);
	trial_copy(trial, array, columns(trial, array), host, columns(trial, host), NULL);
	trial_consume(trial, array);
	trial_consume(trial, host);
}

static void download(struct trial *trial, size_t nbytes)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, nbytes);
	struct array *host = trial_host(trial, context, nbytes, NULL);

	trial_copy_all(trial, host, array, NULL);
	trial_fill_all(trial, array, 0x51, trial_stream(trial, context));
	trial_consume(trial, host);
	trial_consume(trial, array);
}

void download_small(struct trial *trial)
{
	download(trial, SMALL);
}

/* The bytes that use a staging buffer again have another value. */
void download_large(struct trial *trial)
{
	const int64_t shape[1] = { 1234 };
	const unsigned char value = 0x23;
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, LARGE);
	struct array *host = trial_host(trial, context, LARGE, NULL);

	trial_fill(trial, array, trial_view(trial, array, "uint8", 1, shape, NULL, 4 << 20), &value, NULL);
	trial_copy_all(trial, host, array, NULL);
	trial_fill_all(trial, array, 0x51, trial_stream(trial, context));
	trial_consume(trial, host);
	trial_consume(trial, array);
}

void download_strided(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_pattern(trial, context, BI_MEMORY_DEVICE, SMALL);
	struct array *host = trial_host(trial, context, SMALL, NULL);

	trial_fill_all(trial, host, 0x52, NULL);
	trial_copy(trial, host, columns(trial, host), array, columns(trial, array), trial_stream(trial, context));
	trial_consume(trial, array);
	trial_consume(trial, host);
}

static void get_and_set(struct trial *trial, struct array *array)
{
	const int64_t index[1] = { -7 };
	const size_t place = array->nbytes - 7;
	unsigned char item = 0x53;

	if (!TRY(trial, bi_view_set_element(array->whole, index, &item, trial->err)))
		array->expected[place] = item;
	item = 0;
	if (!TRY(trial, bi_view_get_element(array->whole, index, &item, trial->err)) && item != array->expected[place])
		trial_wrong(trial, "bi_view_get_element reads 0x%02x, not 0x%02x", item, array->expected[place]);
}

void read_write_get_set(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, SMALL);
	unsigned char bytes[SMALL];

	fill_pattern(bytes, sizeof(bytes));
	if (!TRY(trial, bi_view_write(array->whole, bytes, sizeof(bytes), trial->err)))
		memcpy(array->expected, bytes, sizeof(bytes));
	memset(bytes, 0, sizeof(bytes));
	trial_check(trial, array);
	get_and_set(trial, array);
	trial_consume(trial, array);
}

static void write_mapped(struct array *array, unsigned char *data, int is_read)
{
	if (!is_read)
		memset(data, 0x54, array->nbytes);
	data[3] = 0x55;
	memcpy(array->expected, data, array->nbytes);
}

struct file {
	unsigned char bytes[SMALL + 256];
	size_t nbytes, at;
};

static int write_file(void *data, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct file *file = data;

	(void)err;
	memcpy(file->bytes + file->nbytes, bytes, nbytes);
	file->nbytes += nbytes;
	return BI_OK;
}

static int read_file(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	struct file *file = data;

	(void)err;
	*got = nbytes < file->nbytes - file->at ? nbytes : file->nbytes - file->at;
	memcpy(bytes, file->bytes + file->at, *got);
	file->at += *got;
	return BI_OK;
}

void file_there_and_back(struct trial *trial)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_pattern(trial, context, BI_MEMORY_DEVICE, SMALL), *back;
	struct file file = { .nbytes = 0 };
	const struct bi_npy_source source = { read_file, NULL, &file, -1 };
	struct bi_view *view = NULL;

	TRY(trial, bi_npy_write(array->whole, write_file, &file, trial->err));
	TRY(trial, bi_npy_read(context, &source, &view, trial->err));
	back = trial_adopt(trial, view, SMALL);
	memcpy(back->expected, array->expected, SMALL);
	trial_consume(trial, back);
}

/* Maps all of it, looks at what is there, and changes it. */
static void map(struct trial *trial, struct array *array, unsigned mode)
{
	struct bi_map *mapping = NULL;
	unsigned char *data;
	int rc;

	if (TRY(trial, bi_view_map(array->whole, mode, &mapping, trial->err)))
		return;
	data = bi_map_data(mapping);
	trial_touch(data, array->nbytes, (mode & BI_MAP_WRITE) != 0);
	if (mode & BI_MAP_READ)
		trial_compare(trial, array, data, "a mapping");
	if (mode & BI_MAP_WRITE)
		write_mapped(array, data, (mode & BI_MAP_READ) != 0);
	rc = bi_unmap(mapping, trial->err);
	if (rc == BI_ECAPTURE) {
		bi_map_abandon(mapping);
		bi_unmap(mapping, NULL);
	}
	trial_note(trial, rc);
}

static void map_kind(struct trial *trial, enum bi_memory_kind kind, unsigned mode)
{
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *array = trial_array(trial, context, kind, SMALL);

	trial_fill_all(trial, array, 0x56, trial_stream(trial, context));
	map(trial, array, BI_MAP_READ);
	map(trial, array, mode);
	trial_consume(trial, array);
}

void map_device(struct trial *trial)
{
	map_kind(trial, BI_MEMORY_DEVICE, BI_MAP_READ | BI_MAP_WRITE);
}

void map_device_to_write(struct trial *trial)
{
	map_kind(trial, BI_MEMORY_DEVICE, BI_MAP_WRITE | BI_MAP_DISCARD);
}

void map_pinned(struct trial *trial)
{
	map_kind(trial, BI_MEMORY_PINNED, BI_MAP_READ | BI_MAP_WRITE);
}

void map_managed(struct trial *trial)
{
	map_kind(trial, BI_MEMORY_UNIFIED, BI_MAP_READ | BI_MAP_WRITE);
}
