/*
 * One step of a check, in a process of its own: the library under test may crash or hang there. The step calls judge
 * and judge_skip; the report receives the results.
 */
#ifndef BI_TOOL_CHECK_CHILD_H
#define BI_TOOL_CHECK_CHILD_H

#include <buffer_interface/abi.h>

#include "check_report.h"
#include "fail.h"

/* The functions that a library under test exports. The help of the command describes them. */
typedef int check_producer_fn(uint32_t wishes, struct bi_exchange *out);
typedef int check_consumer_fn(struct bi_exchange *array, void *elements, size_t size);

struct check_task {
	const char *file;
	const char *symbol; /* NULL: the step needs none */
	unsigned seconds; /* most time of a call */
	void *library; /* in the child, as from dlopen */
	void (*entry)(void); /* the function `symbol`, in the child */
	int choice; /* producer: 1 if the structure breaks no rule; consumer: the plain array that it accepts */
	int note; /* the last number that a step passed on by judge_note; -1: none */
	const void *data; /* of the step, in the child */
};

struct check_step {
	const char *name; /* stands before "crashes the process" */
	void (*run)(const struct check_task *task);
	unsigned calls; /* the step takes at most the time of so many calls */
	const void *data; /* of the task while `run` is running */
	const char *rule; /* the rule that is broken if the child crashes or hangs; NULL: all.alive */
	const char *skipped; /* the rule that is skipped if the child ends before it calls judge_note; NULL: none */
};

enum check_end {
	CHECK_DIED, /* the child crashed or took too long: the report has the result */
	CHECK_ENDED,
	CHECK_FATAL /* an error was printed: nothing can be checked */
};

/* Runs a step. Waits for the child. */
enum check_end check_run_step(struct check_task *task, const struct check_step *step, struct check_report *report);

/* Check the function of the task. Return CHECK_FATAL if nothing could be checked, otherwise CHECK_ENDED. */
enum check_end check_producer(struct check_task *task, struct check_report *report);
enum check_end check_consumer(struct check_task *task, struct check_report *report);

uint64_t milliseconds_now(void);

/* The functions below are for steps. They run in the child. */

/* Tells the parent whether a rule is kept. The format describes what breaks it. Returns `is_kept`. */
int judge(const char *rule, int is_kept, const char *format, ...) TOOL_PRINTF(3, 4);
void judge_skip(const char *rule, const char *format, ...) TOOL_PRINTF(2, 3);
/* Tells the parent a number (check_task.note). The time limit of the next call begins. */
void judge_note(int number);
/* Tells, on any thread, that a call has returned. The time limit of the next one begins. */
void judge_alive(void);
/* Ends the child. The error says why nothing can be checked. */
_Noreturn void judge_fatal(const char *format, ...) TOOL_PRINTF(1, 2);
/* Ends the child. The results that were passed on count. */
_Noreturn void judge_end(void);

/* Judges the rules of check.h, and those of type, device and memory that it leaves out. Returns 1 if none is broken. */
int judge_structure(const struct bi_exchange *x);
/* Returns 1 if the process can read the bytes. Reads one byte of each of the first 4096 pages, and the last byte. */
int check_is_readable(uint64_t address, uint64_t size);
/* Returns the bytes of a text before its NUL that can be read, or `most` if there are more. */
size_t check_readable_length(const char *text, size_t most);
/* Judges B-34: a write of the elements waits for a gate, which opens while the consumer is running. */
void step_pending(const struct check_task *task);

#endif
