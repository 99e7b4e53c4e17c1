/* What a view is made of on the command line: NumPy's basic indexing, axes and lists of integers, from text. */
#ifndef BI_TOOL_INDEXING_H
#define BI_TOOL_INDEXING_H

#include <stdint.h>

#include "buffer_interface.h"

/* Most items of an indexing text: each axis and as many new ones again, and an ellipsis. */
#define INDEXING_MAX (2 * BI_MAX_NDIM + 1)

/* A strided view of an array: first the items, then the axes. */
struct selection {
	int count; /* items; 0 takes the whole array */
	int axis_count; /* axes; -1 leaves them as they are */
	const char *slice; /* the texts, for messages; may be NULL */
	const char *transpose;
	struct bi_index items[INDEXING_MAX];
	int axes[BI_MAX_NDIM];
};

/*
 * Reads "::2, ::-1", "0, ..., newaxis", "None, 3:": integers, slices (a part may be left out or None), `...`, `newaxis`
 * and `None`. Parts of a slice that are beyond int64_t are clipped to it, as they would be to any extent; an integer is
 * BI_EOVERFLOW then. BI_EINVAL for other text.
 */
int indexing_parse(const char *text, struct bi_index items[INDEXING_MAX], int *count, struct bi_error *err);

/*
 * Reads "4,6", "(4, 6)", "(4,)", "" and "()" (no number). BI_EOVERFLOW for a number beyond INT64_MAX or -INT64_MAX,
 * BI_EINVAL for other text and for more than BI_MAX_NDIM.
 */
int integers_parse(const char *text, int64_t values[BI_MAX_NDIM], int *count, struct bi_error *err);

/*
 * Reads both texts, which must outlive *out; each may be NULL. `err` is not NULL; its message names the option and what
 * it is given.
 */
int selection_parse(const char *slice, const char *transpose, struct selection *out, struct bi_error *err);

/* BI_EINVAL or BI_EBOUNDS if there are axes, but not those that an array of ndim dimensions has. */
int selection_check_axes(const struct selection *selection, int ndim, struct bi_error *err);

/* Turns the layout of an array into that of the view. The message of a failure names the option. */
int selection_apply(const struct selection *selection, struct bi_layout *layout, struct bi_error *err);

#endif
