/* Requests for large pages: only for large blocks, and only for pages inside of the block. */
#ifdef __linux__
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif
#include "unit.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "common/base/large_pages.h"
#include "common/runtime/object.h"
#include "page_flags.h"

#define MIB ((size_t)1 << 20)

#ifdef __linux__

static char *map_memory(size_t nbytes)
{
	void *bytes = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(bytes, MAP_FAILED);
	return bytes;
}

static void skip_without_large_pages(void)
{
	if (test_large_pages_at(&error) >= 0)
		return;
	print_message("the system has no large pages, or does not list the requests\n");
	skip();
}

static void test_blocks(void **state)
{
	char *bytes;

	(void)state;
	skip_without_large_pages();
	bytes = map_memory(16 * MIB);
	bi__request_large_pages(bytes, 4 * MIB - 1);
	assert_int_equal(test_large_pages_at(bytes + 2 * MIB), 0);
	bi__request_large_pages(bytes + 4 * MIB + 100, 4 * MIB);
	assert_int_equal(test_large_pages_at(bytes + 4 * MIB), 0);
	assert_int_equal(test_large_pages_at(bytes + 6 * MIB), 1);
	assert_int_equal(test_large_pages_at(bytes + 8 * MIB + 100), 0);
	munmap(bytes, 16 * MIB);
}

/* Memory that an OpenCL device shares with the CPU is new memory of this process too. */
static void test_opencl_memory(void **state)
{
	struct bi_context *context;
	struct bi_memory *memory;

	(void)state;
	skip_without_large_pages();
	context = open_device("opencl");
	OK(bi_memory_create(context, 64 * MIB, BI_MEMORY_DEVICE, &memory, &error));
	assert_non_null(memory->block.private_host);
	assert_int_equal(test_large_pages_at((char *)memory->block.private_host + 32 * MIB), 1);
	bi_memory_release(memory);
	bi_context_release(context);
}

#else

/* The request has no effect. */
static void test_blocks(void **state)
{
	char *bytes = calloc(4 * MIB, 1);

	(void)state;
	assert_non_null(bytes);
	bi__request_large_pages(bytes, 4 * MIB);
	assert_int_equal(bytes[0], 0);
	free(bytes);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
#ifdef __linux__
		cmocka_unit_test(test_opencl_memory),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
