/*
 * Commands and their options as tables: one parser and one writer of help texts for all of them.
 *
 * Options are "--name value", "--name=value" and "--name" for flags; "--" ends them.
 */
#ifndef BI_TOOL_OPTIONS_H
#define BI_TOOL_OPTIONS_H

#include <stdio.h>

#define OPTIONS_MAX 8
#define ARGUMENTS_MAX 2

struct option {
	const char *name; /* without "--"; NULL ends the table */
	const char *value; /* how the help names the value; NULL: a flag */
	const char *help;
};

struct command;

/* What the command line says. */
struct invocation {
	const struct command *command;
	int wants_help;
	const char *values[OPTIONS_MAX]; /* in the order of the table; NULL: not given; a flag is "" */
	const char *arguments[ARGUMENTS_MAX];
};

struct command {
	const char *name;
	const char *synopsis; /* of the arguments, "IN.npy OUT.npy" */
	int argument_count;
	int optional_count; /* of these, the last ones, which may be left out; then they are NULL */
	const char *summary; /* one line */
	const char *details; /* paragraphs and examples */
	const struct option *options;
	int (*run)(const struct invocation *invocation); /* returns enum exit_code */
};

/* Reads the arguments after the command's name. Returns enum exit_code; errors are said. */
int invocation_parse(const struct command *command, int count, char *const *words, struct invocation *out);

/* Points to the help, after an error was said; returns EXIT_CODE_USAGE. */
int usage(const struct command *command);

void command_help(const struct command *command, FILE *out);

/* The table's name that is most like `word`, or NULL if none is like it at all. `next` walks the names from 0. */
const char *closest_name(const char *word, const char *(*next)(const void *table, int index), const void *table);

#endif
