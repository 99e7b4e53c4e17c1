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
	const struct bi_memory *to = dst->oracle->memory, *from = src->oracle->memory;
	int use_source = bi_memory_is_host(to) == bi_memory_is_host(from) ? (int)test_between(&fixture.random, 0, 1)
									  : bi_memory_is_host(to);

	return random_stream(use_source ? from : to);
}

void copy_both(const struct side *dst, const struct side *src)
{
	struct bi_view *to = view_of(dst->oracle, &dst->layout, 0), *from = view_of(src->oracle, &src->layout, 0);
	struct bi_stream *stream = pair_stream(dst, src);
	const char *what = pair_text(dst, src);

	OK(bi_copy(to, from, stream, &error));
	check_order(dst->oracle->memory);
	check_order(src->oracle->memory);
	trim_randomly(bi_memory_context(dst->oracle->memory));
	trim_randomly(bi_memory_context(src->oracle->memory));
	bi_view_release(from);
	bi_view_release(to);
	bi_stream_release(stream);
	naive_copy(dst->oracle->bytes, &dst->layout, src->oracle->bytes, &src->layout);
	oracle_check(dst->oracle, what);
	oracle_check(src->oracle, what);
	fixture.cases++;
}
