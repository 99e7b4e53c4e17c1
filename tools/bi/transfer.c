#define _POSIX_C_SOURCE 200809L

#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define SLAB (INT64_C(64) << 20)

/* Replaces *view by a view with the fields of a structured type. */
static int add_fields(struct bi_view **view, const char *descr, struct bi_error *err)
{
	struct bi_layout layout;
	struct bi_view *structured;
	int rc;

	if (!descr)
		return BI_OK;
	bi_view_layout(*view, &layout);
	layout.descr = descr;
	layout.descr_length = (uint32_t)strlen(descr);
	rc = bi_view_create(bi_view_memory(*view), &layout, 0, &structured, err);
	if (rc != BI_OK)
		return rc;
	bi_view_release(*view);
	*view = structured;
	return BI_OK;
}

/* Computes the shape in which the bytes of the file are a dense array in C order: reversed for Fortran order. */
static void dense_shape(const struct npy *npy, int64_t shape[BI_MAX_NDIM])
{
	for (int i = 0; i < npy->ndim; i++)
		shape[i] = npy->shape[npy->fortran_order ? npy->ndim - 1 - i : i];
}

static int copy_rows(const struct bi_view *dst, const struct bi_view *src, int64_t first, int64_t end,
		     struct bi_error *err)
{
	struct bi_index rows = { BI_INDEX_SLICE, first, end, 1 };
	struct bi_view *from = NULL, *to = NULL;
	int rc = bi_view_index(src, &rows, 1, &from, err);

	if (rc == BI_OK)
		rc = bi_view_index(dst, &rows, 1, &to, err);
	if (rc == BI_OK)
		rc = bi_copy(to, from, NULL, err);
	bi_view_release(to);
	bi_view_release(from);
	return rc;
}

/* Copies between two dense views in slabs of rows. Waits for each slab only if a progress bar is shown. */
static int copy_in_slabs(const struct bi_view *dst, const struct bi_view *src, int64_t nbytes, struct bi_stream *stream,
			 struct progress *progress, struct bi_error *err)
{
	int64_t rows, row_bytes, slab, count;
	int rc = BI_OK;

	if (nbytes <= SLAB || bi_view_ndim(src) == 0) {
		rc = bi_copy(dst, src, NULL, err);
		progress_add(progress, (uint64_t)nbytes);
		return rc;
	}
	rows = bi_view_shape(src)[0];
	row_bytes = nbytes / rows;
	slab = row_bytes < SLAB ? SLAB / row_bytes : 1;
	for (int64_t row = 0; rc == BI_OK && row < rows; row += count) {
		count = rows - row < slab ? rows - row : slab;
		rc = copy_rows(dst, src, row, row + count, err);
		if (rc == BI_OK && progress->active)
			rc = bi_stream_synchronize(stream, err);
		progress_add(progress, (uint64_t)(count * row_bytes));
	}
	return rc;
}

/* Copies the array to the device. *out is a dense array of the file's bytes in their order. */
static int upload_array(struct bi_context *context, const struct array *source, struct progress *progress,
			struct bi_view **out, struct bi_error *err)
{
	const struct npy *npy = &source->npy;
	struct bi_stream *stream = bi_context_stream(context);
	struct bi_view *host = NULL;
	int64_t shape[BI_MAX_NDIM];
	int rc;

	dense_shape(npy, shape);
	*out = NULL;
	rc = bi_view_wrap_host(context, source->bytes, npy->dtype, npy->ndim, shape, NULL, NULL, &host, err);
	if (rc == BI_OK)
		rc = bi_view_empty(context, npy->dtype, npy->ndim, shape, out, err);
	if (rc == BI_OK)
		rc = copy_in_slabs(*out, host, (int64_t)npy->nbytes, stream, progress, err);
	if (rc == BI_OK)
		rc = bi_stream_synchronize(stream, err);
	if (rc == BI_OK)
		rc = add_fields(out, npy->descr, err);
	bi_view_release(host);
	return rc;
}

static void replace_view(struct bi_view **view, struct bi_view *other)
{
	bi_view_release(*view);
	*view = other;
}

/* Replaces the uploaded array by the selected view. */
static int select_view(struct bi_view **view, int fortran_order, const struct selection *selection,
		       struct bi_error *err)
{
	struct bi_view *next;
	int rc = BI_OK;

	if (fortran_order) {
		rc = bi_view_permute(*view, NULL, &next, err);
		if (rc != BI_OK)
			return rc;
		replace_view(view, next);
	}
	if (selection->count) {
		rc = bi_view_index(*view, selection->items, selection->count, &next, err);
		if (rc != BI_OK)
			return rc;
		replace_view(view, next);
	}
	rc = selection_check_axes(selection, bi_view_ndim(*view), err);
	if (rc == BI_OK && selection->axis_count > 0) {
		rc = bi_view_permute(*view, selection->axes, &next, err);
		if (rc == BI_OK)
			replace_view(view, next);
	}
	return rc;
}

/* Copies the elements of the view to a new dense array on the device. */
static int make_dense_copy(struct bi_context *context, const struct bi_view *view, struct bi_view **out,
			   struct bi_error *err)
{
	int rc = bi_view_empty(context, bi_view_dtype(view), bi_view_ndim(view), bi_view_shape(view), out, err);

	if (rc == BI_OK)
		rc = bi_copy(*out, view, NULL, err);
	return rc == BI_OK ? bi_stream_synchronize(bi_context_stream(context), err) : rc;
}

/* Fills out->npy with the description of `dense`, and allocates out->bytes. */
static int allocate_bytes(const struct bi_view *dense, const char *descr, struct array *out, struct bi_error *err)
{
	struct bi_layout layout;

	bi_view_layout(dense, &layout);
	out->npy.dtype = layout.dtype;
	out->npy.ndim = layout.ndim;
	memcpy(out->npy.shape, layout.shape, sizeof(layout.shape[0]) * (size_t)layout.ndim);
	out->npy.nbytes = (size_t)bi_layout_nbytes(&layout);
	out->npy.descr = descr ? strdup(descr) : NULL;
	out->bytes = malloc(out->npy.nbytes ? out->npy.nbytes : 1);
	if (!out->bytes || (descr && !out->npy.descr))
		return fail(err, BI_ENOMEM, "out of memory for %zu bytes of results", out->npy.nbytes);
	return BI_OK;
}

static int download_array(struct bi_context *context, const struct bi_view *dense, struct array *out,
			  struct progress *progress, struct bi_error *err)
{
	const struct npy *npy = &out->npy;
	struct bi_stream *stream = bi_context_stream(context);
	struct bi_view *host = NULL;
	int rc = bi_view_wrap_host(context, out->bytes, npy->dtype, npy->ndim, npy->shape, NULL, NULL, &host, err);

	if (rc == BI_OK)
		rc = copy_in_slabs(host, dense, (int64_t)npy->nbytes, stream, progress, err);
	if (rc == BI_OK)
		rc = bi_stream_synchronize(stream, err);
	bi_view_release(host);
	return rc;
}

int transfer(struct bi_context *context, const struct transfer_request *request, struct array *out,
	     struct transfer_times *times, struct bi_error *err)
{
	const struct array *source = request->source;
	struct progress *progress = request->progress;
	struct bi_view *view = NULL, *dense = NULL;
	double start = seconds_now();
	int rc;

	progress_step(progress, "uploading");
	rc = upload_array(context, source, progress, &view, err);
	times->upload = seconds_now() - start;
	start = seconds_now();
	progress_step(progress, "copying");
	if (rc == BI_OK)
		rc = select_view(&view, source->npy.fortran_order, request->selection, err);
	if (rc == BI_OK)
		rc = make_dense_copy(context, view, &dense, err);
	times->copy = seconds_now() - start;
	if (rc == BI_OK)
		rc = allocate_bytes(dense, source->npy.descr, out, err);
	start = seconds_now();
	progress_step(progress, "downloading");
	if (rc == BI_OK)
		rc = download_array(context, dense, out, progress, err);
	times->download = seconds_now() - start;
	bi_view_release(dense);
	bi_view_release(view);
	return rc;
}
