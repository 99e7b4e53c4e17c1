/* Parses the view options of the command line: NumPy's basic indexing, axes and lists of integers. */
#ifndef BI_TOOL_INDEXING_H
#define BI_TOOL_INDEXING_H

#include <stdint.h>

#include "buffer_interface.h"

/* Most items of an index: one for each axis, as many new axes, and an ellipsis. */
#define INDEXING_MAX (2 * BI_MAX_NDIM + 1)

/* A strided view of an array. The items are applied first, then the axes. */
struct selection {
	int count; /* number of items; 0: the whole array */
	int axis_count; /* number of axes; -1: their order is kept */
	const char *slice; /* the original texts, for messages; may be NULL */
	const char *transpose;
	struct bi_index items[INDEXING_MAX];
	int axes[BI_MAX_NDIM];
};

/*
 * Reads "::2, ::-1", "0, ..., newaxis", "None, 3:": integers, slices (each part may be omitted or None), `...`,
 * `newaxis` and `None`. Parts of a slice beyond int64_t are clipped, as any extent would clip them. Returns
 * BI_EOVERFLOW for an integer beyond int64_t, BI_EINVAL for invalid text.
 */
int indexing_parse(const char *text, struct bi_index items[INDEXING_MAX], int *count, struct bi_error *err);

/*
 * Reads "4,6", "(4, 6)", "(4,)", and "" or "()" as no number. Returns BI_EOVERFLOW for a number beyond INT64_MAX or
 * -INT64_MAX, BI_EINVAL for invalid text and for more than BI_MAX_NDIM numbers.
 */
int integers_parse(const char *text, int64_t values[BI_MAX_NDIM], int *count, struct bi_error *err);

/*
 * Parses both texts, which must outlive *out; each may be NULL. `err` must not be NULL; its message names the option
 * and its value.
 */
int selection_parse(const char *slice, const char *transpose, struct selection *out, struct bi_error *err);

/* Returns BI_EINVAL or BI_EBOUNDS if axes were given that do not fit an array of ndim dimensions. */
int selection_check_axes(const struct selection *selection, int ndim, struct bi_error *err);

/* Changes the layout of an array into that of the view. The message of a failure names the option. */
int selection_apply(const struct selection *selection, struct bi_layout *layout, struct bi_error *err);

#endif
