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
	unsigned seconds; /* the most seconds that a call may take */
	void *library; /* handle from dlopen, in the child */
	void (*entry)(void); /* the function `symbol`, in the child */
	int choice; /* producer: 1 if the first structure is right; consumer: number of the plain array */
	int note; /* the last number that a step passed on by judge_note; -1: none */
	const void *data; /* of the step, in the child */
};

struct check_step {
	const char *name; /* stands before "crashes the process" */
	void (*run)(const struct check_task *task);
	unsigned calls; /* the step may take the time of so many calls */
	const void *data; /* becomes task->data */
	const char *rule; /* the rule that is broken if the child crashes or hangs; NULL: all.alive */
	const char *skipped; /* the rule that is skipped if the child dies before it calls judge_note; NULL: none */
};

enum check_end {
	CHECK_DIED, /* the child crashed, took too long or was ended by the library; the report has the result */
	CHECK_ENDED,
	CHECK_FATAL /* an error was printed, and the check ends */
};

/* Runs a step. Waits for the child. */
enum check_end check_run_step(struct check_task *task, const struct check_step *step, struct check_report *report);

/* Check the function of the task. Return CHECK_FATAL if an error has ended the check, otherwise CHECK_ENDED. */
enum check_end check_producer(struct check_task *task, struct check_report *report);
enum check_end check_consumer(struct check_task *task, struct check_report *report);

uint64_t milliseconds_now(void);

/* The functions below are for steps. They run in the child. */

/* Records whether a rule is kept. The format describes the violation. Returns `is_kept`. */
int judge(const char *rule, int is_kept, const char *format, ...) TOOL_PRINTF(3, 4);
void judge_skip(const char *rule, const char *format, ...) TOOL_PRINTF(2, 3);
/* Passes a number to the parent (check_task.note). The time limit of the next call begins. */
void judge_note(int number);
/* Records that a call has returned. The time limit of the next one begins. May be called on any thread. */
void judge_alive(void);
/* Ends the child with an error, which the parent prints: nothing can be checked. */
_Noreturn void judge_fatal(const char *format, ...) TOOL_PRINTF(1, 2);
/* Ends the child without an error. The results that were recorded count. */
_Noreturn void judge_end(void);

/*
 * Judges the rules of check.h, and B-19, B-25, B-28 and B-29. Returns 0 if one is broken, or if the library does not
 * know the type.
 */
int judge_structure(const struct bi_exchange *x);
/* Returns 1 if the process can read the bytes. Reads one byte of each of the first 4096 pages, and the last byte. */
int check_is_readable(uint64_t address, uint64_t size);
/* Returns the bytes of a text before its NUL that can be read, or `most` if there are more. */
size_t check_readable_length(const char *text, size_t most);
/* Judges B-34: a write of the elements waits for a gate, which opens while the consumer is running. */
void step_pending(const struct check_task *task);

#endif
