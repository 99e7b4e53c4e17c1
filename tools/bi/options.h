/*
 * Commands and their options as tables, with one parser and one writer of help texts.
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
	const char *value; /* name of the value in the help; NULL: a flag */
	const char *help;
};

struct command;

/* A parsed command line. */
struct invocation {
	const struct command *command;
	int wants_help;
	const char *values[OPTIONS_MAX]; /* in the order of the table; NULL: not given; a flag that is given is "" */
	const char *arguments[ARGUMENTS_MAX];
};

struct command {
	const char *name;
	const char *synopsis; /* of the arguments, such as "IN.npy OUT.npy" */
	int argument_count;
	int optional_count; /* how many of the last arguments may be omitted; these are then NULL */
	const char *summary; /* one line */
	const char *details; /* paragraphs and examples */
	const struct option *options;
	int (*run)(const struct invocation *invocation); /* returns enum exit_code */
};

/* Parses the words after the command's name. Returns enum exit_code; errors are printed. */
int invocation_parse(const struct command *command, int count, char *const *words, struct invocation *out);

/* Prints where the help is, after an error was printed. Returns EXIT_CODE_USAGE. */
int usage(const struct command *command);

void command_help(const struct command *command, FILE *out);

/*
 * Returns the name in the table that is most similar to `word`, or NULL if none is similar. `next` returns the names,
 * counted from 0.
 */
const char *closest_name(const char *word, const char *(*next)(const void *table, int index), const void *table);

#endif
