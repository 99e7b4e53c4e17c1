#define _POSIX_C_SOURCE 200809L
/* The tables of the backends, and device strings that fit none of them. The only group that looks inside the library.
 */
#include "contract.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer_interface/binding.h"
#include "common/backend/registry.h"

static void test_required_functions(void **state)
{
	const struct bi__backend *backend;
	size_t count = 0;

	(void)state;
	for (; (backend = bi__registry_backend(count)) != NULL; count++) {
		assert_non_null(backend->devices.enumerate);
		assert_non_null(backend->memory.alloc);
		assert_non_null(backend->memory.free);
		assert_non_null(backend->move.copy);
		assert_int_equal(!backend->devices.open, !backend->devices.close);
		assert_int_equal(!backend->move.map, !backend->move.unmap);
		fixture.cases++;
	}
	assert_true(count >= 2);
	assert_null(bi__registry_backend(count + 1));
}

/* A backend with pending work has all functions of the group "order", a synchronous one has none. */
static void test_order_functions(void **state)
{
	const struct bi__backend *backend;

	(void)state;
	for (size_t i = 0; (backend = bi__registry_backend(i)) != NULL; i++) {
		assert_int_equal(!backend->order.stream_open, backend->synchronous);
		assert_int_equal(!backend->order.stream_close, backend->synchronous);
		assert_int_equal(!backend->order.follow, backend->synchronous);
		assert_int_equal(!backend->order.record, backend->synchronous);
		assert_int_equal(!backend->order.wait, backend->synchronous);
		assert_int_equal(!backend->order.poll, backend->synchronous);
		assert_int_equal(!backend->order.event_retain, backend->synchronous);
		assert_int_equal(!backend->order.event_release, backend->synchronous);
		assert_int_equal(!backend->order.finish, backend->synchronous);
		assert_int_equal(!backend->order.event_wrap, backend->synchronous);
		assert_true(backend->synchronous || backend->devices.open);
		assert_false(backend->synchronous &&
			     (backend->has_peers || backend->order.capture || backend->move.map));
		fixture.cases++;
	}
}

/* Callers learn the same of a backend as the table says, and the host is the last. */
static void test_backends_are_told(void **state)
{
	struct bi_backend info = { .name = NULL };
	int count = 0;

	(void)state;
	for (; bi_backend_at(count, &info); count++) {
		const struct bi__backend *backend = bi__registry_backend((size_t)count);

		assert_string_equal(info.name, backend->name);
		assert_int_equal(info.numbers, backend->numbers);
		assert_int_equal(info.handle, backend->handle);
		assert_int_equal(info.stream_kinds, backend->stream_kinds);
		assert_int_equal(info.named_by_ordinal, backend->named_by_ordinal);
		assert_int_equal(!info.stream_kinds, backend->synchronous);
		assert_int_equal(!info.numbers, !backend->devices.open);
	}
	assert_string_equal(info.name, bi__registry_host()->name);
	assert_int_equal(count, bi__registry_count());
	assert_false(bi_backend_at(-1, &info) || bi_backend_at(0, NULL));
}

static void test_names(void **state)
{
	const struct bi__backend *a, *b;
	int hosts = 0;

	(void)state;
	for (size_t i = 0; (a = bi__registry_backend(i)) != NULL; i++) {
		assert_non_null(a->name);
		assert_in_range(strlen(a->name), 1, sizeof(((struct bi_device *)0)->backend) - 1);
		assert_null(strpbrk(a->name, ":# "));
		assert_ptr_equal(bi__registry_find(a->name, strlen(a->name)), a);
		for (size_t j = 0; j < i && (b = bi__registry_backend(j)) != NULL; j++)
			assert_string_not_equal(a->name, b->name);
		hosts += a == bi__registry_host();
		fixture.cases++;
	}
	assert_int_equal(hosts, 1);
	assert_true(bi__registry_host()->synchronous && bi__registry_host()->cpu_addressable);
}

static void test_unknown_devices(void **state)
{
	static const char *const specs[] = {
		"vulkan",
		"",
		"hostx",
		"hos",
		"host:1",
		"host:nosuchname",
		"HOSTS",
		"opencl:99",
		"opencl:nosuchname",
		"opencl:0:99",
		"opencl:0:0:0",
		"opencl:",
		"opencl:-1",
		"opencl:99999999999999999999",
		"openclx",
		"cuda:99",
		"cuda:nosuchname",
		"cuda:0:0",
		"cuda:",
		"cuda:-1",
		"cudas",
		":0",
		"#9999",
		"#-1",
		"#",
		"#1x",
		"#99999999999999999999",
		"auto:0",
		" host",
		"%s%n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(specs); i++) {
		struct bi_options options = BI_OPTIONS_INIT;
		struct bi_context *context = STALE(struct bi_context);

		options.device = specs[i];
		REFUSED(BI_ENODEVICE, bi_context_open(&options, &context, &error));
		assert_null(context);
		assert_non_null(strstr(error.message, specs[i]));
		fixture.cases++;
	}
}

static void check_device(const struct bi_device *device)
{
	assert_in_range(strlen(device->spec), 1, sizeof(device->spec) - 1);
	assert_non_null(bi__registry_find(device->backend, strlen(device->backend)));
	if (!device->usable) {
		assert_true(*device->reason);
		assert_null(strchr(device->reason, '\n'));
		return;
	}
	assert_true(*device->name);
	assert_in_range(device->kind, BI_DEVICE_KIND_HOST, BI_DEVICE_KIND_OTHER);
}

/* Each usable device opens by its own string and by its position, and is the device that was listed. */
static void check_opens(const struct bi_device *device, int position)
{
	char number[16];
	struct bi_context *by_name, *by_number;

	snprintf(number, sizeof(number), "#%d", position);
	by_name = open_context(device->spec);
	by_number = open_context(number);
	assert_string_equal(bi_context_device(by_name)->name, device->name);
	assert_string_equal(bi_context_device(by_number)->spec, device->spec);
	assert_int_equal(bi_context_device(by_name)->capabilities, device->capabilities);
	bi_context_release(by_number);
	bi_context_release(by_name);
}

static void test_device_list(void **state)
{
	struct bi_device devices[16];
	int count = -1, again = -1, seen_unusable = 0;

	(void)state;
	OK(bi_devices(devices, 16, &count, &error));
	OK(bi_devices(NULL, 0, &again, &error));
	assert_int_equal(count, again);
	assert_in_range(count, 1, 16);
	for (int i = 0; i < count; i++) {
		check_device(&devices[i]);
		assert_false(seen_unusable && devices[i].usable);
		seen_unusable |= !devices[i].usable;
		if (devices[i].usable)
			check_opens(&devices[i], i);
		fixture.cases++;
	}
	REFUSED(BI_EINVAL, bi_devices(devices, 16, NULL, &error));
	REFUSED(BI_EINVAL, bi_devices(NULL, 1, &count, &error));
	REFUSED(BI_EINVAL, bi_devices(devices, -1, &count, &error));
}

/* Entries beyond the capacity are counted and not written. */
static void test_device_list_is_bounded(void **state)
{
	struct bi_device devices[2];
	int count;

	(void)state;
	memset(devices, 0x5a, sizeof(devices));
	OK(bi_devices(devices, 1, &count, &error));
	assert_true(count >= 1);
	for (size_t i = 0; i < sizeof(devices[1]); i++)
		assert_int_equal(((unsigned char *)&devices[1])[i], 0x5a);
	fixture.cases++;
}

static void test_auto_and_environment(void **state)
{
	struct bi_context *context = open_context("auto");

	(void)state;
	assert_non_null(bi_context_notes(context));
	bi_context_release(context);
	assert_int_equal(setenv("BI_DEVICE", fixture.spec, 1), 0);
	context = open_context(NULL);
	assert_string_equal(bi_context_device(context)->spec, bi_context_device(fixture.context)->spec);
	bi_context_release(context);
	OK(bi_context_open(NULL, &context, &error));
	assert_string_equal(bi_context_device(context)->spec, bi_context_device(fixture.context)->spec);
	bi_context_release(context);
	assert_int_equal(setenv("BI_DEVICE", "vulkan", 1), 0);
	REFUSED(BI_ENODEVICE, bi_context_open(NULL, &context, &error));
	assert_null(context);
	assert_non_null(strstr(error.message, "BI_DEVICE \"vulkan\""));
	assert_int_equal(setenv("BI_DEVICE", "", 1), 0);
	bi_context_release(open_context(NULL));
	assert_int_equal(unsetenv("BI_DEVICE"), 0);
	fixture.cases += 5;
}

/* Bytes [from, from + length) of the name (length 0: to its end), the case of each letter turned, open a device. */
static void check_part(const char *backend, const char *name, size_t from, size_t length)
{
	char spec[200];
	size_t used = (size_t)snprintf(spec, sizeof(spec), "%s:", backend);

	for (size_t i = from; name[i] && (!length || i < from + length); i++)
		spec[used++] = (char)(islower((unsigned char)name[i]) ? toupper((unsigned char)name[i])
								      : tolower((unsigned char)name[i]));
	spec[used] = '\0';
	bi_context_release(open_context(spec));
	fixture.cases++;
}

/* A part of any of its names is enough, in any case; what does not fit is told what would. */
static void test_parts_of_names(void **state)
{
	const struct bi_device *device = bi_context_device(fixture.context);
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	char text[64];

	(void)state;
	if (!is_device(fixture.context))
		skip();
	check_part(device->backend, device->name, 0, 0);
	check_part(device->backend, device->name, 3, 9);
	check_part(device->backend, device->platform_name, 2, 5);
	check_part(device->backend, device->platform_version, 0, 8);
	snprintf(text, sizeof(text), "%s:nosuchname", device->backend);
	options.device = text;
	REFUSED(BI_ENODEVICE, bi_context_open(&options, &context, &error));
	snprintf(text, sizeof(text), "%s:0", device->backend);
	assert_non_null(strstr(error.message, text));
	fixture.cases++;
}

int tables_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_required_functions),     TEST(test_order_functions),      TEST(test_names),
		TEST(test_backends_are_told),      TEST(test_unknown_devices),      TEST(test_device_list),
		TEST(test_device_list_is_bounded), TEST(test_auto_and_environment), TEST(test_parts_of_names),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
