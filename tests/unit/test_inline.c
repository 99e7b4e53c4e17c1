/* The calling thread copies itself up to a limit, in memory that nobody else knows, with no work pending. */
#include "unit.h"

#include "common/copy/job.h"
#include "common/runtime/order.h"

#define LIMIT 4096 /* BI_INLINE_LIMIT, as ctest sets it */

static struct bi_context *device;

static int can_be_inline(struct bi_view *to, struct bi_view *from, size_t nbytes)
{
	struct bi_memory *dst = bi_view_memory(to), *src = from ? bi_view_memory(from) : NULL;
	struct bi__job job = { .dst = dst, .src = src };
	int can;

	bi__plan_bytes(&job.plan, 0, 0, nbytes);
	bi__order_lock(dst, src);
	can = bi__inline_begin_locked(&job);
	if (can)
		bi__inline_end(&job);
	bi__order_unlock(dst, src);
	return can;
}

static void only_copies_up_to_the_limit_are_inline(void **state)
{
	struct bi_view *a = new_bytes(device, BI_MEMORY_DEVICE, 4 * LIMIT),
		       *b = new_bytes(device, BI_MEMORY_DEVICE, 4 * LIMIT);

	(void)state;
	assert_true(can_be_inline(a, b, LIMIT));
	assert_false(can_be_inline(a, b, LIMIT + 1));
	assert_true(can_be_inline(a, NULL, LIMIT));
	bi_view_release(b);
	bi_view_release(a);
}

static void exported_memory_is_not(void **state)
{
	struct bi_view *a = new_bytes(device, BI_MEMORY_DEVICE, LIMIT), *b = new_bytes(device, BI_MEMORY_DEVICE, LIMIT);
	struct bi_native native;

	(void)state;
	assert_true(can_be_inline(a, b, 16));
	bi_view_native(b, &native);
	assert_false(can_be_inline(a, b, 16));
	assert_false(can_be_inline(b, a, 16));
	/* The attempt leaves the other memory as it was. */
	assert_true(can_be_inline(a, NULL, 16));
	bi_view_release(b);
	bi_view_release(a);
}

static void mapped_memory_is_not(void **state)
{
	struct bi_view *a = new_bytes(device, BI_MEMORY_DEVICE, LIMIT);
	struct bi_map *map;

	(void)state;
	OK(bi_view_map(a, BI_MAP_READ, &map, &error));
	assert_false(can_be_inline(a, NULL, 16));
	OK(bi_unmap(map, &error));
	OK(bi_view_synchronize(a, &error));
	assert_true(can_be_inline(a, NULL, 16));
	bi_view_release(a);
}

static void wrapped_memory_is_not(void **state)
{
	static unsigned char bytes[64];
	const int64_t shape[] = { 64 };
	struct bi_view *a = new_bytes(device, BI_MEMORY_DEVICE, LIMIT), *wrapped;

	(void)state;
	OK(bi_view_wrap_host(device, bytes, dtype_of("uint8"), 1, shape, NULL, NULL, &wrapped, &error));
	assert_false(can_be_inline(a, wrapped, 16));
	bi_view_release(wrapped);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_copies_up_to_the_limit_are_inline),
		cmocka_unit_test(exported_memory_is_not),
		cmocka_unit_test(mapped_memory_is_not),
		cmocka_unit_test(wrapped_memory_is_not),
	};
	int failed;

	device = open_device("opencl");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(device);
	return failed;
}
