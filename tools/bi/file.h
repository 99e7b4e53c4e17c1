/*
 * Files read with bounds, and files written whole or not at all.
 *
 * An output is a temporary file beside its target that takes the target's name when it is committed, and is removed
 * when it is discarded or when SIGINT, SIGTERM or SIGHUP ends the process. It has the permissions of the file that it
 * replaces. A target that is no regular file (a device, a pipe), or that is the process's own standard output, is
 * written directly. Links are followed; one that leads nowhere is refused. The path "-" is standard input or output.
 */
#ifndef BI_TOOL_FILE_H
#define BI_TOOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "buffer_interface.h"

struct input {
	int fd;
	int64_t size; /* -1: not a regular file, nobody knows */
};

int input_open(struct input *input, const char *path, struct bi_error *err);

/* Reads up to `size` bytes; fewer (*got) only at the end of the file. */
int input_read(struct input *input, void *bytes, size_t size, size_t *got, struct bi_error *err);
void input_close(struct input *input);

struct output {
	int fd; /* -1: not open */
	int is_stdout;
	char *target;
	char *temporary; /* NULL: the target is written directly */
};

/* An output that is not open; discarding it does nothing. */
#define OUTPUT_INIT \
	{ \
		-1, 0, NULL, NULL \
	}

/* Call it once, before there is a second thread: signals then remove temporary files, and limits are errors. */
void output_prepare(void);

/* BI_EBUSY if two outputs are open. */
int output_open(struct output *output, const char *path, struct bi_error *err);
int output_write(struct output *output, const void *bytes, size_t size, struct bi_error *err);

/* Makes the target whole. After a failure nothing is left of the output. */
int output_commit(struct output *output, struct bi_error *err);
void output_discard(struct output *output);

#endif
