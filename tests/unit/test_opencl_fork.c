/*
 * The child of a process that used the host alone may open OpenCL. The child of a process whose only use of OpenCL is an
 * adopted context is refused like any other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "buffer_interface.h"
#include "opencl_driver.h"

static cl_context make_context(void)
{
	cl_platform_id platform;
	cl_device_id device;

	assert_int_equal(driver()->clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
	assert_int_equal(driver()->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
	return driver()->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
}

static int open_in_child(void)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	int rc;

	options.device = "opencl";
	rc = bi_context_open(&options, &context, NULL);
	if (!rc)
		bi_context_release(context);
	return -rc;
}

static int status_of(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Runs first, while no driver is open. */
static void test_child_of_the_host(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	pid_t child;

	(void)state;
	options.device = "host";
	assert_int_equal(bi_context_open(&options, &context, NULL), BI_OK);
	child = fork();
	if (child == 0) {
		alarm(60);
		_exit(open_in_child());
	}
	assert_int_equal(status_of(child), BI_OK);
	bi_context_release(context);
}

/* 0 if every call is refused. */
static int calls_in_child(const struct bi_view *view)
{
	if (bi_fill(view, "x", NULL, NULL) != BI_EFORK)
		return 1;
	return bi_view_synchronize(view, NULL) == BI_EFORK ? 0 : 2;
}

static void test_child(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	const struct bi_dtype byte = { 1, 1, BI_UINT8, 0 };
	const int64_t shape = 16;
	cl_context handle = make_context();
	struct bi_context *context;
	struct bi_view *view;
	pid_t child;

	(void)state;
	options.device = "opencl";
	options.adopt_context = (uintptr_t)handle;
	assert_int_equal(bi_context_open(&options, &context, NULL), BI_OK);
	assert_int_equal(bi_view_empty(context, byte, 1, &shape, &view, NULL), BI_OK);
	child = fork();
	if (child == 0) {
		alarm(20);
		_exit(calls_in_child(view));
	}
	assert_int_equal(status_of(child), 0);
	bi_view_release(view);
	bi_context_release(context);
	assert_int_equal(driver()->clReleaseContext(handle), CL_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_child_of_the_host), cmocka_unit_test(test_child) };

	return cmocka_run_group_tests_name("adopted context and fork", tests, NULL, NULL);
}
