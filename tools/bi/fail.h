/*
 * Failures of the command.
 *
 * Functions that can fail return BI_OK or a negative enum bi_status, and fill a struct bi_error, as the library's
 * functions do. Only main.c, options.c, check_child.c and the commands print an error as a line on stderr.
 */
#ifndef BI_TOOL_FAIL_H
#define BI_TOOL_FAIL_H

#include "buffer_interface.h"

#if defined(__MINGW32__) && !defined(__clang__)
#define TOOL_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define TOOL_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

enum exit_code {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILURE = 1, /* an operation on a file or a device failed; check: a rule is broken */
	EXIT_CODE_USAGE = 2,
	EXIT_CODE_DIFFERS = 3, /* the option --verify found a difference */
	EXIT_CODE_INPUT = 4 /* the input file is not valid */
};

/* Fills *err and returns `status`. `err` may be NULL. */
int fail(struct bi_error *err, enum bi_status status, const char *format, ...) TOOL_PRINTF(3, 4);

/* Fills *err after a failed system call with "<what>: <reason of errno>". Returns BI_ENOMEM or BI_EDRIVER. */
int fail_errno(struct bi_error *err, const char *what);

/*
 * Returns the exit code for a failure of bi_npy_read: EXIT_CODE_INPUT if the file is not valid, else EXIT_CODE_FAILURE.
 */
int input_exit_code(int status);

/* Puts "<about>: " before the message of *err. Returns the status of *err. */
int fail_about(struct bi_error *err, const char *about);

/* Prints "bi: <text>" and a newline on stderr. The text may contain text of a file: it is cleaned (text_clean). */
void say(const char *format, ...) TOOL_PRINTF(1, 2);

#endif
