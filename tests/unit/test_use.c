/* Uses of memory on a stream of the caller: what is refused, and what is pending afterwards. */
#include "unit.h"

#include "buffer_interface/binding.h"

static struct bi_context *device, *other;

static void arguments_are_checked(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 64), *wide;
	struct bi_stream *stream = bi_context_stream(device);
	struct bi_use use = { a, BI_ACCESS_READ_WRITE };

	(void)state;
	REFUSED(BI_EINVAL, bi_use_begin(NULL, &use, 1, &error));
	REFUSED(BI_EINVAL, bi_use_begin(stream, NULL, 1, &error));
	OK(bi_use_begin(stream, NULL, 0, &error));
	use.access = 0;
	REFUSED_FOR(BI_EINVAL, "uses[0].access is 0", bi_use_begin(stream, &use, 1, &error));
	use.access = 64;
	REFUSED(BI_EINVAL, bi_use_end(stream, &use, 1, &error));
	use = (struct bi_use){ NULL, BI_ACCESS_READ };
	REFUSED_FOR(BI_EINVAL, "uses[0].view is NULL", bi_use_begin(stream, &use, 1, &error));
	use = (struct bi_use){ a, BI_ACCESS_READ };
	REFUSED_FOR(BI_EINVAL, "cannot reach memory", bi_use_begin(bi_context_stream(other), &use, 1, &error));
	OK(bi_view_broadcast(a, 2, (int64_t[]){ 2, 64 }, &wide, &error));
	use = (struct bi_use){ wide, BI_ACCESS_WRITE };
	REFUSED(BI_EREADONLY, bi_use_begin(stream, &use, 1, &error));
	bi_view_release(wide);
	bi_view_release(a);
}

static void a_use_makes_the_memory_pending(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 64);
	const struct bi_use use = { a, BI_ACCESS_READ_WRITE };
	struct bi_stream *stream;

	(void)state;
	OK(bi_stream_create(device, BI_STREAM_IN_ORDER, &stream, &error));
	OK(bi_view_synchronize(a, &error));
	assert_true(bi_view_is_idle(a));
	OK(bi_use_begin(stream, &use, 1, &error));
	OK(bi_use_end(stream, &use, 1, &error));
	assert_false(bi_view_is_idle(a));
	OK(bi_view_synchronize(a, &error));
	assert_true(bi_view_is_idle(a));
	bi_stream_release(stream);
	bi_view_release(a);
}

/* None of several uses begins if one of them cannot. */
static void mapped_memory_is_busy(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 64), *b = NEW_ARRAY(device, "uint8", 64);
	struct bi_use uses[] = { { a, BI_ACCESS_READ }, { b, BI_ACCESS_WRITE } };
	struct bi_map *map;

	(void)state;
	OK(bi_view_map(b, BI_MAP_READ, &map, &error));
	REFUSED(BI_EBUSY, bi_use_begin(bi_context_stream(device), uses, 2, &error));
	uses[1].access = BI_ACCESS_READ;
	OK(bi_use_begin(bi_context_stream(device), uses, 2, &error));
	OK(bi_use_end(bi_context_stream(device), uses, 2, &error));
	OK(bi_unmap(map, &error));
	bi_view_release(b);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(a_use_makes_the_memory_pending),
		cmocka_unit_test(mapped_memory_is_busy),
	};
	int failed;

	device = open_device("cuda:0");
	other = open_device("cuda:1");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(other);
	bi_context_release(device);
	return failed;
}
