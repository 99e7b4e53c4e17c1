/* The list of backends: names, the host, and which backend names memory to other programs in which way. */
#include "unit.h"

#include "common/backend/registry.h"

static const struct bi__backend *find(const char *name)
{
	return bi__registry_find(name, strlen(name));
}

static void backends_are_found_by_name(void **state)
{
	const struct bi__backend *backend;
	size_t count = 0;

	(void)state;
	for (; (backend = bi__registry_backend(count)); count++)
		assert_ptr_equal(find(backend->name), backend);
	assert_int_equal(count, bi__registry_count());
	assert_null(bi__registry_backend(count));
	assert_null(find("no-such-backend"));
	/* A part of a name is no name. */
	assert_null(bi__registry_find("host", 3));
	assert_null(find("hosts"));
}

static void the_host_is_the_last(void **state)
{
	const struct bi__backend *host = bi__registry_host();

	(void)state;
	assert_ptr_equal(bi__registry_backend(bi__registry_count() - 1), host);
	assert_ptr_equal(find("host"), host);
}

static void exporters_are_found_by_handle_and_device(void **state)
{
	enum bi_memory_kind kind;

	(void)state;
	assert_ptr_equal(bi__registry_exporter(NULL, BI_HANDLE_CL_MEM, 0, &kind), find("opencl"));
	assert_int_equal(kind, BI_MEMORY_DEVICE);
	assert_ptr_equal(bi__registry_exporter(NULL, BI_HANDLE_CUDA, 0, &kind), find("cuda"));
	assert_null(bi__registry_exporter(NULL, 12345, 0, &kind));
	/* Where several fit, the first choice of the caller comes first. */
	assert_ptr_equal(bi__registry_exporter(find("opencl"), 0, 0, &kind), find("opencl"));
	assert_ptr_equal(bi__registry_exporter(find("opencl"), BI_HANDLE_CUDA, 0, &kind), find("cuda"));
}

static void handles_are_objects_or_addresses(void **state)
{
	(void)state;
	assert_true(bi__registry_is_object(BI_HANDLE_CL_MEM));
	assert_false(bi__registry_is_object(BI_HANDLE_CUDA));
	assert_false(bi__registry_is_object(BI_HANDLE_HOST));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backends_are_found_by_name),
		cmocka_unit_test(the_host_is_the_last),
		cmocka_unit_test(exporters_are_found_by_handle_and_device),
		cmocka_unit_test(handles_are_objects_or_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
