/*
 * Reads and writes files of NumPy. The public functions disable pthread_cancel, because reading and writing are
 * cancellation points, also in functions of the caller.
 */
#include "buffer_interface/npy.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/binding.h"
#include "common/base/files.h"
#include "common/base/status.h"
#include "common/view/view.h"
#include "interop/npy_header.h"

#define PART ((size_t)16 << 20)
#define PATH_SHOWN 100

static const struct bi_error no_error = { .status = BI_OK };

/*
 * Returns `rc`, the status of a function of the caller. If it is a failure, fills *err with the message that the
 * function wrote to *told, or with another message if it wrote none.
 */
static int pass_failure(const char *function, int rc, const struct bi_error *told, struct bi_error *err)
{
	if (rc && *told->message)
		return bi__fail_vendor(err, rc, told->vendor, "%s", told->message);
	return rc ? bi__fail(err, rc, "%s returned %d and no message", function, rc) : BI_OK;
}

/* Reads `nbytes` bytes in parts. *held is the number of bytes that were read, which is less if the file ends before. */
static int read_parts(const struct bi_npy_source *source, void *bytes, size_t nbytes, size_t *held,
		      struct bi_error *err)
{
	struct bi_error told;
	size_t part = 0, got = 0;
	int rc = BI_OK;

	for (*held = 0; *held < nbytes && got == part && !rc; *held += got) {
		part = nbytes - *held < PART ? nbytes - *held : PART;
		got = 0;
		told = no_error;
		rc = pass_failure("source->read", source->read(source->data, (char *)bytes + *held, part, &got, &told),
				  &told, err);
		if (!rc && got > part)
			return bi__fail(err, BI_EINVAL, "source->read read %zu bytes, and was asked for %zu", got,
					part);
	}
	return rc;
}

/*
 * Reads the header. *rest becomes the number of bytes after the header, or -1 if the size of the file is not known.
 * layout->descr points to *descr, which the caller frees.
 */
static int read_header(const struct bi_npy_source *source, struct bi_layout *layout, char **descr, int64_t *rest,
		       struct bi_error *err)
{
	unsigned char prefix[BI__NPY_PREFIX], *bytes;
	size_t first, more = 0, header_size;
	int rc = read_parts(source, prefix, 10, &first, err);

	if (!rc && first == 10)
		rc = read_parts(source, prefix + 10, bi__npy_prefix_size(prefix) - 10, &more, err);
	first += more;
	if (!rc)
		rc = bi__npy_header_size(prefix, first, &header_size, err);
	if (rc)
		return rc;
	*rest = source->nbytes < 0 ? -1 : source->nbytes - (int64_t)header_size;
	if (source->nbytes >= 0 && *rest < 0)
		return bi__npy_fail_truncated(header_size, source->nbytes, err);
	bytes = malloc(header_size);
	if (!bytes)
		return bi__fail(err, BI_ENOMEM, "out of memory for a header of %zu bytes", header_size);
	memcpy(bytes, prefix, first);
	rc = read_parts(source, bytes + first, header_size - first, &more, err);
	if (!rc)
		rc = bi__npy_parse(bytes, first + more, layout, descr, err);
	free(bytes);
	return rc;
}

static int fail_truncated(int64_t nbytes, uint64_t held, struct bi_error *err)
{
	return bi__fail(err, BI_EBOUNDS,
			"truncated: the header says that there are %" PRId64
			" bytes of elements, the file holds %" PRIu64,
			nbytes, held);
}

/*
 * Reads the elements into a new dense array. If bi_unmap returns BI_ECAPTURE, gives up the bytes, because the caller
 * releases the array after a failure.
 */
static int read_elements(const struct bi_npy_source *source, const struct bi_view *dense, struct bi_error *err)
{
	struct bi_layout layout;
	struct bi_map *map;
	size_t held, nbytes;
	int rc = bi_view_map(dense, BI_MAP_WRITE | BI_MAP_DISCARD, &map, err), unmapped;

	if (rc)
		return rc;
	bi_view_layout(dense, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	rc = read_parts(source, bi_map_data(map), nbytes, &held, err);
	if (!rc && held < nbytes)
		rc = fail_truncated((int64_t)nbytes, held, err);
	unmapped = bi_unmap(map, rc ? NULL : err);
	if (unmapped == BI_ECAPTURE) {
		bi_map_abandon(map);
		bi_unmap(map, NULL);
	}
	return rc ? rc : unmapped;
}

/* Makes an array of the layout of the file, and reads its elements. */
static int read_array(struct bi_context *context, const struct bi_npy_source *source, const struct bi_layout *described,
		      struct bi_view **out, struct bi_error *err)
{
	struct bi_view *made;
	int rc = bi__view_new(context, BI_MEMORY_DEFAULT, described, NULL, &made, err);

	if (rc)
		return rc;
	rc = read_elements(source, made, err);
	if (rc)
		bi_view_release(made);
	else
		*out = made;
	return rc;
}

static int read_source(struct bi_context *context, const struct bi_npy_source *source, struct bi_view **out,
		       struct bi_error *err)
{
	struct bi_error told = no_error;
	struct bi_layout layout;
	char *descr = NULL;
	int64_t held;
	int rc;

	if (out)
		*out = NULL;
	if (!source || !source->read || (out && !context))
		return bi__fail(err, BI_EINVAL, "%s is NULL",
				!source         ? "source"
				: !source->read ? "source->read"
						: "context");
	if (source->nbytes < -1)
		return bi__fail(err, BI_EINVAL, "source->nbytes is %" PRId64 ": give the size of the file, or -1",
				source->nbytes);
	rc = read_header(source, &layout, &descr, &held, err);
	if (!rc && source->header)
		rc = pass_failure("source->header", source->header(source->data, &layout, &told), &told, err);
	if (!rc && out && held >= 0 && held < bi_layout_nbytes(&layout))
		rc = fail_truncated(bi_layout_nbytes(&layout), (uint64_t)held, err);
	if (!rc && out)
		rc = read_array(context, source, &layout, out, err);
	free(descr);
	return rc;
}

int bi_npy_read(struct bi_context *context, const struct bi_npy_source *source, struct bi_view **out,
		struct bi_error *err)
{
	int state, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = read_source(context, source, out, err);
	pthread_setcancelstate(state, NULL);
	return rc;
}

/* Writes the header and a view that is contiguous in C order. Writes nothing if the view cannot be mapped. */
static int write_dense(const struct bi_view *dense, const unsigned char *header, size_t header_size,
		       bi_npy_write_fn write, void *data, struct bi_error *err)
{
	struct bi_error told = no_error;
	struct bi_layout layout;
	struct bi_map *map;
	size_t nbytes, part;
	int rc = bi_view_map(dense, BI_MAP_READ, &map, err), unmapped;

	if (rc)
		return rc;
	bi_view_layout(dense, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	rc = write(data, header, header_size, &told);
	for (size_t done = 0; done < nbytes && !rc; done += part) {
		part = nbytes - done < PART ? nbytes - done : PART;
		told = no_error;
		rc = write(data, (const char *)bi_map_data(map) + done, part, &told);
	}
	pass_failure("write", rc, &told, err);
	unmapped = bi_unmap(map, rc ? NULL : err);
	return rc ? rc : unmapped;
}

static int write_view(const struct bi_view *view, bi_npy_write_fn write, void *data, struct bi_error *err)
{
	struct bi_layout layout;
	struct bi_view *dense;
	unsigned char *header = NULL;
	size_t header_size = 0;
	int rc;

	if (!view || !write)
		return bi__fail(err, BI_EINVAL, "%s is NULL", view ? "write" : "view");
	bi_view_layout(view, &layout);
	rc = bi__npy_format(&layout, &header, &header_size, err);
	if (rc)
		return rc;
	rc = bi__npy_is_fortran(&layout) ? bi_view_permute(view, NULL, &dense, err)
					 : bi_view_contiguous(view, &dense, err);
	if (!rc) {
		rc = write_dense(dense, header, header_size, write, data, err);
		bi_view_release(dense);
	}
	free(header);
	return rc;
}

int bi_npy_write(const struct bi_view *view, bi_npy_write_fn write, void *data, struct bi_error *err)
{
	int state, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = write_view(view, write, data, err);
	pthread_setcancelstate(state, NULL);
	return rc;
}

/* Puts the path, or the end of a long path, before the message of a failure. */
static int name_file(const char *path, int rc, struct bi_error *err)
{
	const size_t length = strlen(path);
	const char *shown = length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
	struct bi_error reason;

	if (!rc || !err)
		return rc;
	while (shown > path && (*shown & 0xc0) == 0x80) /* inside of a UTF-8 character */
		shown++;
	reason = *err;
	return bi__fail_vendor(err, rc, reason.vendor, "%s%s: %s", shown > path ? "..." : "", shown, reason.message);
}

static int load_file(struct bi_context *context, const char *path, struct bi_view **out, struct bi_error *err)
{
	struct bi_npy_source source = { bi__file_read, NULL, NULL, -1 };
	int descriptor, rc;

	rc = bi__file_open(path, &descriptor, &source.nbytes, err);
	if (rc)
		return rc;
	source.data = &descriptor;
	rc = bi_npy_read(context, &source, out, err);
	bi__file_close(descriptor);
	return rc;
}

int bi_npy_load(struct bi_context *context, const char *path, struct bi_view **out, struct bi_error *err)
{
	int state, rc;

	if (out)
		*out = NULL;
	if (!context || !path || !out)
		return bi__fail(err, BI_EINVAL, "%s is NULL", !context ? "context" : path ? "out" : "path");
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = name_file(path, load_file(context, path, out, err), err);
	pthread_setcancelstate(state, NULL);
	return rc;
}

static int save_file(const struct bi_view *view, const char *path, struct bi_error *err)
{
	struct bi__output output;
	int rc = bi__output_open(&output, path, err);

	return rc ? rc : bi__output_close(&output, bi_npy_write(view, bi__file_write, &output.descriptor, err), err);
}

int bi_npy_save(const struct bi_view *view, const char *path, struct bi_error *err)
{
	int state, rc;

	if (!view || !path)
		return bi__fail(err, BI_EINVAL, "%s is NULL", view ? "path" : "view");
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = name_file(path, save_file(view, path, err), err);
	pthread_setcancelstate(state, NULL);
	return rc;
}
