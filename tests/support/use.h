/*
 * One use of one view by the test's own work: bi_use_begin and bi_use_end with the access that the view allows.
 */
#ifndef BI_TEST_USE_H
#define BI_TEST_USE_H

#include "buffer_interface.h"

static inline struct bi_use whole_use(const struct bi_view *view)
{
	int is_readonly = view && bi_view_flags(view) & BI_VIEW_READONLY;

	return (struct bi_use){ view, is_readonly ? BI_ACCESS_READ : BI_ACCESS_READ_WRITE };
}

static inline int begin_use(const struct bi_view *view, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_use use = whole_use(view);

	return bi_use_begin(stream, &use, 1, err);
}

static inline int end_use(const struct bi_view *view, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_use use = whole_use(view);

	return bi_use_end(stream, &use, 1, err);
}

#endif
