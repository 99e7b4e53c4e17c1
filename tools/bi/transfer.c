#include "transfer.h"

#define SLAB (INT64_C(64) << 20)

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

static void replace_view(struct bi_view **view, struct bi_view *other)
{
	bi_view_release(*view);
	*view = other;
}

/*
 * Makes a copy of an array that is dense in C order, in memory of the context. Waits until the copy is made.
 */
static int copy_whole(const struct bi_view *src, struct bi_context *context, enum bi_memory_kind kind,
		      struct progress *progress, struct bi_view **out, struct bi_error *err)
{
	struct bi_stream *stream = bi_context_stream(context);
	struct bi_memory *memory;
	struct bi_layout layout;
	int64_t nbytes;
	int rc;

	bi_view_layout(src, &layout);
	layout.offset = 0;
	nbytes = bi_layout_nbytes(&layout);
	rc = bi_memory_create(context, (size_t)nbytes, kind, &memory, err);
	if (rc != BI_OK)
		return rc;
	rc = bi_view_create(memory, &layout, 0, out, err);
	bi_memory_release(memory);
	if (rc == BI_OK)
		rc = copy_in_slabs(*out, src, nbytes, stream, progress, err);
	return rc == BI_OK ? bi_stream_synchronize(stream, err) : rc;
}

/* Copies the array to the device in the order of its bytes. */
static int upload_array(struct bi_context *context, const struct transfer_request *request, int fortran_order,
			struct bi_view **out, struct bi_error *err)
{
	struct bi_view *turned = NULL;
	int rc = fortran_order ? bi_view_permute(request->source, NULL, &turned, err) : BI_OK;

	if (rc == BI_OK)
		rc = copy_whole(turned ? turned : request->source, context, BI_MEMORY_DEFAULT, request->progress, out,
				err);
	bi_view_release(turned);
	return rc;
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

int transfer(struct bi_context *context, const struct transfer_request *request, struct bi_view **out,
	     struct transfer_times *times, struct bi_error *err)
{
	struct progress *progress = request->progress;
	struct bi_view *view = NULL, *dense = NULL;
	struct bi_layout layout;
	double start = seconds_now();
	int rc, fortran_order;

	bi_view_layout(request->source, &layout);
	fortran_order = !bi_layout_is_contiguous(&layout, 'C');
	progress_step(progress, "uploading");
	rc = upload_array(context, request, fortran_order, &view, err);
	times->upload = seconds_now() - start;
	start = seconds_now();
	progress_step(progress, "copying");
	if (rc == BI_OK)
		rc = select_view(&view, fortran_order, request->selection, err);
	if (rc == BI_OK)
		rc = bi_view_clone(view, NULL, &dense, err);
	if (rc == BI_OK)
		rc = bi_stream_synchronize(bi_context_stream(context), err);
	times->copy = seconds_now() - start;
	start = seconds_now();
	progress_step(progress, "downloading");
	if (rc == BI_OK)
		rc = copy_whole(dense, context, BI_MEMORY_HOST, progress, out, err);
	times->download = seconds_now() - start;
	bi_view_release(dense);
	bi_view_release(view);
	return rc;
}
