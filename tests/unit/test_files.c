/* Files of this user: nobody else can have written what is read, and nobody else reads what is written. */
#define _GNU_SOURCE
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"

static char folder[] = "/tmp/bi-files-XXXXXX";
static char path[64], template[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/file", folder);
	snprintf(template, sizeof(template), "%s/new.XXXXXX", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int no_stream;

FILE *__real_fdopen(int descriptor, const char *mode);
FILE *__wrap_fdopen(int descriptor, const char *mode);

FILE *__wrap_fdopen(int descriptor, const char *mode)
{
	return no_stream ? NULL : __real_fdopen(descriptor, mode);
}

static int opens(void)
{
	FILE *file = bi__file_open_own(folder, path);

	if (file)
		fclose(file);
	return file != NULL;
}

static void a_new_file_is_private(void **state)
{
	FILE *file = bi__file_create_own(folder, template);
	struct stat facts;

	(void)state;
	assert_non_null(file);
	fclose(file);
	assert_int_equal(stat(template, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0600);
	assert_int_equal(rename(template, path), 0);
	assert_true(opens());
}

/* remove_folder fails if a file is left. */
static void a_file_without_a_stream_is_removed(void **state)
{
	char other[64];

	(void)state;
	snprintf(other, sizeof(other), "%s/other.XXXXXX", folder);
	no_stream = 1;
	assert_null(bi__file_create_own(folder, other));
	no_stream = 0;
	assert_int_equal(access(other, F_OK), -1);
}

static void what_others_can_write_is_refused(void **state)
{
	char other[] = "XXXXXX";

	(void)state;
	chmod(path, 0620);
	assert_false(opens());
	chmod(path, 0600);
	chmod(folder, 0702);
	assert_false(opens());
	assert_null(bi__file_create_own(folder, other));
	chmod(folder, 0700);
	assert_true(opens());
}

static void a_link_is_refused(void **state)
{
	char target[64];

	(void)state;
	snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_false(opens());
	unlink(path);
	assert_false(opens());
	unlink(target);
}

static void a_missing_folder_is_made(void **state)
{
	char inner[64], file_name[80];
	FILE *file;

	(void)state;
	snprintf(inner, sizeof(inner), "%s/inner", folder);
	snprintf(file_name, sizeof(file_name), "%s/a.XXXXXX", inner);
	file = bi__file_create_own(inner, file_name);
	assert_non_null(file);
	fclose(file);
	unlink(file_name);
	assert_int_equal(rmdir(inner), 0);
	snprintf(file_name, sizeof(file_name), "%s/inner/deeper", folder);
	assert_null(bi__file_create_own(file_name, inner));
}

/* The descriptor of a file is 0 in a process whose standard input is closed. */
static void a_file_may_be_the_standard_input(void **state)
{
	int input = dup(0), descriptor, rc;
	int64_t nbytes;

	(void)state;
	close(0);
	rc = bi__file_open("/dev/null", &descriptor, &nbytes, &error);
	if (input >= 0) {
		dup2(input, 0);
		close(input);
	}
	assert_int_equal(rc, BI_OK);
	assert_int_equal(descriptor, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_is_private),
		cmocka_unit_test(a_file_without_a_stream_is_removed),
		cmocka_unit_test(what_others_can_write_is_refused),
		cmocka_unit_test(a_link_is_refused),
		cmocka_unit_test(a_missing_folder_is_made),
		cmocka_unit_test(a_file_may_be_the_standard_input),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
