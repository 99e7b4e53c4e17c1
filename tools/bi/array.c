#include "array.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define CHUNK ((size_t)16 << 20)

static int is_content_status(int rc)
{
	return rc == BI_EINVAL || rc == BI_EDTYPE || rc == BI_EBOUNDS || rc == BI_EOVERFLOW;
}

static int fail_truncated_header(size_t header_size, size_t file_size, struct bi_error *err)
{
	return fail(err, BI_EBOUNDS, "truncated: the header says that it has %zu bytes, the file holds %zu",
		    header_size, file_size);
}

static int read_header(struct array *array, struct input *input, struct bi_error *err)
{
	unsigned char prefix[NPY_PREFIX], *bytes;
	size_t got, more, header_size, first = sizeof(prefix);
	int rc = input_read(input, prefix, 10, &got, err);

	if (rc != BI_OK)
		return rc;
	if (got == 10 && prefix[6] != 1)
		rc = input_read(input, prefix + 10, first - 10, &more, err);
	else
		more = 0;
	first = got + more;
	if (rc == BI_OK)
		rc = npy_header_size(prefix, first, &header_size, err);
	if (rc != BI_OK)
		return rc;
	if (input->size >= 0 && header_size > (uint64_t)input->size)
		return fail_truncated_header(header_size, (size_t)input->size, err);
	bytes = malloc(header_size);
	if (!bytes)
		return fail(err, BI_ENOMEM, "out of memory for a header of %zu bytes", header_size);
	memcpy(bytes, prefix, first);
	rc = input_read(input, bytes + first, header_size - first, &got, err);
	if (rc == BI_OK && first + got < header_size)
		rc = fail_truncated_header(header_size, first + got, err);
	if (rc == BI_OK)
		rc = npy_parse(bytes, header_size, &array->npy, err);
	free(bytes);
	if (rc == BI_OK && input->size >= 0)
		input->size -= (int64_t)header_size;
	return rc;
}

int array_read_header(struct array *array, struct input *input, int *wrong_content, struct bi_error *err)
{
	int rc = read_header(array, input, err);

	*wrong_content = is_content_status(rc);
	return rc;
}

static int fail_truncated(size_t promised, uint64_t held, struct bi_error *err)
{
	return fail(err, BI_EBOUNDS,
		    "truncated: the header says that there are %zu bytes of elements, the file holds %llu", promised,
		    (unsigned long long)held);
}

static int read_elements(struct array *array, struct input *input, struct progress *progress, struct bi_error *err)
{
	size_t nbytes = array->npy.nbytes, done = 0, got;

	if (input->size >= 0 && (uint64_t)input->size < nbytes)
		return fail_truncated(nbytes, (uint64_t)input->size, err);
	array->bytes = malloc(nbytes ? nbytes : 1);
	if (!array->bytes)
		return fail(err, BI_ENOMEM, "out of memory for %zu bytes of elements", nbytes);
	while (done < nbytes) {
		size_t chunk = nbytes - done < CHUNK ? nbytes - done : CHUNK;
		int rc = input_read(input, array->bytes + done, chunk, &got, err);

		if (rc != BI_OK)
			return rc;
		done += got;
		if (got < chunk)
			return fail_truncated(nbytes, done, err);
		progress_add(progress, got);
	}
	return BI_OK;
}

int array_read_elements(struct array *array, struct input *input, struct progress *progress, int *wrong_content,
			int *trailing, struct bi_error *err)
{
	int rc = read_elements(array, input, progress, err);
	unsigned char one;
	size_t got = 0;

	*wrong_content = rc == BI_EBOUNDS;
	*trailing = rc == BI_OK && input->size >= 0 && input_read(input, &one, 1, &got, NULL) == BI_OK && got == 1;
	return rc;
}

int array_write(const struct array *array, struct output *output, struct progress *progress, struct bi_error *err)
{
	unsigned char *header;
	size_t size, chunk;
	int rc = npy_format(&array->npy, &header, &size, err);

	if (rc != BI_OK)
		return rc;
	rc = output_write(output, header, size, err);
	free(header);
	for (size_t done = 0; rc == BI_OK && done < array->npy.nbytes; done += chunk) {
		chunk = array->npy.nbytes - done < CHUNK ? array->npy.nbytes - done : CHUNK;
		rc = output_write(output, array->bytes + done, chunk, err);
		progress_add(progress, chunk);
	}
	return rc;
}

void array_clear(struct array *array)
{
	npy_clear(&array->npy);
	free(array->bytes);
	array->bytes = NULL;
}
