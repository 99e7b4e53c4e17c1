/* Environment variables: numbers, and what a process with raised rights reads. */
#define _GNU_SOURCE
#include "unit.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/environment.h"

#define VARIABLE "BI_TEST_ENVIRONMENT"
#define NOBODY 65534
#define SOMEBODY 65533

static void numbers_are_decimal_and_in_their_range(void **state)
{
	static const char *const wrong[] = { "", "-1", "+5", " 5", "5x", "0x5", "4", "11", "99999999999999999999999" };

	(void)state;
	unsetenv(VARIABLE);
	assert_int_equal(bi__environment_number(VARIABLE, 5, 10, 7), 7);
	assert_null(bi__environment(VARIABLE));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		setenv(VARIABLE, wrong[i], 1);
		assert_int_equal(bi__environment_number(VARIABLE, 5, 10, 7), 7);
	}
	setenv(VARIABLE, "10", 1);
	assert_int_equal(bi__environment_number(VARIABLE, 5, 10, 7), 10);
	assert_string_equal(bi__environment(VARIABLE), "10");
}

/* What this program answers when it is started with an argument: 1: it sees the variable, 0: it does not. */
static int answer(void)
{
	return bi__environment(VARIABLE) != NULL;
}

static void copy_program(int to)
{
	int from = open("/proc/self/exe", O_RDONLY);
	char bytes[65536];
	ssize_t n;

	assert_true(from >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)n), n);
	assert_int_equal(n, 0);
	close(from);
}

/* Starts the program as another user. Returns what it answers. */
static int ask_program(const char *path)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (setgid(SOMEBODY) || setuid(SOMEBODY))
			_exit(2);
		execl(path, path, "answer", (char *)NULL);
		_exit(2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Returns the reason for which the program in the file cannot be started as another user with raised rights, or NULL.
 */
static const char *missing_rights(int file)
{
	struct statvfs mount;

#ifdef __SANITIZE_ADDRESS__
	return "LeakSanitizer works in no process with raised rights, and ends it";
#endif
	if (geteuid() != 0)
		return "only root makes a program of another user";
	if (fchown(file, SOMEBODY, SOMEBODY) || fchown(file, NOBODY, NOBODY))
		return "users 65533 and 65534 are not mapped into this user namespace";
	assert_int_equal(fstatvfs(file, &mount), 0);
	if (mount.f_flag & (ST_NOSUID | ST_NOEXEC))
		return "/tmp is mounted with nosuid or noexec";
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) ? "this process has no_new_privs" : NULL;
}

static void a_program_with_raised_rights_reads_no_variable(void **state)
{
	char path[] = "/tmp/bi-test-XXXXXX";
	const int file = mkstemp(path);

	(void)state;
	assert_true(file >= 0);
	const char *missing = missing_rights(file);
	if (missing) {
		print_message("%s\n", missing);
		close(file);
		unlink(path);
		skip();
	}
	copy_program(file);
	setenv(VARIABLE, "1", 1);
	assert_int_equal(fchmod(file, 0755), 0);
	close(file);
	assert_int_equal(ask_program(path), 1);
	assert_int_equal(chmod(path, 04755), 0);
	assert_int_equal(ask_program(path), 0);
	assert_int_equal(unlink(path), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_decimal_and_in_their_range),
		cmocka_unit_test(a_program_with_raised_rights_reads_no_variable),
	};

	(void)argv;
	if (argc > 1)
		return answer();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
