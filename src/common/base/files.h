/* Files that nobody but this user can have written. On Windows, whose permissions are not read, there is none. */
#ifndef BI_COMMON_BASE_FILES_H
#define BI_COMMON_BASE_FILES_H

#include <stdio.h>

/*
 * Opens a file for reading. Returns NULL unless it is a regular file and no symbolic link, and the file and its
 * directory belong to this user and nobody else can write them.
 */
FILE *bi__file_open_own(const char *directory, const char *path);

/*
 * Creates a file for writing that only this user can read. `path` is a name in the directory that ends in "XXXXXX",
 * which is replaced. The directory is created if its parent exists. Returns NULL if others can write the directory, and
 * on failure.
 */
FILE *bi__file_create_own(const char *directory, char *path);

#endif
