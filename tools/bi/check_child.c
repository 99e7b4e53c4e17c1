#define _GNU_SOURCE

#include "check_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

#define MOST_RESULTS 256 /* of a step */
#define MOST_DESCRIPTOR 255 /* the highest descriptor that is closed in the child */
#define DRIVER_SECONDS 20 /* to open a driver and to compile for it */

/*
 * The results of a step, in memory that both processes share. The library under test may find it and write to it. So
 * the parent copies each result before it checks it, and the longest wait does not depend on the board.
 */
static struct board {
	_Atomic uint64_t alive; /* the time when the last call returned, in milliseconds */
	int note;
	enum check_end end;
	int count;
	struct check_result error; /* only its text; set with CHECK_FATAL */
	struct check_result results[MOST_RESULTS];
} * board;

uint64_t milliseconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void write_result(enum check_status status, const char *rule, const char *format, va_list args)
{
	struct check_result *result = &board->results[board->count];

	if (board->count == MOST_RESULTS)
		return;
	result->status = status;
	snprintf(result->rule, sizeof(result->rule), "%s", rule);
	vsnprintf(result->text, sizeof(result->text), format, args);
	board->count++;
}

int judge(const char *rule, int is_kept, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_result(is_kept ? CHECK_HOLDS : CHECK_BROKEN, rule, is_kept ? "" : format, args);
	va_end(args);
	return is_kept;
}

void judge_skip(const char *rule, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_result(CHECK_SKIP, rule, format, args);
	va_end(args);
}

void judge_alive(void)
{
	atomic_store(&board->alive, milliseconds_now());
}

void judge_note(int number)
{
	board->note = number;
	judge_alive();
}

void judge_fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(board->error.text, sizeof(board->error.text), format, args);
	va_end(args);
	board->end = CHECK_FATAL;
	_exit(0);
}

void judge_end(void)
{
	board->end = CHECK_ENDED;
	_exit(0);
}

/* Opens the library, and finds the function. */
static void open_entry(struct check_task *task)
{
	char path[4096];
	void *symbol;

	/* dlopen would search the folders of the system for a name without a slash. */
	snprintf(path, sizeof(path), "%s%s", strchr(task->file, '/') ? "" : "./", task->file);
	task->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!task->library)
		judge_fatal("%s", dlerror());
	if (!task->symbol)
		return;
	symbol = dlsym(task->library, task->symbol);
	if (!symbol)
		judge_fatal("%s exports no function %s", task->file, task->symbol);
	memcpy(&task->entry, &symbol, sizeof(symbol));
}

static _Noreturn void run_child(struct check_task *task, const struct check_step *step, const sigset_t *mask)
{
	static const struct rlimit none;
	int null = open("/dev/null", O_RDONLY);

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL); /* else a handler of the command would remove its output */
	sigprocmask(SIG_SETMASK, mask, NULL);
	setpgid(0, 0);
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	setrlimit(RLIMIT_CORE, &none);
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* a library that prints does not disturb the report */
	for (int fd = STDERR_FILENO + 1; fd <= MOST_DESCRIPTOR; fd++)
		close(fd);
	open_entry(task);
	task->data = step->data;
	step->run(task);
	judge_end();
}

/* Ends the texts of a copied result, which come from another process, and cleans its message (text_clean). */
static void clean_result(struct check_result *result)
{
	result->rule[sizeof(result->rule) - 1] = result->text[sizeof(result->text) - 1] = '\0';
	text_clean(result->text);
}

/*
 * Adds the results of the board to the report, except for those of rules that the report does not have. Prints the
 * error of CHECK_FATAL.
 */
static enum check_end read_board(struct check_task *task, struct check_report *report)
{
	enum check_end end = board->end;
	struct check_result result = board->error;
	int count = board->count;

	task->note = board->note;
	clean_result(&result);
	if (end == CHECK_FATAL)
		say("check: %s", result.text);
	for (int i = 0; i < count && i < MOST_RESULTS; i++) {
		result = board->results[i];
		clean_result(&result);
		result.array = task->symbol;
		if (result.status <= CHECK_SKIP && check_report_has_rule(report, result.rule))
			check_report_add(report, &result);
	}
	return end;
}

static int is_set_up(const struct check_step *step)
{
	return !step->skipped || board->note >= 0;
}

/*
 * Returns 1 if the child has ended. The child stays a zombie, so that the number of its process group is not used
 * again.
 */
static int has_ended(pid_t child)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == child;
}

/*
 * Waits until the child ends, until no call has returned for the time of a call, or until the time of all calls of the
 * step is over. For a step with `skipped`, the time to set up a driver is added. Returns 0 if the child has ended,
 * otherwise the time in milliseconds that was exceeded.
 */
static uint64_t wait_for_child(const struct check_task *task, const struct check_step *step, pid_t child,
			       const sigset_t *mask)
{
	const uint64_t start = milliseconds_now(), call = task->seconds * UINT64_C(1000);
	const uint64_t driver = step->skipped ? DRIVER_SECONDS * 1000 : 0, most = driver + step->calls * call;

	while (!has_ended(child)) {
		const uint64_t now = milliseconds_now(), alive = atomic_load(&board->alive);
		const uint64_t limit = call + (is_set_up(step) ? 0 : driver), last = alive < now ? alive : now;
		const uint64_t end = last + limit < start + most ? last + limit : start + most;
		struct timespec pause = { (time_t)((end - now) / 1000), (long)((end - now) % 1000 * 1000000) };

		if (now >= end)
			return end < start + most ? limit : most;
		pselect(0, NULL, NULL, NULL, &pause, mask);
	}
	return 0;
}

/* Ends the process group of the child. Adds a result if the child did not end as it should. */
static enum check_end end_child(struct check_task *task, const struct check_step *step, struct check_report *report,
				pid_t child, uint64_t too_long)
{
	struct check_result result = { .status = is_set_up(step) ? CHECK_BROKEN : CHECK_SKIP, .array = task->symbol };
	const char *rule = result.status == CHECK_SKIP ? step->skipped : step->rule ? step->rule : "all.alive";
	const char *name = result.status == CHECK_SKIP ? "the set-up of the step" : step->name;
	enum check_end end;
	int status = 0;

	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	end = read_board(task, report);
	if (end == CHECK_FATAL || (end == CHECK_ENDED && !too_long))
		return end;
	snprintf(result.rule, sizeof(result.rule), "%s", rule);
	if (too_long)
		snprintf(result.text, sizeof(result.text), "%s goes on for more than %u s", name,
			 (unsigned)(too_long / 1000));
	else if (WIFSIGNALED(status))
		snprintf(result.text, sizeof(result.text), "%s crashes the process (signal %d: %s)", name,
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(result.text, sizeof(result.text), "%s ends the process with status %d", name,
			 WEXITSTATUS(status));
	check_report_add(report, &result);
	return CHECK_DIED;
}

static void wake_up(int number)
{
	(void)number;
}

static enum check_end fail_start(const char *what)
{
	say("check: %s: %s", what, strerror(errno));
	return CHECK_FATAL;
}

/* Starts the step in a child, and waits for it. */
static enum check_end run_on_board(struct check_task *task, const struct check_step *step, struct check_report *report)
{
	const struct sigaction action = { .sa_handler = wake_up };
	sigset_t blocked, mask;
	uint64_t too_long;
	pid_t child;

	/* SIGCHLD is blocked except in pselect, so none is lost between the check and the wait. */
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	sigdelset(&mask, SIGCHLD);
	fflush(NULL);
	child = fork();
	if (child == 0)
		run_child(task, step, &mask);
	if (child < 0)
		return fail_start("a process cannot be started");
	setpgid(child, child); /* the child does it too; either may be the first */
	too_long = wait_for_child(task, step, child, &mask);
	return end_child(task, step, report, child, too_long);
}

enum check_end check_run_step(struct check_task *task, const struct check_step *step, struct check_report *report)
{
	enum check_end end;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		return fail_start("no memory for the results of a step");
	board->note = -1;
	judge_alive();
	end = run_on_board(task, step, report);
	munmap(board, sizeof(*board));
	return end;
}
