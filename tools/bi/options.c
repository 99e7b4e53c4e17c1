#include "options.h"

#include <string.h>

#include "fail.h"

#define LONGEST_NAME 24

/*
 * Returns the least number of insertions, removals and replacements that make one word of the other. Both words have at
 * most LONGEST_NAME characters.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[LONGEST_NAME + 1], length = strlen(b), diagonal, above;

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; *a; i++, a++) {
		diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			above = row[j];
			row[j] = diagonal + (*a != b[j - 1]);
			if (above + 1 < row[j])
				row[j] = above + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			diagonal = above;
		}
	}
	return row[length];
}

const char *closest_name(const char *word, const char *(*next)(const void *table, int index), const void *table)
{
	const char *best = NULL, *name;
	size_t least = strlen(word) > 3 ? 3 : 2, distance;

	if (strlen(word) > LONGEST_NAME)
		return NULL;
	for (int i = 0; (name = next(table, i)) != NULL; i++) {
		distance = edit_distance(word, name);
		if (distance < least) {
			least = distance;
			best = name;
		}
	}
	return best;
}

static const char *option_name(const void *table, int index)
{
	const struct option *options = table;

	return options[index].name;
}

static int find_option(const struct option *options, const char *name, size_t length)
{
	for (int i = 0; options[i].name; i++)
		if (strlen(options[i].name) == length && !strncmp(options[i].name, name, length))
			return i;
	return -1;
}

int usage(const struct command *command)
{
	fprintf(stderr, "Try 'bi %s --help'.\n", command->name);
	return EXIT_CODE_USAGE;
}

static int fail_unknown_option(const struct command *command, const char *word)
{
	char name[LONGEST_NAME + 2];
	const char *close;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	close = closest_name(name, option_name, command->options);

	if (close)
		say("%s: unknown option '%s'; did you mean '--%s'?", command->name, word, close);
	else
		say("%s: unknown option '%s'", command->name, word);
	return usage(command);
}

/* Reads the option at words[*at] and its value. */
static int parse_option(const struct command *command, int count, char *const *words, int *at, struct invocation *out)
{
	const char *word = words[*at], *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	int found = word[1] == '-' && length > 2 ? find_option(command->options, word + 2, length - 2) : -1;

	if (found < 0)
		return fail_unknown_option(command, word);
	if (out->values[found]) {
		say("%s: --%s is given twice", command->name, command->options[found].name);
		return usage(command);
	}
	if (!command->options[found].value) {
		if (value) {
			say("%s: --%s takes no value", command->name, command->options[found].name);
			return usage(command);
		}
		value = "";
	} else if (!value && ++*at < count) {
		value = words[*at];
		if (!strncmp(value, "--", 2)) { /* an option, which would be lost as the value of this one */
			say("%s: --%s lacks its value %s; a value that begins with -- is given by --%s=%s",
			    command->name, command->options[found].name, command->options[found].value,
			    command->options[found].name, value);
			return usage(command);
		}
	}
	if (!value) {
		say("%s: --%s lacks its value %s", command->name, command->options[found].name,
		    command->options[found].value);
		return usage(command);
	}
	out->values[found] = value;
	return EXIT_CODE_OK;
}

static int add_argument(const struct command *command, const char *word, int *given, struct invocation *out)
{
	if (*given == command->argument_count) {
		say("%s: unexpected argument '%s'", command->name, word);
		return usage(command);
	}
	out->arguments[(*given)++] = word;
	return EXIT_CODE_OK;
}

int invocation_parse(const struct command *command, int count, char *const *words, struct invocation *out)
{
	int given = 0, only_arguments = 0, rc = EXIT_CODE_OK;

	*out = (struct invocation){ .command = command };
	for (int i = 0; rc == EXIT_CODE_OK && i < count; i++) {
		if (only_arguments || words[i][0] != '-' || !words[i][1]) {
			rc = add_argument(command, words[i], &given, out);
		} else if (!strcmp(words[i], "--")) {
			only_arguments = 1;
		} else if (!strcmp(words[i], "--help") || !strcmp(words[i], "-h")) {
			out->wants_help = 1;
			return EXIT_CODE_OK;
		} else {
			rc = parse_option(command, count, words, &i, out);
		}
	}
	if (rc == EXIT_CODE_OK && given < command->argument_count - command->optional_count) {
		say("%s: arguments are missing; it takes %s", command->name, command->synopsis);
		return usage(command);
	}
	return rc;
}

void command_help(const struct command *command, FILE *out)
{
	fprintf(out, "Usage: bi %s%s%s [OPTION]...\n%s\n\nOptions:\n", command->name, *command->synopsis ? " " : "",
		command->synopsis, command->summary);
	for (const struct option *option = command->options; option->name; option++) {
		char left[40];

		snprintf(left, sizeof(left), "--%s%s%s", option->name, option->value ? " " : "",
			 option->value ? option->value : "");
		fprintf(out, "  %-20s  %s\n", left, option->help);
	}
	fprintf(out, "  %-20s  %s\n\n%s", "--help", "show this text", command->details);
}
