#define _GNU_SOURCE

#include "check_child.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define HIGH_DESCRIPTOR 200 /* above the descriptors that a library may use by mistake */
#define SLICE 20 /* milliseconds between two looks at the child */
#define DRIVER_SECONDS 20 /* to open a driver and to compile for it */
#define STATUS_CLOSED 213 /* of a child whose pipe the library closed */
#define LINE_MAX_SIZE 480 /* below PIPE_BUF, so that the lines of several threads do not mix */

/* A line is a kind (a letter below), the rule, and a text. */
enum line_kind {
	LINE_HOLDS = 'h',
	LINE_BROKEN = 'b',
	LINE_SKIP = 's',
	LINE_NOTE = 'n',
	LINE_ALIVE = 'a',
	LINE_FATAL = 'f',
	LINE_END = 'e'
};

static int line_output = -1;

static void send_line(enum line_kind kind, const char *rule, const char *format, va_list args)
{
	char line[LINE_MAX_SIZE];
	int length = snprintf(line, sizeof(line), "%c %s ", kind, rule);

	vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, args);
	for (char *c = line; *c; c++)
		*c = (char)(*c == '\n' ? ' ' : iscntrl((unsigned char)*c) ? '?' : *c);
	strcat(line, "\n");
	while (write(line_output, line, strlen(line)) < 0)
		if (errno != EINTR)
			_exit(STATUS_CLOSED);
}

int judge(const char *rule, int is_kept, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(is_kept ? LINE_HOLDS : LINE_BROKEN, rule, is_kept ? "" : format, args);
	va_end(args);
	return is_kept;
}

void judge_skip(const char *rule, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(LINE_SKIP, rule, format, args);
	va_end(args);
}

static void send_control(enum line_kind kind, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(kind, "-", format, args);
	va_end(args);
}

void judge_note(int number)
{
	send_control(LINE_NOTE, "%d", number);
}

void judge_alive(void)
{
	send_control(LINE_ALIVE, "%s", "");
}

void judge_fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(LINE_FATAL, "-", format, args);
	va_end(args);
	_exit(0);
}

void judge_end(void)
{
	send_control(LINE_END, "%s", "");
	_exit(0);
}

/* Opens the library, and finds the function. */
static void open_entry(struct check_task *task)
{
	char path[4096];
	void *symbol;

	/* A name without a slash would be looked for in the folders of the system. */
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

static _Noreturn void run_child(struct check_task *task, const struct check_step *step)
{
	static const struct rlimit none;
	static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGXFSZ };
	int null = open("/dev/null", O_RDONLY);

	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		signal(handled[i], SIG_DFL); /* those of output_prepare */
	setpgid(0, 0);
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	for (int fd = STDERR_FILENO + 1; fd < line_output; fd++)
		if (fd != null)
			close(fd);
	setrlimit(RLIMIT_CORE, &none);
	dup2(null, STDIN_FILENO);
	if (null > STDERR_FILENO)
		close(null);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* a library that prints does not disturb the report */
	open_entry(task);
	step->run(task, step->data);
	judge_end();
}

/*
 * Adds the result of a line. Returns the kind of the line, or 0 if it is no line of a step: the library wrote it.
 */
static int read_line(struct check_task *task, struct check_report *report, const char *line)
{
	struct check_result result = { .array = task->symbol };
	int start = 0;

	if (sscanf(line, "%*c %15s%n", result.rule, &start) != 1 || line[1] != ' ' || line[start] != ' ')
		return 0;
	snprintf(result.text, sizeof(result.text), "%s", line + start + 1);
	switch (*line) {
	case LINE_NOTE:
		task->note = atoi(result.text);
		return *line;
	case LINE_FATAL:
		say("check: %s", result.text);
		return *line;
	case LINE_END:
	case LINE_ALIVE:
		return *line;
	case LINE_HOLDS:
	case LINE_BROKEN:
	case LINE_SKIP:
		if (!check_report_has_rule(report, result.rule))
			return 0;
		result.status = *line == LINE_HOLDS ? CHECK_HOLDS : *line == LINE_BROKEN ? CHECK_BROKEN : CHECK_SKIP;
		check_report_add(report, &result);
		return *line;
	default:
		return 0;
	}
}

/* The lines of a child that are read, up to the end of a part of a line. */
struct lines {
	char bytes[4096];
	size_t used;
	int input; /* -1: the end was read */
	int kind; /* of the last line; LINE_END and LINE_FATAL are the last */
};

/* Reads what the pipe has. A line that is too long for a step is dropped. */
static void read_lines(struct lines *lines, struct check_task *task, struct check_report *report)
{
	ssize_t got = read(lines->input, lines->bytes + lines->used, sizeof(lines->bytes) - 1 - lines->used);
	char *line = lines->bytes, *newline;

	if (got < 0 && errno == EINTR)
		return;
	if (got <= 0) {
		lines->input = -1;
		return;
	}
	lines->used += (size_t)got;
	lines->bytes[lines->used] = '\0';
	while (lines->kind != LINE_END && lines->kind != LINE_FATAL && (newline = strchr(line, '\n')) != NULL) {
		*newline = '\0';
		lines->kind = read_line(task, report, line);
		line = newline + 1;
	}
	lines->used -= (size_t)(line - lines->bytes);
	memmove(lines->bytes, line, lines->used);
	if (lines->used == sizeof(lines->bytes) - 1)
		lines->used = 0;
}

/* Returns 1 if the child has ended. It stays a zombie, so that its process group is not used again. */
static int has_ended(pid_t child)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == child;
}

/*
 * Reads the lines of a child until it has ended. Returns LINE_END or LINE_FATAL, 0 if the child ended without either,
 * or -1 if it wrote no line for the time of the step. A process that the child started may keep the pipe open, and the
 * library may close the pipe.
 */
static int wait_for_child(struct check_task *task, const struct check_step *step, struct check_report *report,
			  struct lines *lines, pid_t child)
{
	unsigned idle = 0, seconds = task->seconds;
	int ready;

	while (lines->kind != LINE_END && lines->kind != LINE_FATAL) {
		struct pollfd input = { .fd = lines->input, .events = POLLIN };

		ready = poll(&input, 1, SLICE);
		if (ready > 0) {
			read_lines(lines, task, report);
			idle = 0;
			continue;
		}
		if (has_ended(child) && (lines->input < 0 || poll(&input, 1, 0) <= 0))
			return 0;
		seconds = task->seconds + (step->skipped && task->note < 0 ? DRIVER_SECONDS : 0);
		idle += SLICE;
		if (idle > seconds * 1000)
			return -1;
	}
	return lines->kind;
}

/* Ends the child and the processes that it started. Adds a result if it did not end as it should. */
static enum check_end end_child(struct check_task *task, const struct check_step *step, struct check_report *report,
				pid_t child, int kind)
{
	struct check_result result = { .status = CHECK_BROKEN, .array = task->symbol };
	int status = 0, is_early = step->skipped && task->note < 0;
	char how[100];

	kill(-child, SIGKILL);
	if (kind)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	if (kind == LINE_FATAL)
		return CHECK_FATAL;
	if (kind == LINE_END)
		return CHECK_ENDED;
	if (kind < 0)
		snprintf(how, sizeof(how), "goes on for more than %u s", task->seconds);
	else if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "crashes the process (signal %d: %s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == STATUS_CLOSED)
		snprintf(how, sizeof(how), "closes a descriptor that it did not open, so its results are lost");
	else
		snprintf(how, sizeof(how), "ends the process with status %d", WEXITSTATUS(status));
	result.status = is_early ? CHECK_SKIP : CHECK_BROKEN;
	snprintf(result.rule, sizeof(result.rule), "%s", is_early ? step->skipped : step->rule);
	snprintf(result.text, sizeof(result.text), "%s %s", is_early ? "the set-up of the step" : step->name, how);
	check_report_add(report, &result);
	return CHECK_DIED;
}

/* Moves a descriptor out of the reach of a library that uses low numbers. Returns -1 on failure. */
static int move_high(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);

	if (high < 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return high;
}

enum check_end check_run_step(struct check_task *task, const struct check_step *step, struct check_report *report)
{
	struct lines lines = { .used = 0 };
	int ends[2], kind;
	pid_t child;

	task->note = -1;
	if (pipe(ends)) {
		say("check: a pipe cannot be opened: %s", strerror(errno));
		return CHECK_FATAL;
	}
	lines.input = ends[0];
	line_output = move_high(ends[1]);
	signal(SIGCHLD, SIG_DFL); /* if it was ignored, waitpid would not tell how the child ended */
	fflush(NULL);
	child = line_output < 0 ? -1 : fork();
	if (child == 0)
		run_child(task, step);
	if (line_output >= 0)
		close(line_output);
	if (child < 0) {
		say("check: a process cannot be started: %s", strerror(errno));
		close(ends[0]);
		return CHECK_FATAL;
	}
	setpgid(child, child); /* the child does it too; either may be the first */
	kind = wait_for_child(task, step, report, &lines, child);
	close(ends[0]);
	return end_child(task, step, report, child, kind);
}
