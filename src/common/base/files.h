/* Files: private ones of this user, files that are read, and files that are written completely or not at all. */
#ifndef BI_COMMON_BASE_FILES_H
#define BI_COMMON_BASE_FILES_H

#include <stdio.h>

#include "common/base/status.h"

/*
 * Opens a file for reading. Returns NULL unless it is a regular file and no symbolic link, and the file and its
 * directory belong to this user and nobody else can write them. On Windows, whose permissions are not read, there is no
 * such file.
 */
FILE *bi__file_open_own(const char *directory, const char *path);

/*
 * Creates a file for writing that only this user can read. `path` is a name in the directory that ends in "XXXXXX",
 * which is replaced. The directory is created if its parent exists. Returns NULL if others can write the directory, and
 * on failure.
 */
FILE *bi__file_create_own(const char *directory, char *path);

/* Bytes of the longest path that is written to, with the final NUL. */
#define BI__PATH 4096

/* Opens a file for reading. *nbytes is its size; -1: the size is unknown, as for a pipe, or it is given as 0. */
int bi__file_open(const char *path, int *descriptor, int64_t *nbytes, struct bi_error *err);
void bi__file_close(int descriptor);

/*
 * Reads up to `nbytes` bytes. `descriptor` points to an int. *got is less only at the end of the file. Has the type of
 * bi_npy_source.read.
 */
int bi__file_read(void *descriptor, void *bytes, size_t nbytes, size_t *got, struct bi_error *err);

/* Writes all bytes. `descriptor` points to an int. */
int bi__file_write(void *descriptor, const void *bytes, size_t nbytes, struct bi_error *err);

/*
 * A file that is written completely or not at all: a temporary file in the directory of its target, which
 * bi__output_close renames. It gets the permissions of the file that it replaces. A target that is not a regular file
 * is written directly.
 */
struct bi__output {
	int descriptor;
	char target[BI__PATH];
	char temporary[BI__PATH + 40]; /* "": the target is written directly */
};

/* Symbolic links are followed; a link to a missing file is refused. */
int bi__output_open(struct bi__output *output, const char *path, struct bi_error *err);

/*
 * If `rc` is BI_OK, moves the file to its target. Otherwise, and on failure, nothing of the file is left. Returns `rc`
 * or the failure.
 */
int bi__output_close(struct bi__output *output, int rc, struct bi_error *err);

#endif
