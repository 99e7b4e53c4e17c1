/* Where foreign memory and streams belong. */
#include "unit.h"

#include "buffer_interface/binding.h"

static struct bi_context *devices[2];

static void memory_belongs_to_its_device(void **state)
{
	struct bi_location location;
	struct bi_native native;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bi_view *a = NEW_ARRAY(devices[i], "uint8", 100);

		bi_view_native(a, &native);
		OK(bi_locate_memory(native.kind, native.handle, &location, &error));
		assert_string_equal(location.device, bi_context_device(devices[i])->spec);
		/* An address in the middle belongs there too. */
		OK(bi_locate_memory(native.kind, native.handle + 50, &location, &error));
		assert_string_equal(location.device, bi_context_device(devices[i])->spec);
		bi_view_release(a);
	}
}

/* A CUDA stream does not say which device it is of; queues of OpenCL do (contract suite). */
static void streams_of_cuda_are_not_located(void **state)
{
	struct bi_location location;
	struct bi_stream *stream;

	(void)state;
	OK(bi_stream_create(devices[1], BI_STREAM_IN_ORDER, &stream, &error));
	REFUSED(BI_EUNSUPPORTED, bi_locate_queue(BI_ORDER_CUDA, bi_stream_handle(stream), &location, &error));
	bi_stream_release(stream);
}

static void what_belongs_nowhere_is_refused(void **state)
{
	static unsigned char bytes[16];
	struct bi_location location;

	(void)state;
	memset(&location, 0xa5, sizeof(location));
	REFUSED(BI_EUNSUPPORTED, bi_locate_memory(BI_HANDLE_HOST, (uintptr_t)bytes, &location, &error));
	assert_string_equal(location.device, "");
	REFUSED(BI_EINVAL, bi_locate_memory(BI_HANDLE_CUDA, 0, &location, &error));
	REFUSED(BI_EINVAL, bi_locate_memory(BI_HANDLE_CUDA, 1, NULL, &error));
	REFUSED(BI_EINVAL, bi_locate_memory(BI_HANDLE_CUDA, (uintptr_t)bytes, &location, &error));
	FAILS(bi_locate_memory((enum bi_handle_kind)99, 1, &location, &error));
	FAILS(bi_locate_queue((enum bi_order_kind)99, 1, &location, &error));
	REFUSED(BI_EINVAL, bi_locate_queue(BI_ORDER_CUDA, 0, &location, &error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_belongs_to_its_device),
		cmocka_unit_test(streams_of_cuda_are_not_located),
		cmocka_unit_test(what_belongs_nowhere_is_refused),
	};
	int failed;

	devices[0] = open_device("cuda:0");
	devices[1] = open_device("cuda:1");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(devices[1]);
	bi_context_release(devices[0]);
	return failed;
}
