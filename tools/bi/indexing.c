#include "indexing.h"

#include <string.h>

#include "fail.h"
#include "scan.h"

static int unreadable(const struct scan *scan, const char *what, struct bi_error *err)
{
	if (scan->at == scan->end)
		return fail(err, BI_EINVAL, "%s is expected at the end", what);
	return fail(err, BI_EINVAL, "%s is expected at \"%.*s\"", what, scan_shown(scan), scan->at);
}

static int take_newaxis(struct scan *scan)
{
	return scan_word(scan, "newaxis") || scan_word(scan, "None") || scan_word(scan, "np.newaxis");
}

/* A number, or nothing, or None. */
static void read_part(struct scan *scan, int64_t *value, int64_t otherwise)
{
	*value = otherwise;
	if (!scan_integer(scan, value))
		scan_word(scan, "None");
}

/* What follows the first ':'. */
static int read_slice(struct scan *scan, struct bi_index *item, struct bi_error *err)
{
	item->kind = BI_INDEX_SLICE;
	item->step = 1;
	read_part(scan, &item->stop, BI_OMITTED);
	if (scan_take(scan, ':'))
		read_part(scan, &item->step, 1);
	return item->step ? BI_OK : fail(err, BI_EINVAL, "slice step cannot be zero");
}

static int read_item(struct scan *scan, struct bi_index *item, struct bi_error *err)
{
	int none, number;

	memset(item, 0, sizeof(*item));
	if (scan_word(scan, "...")) {
		item->kind = BI_INDEX_ELLIPSIS;
		return BI_OK;
	}
	none = take_newaxis(scan);
	number = !none && scan_integer(scan, &item->start);
	if (scan_take(scan, ':')) {
		if (!number)
			item->start = BI_OMITTED;
		return read_slice(scan, item, err);
	}
	if (!none && !number)
		return unreadable(scan, "an integer, a slice, '...' or newaxis", err);
	item->kind = none ? BI_INDEX_NEWAXIS : BI_INDEX_INTEGER;
	return BI_OK;
}

int indexing_parse(const char *text, struct bi_index items[INDEXING_MAX], int *count, struct bi_error *err)
{
	struct scan scan = { text, text + strlen(text) };
	int rc;

	*count = 0;
	do {
		if (*count == INDEXING_MAX)
			return fail(err, BI_EINVAL, "more than %d items", INDEXING_MAX);
		rc = read_item(&scan, &items[*count], err);
		if (rc != BI_OK)
			return rc;
		++*count;
	} while (scan_take(&scan, ',') && !scan_done(&scan));
	return scan_done(&scan) ? BI_OK : unreadable(&scan, "','", err);
}

int integers_parse(const char *text, int64_t values[BI_MAX_NDIM], int *count, struct bi_error *err)
{
	struct scan scan = { text, text + strlen(text) };
	int open = scan_take(&scan, '('), comma = 1;

	for (*count = 0; comma && *count < BI_MAX_NDIM && scan_integer(&scan, &values[*count]); ++*count) {
		if (values[*count] == INT64_MAX || values[*count] == -INT64_MAX)
			return fail(err, BI_EOVERFLOW, "a number does not fit into 63 bits");
		comma = scan_take(&scan, ',');
	}
	if (open && !scan_take(&scan, ')'))
		return unreadable(&scan, "')'", err);
	if (scan_done(&scan))
		return BI_OK;
	if (*count == BI_MAX_NDIM)
		return fail(err, BI_EINVAL, "more than %d numbers", BI_MAX_NDIM);
	return unreadable(&scan, "an integer", err);
}

static int axes_parse(const char *text, struct selection *out, struct bi_error *err)
{
	int64_t axes[BI_MAX_NDIM];
	int rc = integers_parse(text, axes, &out->axis_count, err);

	for (int i = 0; rc == BI_OK && i < out->axis_count; i++) {
		if (axes[i] < -BI_MAX_NDIM || axes[i] >= BI_MAX_NDIM)
			rc = fail(err, BI_EINVAL, "axis %lld is out of range", (long long)axes[i]);
		else
			out->axes[i] = (int)axes[i];
	}
	return rc;
}

int selection_parse(const char *slice, const char *transpose, struct selection *out, struct bi_error *err)
{
	out->count = 0;
	out->axis_count = -1;
	if (slice && indexing_parse(slice, out->items, &out->count, err) != BI_OK)
		return fail_about(err, "--slice");
	if (transpose && axes_parse(transpose, out, err) != BI_OK)
		return fail_about(err, "--transpose");
	return BI_OK;
}

int selection_check_axes(const struct selection *selection, int ndim, struct bi_error *err)
{
	if (selection->axis_count < 0 || selection->axis_count == ndim)
		return BI_OK;
	return fail(err, BI_EINVAL, "--transpose names %d axes, the array has %d", selection->axis_count, ndim);
}

int selection_apply(const struct selection *selection, struct bi_layout *layout, struct bi_error *err)
{
	int rc = BI_OK;

	if (selection->count)
		rc = bi_layout_index(layout, selection->items, selection->count, err);
	if (rc == BI_OK)
		rc = selection_check_axes(selection, layout->ndim, err);
	if (rc == BI_OK && selection->axis_count > 0)
		rc = bi_layout_permute(layout, selection->axes, err);
	return rc;
}
