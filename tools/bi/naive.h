/*
 * Compares an array with source[items].transpose(axes), one element at a time.
 *
 * The comparison does not call the library, so it can check the library's result.
 */
#ifndef BI_TOOL_NAIVE_H
#define BI_TOOL_NAIVE_H

#include <stddef.h>
#include <stdint.h>

#include "indexing.h"

struct naive_array {
	const unsigned char *bytes;
	size_t item_size;
	int fortran_order;
	int ndim;
	const int64_t *shape;
};

enum naive_verdict {
	NAIVE_SAME,
	NAIVE_OTHER_SHAPE, /* *index is not written */
	NAIVE_OTHER_BYTES, /* *index is the index of the first element in C order that differs */
	NAIVE_NO_VIEW /* the array has no such view */
};

/* Compares `result`, which is in C order, with the view of `source`. */
enum naive_verdict naive_compare(const struct naive_array *source, const struct selection *selection,
				 const struct naive_array *result, int64_t index[BI_MAX_NDIM]);

#endif
