/* Large memory of the host asks the system for large pages, and small memory does not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buffer_interface.h"

#define MIB ((int64_t)1 << 20)

static struct bi_error error;

/* Does the line begin the mapping that this address is in, or does it belong to the one before? */
static int begins(const char *line, int *holds, uintptr_t address)
{
	uintptr_t first, end;

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) != 2)
		return 0;
	*holds = first <= address && address < end;
	return 1;
}

/* Whether somebody asked for large pages there: "hg" among the mapping's flags. -1: the system does not say. */
static int asks(uintptr_t address)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	int holds = 0, found = -1;
	char line[512];

	if (!maps)
		return -1;
	while (found < 0 && fgets(line, sizeof(line), maps))
		if (!begins(line, &holds, address) && holds && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " hg") != NULL;
	fclose(maps);
	return found;
}

static int asks_in_the_middle(int64_t nbytes)
{
	const int64_t shape[1] = { nbytes };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_dtype byte;
	struct bi_view *view;
	int found;

	options.device = "host";
	assert_int_equal(bi_context_open(&options, &context, &error), BI_OK);
	assert_int_equal(bi_dtype_make(BI_UINT8, 1, 0, &byte, &error), BI_OK);
	assert_int_equal(bi_view_empty(context, byte, 1, shape, &view, &error), BI_OK);
	found = asks((uintptr_t)bi_view_host_pointer(view) + (uintptr_t)nbytes / 2);
	bi_view_release(view);
	bi_context_release(context);
	return found;
}

/* The small one first: memory that was large may be used again for it. */
static void test_large_pages(void **state)
{
	(void)state;
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) || asks((uintptr_t)&error) < 0) {
		print_message("the system has no large pages, or does not say who asked for them\n");
		skip();
	}
	assert_int_equal(asks_in_the_middle(MIB), 0);
	assert_int_equal(asks_in_the_middle(64 * MIB), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_large_pages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
