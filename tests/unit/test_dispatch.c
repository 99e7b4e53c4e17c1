/* The way to a backend: a forked child is refused everywhere but on the host, and missing operations have a meaning. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/backend/dispatch.h"
#include "common/backend/registry.h"
#include "common/plan/plan.h"
#include "common/runtime/object.h"
#include "cuda_driver.h"

static struct bi_context *device, *host;

/* Each call of a child has to return BI_EFORK; returns the number of the first that does not. */
static int use_device_in_child(void *unused)
{
	struct bi__device *opened = &device->device;
	struct bi__queue *queue = &device->stream.queue;
	struct bi__block block = { .memory = BI_MEMORY_DEVICE, .nbytes = 64 };
	struct bi_device list[4];
	uint64_t capture;
	uintptr_t event;
	int entered, count;

	(void)unused;
	if (bi__dispatch_alive(opened, NULL) != BI_EFORK)
		return 1;
	if (bi__dispatch_alloc(opened->backend, opened, &block, NULL) != BI_EFORK)
		return 2;
	if (bi__dispatch_record(opened, queue, &event, NULL) != BI_EFORK)
		return 3;
	if (bi__dispatch_finish(opened, queue, NULL) != BI_EFORK)
		return 4;
	if (bi__dispatch_enter(opened, &entered, NULL) != BI_EFORK)
		return 5;
	if (bi__dispatch_capture(opened, queue, &capture, NULL) != BI_EFORK)
		return 6;
	if (bi__dispatch_enumerate(opened->backend, list, 4, &count, NULL) != BI_EFORK)
		return 7;
	if (bi__dispatch_alive(&host->device, NULL) != BI_OK)
		return 8;
	return 0;
}

static void a_child_is_refused(void **state)
{
	(void)state;
	OK(bi__dispatch_alive(&device->device, &error));
	assert_int_equal(status_of_child(use_device_in_child, NULL), 0);
}

static void what_the_host_lacks_has_a_meaning(void **state)
{
	struct bi__queue *queue = &host->stream.queue;
	uint64_t capture = 77;
	int entered = 0, done = 0;

	(void)state;
	OK(bi__dispatch_enter(&host->device, &entered, &error));
	assert_int_equal(entered, 0);
	OK(bi__dispatch_capture(&host->device, queue, &capture, &error));
	assert_int_equal(capture, 0);
	OK(bi__dispatch_finish(&host->device, queue, &error));
	OK(bi__dispatch_poll(&host->device, 0, 0, &done, &error));
	assert_int_equal(done, 1);
}

static void owners_of_handles_are_found(void **state)
{
	struct bi_view *view = NEW_ARRAY(device, "float32", 100);
	struct bi__origin origin;
	struct bi_native native;
	const char *name = "";

	(void)state;
	bi_view_native(view, &native);
	OK(bi__dispatch_locate(BI__OF_MEMORY, native.kind, native.handle, &origin, &name, &error));
	assert_string_equal(name, "cuda");
	assert_int_equal(origin.ordinal, bi_context_device(device)->ordinal);
	FAILS(bi__dispatch_locate(BI__OF_MEMORY, 1234, native.handle, &origin, &name, &error));
	bi_view_release(view);
}

/* CUDA makes the event of a short read before it enqueues the copy, which the driver refuses here. */
static void a_read_that_fails_has_no_event(void **state)
{
	struct bi_view *view = NEW_ARRAY(device, "uint8", 64);
	struct bi_memory *memory = bi_view_memory(view);
	unsigned char bytes[64];
	struct bi__plan plan;
	const struct bi__move move = { .plan = &plan,
				       .dst = { .host = (char *)bytes, .borrowed = 1 },
				       .src = { .block = &memory->block, .device = &device->device.state } };
	struct bi__scope scope;
	uintptr_t event;
	int rc;

	(void)state;
	bi__plan_bytes(&plan, 0, 0, sizeof(bytes));
	bi__dispatch_begin(&scope, &device->device);
	OK(bi__dispatch_copy(&device->device, &device->stream.queue, &move, &event, &error));
	assert_int_not_equal(event, 0);
	bi__dispatch_event_release(&device->device, event);
	cuda_sim()->arm(1, BI__CU_ERROR_UNKNOWN, 0);
	rc = bi__dispatch_copy(&device->device, &device->stream.queue, &move, &event, &error);
	cuda_sim()->arm(0, 0, 0);
	bi__dispatch_end(&scope);
	assert_int_equal(rc, BI_EDRIVER);
	assert_int_equal(event, 0);
	bi_view_release(view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_refused),
		cmocka_unit_test(what_the_host_lacks_has_a_meaning),
		cmocka_unit_test(owners_of_handles_are_found),
		cmocka_unit_test(a_read_that_fails_has_no_event),
	};
	int failed;

	device = open_device("cuda:1");
	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
