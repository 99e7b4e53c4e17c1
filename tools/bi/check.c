#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "check_child.h"
#include "commands.h"
#include "file.h"
#include "text.h"

#define PRODUCER "buffer_interface_acquire"
#define CONSUMER "buffer_interface_consume"
#define MOST_SYMBOLS 64
#define MOST_SECONDS 3600

enum { OPTION_PRODUCER, OPTION_CONSUMER, OPTION_TIMEOUT, OPTION_JSON, OPTION_ALL };

static const struct option options[] = {
	[OPTION_PRODUCER] = { "producer", "NAMES", "the producers to check, with commas between them" },
	[OPTION_CONSUMER] = { "consumer", "NAME", "the consumer to check" },
	[OPTION_TIMEOUT] = { "timeout", "SECONDS", "seconds that a call may take (20)" },
	[OPTION_JSON] = { "json", "FILE", "write the results as one JSON object (-: to stdout)" },
	[OPTION_ALL] = { "all", NULL, "also list rules that hold or do not apply" },
	{ NULL, NULL, NULL },
};

struct run {
	const struct invocation *invocation;
	struct check_task task;
	struct check_report report;
	int is_partial; /* a function could not be checked */
	struct output json; /* opened before the check, so that a wrong path is found early */
	char *words; /* the names of the functions, one after the other */
	const char *symbols[MOST_SYMBOLS + 1];
};

static const char *value_of(const struct run *run, int option)
{
	return run->invocation->values[option];
}

/*
 * Fails if the library lacks a function of the list. Otherwise notes a sum: 1 if the library has the producer's default
 * function, and 2 if it has the consumer's.
 */
static void step_find(const struct check_task *task)
{
	for (const char *const *symbol = task->data; *symbol; symbol++)
		if (!dlsym(task->library, *symbol))
			judge_fatal("%s exports no function %s", task->file, *symbol);
	judge_note((dlsym(task->library, PRODUCER) ? 1 : 0) | (dlsym(task->library, CONSUMER) ? 2 : 0));
}

/* Opens the library. Returns enum exit_code, and sets *found to the number that step_find noted. */
static int find_defaults(struct run *run, int *found)
{
	const struct check_step find = { "", step_find, 1, run->symbols, NULL, NULL };
	enum check_end end = check_run_step(&run->task, &find, &run->report);

	if (end == CHECK_DIED)
		say("check: opening %s%s", run->task.file, run->report.results[0].text);
	*found = run->task.note;
	return end == CHECK_ENDED ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

/* Chooses the function if the command line names none. */
static int choose_default(struct run *run, int found)
{
	run->report.is_consumer = found == 2;
	run->symbols[0] = found == 2 ? CONSUMER : PRODUCER;
	if (found == 1 || found == 2)
		return EXIT_CODE_OK;
	say("check: %s exports %s " PRODUCER " %s " CONSUMER "; %s by --producer or --consumer", run->task.file,
	    found ? "both" : "neither", found ? "and" : "nor", found ? "choose one" : "name a function");
	return EXIT_CODE_USAGE;
}

/*
 * Splits run->words at the commas into run->symbols. Returns NULL, or a text about an error in the names. After an
 * error, the last names may be missing.
 */
static const char *split_names(struct run *run)
{
	int count = 0;

	for (char *word = run->words, *comma; word; word = comma ? comma + 1 : NULL) {
		comma = strchr(word, ',');
		if (comma)
			*comma = '\0';
		if (!*word)
			return *run->words || comma ? "a name is empty; remove its comma"
						    : "the name of a function is expected";
		if (count == (run->report.is_consumer ? 1 : MOST_SYMBOLS))
			return count == 1 ? "one function is expected" : "at most 64 functions are checked in one run";
		for (int i = 0; i < count; i++)
			if (!strcmp(run->symbols[i], word))
				return "a name is repeated; give each function once";
		run->symbols[count++] = word;
	}
	return NULL;
}

/* Chooses the functions that the command line names. */
static int choose_named(struct run *run, const char *names)
{
	const char *wrong;

	run->words = strdup(names);
	if (!run->words) {
		say("out of memory");
		return EXIT_CODE_USAGE;
	}
	wrong = split_names(run);
	if (!wrong)
		return EXIT_CODE_OK;
	say("check: --%s is \"%.*s\"; %s", run->report.is_consumer ? "consumer" : "producer",
	    text_fit(names, strlen(names), 200), names, wrong);
	return EXIT_CODE_USAGE;
}

static int choose_symbols(struct run *run)
{
	const char *producer = value_of(run, OPTION_PRODUCER), *consumer = value_of(run, OPTION_CONSUMER);
	const char *names = consumer ? consumer : producer;
	int found, rc;

	if (producer && consumer) {
		say("check: give either --producer or --consumer");
		return usage(run->invocation->command);
	}
	run->report.is_consumer = consumer != NULL;
	rc = names ? choose_named(run, names) : EXIT_CODE_OK;
	if (!rc)
		rc = find_defaults(run, &found);
	return rc || names ? rc : choose_default(run, found);
}

static int read_timeout(struct run *run)
{
	const char *text = value_of(run, OPTION_TIMEOUT);
	long seconds = 20;
	char *end = NULL;

	if (text)
		seconds = strtol(text, &end, 10);
	run->task.seconds = (unsigned)seconds;
	if (seconds >= 1 && seconds <= MOST_SECONDS && (!text || !*end))
		return EXIT_CODE_OK;
	say("check: --timeout is \"%s\"; a whole number of seconds from 1 to %d is expected", text, MOST_SECONDS);
	return EXIT_CODE_USAGE;
}

static int fail_json(const struct run *run, const struct bi_error *err)
{
	say("check: --json: %s: %s", value_of(run, OPTION_JSON), err->message);
	return EXIT_CODE_USAGE;
}

static int write_json(struct run *run)
{
	struct bi_error err = { 0 };
	char *text = NULL;
	size_t length;
	FILE *stream = text_open(&text, &length);
	int rc;

	if (stream)
		check_report_json(&run->report, stream);
	if (!stream || text_close(stream, &text, &length)) {
		say("out of memory");
		return EXIT_CODE_USAGE;
	}
	rc = output_write(&run->json, text, length, &err);
	if (!rc)
		rc = output_commit(&run->json, &err);
	free(text);
	return rc ? fail_json(run, &err) : EXIT_CODE_OK;
}

static int check_symbols(struct run *run)
{
	int checked = 0;

	for (const char *const *symbol = run->symbols; *symbol; symbol++) {
		enum check_end end;

		run->task.symbol = *symbol;
		end = (run->report.is_consumer ? check_consumer : check_producer)(&run->task, &run->report);
		run->is_partial |= end != CHECK_ENDED;
		checked += end == CHECK_ENDED;
	}
	if (run->report.is_incomplete)
		say("out of memory");
	return checked && !run->report.is_incomplete ? EXIT_CODE_OK : EXIT_CODE_USAGE;
}

/* Opens the file of the results, which must not replace the library. */
static int open_json(struct run *run, const char *path)
{
	struct bi_error err;
	struct input library;
	int is_library;

	if (output_open(&run->json, path, &err))
		return fail_json(run, &err);
	if (input_open(&library, run->task.file, &err))
		return EXIT_CODE_OK; /* its name may be wrong; the check says so */
	is_library = output_is_input(&run->json, &library);
	input_close(&library);
	if (!is_library)
		return EXIT_CODE_OK;
	say("check: --json cannot be %s, which is checked: it would be replaced", path);
	return EXIT_CODE_USAGE;
}

static int check_and_report(struct run *run)
{
	const char *json = value_of(run, OPTION_JSON);
	int rc = read_timeout(run), is_json_stdout;

	if (!rc && json)
		rc = open_json(run, json);
	is_json_stdout = run->json.is_stdout;
	if (!rc)
		rc = choose_symbols(run);
	if (rc)
		return rc;
	rc = check_symbols(run);
	if (rc && !check_report_broken(&run->report))
		return rc;
	/* Broken rules are printed even if a later step failed, or the file of the report cannot be written. */
	if (json && write_json(run))
		rc = EXIT_CODE_USAGE;
	if (!is_json_stdout)
		check_report_text(&run->report, value_of(run, OPTION_ALL) != NULL, stdout);
	if (check_report_broken(&run->report))
		return EXIT_CODE_FAILURE;
	return rc || run->is_partial ? EXIT_CODE_USAGE : EXIT_CODE_OK;
}

static int run(const struct invocation *invocation)
{
	struct run run = { .invocation = invocation, .json = OUTPUT_INIT };
	int rc;

	run.report.target = run.task.file = invocation->arguments[0];
	run.report.arrays = run.symbols;
	rc = check_and_report(&run);
	output_discard(&run.json);
	free(run.report.results);
	free(run.words);
	return rc;
}

const struct command command_check = {
	.name = "check",
	.synopsis = "FILE",
	.argument_count = 1,
	.summary = "Check a producer or a consumer of arrays in a shared library.",
	.details = "FILE is a shared library. A producer is a function that gives an array with each\n"
		   "call. A consumer is a function that copies the elements of an array.\n"
		   "\n"
		   "  int " PRODUCER "(uint32_t wishes, struct bi_exchange *out);\n"
		   "  int " CONSUMER "(struct bi_exchange *array,\n"
		   "                               void *elements, size_t size);\n"
		   "\n"
		   "Both return 0, or another value to refuse. The producer fills *out as `acquire`\n"
		   "of the specification does, without an object of Python. The consumer writes the\n"
		   "elements in C order, without gaps, to `elements`, which has `size` bytes. It\n"
		   "releases the array before it returns, also an array that it refuses. `size` may\n"
		   "be more than the elements need. The check calls a producer several hundred\n"
		   "times, on up to four threads at once, holds up to eight structures at a time,\n"
		   "and releases one in a forked child.\n"
		   "\n"
		   "Without --producer and --consumer, the function of one of these names is\n"
		   "checked. Each step of the check runs in a process of its own, so a crash is a\n"
		   "finding. A consumer is given arrays in host memory that are legal but unusual,\n"
		   "illegal ones, which it has to refuse, and a cl_mem with pending work if there is\n"
		   "a device.\n"
		   "\n"
		   "Exit codes: 0 no rule is broken, 1 a rule is broken, 2 the command line is\n"
		   "wrong, a function could not be checked, or --json could not be written. A broken\n"
		   "rule takes precedence: the exit code is 1 if both 1 and 2 apply.\n"
		   "The command does not exist on Windows. `python -m buffer_interface check` checks\n"
		   "arrays of Python, and judges the order of pending work.\n"
		   "\n"
		   "Examples:\n"
		   "  bi check ./libimages.so\n"
		   "  bi check ./libimages.so --producer images_grey,images_colour --all\n",
	.options = options,
	.run = run,
};
