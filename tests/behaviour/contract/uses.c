/* bi_use_begin and bi_use_end: what is refused, and that a refusal of one use leaves the others alone. */
#include "contract.h"

#include "buffer_interface/binding.h"

struct pair {
	struct bi_view *in, *out;
	struct bi_stream *stream;
};

static void open_pair(struct pair *pair)
{
	static const int64_t shape[] = { 64 };

	OK(bi_view_empty(fixture.context, dtype_of("int32"), 1, shape, &pair->in, &error));
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 1, shape, &pair->out, &error));
	OK(bi_stream_create(fixture.context, 0, &pair->stream, &error));
	OK(bi_view_synchronize(pair->in, &error));
}

static void close_pair(struct pair *pair)
{
	bi_view_release(pair->in);
	bi_view_release(pair->out);
	bi_stream_release(pair->stream);
}

static void refuse_both(int status, const struct pair *pair, struct bi_use second)
{
	const struct bi_use uses[] = { { pair->in, BI_ACCESS_READ }, second };

	REFUSED(status, bi_use_begin(pair->stream, uses, 2, &error));
	REFUSED(status, bi_use_end(pair->stream, uses, 2, &error));
	assert_true(bi_view_is_idle(pair->in));
	fixture.cases++;
}

static void test_refused_arguments(void **state)
{
	static const int64_t shape[] = { 2, 64 };
	struct bi_view *constant;
	struct pair pair;

	(void)state;
	open_pair(&pair);
	OK(bi_view_broadcast(pair.out, 2, shape, &constant, &error));
	refuse_both(BI_EINVAL, &pair, (struct bi_use){ NULL, BI_ACCESS_READ });
	assert_non_null(strstr(error.message, "uses[1]"));
	refuse_both(BI_EINVAL, &pair, (struct bi_use){ pair.out, 0 });
	refuse_both(BI_EINVAL, &pair, (struct bi_use){ pair.out, 4 });
	refuse_both(BI_EINVAL, &pair, (struct bi_use){ pair.out, BI_ACCESS_READ | 8 });
	refuse_both(BI_EREADONLY, &pair, (struct bi_use){ constant, BI_ACCESS_WRITE });
	refuse_both(BI_EREADONLY, &pair, (struct bi_use){ constant, BI_ACCESS_READ_WRITE });
	REFUSED(BI_EINVAL, bi_use_begin(pair.stream, NULL, 1, &error));
	REFUSED(BI_EINVAL, bi_use_end(pair.stream, NULL, 1, &error));
	REFUSED(BI_EINVAL, bi_use_begin(NULL, NULL, 0, &error));
	OK(bi_use_begin(pair.stream, NULL, 0, &error));
	OK(bi_use_end(pair.stream, NULL, 0, &error));
	bi_view_release(constant);
	close_pair(&pair);
}

static void test_several_views_at_once(void **state)
{
	struct pair pair;
	int32_t values[64];

	(void)state;
	open_pair(&pair);
	OK(bi_fill(pair.in, "\3\3\3\3", NULL, &error));
	OK(bi_use_begin(pair.stream, (struct bi_use[]){ { pair.in, BI_ACCESS_READ }, { pair.out, BI_ACCESS_WRITE } }, 2,
			&error));
	OK(bi_copy(pair.out, pair.in, pair.stream, &error));
	OK(bi_use_end(pair.stream, (struct bi_use[]){ { pair.in, BI_ACCESS_READ }, { pair.out, BI_ACCESS_WRITE } }, 2,
		      &error));
	check_order(bi_view_memory(pair.in));
	check_order(bi_view_memory(pair.out));
	OK(bi_view_read(pair.out, values, sizeof(values), &error));
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(values[i], 0x03030303);
	fixture.cases++;
	close_pair(&pair);
}

/* The CPU has the bytes of a mapped memory; work that began before may still be ended. */
static void check_mapped(const struct pair *pair, unsigned mode)
{
	const struct bi_use uses[] = { { pair->out, BI_ACCESS_READ_WRITE }, { pair->in, BI_ACCESS_READ } };
	const struct bi_use write = { pair->in, BI_ACCESS_WRITE };
	struct bi_map *map;

	OK(bi_view_map(pair->in, mode, &map, &error));
	if (mode & BI_MAP_WRITE)
		REFUSED(BI_EBUSY, bi_use_begin(pair->stream, uses, 2, &error));
	else
		OK(bi_use_begin(pair->stream, uses, 2, &error));
	REFUSED(BI_EBUSY, bi_use_begin(pair->stream, &write, 1, &error));
	OK(bi_use_end(pair->stream, uses, 2, &error));
	OK(bi_unmap(map, &error));
	OK(bi_use_begin(pair->stream, uses, 2, &error));
	OK(bi_use_begin(pair->stream, &write, 1, &error));
	fixture.cases++;
}

static void test_mapped_memory_is_busy(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	check_mapped(&pair, BI_MAP_READ);
	check_mapped(&pair, BI_MAP_WRITE);
	close_pair(&pair);
}

int uses_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_refused_arguments),
		TEST(test_several_views_at_once),
		TEST(test_mapped_memory_is_busy),
	};

	return cmocka_run_group_tests_name("uses", tests, NULL, NULL);
}
