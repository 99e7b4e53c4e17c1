#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "buffer_interface.h"
#include "commands.h"
#include "fail.h"
#include "file.h"

static const struct command *const commands[] = {
	&command_devices,
	&command_copy,
	&command_show,
#ifndef _WIN32
	&command_check,
#endif
	NULL,
};

static const char epilogue[] = "Devices are chosen by a string: auto, cpu, gpu, host, opencl, cuda, opencl:0:1,\n"
			       "#2, opencl:pocl, cuda:0.\n"
			       "The environment variable BI_DEVICE gives the default.\n"
			       "\n"
			       "Exit codes:\n"
			       "  0  all went well\n"
			       "  1  a file or a device could not do it; check: a rule is broken\n"
			       "  2  the command line is wrong, or does not fit; check: not all was checked\n"
			       "  3  --verify found a difference\n"
			       "  4  the input file is truncated, damaged or of an unknown kind\n";

static void print_help(FILE *out)
{
	fputs("Usage: bi COMMAND [ARGUMENT]... [OPTION]...\n"
	      "Arrays in host, OpenCL and CUDA memory, on a device chosen at run time.\n\nCommands:\n",
	      out);
	for (const struct command *const *at = commands; *at; at++)
		fprintf(out, "  %-8s  %s\n", (*at)->name, (*at)->summary);
	fprintf(out, "\n'bi COMMAND --help' or 'bi help COMMAND' says more.\n'bi --version' prints the version.\n\n%s",
		epilogue);
}

static const char *command_name(const void *table, int index)
{
	const struct command *const *list = table;

	return list[index] ? list[index]->name : NULL;
}

static int unknown(const char *kind, const char *word)
{
	const char *close = closest_name(word, command_name, commands);

	if (close)
		say("unknown %s '%s'; did you mean '%s'?", kind, word, close);
	else
		say("unknown %s '%s'", kind, word);
	fputs("Try 'bi --help'.\n", stderr);
	return EXIT_CODE_USAGE;
}

static int run_command(const struct command *command, int count, char *const *words)
{
	struct invocation invocation;
	int rc = invocation_parse(command, count, words, &invocation);

	if (rc != EXIT_CODE_OK)
		return rc;
	if (!invocation.wants_help)
		return command->run(&invocation);
	command_help(command, stdout);
	return EXIT_CODE_OK;
}

static const struct command *find_command(const char *word)
{
	const struct command *const *at = commands;

	while (*at && strcmp(word, (*at)->name))
		at++;
	return *at;
}

static int is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int help_with(const char *word)
{
	const struct command *command = find_command(word);

	if (command)
		command_help(command, stdout);
	else if (is_help(word))
		print_help(stdout);
	else
		return unknown("command", word);
	return EXIT_CODE_OK;
}

/* Returns the most words of a command line, "bi" included, whose second word is `first`. */
static int most_words(const char *first)
{
	if (!strcmp(first, "help"))
		return 3;
	return is_help(first) || !strcmp(first, "--version") ? 2 : INT_MAX;
}

static int run_words(int count, char *const *words)
{
	const struct command *command;

	if (count < 2) {
		print_help(stderr);
		return EXIT_CODE_USAGE;
	}
	if (count > most_words(words[1])) {
		say("unexpected argument '%s'", words[most_words(words[1])]);
		fputs("Try 'bi --help'.\n", stderr);
		return EXIT_CODE_USAGE;
	}
	if (!strcmp(words[1], "--version")) {
		printf("bi %s\n", bi_version());
		return EXIT_CODE_OK;
	}
	if (is_help(words[1]))
		return help_with(count > 2 ? words[2] : words[1]);
	command = find_command(words[1]);
	if (!command)
		return unknown(*words[1] == '-' ? "option" : "command", words[1]);
	return run_command(command, count - 2, words + 2);
}

/* Flushes stdout. Returns `rc`, or EXIT_CODE_FAILURE if `rc` is EXIT_CODE_OK and stdout could not be written. */
static int end_output(int rc)
{
	int failed;

	errno = 0; /* stays 0 if only an earlier write failed, whose reason is not known here */
	failed = fflush(stdout) || ferror(stdout);
	if (failed)
		say("cannot write to standard output%s%s", errno ? ": " : "", errno ? strerror(errno) : "");
	return failed && rc == EXIT_CODE_OK ? EXIT_CODE_FAILURE : rc;
}

int main(int count, char **words)
{
	if (output_prepare()) {
		say("a standard descriptor is closed, and /dev/null cannot be opened: %s", strerror(errno));
		return EXIT_CODE_FAILURE;
	}
	return end_output(run_words(count, words));
}
