/* Device strings, with the two devices of the simulated CUDA driver. */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/backend/device_string.h"
#include "common/backend/registry.h"
#include "opencl_layer/layer.h"

int __real_bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity,
				  int *count, struct bi_error *err);
int __wrap_bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity,
				  int *count, struct bi_error *err);

/* 1: the first backend has more devices than the list has space for, and no other backend than the host has any. */
static int is_crowded;

/* The number of backends that were listed, without the first and the host. */
static int others_listed;

int __wrap_bi__dispatch_enumerate(const struct bi__backend *backend, struct bi_device *devices, int capacity,
				  int *count, struct bi_error *err)
{
	if (!is_crowded || backend == bi__registry_host())
		return __real_bi__dispatch_enumerate(backend, devices, capacity, count, err);
	*count = 0;
	if (backend != bi__registry_backend(0)) {
		others_listed++;
		return BI_ENODEVICE;
	}
	for (int i = 0; i < capacity; i++) {
		devices[i] = (struct bi_device){ .kind = BI_DEVICE_KIND_GPU, .usable = 1 };
		snprintf(devices[i].spec, sizeof(devices[i].spec), "%s:%d", backend->name, i);
	}
	*count = BI__MAX_DEVICES + 1;
	return BI_OK;
}

/* The string of the first device that fits; `count` devices fit. */
static void expect_choice(const char *spec, const char *first, int count)
{
	struct bi__choice choice;

	OK(bi__device_string_choose(spec, &choice, &error));
	assert_string_equal(choice.devices[0].spec, first);
	if (count)
		assert_int_equal(choice.count, count);
	bi__choice_free(&choice);
}

static void expect_none(const char *spec, const char *reason)
{
	struct bi__choice choice;

	REFUSED_FOR(BI_ENODEVICE, reason, bi__device_string_choose(spec, &choice, &error));
}

static void strings_name_devices(void **state)
{
	(void)state;
	unsetenv("BI_DEVICE");
	expect_choice("host", "host", 1);
	expect_choice("cuda", "cuda:0", 2);
	expect_choice("cuda:1", "cuda:1", 1);
	expect_choice("cuda:Simulated", "cuda:0", 2);
	expect_choice("cuda:device 1", "cuda:1", 1);
	expect_choice("#1", "cuda:1", 1);
	expect_choice("auto", "cuda:0", 0);
	expect_choice("gpu", "cuda:0", 2);
	expect_choice("cpu", "host", 1);
	expect_choice(NULL, "cuda:0", 0);
}

/* More devices than a message has space for. */
static int refuse_with_many_devices(void *unused)
{
	struct bi__choice choice;

	(void)unused;
	setenv("CUDA_SIM_DEVICES", "8", 1);
	if (bi__device_string_choose("cuda:9", &choice, &error) != BI_ENODEVICE)
		return 1;
	return strstr(error.message, "there are: cuda:0 (") && !strstr(error.message, "cuda:6") ? 0 : 2;
}

static void a_message_lists_as_many_devices_as_it_has_space_for(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(refuse_with_many_devices, NULL), 0);
}

/* Device 0 permits no context. */
static int refuse_a_prohibited_device(void *unused)
{
	struct bi__choice choice;
	int is_second;

	(void)unused;
	setenv("CUDA_SIM_PROHIBITED", "1", 1);
	if (bi__device_string_choose("cuda", &choice, &error))
		return 1;
	is_second = strcmp(choice.devices[0].spec, "cuda:1") == 0;
	bi__choice_free(&choice);
	if (!is_second || bi__device_string_choose("cuda:0", &choice, &error) != BI_ENODEVICE)
		return 2;
	return strstr(error.message, "compute mode of cuda:0 is \"prohibited\"") ? 0 : 3;
}

static void a_device_that_permits_no_context_is_not_usable(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(refuse_a_prohibited_device, NULL), 0);
}

static void the_environment_is_the_default(void **state)
{
	(void)state;
	setenv("BI_DEVICE", "cuda:1", 1);
	expect_choice(NULL, "cuda:1", 1);
	expect_choice("host", "host", 1);
	setenv("BI_DEVICE", "nothing", 1);
	expect_none(NULL, "BI_DEVICE \"nothing\" names no backend");
	unsetenv("BI_DEVICE");
}

static void what_fits_nothing_is_refused_with_the_reason(void **state)
{
	char long_text[4000];

	(void)state;
	memset(long_text, '9', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	expect_none(long_text, "names no backend of this build");
	memcpy(long_text, "#", 1);
	expect_none(long_text, "is not in the list of devices");
	memcpy(long_text, "cuda:", 5);
	expect_none(long_text, "fits no device; there are: cuda:0");
	expect_none("nonsense", "names no backend of this build");
	expect_none("cuda:2", "fits no device; there are: cuda:0");
	expect_none("cuda:1x", "fits no device");
	expect_none("#99", "is not in the list of devices");
	expect_none("#", "is not in the list of devices");
	expect_none("cuda:no such name", "fits no device");
}

/* The layer lists the platform twice. Its first failures are those of platform 0. */
static void broken_platforms_are_passed_over(void **state)
{
	struct bi_layer layer;

	(void)state;
	expect_choice("opencl:1:0", "opencl:1:0", 1);
	assert_true(bi_layer_open(getenv("BI_TEST_LAYER"), &layer));
	layer.arm("clGetDeviceIDs", 1, -30);
	expect_choice("opencl", "opencl:1:0", 0);
	layer.arm("clGetDeviceIDs", 1, -30);
	expect_choice("opencl:1:0", "opencl:1:0", 1);
	layer.arm("clGetDeviceIDs", 1, -30);
	expect_none("opencl:7", "fits no device; there are: opencl:1:0 (");
	assert_null(strstr(error.message, "opencl:0"));
	layer.arm("clGetDeviceIDs", 1, -30);
	expect_none("opencl:0:0", "opencl:0:0\": platform");
	layer.arm("clGetDeviceIDs", 1, -30);
	layer.arm_from("clGetDeviceInfo", 1, -33);
	expect_none("opencl:1:0", "CL_INVALID_DEVICE");
	layer.arm("clGetDeviceIDs", 1, -30);
	expect_none("opencl:0", "CL_INVALID_VALUE");
	layer.arm("clGetDeviceIDs", 1, -30);
	expect_none("opencl", "CL_INVALID_VALUE");
	layer.arm("clGetDeviceIDs", 1, -30);
	expect_none("opencl:no such name", "CL_INVALID_VALUE");
	layer.reset();
}

static void adopted_contexts_name_a_position(void **state)
{
	struct bi_device device;

	(void)state;
	OK(bi__device_string_adopted("cuda", &device, &error));
	assert_string_equal(device.backend, "cuda");
	assert_int_equal(device.ordinal, -1);
	OK(bi__device_string_adopted("opencl:1", &device, &error));
	assert_string_equal(device.backend, "opencl");
	assert_int_equal(device.ordinal, 1);
	FAILS(bi__device_string_adopted("auto", &device, &error));
	FAILS(bi__device_string_adopted("nonsense", &device, &error));
}

static void the_list_is_sorted_and_complete(void **state)
{
	struct bi_device devices[BI__MAX_DEVICES];
	int count = 0, all;

	(void)state;
	OK(bi_devices(NULL, 0, &all, &error));
	OK(bi_devices(devices, BI__MAX_DEVICES, &count, &error));
	assert_int_equal(count, all);
	assert_string_equal(devices[0].spec, "cuda:0");
	assert_string_equal(devices[1].spec, "cuda:1");
	for (int i = 1; i < count; i++)
		assert_false(devices[i].usable && !devices[i - 1].usable);
	REFUSED(BI_EINVAL, bi_devices(NULL, 1, &count, &error));
	REFUSED(BI_EINVAL, bi_devices(devices, -1, &count, &error));
	REFUSED(BI_EINVAL, bi_devices(devices, 1, NULL, &error));
}

/* The list ends with the host. A backend for which no entry is left is not listed. */
static void a_full_list_has_the_host(void **state)
{
	const int usual = BI__MAX_DEVICES - (int)bi__registry_count(); /* one entry is reserved for each backend */
	struct bi_device devices[BI__MAX_DEVICES];
	char last[32];
	int count;

	(void)state;
	snprintf(last, sizeof(last), "%s:%d", bi__registry_backend(0)->name, usual - 1);
	is_crowded = 1;
	OK(bi_devices(devices, BI__MAX_DEVICES, &count, &error));
	is_crowded = 0;
	assert_int_equal(count, usual + 1);
	assert_string_equal(devices[usual - 1].spec, last);
	assert_string_equal(devices[usual].spec, "host");
	assert_int_equal(others_listed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* Before the process uses a driver, because its child has another one. */
		cmocka_unit_test(a_message_lists_as_many_devices_as_it_has_space_for),
		cmocka_unit_test(a_device_that_permits_no_context_is_not_usable),
		cmocka_unit_test(strings_name_devices),
		cmocka_unit_test(the_environment_is_the_default),
		cmocka_unit_test(what_fits_nothing_is_refused_with_the_reason),
		cmocka_unit_test(broken_platforms_are_passed_over),
		cmocka_unit_test(adopted_contexts_name_a_position),
		cmocka_unit_test(the_list_is_sorted_and_complete),
		cmocka_unit_test(a_full_list_has_the_host),
	};

	setenv("OPENCL_LAYERS", getenv("BI_TEST_LAYER"), 1);
	setenv("BI_TEST_LAYER_MASK", "twice", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
