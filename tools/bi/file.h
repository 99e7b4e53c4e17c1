/*
 * Files that are read with bounds, and files that are written completely or not at all.
 *
 * An output is a temporary file in the directory of its target. Committing renames it to the target. It is deleted when
 * it is discarded, or when SIGINT, SIGTERM or SIGHUP ends the process. It has the permissions of the file that it
 * replaces. A target that is not a regular file (a device, a pipe), or that is the standard output of the process, is
 * written directly. Symbolic links are followed; a dangling one is refused. The path "-" is standard input or output.
 */
#ifndef BI_TOOL_FILE_H
#define BI_TOOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "buffer_interface.h"

struct input {
	int fd;
	int64_t size; /* -1: unknown, because it is not a regular file */
};

int input_open(struct input *input, const char *path, struct bi_error *err);

/* Reads up to `size` bytes; *got is less only at the end of the file. */
int input_read(struct input *input, void *bytes, size_t size, size_t *got, struct bi_error *err);
void input_close(struct input *input);

struct output {
	int fd; /* -1: not open */
	int is_stdout;
	char *target;
	char *temporary; /* NULL: the target is written directly */
};

/* An output that is not open. Discarding it does nothing. */
#define OUTPUT_INIT \
	{ \
		-1, 0, NULL, NULL \
	}

/*
 * Makes signals remove temporary files, and file size limits errors. Must be called once, before a second thread
 * exists.
 */
void output_prepare(void);

/* Returns BI_EBUSY if two outputs are open already. */
int output_open(struct output *output, const char *path, struct bi_error *err);
int output_write(struct output *output, const void *bytes, size_t size, struct bi_error *err);

/* Completes the target. After a failure nothing of the output is left. */
int output_commit(struct output *output, struct bi_error *err);
void output_discard(struct output *output);

#endif
