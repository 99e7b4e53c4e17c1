/* Begins and ends the use of one view on a stream. The use counts as a write, unless the view is read-only. */
#ifndef BIP_USES_H
#define BIP_USES_H

#include "extension.h"

static inline struct bi_use bip_whole_use(const struct bi_view *view)
{
	int is_readonly = bi_view_flags(view) & BI_VIEW_READONLY;

	return (struct bi_use){ view, is_readonly ? BI_ACCESS_READ : BI_ACCESS_READ_WRITE };
}

static inline int bip_begin_use(const struct bi_view *view, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_use use = bip_whole_use(view);

	return bi_use_begin(stream, &use, 1, err);
}

static inline int bip_end_use(const struct bi_view *view, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_use use = bip_whole_use(view);

	return bi_use_end(stream, &use, 1, err);
}

#endif
