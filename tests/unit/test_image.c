/* The kernels as they are shipped: that they unpack, for which device, and that every entry point is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/image.h"
#include "kernels/launch.h"
#include "array_length.h"

/* Where ELF keeps its machine and its flags; NVIDIA's machine code has the number 190. */
#define ELF_MACHINE 18
#define ELF_CUDA 190

static int contains(const unsigned char *bytes, size_t nbytes, const char *text)
{
	size_t length = strlen(text) + 1;

	for (size_t i = 0; i + length <= nbytes; i++) {
		if (!memcmp(bytes + i, text, length))
			return 1;
	}
	return 0;
}

static void check_machine_code(int major, int minor)
{
	size_t nbytes;
	unsigned char *bytes = bi__image_load(major, minor, &nbytes);
	char section[64];

	assert_non_null(bytes);
	assert_true(nbytes > 1024);
	assert_memory_equal(bytes, "\177ELF", 4);
	assert_int_equal(bytes[ELF_MACHINE] + 256 * bytes[ELF_MACHINE + 1], ELF_CUDA);
	for (int i = 0; i < BI__KERNEL_COUNT; i++) {
		snprintf(section, sizeof(section), ".text.%s", bi__kernel_name(i));
		assert_true(contains(bytes, nbytes, section));
	}
	free(bytes);
}

static void test_machine_code(void **unused)
{
	(void)unused;
#define CHECK(major, minor) check_machine_code(major, minor);
	BI__IMAGE_MAP(CHECK)
#undef CHECK
}

/* A device gets the code of its own major capability, or none. */
static void test_choice(void **unused)
{
	static const struct {
		int major, minor, same_major, same_minor;
	} cases[] = { { 8, 6, 8, 0 }, { 8, 9, 8, 0 }, { 10, 3, 10, 0 }, { 12, 1, 12, 0 } };
	static const int none[][2] = { { 5, 0 }, { 7, 0 }, { 7, 2 }, { 11, 0 }, { 13, 0 } };
	size_t nbytes, expected;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		void *bytes = bi__image_load(cases[i].major, cases[i].minor, &nbytes);
		void *same = bi__image_load(cases[i].same_major, cases[i].same_minor, &expected);

		assert_non_null(bytes);
		assert_non_null(same);
		assert_int_equal(nbytes, expected);
		assert_memory_equal(bytes, same, nbytes);
		free(bytes);
		free(same);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(none); i++) {
		assert_null(bi__image_load(none[i][0], none[i][1], &nbytes));
		assert_int_equal(nbytes, 0);
	}
}

static void test_ptx(void **unused)
{
	char entry[64];

	(void)unused;
	assert_memory_equal(bi__image_ptx, ".version ", strlen(".version "));
	for (int i = 0; i < BI__KERNEL_COUNT; i++) {
		snprintf(entry, sizeof(entry), ".visible .entry %s(\n", bi__kernel_name(i));
		assert_non_null(strstr(bi__image_ptx, entry));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machine_code),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_ptx),
	};

	return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
