#define _GNU_SOURCE

#include "check_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_SIZE 480 /* below PIPE_BUF, so that the lines of several threads do not mix */

/* A line is a kind (a letter below), the rule, and a text. */
enum line_kind {
	LINE_HOLDS = 'h',
	LINE_BROKEN = 'b',
	LINE_SKIP = 's',
	LINE_NOTE = 'n',
	LINE_FATAL = 'f',
	LINE_END = 'e'
};

static int line_output = -1;

static void send_line(enum line_kind kind, const char *rule, const char *format, va_list args)
{
	char line[LINE_MAX_SIZE];
	int length = snprintf(line, sizeof(line), "%c %s ", kind, rule);

	vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, args);
	for (char *c = line; (c = strchr(c, '\n')) != NULL;)
		*c = ' ';
	strcat(line, "\n");
	while (write(line_output, line, strlen(line)) < 0 && errno == EINTR)
		continue;
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
	setrlimit(RLIMIT_CORE, &none);
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* a library that prints does not disturb the report */
	open_entry(task);
	step->run(task, step->data);
	judge_end();
}

/* Adds the result of a line. Returns the kind of the line. */
static int read_line(struct check_task *task, struct check_report *report, const char *line)
{
	const char *rule = line + 2, *text = strchr(rule, ' ') + 1;
	struct check_result result = { .array = task->symbol };

	snprintf(result.rule, sizeof(result.rule), "%.*s", (int)(text - rule - 1), rule);
	snprintf(result.text, sizeof(result.text), "%s", text);
	if (*line == LINE_NOTE) {
		task->note = atoi(text);
	} else if (*line == LINE_FATAL) {
		say("check: %s", text);
	} else if (*line != LINE_END) {
		result.status = *line == LINE_HOLDS ? CHECK_HOLDS : *line == LINE_BROKEN ? CHECK_BROKEN : CHECK_SKIP;
		check_report_add(report, &result);
	}
	return *line;
}

/*
 * Reads the lines of a child. Returns LINE_END or LINE_FATAL, 0 if the child ended without either, or -1 if it wrote no
 * line for the time of the task.
 */
static int read_lines(struct check_task *task, struct check_report *report, int input)
{
	struct pollfd poll_input = { .fd = input, .events = POLLIN };
	char bytes[4096], *line = bytes, *newline;
	size_t used = 0;
	ssize_t got;
	int kind = 0, ready;

	while (kind != LINE_END && kind != LINE_FATAL) {
		ready = poll(&poll_input, 1, (int)task->seconds * 1000);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -1;
		got = read(input, bytes + used, sizeof(bytes) - 1 - used);
		if (got <= 0)
			return 0;
		used += (size_t)got;
		bytes[used] = '\0';
		for (line = bytes; (newline = strchr(line, '\n')) != NULL; line = newline + 1) {
			*newline = '\0';
			kind = read_line(task, report, line);
		}
		used -= (size_t)(line - bytes);
		memmove(bytes, line, used);
	}
	return kind;
}

/* Waits for the child, and adds the result if it did not end as it should. */
static enum check_end end_of(struct check_task *task, const struct check_step *step, struct check_report *report,
			     pid_t child, int kind)
{
	struct check_result result = { .status = CHECK_BROKEN, .array = task->symbol };
	char how[100];
	int status = 0;

	if (kind < 0)
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
	else
		snprintf(how, sizeof(how), "ends the process with status %d", WEXITSTATUS(status));
	snprintf(result.rule, sizeof(result.rule), "%s", step->rule);
	snprintf(result.text, sizeof(result.text), "%s %s", step->name, how);
	check_report_add(report, &result);
	return CHECK_DIED;
}

enum check_end check_run_step(struct check_task *task, const struct check_step *step, struct check_report *report)
{
	int ends[2], kind;
	pid_t child;

	task->note = -1;
	if (pipe(ends)) {
		say("check: a pipe cannot be opened: %s", strerror(errno));
		return CHECK_FATAL;
	}
	fflush(NULL);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		line_output = ends[1];
		run_child(task, step);
	}
	close(ends[1]);
	if (child < 0) {
		say("check: a process cannot be started: %s", strerror(errno));
		close(ends[0]);
		return CHECK_FATAL;
	}
	kind = read_lines(task, report, ends[0]);
	close(ends[0]);
	return end_of(task, step, report, child, kind);
}
