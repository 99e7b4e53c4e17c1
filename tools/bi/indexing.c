#include "indexing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "scan.h"
#include "text.h"

static int fail_unreadable(const struct scan *scan, const char *what, struct bi_error *err)
{
	if (scan->at == scan->end)
		return fail(err, BI_EINVAL, "%s is expected at the end", what);
	return fail(err, BI_EINVAL, "%s is expected at \"%.*s\"", what,
		    text_fit(scan->at, (size_t)(scan->end - scan->at), 24), scan->at);
}

static int fail_too_large(const char *text, int length, int64_t limit, struct bi_error *err)
{
	return fail(err, BI_EOVERFLOW, "%.*s%s is too %s; the limit is %" PRId64, length < 40 ? length : 40, text,
		    length < 40 ? "" : "…", limit < 0 ? "small" : "large", limit);
}

/* Reads an integer and sets *found. Returns BI_EINVAL if other characters of a word follow the integer, as in 1.5. */
static int read_integer(struct scan *scan, int64_t *value, enum scan_number *found, struct bi_error *err)
{
	struct scan start;

	scan_done(scan);
	start = *scan;
	*found = scan_integer(scan, value);
	if (*found == SCAN_NO_INTEGER || scan->at - start.at == scan_word_length(&start))
		return BI_OK;
	return fail(err, BI_EINVAL, "an integer is expected, not \"%.*s\"",
		    scan_word_length(&start) < 40 ? scan_word_length(&start) : 40, start.at);
}

/* Reads one part of a slice. If it is None or missing, *value becomes `otherwise`. */
static int read_part(struct scan *scan, int64_t *value, int64_t otherwise, struct bi_error *err)
{
	enum scan_number found;
	int rc = read_integer(scan, value, &found, err);

	if (rc == BI_OK && found == SCAN_NO_INTEGER) {
		*value = otherwise;
		scan_word(scan, "None");
	}
	return rc;
}

/* Reads the part of a slice after the first ':'. */
static int read_slice(struct scan *scan, struct bi_index *item, struct bi_error *err)
{
	int rc;

	item->kind = BI_INDEX_SLICE;
	item->step = 1;
	rc = read_part(scan, &item->stop, BI_OMITTED, err);
	if (rc == BI_OK && scan_take(scan, ':'))
		rc = read_part(scan, &item->step, 1, err);
	if (rc != BI_OK)
		return rc;
	if (scan_take(scan, ':'))
		return fail(err, BI_EINVAL, "a slice has at most three parts");
	return item->step ? BI_OK : fail(err, BI_EINVAL, "slice step cannot be zero");
}

static int read_item(struct scan *scan, struct bi_index *item, struct bi_error *err)
{
	enum scan_number found = SCAN_NO_INTEGER;
	const char *start;
	int none, rc = BI_OK;

	memset(item, 0, sizeof(*item));
	if (scan_word(scan, "...")) {
		item->kind = BI_INDEX_ELLIPSIS;
		return BI_OK;
	}
	none = scan_word(scan, "newaxis") || scan_word(scan, "None") || scan_word(scan, "np.newaxis");
	start = scan->at;
	if (!none)
		rc = read_integer(scan, &item->start, &found, err);
	if (rc != BI_OK)
		return rc;
	if (scan_take(scan, ':')) {
		if (found == SCAN_NO_INTEGER)
			item->start = BI_OMITTED;
		return read_slice(scan, item, err);
	}
	if (found == SCAN_CLIPPED)
		return fail_too_large(start, (int)(scan->at - start), item->start, err);
	if (!none && found == SCAN_NO_INTEGER)
		return fail_unreadable(scan, "an integer, a slice, '...' or newaxis", err);
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
	return scan_done(&scan) ? BI_OK : fail_unreadable(&scan, "','", err);
}

static int read_listed(struct scan *scan, int64_t *value, enum scan_number *found, struct bi_error *err)
{
	const char *start;
	int rc;

	scan_done(scan);
	start = scan->at;
	rc = read_integer(scan, value, found, err);
	if (rc == BI_OK && *found == SCAN_CLIPPED)
		rc = fail_too_large(start, (int)(scan->at - start), *value, err);
	return rc;
}

int integers_parse(const char *text, int64_t values[BI_MAX_NDIM], int *count, struct bi_error *err)
{
	struct scan scan = { text, text + strlen(text) };
	enum scan_number found = SCAN_INTEGER;
	int open = scan_take(&scan, '('), comma = 1, is_closed;

	for (*count = 0; comma && *count < BI_MAX_NDIM; ++*count) {
		int rc = read_listed(&scan, &values[*count], &found, err);

		if (rc != BI_OK)
			return rc;
		if (found == SCAN_NO_INTEGER)
			break;
		comma = scan_take(&scan, ',');
	}
	is_closed = !open || scan_take(&scan, ')');
	if (is_closed && scan_done(&scan) && (open || *count))
		return BI_OK;
	if (*count == BI_MAX_NDIM && comma && !(open && is_closed))
		return fail(err, BI_EINVAL, "more than %d numbers", BI_MAX_NDIM);
	if (!is_closed)
		return fail_unreadable(&scan, "')'", err);
	return fail_unreadable(&scan, comma ? "an integer" : "','", err);
}

static int is_blank(const char *text)
{
	struct scan scan = { text, text + strlen(text) };

	return scan_done(&scan);
}

static int axes_parse(const char *text, struct selection *out, struct bi_error *err)
{
	int64_t axes[BI_MAX_NDIM];
	int rc;

	if (is_blank(text))
		return fail(err, BI_EINVAL, "axes are expected, such as 1,0");
	rc = integers_parse(text, axes, &out->axis_count, err);
	for (int i = 0; rc == BI_OK && i < out->axis_count; i++) {
		if (axes[i] < -BI_MAX_NDIM || axes[i] >= BI_MAX_NDIM)
			rc = fail(err, BI_EINVAL, "there is no axis %" PRId64 "; an array has at most %d", axes[i],
				  BI_MAX_NDIM);
		else
			out->axes[i] = (int)axes[i];
	}
	return rc;
}

/* Puts the option and its value before the message. A long value is cut. */
static int fail_option(struct bi_error *err, const char *name, const char *value)
{
	char about[64];

	if (value)
		snprintf(about, sizeof(about), "%s \"%.*s%s\"", name, text_fit(value, strlen(value), 24), value,
			 strlen(value) > 24 ? "…" : "");
	return fail_about(err, value ? about : name);
}

int selection_parse(const char *slice, const char *transpose, struct selection *out, struct bi_error *err)
{
	int rc = BI_OK;

	out->count = 0;
	out->axis_count = -1;
	out->slice = slice;
	out->transpose = transpose;
	if (slice && is_blank(slice))
		rc = fail(err, BI_EINVAL, "an index is expected, such as ::2");
	else if (slice)
		rc = indexing_parse(slice, out->items, &out->count, err);
	if (rc != BI_OK)
		return fail_option(err, "--slice", slice);
	if (transpose && axes_parse(transpose, out, err) != BI_OK)
		return fail_option(err, "--transpose", transpose);
	return BI_OK;
}

/*
 * Counts the axes to which an item of the index applies: all except those of an ellipsis and new axes. Returns
 * BI_EINVAL if there are two ellipses.
 */
static int named_axes(const struct selection *selection, int *named, struct bi_error *err)
{
	int ellipses = 0;

	*named = 0;
	for (int i = 0; i < selection->count; i++) {
		enum bi_index_kind kind = selection->items[i].kind;

		*named += kind == BI_INDEX_INTEGER || kind == BI_INDEX_SLICE;
		ellipses += kind == BI_INDEX_ELLIPSIS;
	}
	return ellipses > 1 ? fail(err, BI_EINVAL, "there can be only one '...'") : BI_OK;
}

/*
 * Refuses too many indices, indices out of bounds, and two ellipses. The messages use the words of the option, not of
 * the library's API.
 */
static int check_items(const struct selection *selection, const struct bi_layout *layout, struct bi_error *err)
{
	int named, axis = 0, rc = named_axes(selection, &named, err);

	if (rc != BI_OK)
		return rc;
	if (named > layout->ndim)
		return fail(err, BI_EBOUNDS, "%d %s, the array has %d", named,
			    named == 1 ? "axis is indexed" : "axes are indexed", layout->ndim);
	for (int i = 0; i < selection->count; i++) {
		const struct bi_index *item = &selection->items[i];
		int64_t extent;

		if (item->kind == BI_INDEX_ELLIPSIS)
			axis += layout->ndim - named;
		if (item->kind == BI_INDEX_SLICE)
			axis++;
		if (item->kind != BI_INDEX_INTEGER)
			continue;
		extent = layout->shape[axis];
		if (item->start < -extent || item->start >= extent)
			return fail(err, BI_EBOUNDS, "%" PRId64 " is outside of axis %d, whose extent is %" PRId64,
				    item->start, axis, extent);
		axis++;
	}
	return BI_OK;
}

static int check_axes(const struct selection *selection, int ndim, struct bi_error *err)
{
	uint64_t seen = 0;

	if (selection->axis_count != ndim)
		return fail(err, BI_EINVAL, "it names %d ax%s, the array has %d%s", selection->axis_count,
			    selection->axis_count == 1 ? "is" : "es", ndim, selection->count ? " after --slice" : "");
	for (int i = 0; i < ndim; i++) {
		int axis = selection->axes[i] < 0 ? selection->axes[i] + ndim : selection->axes[i];

		if (axis < 0 || axis >= ndim)
			return fail(err, BI_EBOUNDS, "there is no axis %d; the array has %d ax%s%s", selection->axes[i],
				    ndim, ndim == 1 ? "is" : "es", selection->count ? " after --slice" : "");
		if (seen >> axis & 1)
			return fail(err, BI_EINVAL, "axis %d is repeated", axis);
		seen |= UINT64_C(1) << axis;
	}
	return BI_OK;
}

int selection_apply(const struct selection *selection, struct bi_layout *layout, struct bi_error *err)
{
	int rc = selection->count ? check_items(selection, layout, err) : BI_OK;

	if (rc == BI_OK && selection->count)
		rc = bi_layout_index(layout, selection->items, selection->count, err);
	if (rc != BI_OK)
		return fail_option(err, "--slice", selection->slice);
	if (selection->axis_count < 0)
		return BI_OK;
	rc = check_axes(selection, layout->ndim, err);
	if (rc == BI_OK)
		rc = bi_layout_permute(layout, selection->axes, err);
	return rc == BI_OK ? BI_OK : fail_option(err, "--transpose", selection->transpose);
}
