/* Files: private files of the user, files that are read, and files that replace a target when they are complete. */
#ifndef BI_COMMON_BASE_FILES_H
#define BI_COMMON_BASE_FILES_H

#include <stdio.h>

#include "common/base/status.h"

/*
 * Opens the file `path` in `directory` for reading. `path` must be a regular file and no symbolic link. The effective
 * user must own the file and the directory, and neither their group nor others may have the permission to write them.
 * Returns NULL if one of these conditions is not true, and on failure. On Windows always returns NULL, because
 * permissions are not read there.
 */
FILE *bi__file_open_own(const char *directory, const char *path);

/*
 * Creates a file of `nbytes` bytes for writing that only the user can read. `path` is a path in the directory that ends
 * in "XXXXXX", which is replaced. The directory is created if its parent exists. Returns NULL on failure, if another
 * user owns the directory or may write it, and if the process may not write so large a file (RLIMIT_FSIZE). On Windows
 * always returns NULL.
 */
FILE *bi__file_create_own(const char *directory, char *path, size_t nbytes);

/* Bytes of the longest path of a file that is written, with the final NUL. */
#define BI__PATH 4096

/* Opens a file for reading. *nbytes becomes its size, or -1 if it is no regular file or the system gives the size 0. */
int bi__file_open(const char *path, int *descriptor, int64_t *nbytes, struct bi_error *err);
void bi__file_close(int descriptor);

/*
 * Reads `nbytes` bytes, or fewer if the file ends. *got becomes their number. `descriptor` points to an int. The
 * function has the type of bi_npy_source.read.
 */
int bi__file_read(void *descriptor, void *bytes, size_t nbytes, size_t *got, struct bi_error *err);

/* Writes all bytes. `descriptor` points to an int. */
int bi__file_write(void *descriptor, const void *bytes, size_t nbytes, struct bi_error *err);

/*
 * A file that is written completely or not at all: a temporary file in the directory of its target, which
 * bi__output_close renames. It gets the permissions of the file that it replaces, and its owner and group if the
 * process may set them. An existing target that is not a regular file is written directly.
 */
struct bi__output {
	int descriptor;
	char target[BI__PATH];
	char temporary[BI__PATH + 40]; /* "": the target is written directly */
};

/* Follows symbolic links, and refuses a link to a missing file. After a failure nothing is left to close. */
int bi__output_open(struct bi__output *output, const char *path, struct bi_error *err);

/*
 * Closes the file. If `rc` is BI_OK, moves a temporary file to its target. Otherwise, and on failure, removes a
 * temporary file. Returns `rc`, or the status of the failure.
 */
int bi__output_close(struct bi__output *output, int rc, struct bi_error *err);

#endif
