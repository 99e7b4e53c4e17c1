#include "transfer.h"

#define SLAB (INT64_C(64) << 20)

static int copy_part(const struct bi_view *dst, const struct bi_view *src, int axis, struct bi_index part,
		     struct bi_error *err)
{
	struct bi_view *from = NULL, *to = NULL;
	int rc = bi_view_index_axis(src, axis, part, &from, err);

	if (rc == BI_OK)
		rc = bi_view_index_axis(dst, axis, part, &to, err);
	if (rc == BI_OK)
		rc = bi_copy(to, from, NULL, err);
	bi_view_release(to);
	bi_view_release(from);
	return rc;
}

/*
 * Copies between two arrays that are dense in the same order, in slabs along the axis with the longest stride. Waits
 * for each slab only if a progress bar is drawn.
 */
static int copy_in_slabs(const struct bi_view *dst, const struct bi_view *src, const struct bi_layout *layout,
			 struct progress *progress, struct bi_error *err)
{
	int axis = bi_layout_is_contiguous(layout, 'C') ? 0 : layout->ndim - 1, rc = BI_OK;
	int64_t nbytes = bi_layout_nbytes(layout), extent, row_bytes, slab, count;

	if (nbytes <= SLAB || layout->ndim == 0) {
		rc = bi_copy(dst, src, NULL, err);
		progress_add(progress, (uint64_t)nbytes);
		return rc;
	}
	extent = layout->shape[axis];
	row_bytes = nbytes / extent;
	slab = row_bytes < SLAB ? SLAB / row_bytes : 1;
	for (int64_t row = 0; rc == BI_OK && row < extent; row += count) {
		count = extent - row < slab ? extent - row : slab;
		rc = copy_part(dst, src, axis, (struct bi_index){ BI_INDEX_SLICE, row, row + count, 1 }, err);
		if (rc == BI_OK && progress->active)
			rc = bi_view_synchronize(dst, err);
		progress_add(progress, (uint64_t)(count * row_bytes));
	}
	return rc;
}

/* Makes a copy of a dense array, in the order of its bytes, in memory of the context. Waits until the copy is made. */
static int copy_whole(const struct bi_view *src, struct bi_context *context, enum bi_memory_kind kind,
		      struct progress *progress, struct bi_view **out, struct bi_error *err)
{
	struct bi_memory *memory;
	struct bi_layout layout;
	int rc;

	bi_view_layout(src, &layout);
	layout.offset = 0;
	rc = bi_memory_create(context, (size_t)bi_layout_nbytes(&layout), kind, &memory, err);
	if (rc != BI_OK)
		return rc;
	rc = bi_view_create(memory, &layout, 0, out, err);
	bi_memory_release(memory);
	if (rc == BI_OK)
		rc = copy_in_slabs(*out, src, &layout, progress, err);
	return rc == BI_OK ? bi_stream_synchronize(bi_context_stream(context), err) : rc;
}

/* Makes the selected view of the uploaded array. */
static int select_view(const struct bi_view *uploaded, const struct selection *selection, struct bi_view **out,
		       struct bi_error *err)
{
	struct bi_layout layout;
	int rc;

	bi_view_layout(uploaded, &layout);
	rc = selection_apply(selection, &layout, err);
	return rc == BI_OK ? bi_view_with_layout(uploaded, &layout, out, err) : rc;
}

int transfer(struct bi_context *context, const struct transfer_request *request, struct bi_view **out,
	     struct transfer_times *times, struct bi_error *err)
{
	struct progress *progress = request->progress;
	struct bi_view *uploaded = NULL, *view = NULL, *dense = NULL;
	double start = seconds_now();
	int rc;

	progress_step(progress, "uploading");
	rc = copy_whole(request->source, context, BI_MEMORY_DEFAULT, progress, &uploaded, err);
	times->upload = seconds_now() - start;
	start = seconds_now();
	progress_step(progress, "copying");
	if (rc == BI_OK)
		rc = select_view(uploaded, request->selection, &view, err);
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
	bi_view_release(uploaded);
	return rc;
}
