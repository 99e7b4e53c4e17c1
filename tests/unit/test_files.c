/* Files of this user: nobody else can have written what is read, and nobody else reads what is written. */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
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

static int is_interrupted;

int __real_close(int descriptor);
int __wrap_close(int descriptor);

/* Closes the descriptor also when a signal interrupts the call, as Linux does. */
int __wrap_close(int descriptor)
{
	int rc = __real_close(descriptor);

	if (!is_interrupted)
		return rc;
	errno = EINTR;
	return -1;
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
	FILE *file = bi__file_create_own(folder, template, 0);
	struct stat facts;

	(void)state;
	assert_non_null(file);
	assert_int_equal(fcntl(fileno(file), F_GETFD), FD_CLOEXEC); /* nor does another program get it */
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
	assert_null(bi__file_create_own(folder, other, 0));
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
	assert_null(bi__file_create_own(folder, other, 0));
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
	struct stat facts;
	FILE *file;

	(void)state;
	snprintf(inner, sizeof(inner), "%s/inner", folder);
	snprintf(file_name, sizeof(file_name), "%s/a.XXXXXX", inner);
	file = bi__file_create_own(inner, file_name, 0);
	assert_non_null(file);
	fclose(file);
	assert_int_equal(stat(inner, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0700);
	assert_int_equal(stat(file_name, &facts), 0);
	assert_int_equal(facts.st_mode & 0777, 0600);
	unlink(file_name);
	assert_int_equal(rmdir(inner), 0);
	snprintf(file_name, sizeof(file_name), "%s/inner/deeper", folder);
	assert_null(bi__file_create_own(file_name, inner, 0));
}

/* A file that grows beyond the limit would end the process by SIGXFSZ. */
static void a_file_above_the_limit_is_not_made(void **state)
{
	char name[] = "XXXXXX", other[64];
	struct rlimit old, small;
	FILE *large, *file;

	(void)state;
	snprintf(other, sizeof(other), "%s/limit.XXXXXX", folder);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 100, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	large = bi__file_create_own(folder, name, 101);
	file = bi__file_create_own(folder, other, 100);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_null(large);
	assert_non_null(file);
	fclose(file);
	unlink(other);
}

static void do_nothing(int number)
{
	(void)number;
}

/* Opens the other end of the pipe `path` after 0.1 seconds, in a child, which waits for this process for a minute. */
static pid_t open_other_end(int flags)
{
	pid_t child = fork();

	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(60);
		usleep(100000);
		_exit(open(path, flags) < 0);
	}
	return child;
}

/* Signals arrive every 5 ms while the process waits for the other end. */
static void a_signal_does_not_end_the_opening_of_a_pipe(void **state)
{
	const struct sigaction action = { .sa_handler = do_nothing };
	const struct itimerval often = { { 0, 5000 }, { 0, 5000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct bi__output output;
	struct sigaction old;
	int64_t nbytes;
	int descriptor, status;
	pid_t writer, reader;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	writer = open_other_end(O_WRONLY);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	OK(bi__file_open(path, &descriptor, &nbytes, &error));
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	bi__file_close(descriptor);
	reader = open_other_end(O_RDONLY);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	OK(bi__output_open(&output, path, &error));
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	OK(bi__output_close(&output, BI_OK, &error));
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
	unlink(path);
}

static void a_signal_does_not_undo_a_complete_file(void **state)
{
	struct bi__output output;
	int rc;

	(void)state;
	OK(bi__output_open(&output, path, &error));
	OK(bi__file_write(&output.descriptor, "text", 4, &error));
	is_interrupted = 1;
	rc = bi__output_close(&output, BI_OK, &error);
	is_interrupted = 0;
	assert_int_equal(rc, BI_OK);
	assert_int_equal(unlink(path), 0);
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
		cmocka_unit_test(a_file_above_the_limit_is_not_made),
		cmocka_unit_test(a_signal_does_not_end_the_opening_of_a_pipe),
		cmocka_unit_test(a_signal_does_not_undo_a_complete_file),
		cmocka_unit_test(a_file_may_be_the_standard_input),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
