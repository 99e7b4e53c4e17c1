/* Fences: a reference to the context, complete once cleared, and waits that are counted under their reason. */
#include "unit.h"

#include <stdatomic.h>

#include "common/runtime/fence.h"

static struct bi_context *device, *host;

static unsigned references(struct bi_context *context)
{
	return atomic_load(&context->refs);
}

static void a_fence_holds_its_context(void **state)
{
	struct bi__fence fence = BI__FENCE_NONE, again = BI__FENCE_NONE;
	unsigned before = references(device);

	(void)state;
	OK(bi__fence_record(&device->stream, &fence, &error));
	assert_int_equal(references(device), before + 1);
	OK(bi__fence_share(&fence, &again, &error));
	assert_int_equal(references(device), before + 2);
	assert_int_equal(bi__fence_handle(&again), bi__fence_handle(&fence));
	/* Recording again releases what the fence held. */
	OK(bi__fence_record(&device->stream, &again, &error));
	assert_int_equal(references(device), before + 2);
	bi__fence_clear(&again);
	bi__fence_clear(&fence);
	bi__fence_clear(&fence);
	assert_int_equal(references(device), before);
}

static void a_cleared_fence_is_complete(void **state)
{
	struct bi__fence fence = BI__FENCE_NONE, copy = BI__FENCE_NONE;
	int done = 0;

	(void)state;
	OK(bi__fence_query(&fence, &done, &error));
	assert_int_equal(done, 1);
	OK(bi__fence_block(&fence, BI__WAIT_EXPORT, &error));
	OK(bi__fence_wait(&device->stream, &fence, &error));
	OK(bi__fence_share(&fence, &copy, &error));
	assert_null(copy.context);
	assert_int_equal(bi__fence_handle(&fence), 0);
}

static void waits_are_counted_under_their_reason(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "uint8", 1 << 16);
	const unsigned char byte = 7;
	struct bi__fence fence = BI__FENCE_NONE;
	unsigned long long before = atomic_load(&device->waits[BI__WAIT_EXPORT]);
	int done = 0;

	(void)state;
	OK(bi_fill(a, &byte, NULL, &error));
	OK(bi__fence_record(&device->stream, &fence, &error));
	OK(bi__fence_block(&fence, BI__WAIT_EXPORT, &error));
	assert_int_equal(atomic_load(&device->waits[BI__WAIT_EXPORT]), before + 1);
	OK(bi__fence_query(&fence, &done, &error));
	assert_int_equal(done, 1);
	bi__fence_clear(&fence);
	bi_view_release(a);
}

static void a_fence_of_the_host_is_complete(void **state)
{
	struct bi__fence fence = BI__FENCE_NONE;
	int done = 0;

	(void)state;
	OK(bi__fence_record(&host->stream, &fence, &error));
	OK(bi__fence_query(&fence, &done, &error));
	assert_int_equal(done, 1);
	bi__fence_clear(&fence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fence_holds_its_context),
		cmocka_unit_test(a_cleared_fence_is_complete),
		cmocka_unit_test(waits_are_counted_under_their_reason),
		cmocka_unit_test(a_fence_of_the_host_is_complete),
	};
	int failed;

	device = open_device("cuda:0");
	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
