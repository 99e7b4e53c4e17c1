/* Parses the options that select a view: indices of NumPy's basic indexing, axes, and lists of integers. */
#ifndef BI_TOOL_INDEXING_H
#define BI_TOOL_INDEXING_H

#include <stdint.h>

#include "buffer_interface.h"

/* The most items of an index: one for each axis, as many new axes, and one ellipsis. */
#define INDEXING_MAX (2 * BI_MAX_NDIM + 1)

/* A strided view of an array. The items are applied first, and then the axes. */
struct selection {
	int count; /* number of items; 0: the whole array */
	int axis_count; /* number of axes in `axes`; -1: the order of the axes is kept */
	const char *slice; /* the original text, for messages; may be NULL */
	const char *transpose;
	struct bi_index items[INDEXING_MAX];
	int axes[BI_MAX_NDIM];
};

/*
 * Reads an index such as "::2, ::-1", "0, ..., newaxis" or "None, 3:". Items are integers, slices (each part may be
 * omitted or None), `...`, `newaxis`, `np.newaxis` and `None`. Parts of a slice above INT64_MAX or below -INT64_MAX are
 * replaced by that limit, which selects the same elements of an axis shorter than INT64_MAX. Returns BI_EOVERFLOW for
 * any other integer beyond these limits, and BI_EINVAL for invalid text.
 */
int indexing_parse(const char *text, struct bi_index items[INDEXING_MAX], int *count, struct bi_error *err);

/*
 * Reads integers such as "4,6", "(4, 6)" or "(4,)". "()" is the empty list: *count becomes 0. Returns BI_EOVERFLOW for
 * a number above INT64_MAX or below -INT64_MAX. Returns BI_EINVAL for invalid or blank text and for more than
 * BI_MAX_NDIM numbers.
 */
int integers_parse(const char *text, int64_t values[BI_MAX_NDIM], int *count, struct bi_error *err);

/*
 * Parses both texts, which must outlive *out. Each text may be NULL. `err` must not be NULL. The message of a failure
 * names the option and its value.
 */
int selection_parse(const char *slice, const char *transpose, struct selection *out, struct bi_error *err);

/*
 * Changes the layout of an array to the layout of the view. `err` must not be NULL. The message of a failure names the
 * option and its value.
 */
int selection_apply(const struct selection *selection, struct bi_layout *layout, struct bi_error *err);

#endif
