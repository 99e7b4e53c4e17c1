/*
 * Commands and their options as tables, with one parser and one printer of help texts.
 *
 * Options are "--name value" and "--name=value"; an option without a value (a flag) is "--name". The word "--" ends the
 * options.
 */
#ifndef BI_TOOL_OPTIONS_H
#define BI_TOOL_OPTIONS_H

#include <stdio.h>

#define OPTIONS_MAX 8
#define ARGUMENTS_MAX 2

struct option {
	const char *name; /* without "--"; NULL ends the table */
	const char *value; /* name of the value in the help; NULL: the option is a flag */
	const char *help;
};

struct command;

/* A parsed command line. */
struct invocation {
	const struct command *command;
	int wants_help;
	const char *values[OPTIONS_MAX]; /* in the order of the table; NULL: the option is not given; "": the flag is
					    given */
	const char *arguments[ARGUMENTS_MAX];
};

struct command {
	const char *name;
	const char *synopsis; /* the arguments in the help, such as "IN.npy OUT.npy" */
	int argument_count;
	int optional_count; /* number of arguments at the end that may be omitted; an omitted argument is NULL */
	const char *summary; /* one line for the list of commands */
	const char *details; /* paragraphs and examples for the help of the command */
	const struct option *options;
	int (*run)(const struct invocation *invocation); /* returns enum exit_code */
};

/* Parses the words after the command's name. Prints errors. Returns enum exit_code. */
int invocation_parse(const struct command *command, int count, char *const *words, struct invocation *out);

/* Prints how to get help. Called after an error was printed. Returns EXIT_CODE_USAGE. */
int usage(const struct command *command);

void command_help(const struct command *command, FILE *out);

/*
 * Returns the name that is most similar to `word`, or NULL if no name is similar. `next` returns the name number
 * `index` of the table, or NULL after the last name.
 */
const char *closest_name(const char *word, const char *(*next)(const void *table, int index), const void *table);

#endif
