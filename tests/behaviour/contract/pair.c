#include "pair.h"

#include <stdio.h>

const char *pair_text(const struct side *dst, const struct side *src)
{
	static char text[1200];

	snprintf(text, sizeof(text), "copy to %s from %s", layout_text(&dst->layout), layout_text(&src->layout));
	return text;
}

struct bi_stream *pair_stream(const struct side *dst, const struct side *src)
{
	const struct bi_memory *to = dst->mirror->memory, *from = src->mirror->memory;
	int use_source = bi_memory_is_host(to) == bi_memory_is_host(from) ? (int)test_between(&fixture.random, 0, 1)
									  : bi_memory_is_host(to);

	return random_stream(use_source ? from : to);
}

void copy_both(const struct side *dst, const struct side *src)
{
	struct bi_view *to = view_of(dst->mirror, &dst->layout, 0), *from = view_of(src->mirror, &src->layout, 0);
	struct bi_stream *stream = pair_stream(dst, src);
	const char *what = pair_text(dst, src);

	OK(bi_copy(to, from, stream, &error));
	check_order(dst->mirror->memory);
	check_order(src->mirror->memory);
	trim_randomly(bi_memory_context(dst->mirror->memory));
	trim_randomly(bi_memory_context(src->mirror->memory));
	bi_view_release(from);
	bi_view_release(to);
	bi_stream_release(stream);
	naive_copy(dst->mirror->bytes, &dst->layout, src->mirror->bytes, &src->layout);
	mirror_check(dst->mirror, what);
	mirror_check(src->mirror, what);
	fixture.cases++;
}
