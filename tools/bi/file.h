/*
 * Files: inputs, and outputs that are written completely or not at all.
 *
 * An output is a temporary file in the directory of its target. output_commit renames it to the target. output_discard
 * deletes it, and so do SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT and SIGXCPU when they end the process (Windows:
 * SIGINT, SIGTERM and SIGBREAK). The new file has the permissions, the owner and the group of the file that it
 * replaces, as far as the process may set them. A target is written directly if it is not a regular file (a device, a
 * pipe) or is the standard output of the process. Symbolic links are followed; a link to a missing file is refused. The
 * path "-" is standard input or output.
 */
#ifndef BI_TOOL_FILE_H
#define BI_TOOL_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "buffer_interface.h"

struct input {
	int fd;
	int64_t size; /* bytes that are left to read; -1: unknown (a pipe), or the system gives 0 */
};

int input_open(struct input *input, const char *path, struct bi_error *err);

/* Reads up to `size` bytes. *got is less than `size` only at the end of the file. */
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
 * Installs signal handlers that remove temporary files, and makes a write beyond the file size limit fail with an error
 * instead of a signal. Opens /dev/null for standard descriptors that are closed. Returns 0, or -1 with errno if that
 * fails. Must be called once, before a file is opened and before a second thread exists.
 */
int output_prepare(void);

/* Opens an output. Returns BI_EBUSY if two temporary files are in use already. */
int output_open(struct output *output, const char *path, struct bi_error *err);

/* Returns true if both outputs would be written to one regular file, or to standard output. */
int output_is_same(const struct output *a, const struct output *b);
/* Returns true if the output will replace the file that is read. */
int output_is_input(const struct output *output, const struct input *input);
int output_write(struct output *output, const void *bytes, size_t size, struct bi_error *err);

/* Moves the output to its target. After a failure no temporary file is left. */
int output_commit(struct output *output, struct bi_error *err);
void output_discard(struct output *output);

#endif
