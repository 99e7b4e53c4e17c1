#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* mkostemp, O_NOFOLLOW */
#else
#define _GNU_SOURCE /* mkostemp */
#define _FILE_OFFSET_BITS 64
#endif
#include "common/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART (1u << 30)

#ifdef _WIN32
#include <io.h>
#include <windows.h>

#define O_CLOEXEC (_O_BINARY | _O_NOINHERIT)
#define lstat stat
#define fsync _commit
#define fchmod(descriptor, mode) ((void)(descriptor), (void)(mode), 0)
#define rename replace_file

static int replace_file(const char *from, const char *to)
{
	errno = EACCES;
	return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : -1;
}

static int find_target(const char *path, int exists, char target[BI__PATH])
{
	(void)exists;
	if (!_fullpath(target, path, BI__PATH))
		return 0;
	for (char *at = target; (at = strchr(at, '\\')) != NULL;)
		*at = '/';
	return 1;
}

FILE *bi__file_open_own(const char *directory, const char *path)
{
	(void)directory;
	(void)path;
	return NULL;
}

FILE *bi__file_create_own(const char *directory, char *path, size_t nbytes)
{
	(void)nbytes;
	return bi__file_open_own(directory, path);
}
#else
#include <sys/resource.h>

/* Writes the path of the target, and resolves its symbolic links if it exists. Returns false with errno on failure. */
static int find_target(const char *path, int exists, char target[BI__PATH])
{
	if (exists)
		return realpath(path, target) != NULL;
	errno = ENAMETOOLONG;
	return snprintf(target, BI__PATH, "%s", path) < BI__PATH;
}

/* Returns a stream of the descriptor, or NULL. Closes the descriptor on failure. */
static FILE *stream_of(int descriptor, const char *mode)
{
	FILE *file = descriptor >= 0 ? fdopen(descriptor, mode) : NULL;

	if (!file && descriptor >= 0)
		close(descriptor);
	return file;
}

static int is_own(const struct stat *facts)
{
	return facts->st_uid == geteuid() && !(facts->st_mode & (S_IWGRP | S_IWOTH));
}

static int is_own_directory(const char *directory)
{
	struct stat facts;

	return stat(directory, &facts) == 0 && S_ISDIR(facts.st_mode) && is_own(&facts);
}

FILE *bi__file_open_own(const char *directory, const char *path)
{
	int descriptor = is_own_directory(directory) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
	struct stat facts;

	if (descriptor >= 0 && fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && is_own(&facts))
		return stream_of(descriptor, "rb");
	if (descriptor >= 0)
		close(descriptor);
	return NULL;
}

FILE *bi__file_create_own(const char *directory, char *path, size_t nbytes)
{
	struct rlimit limit;
	int descriptor;
	FILE *file;

	/* SIGXFSZ would end the process. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && (uintmax_t)limit.rlim_cur < nbytes)
		return NULL;
	mkdir(directory, 0700);
	descriptor = is_own_directory(directory) ? mkostemp(path, O_CLOEXEC) : -1;
	file = stream_of(descriptor, "wb");
	if (!file && descriptor >= 0)
		remove(path);
	return file;
}
#endif

/* Returns the failure that errno describes. `what` begins the message. */
static int fail_system(struct bi_error *err, const char *what)
{
	const int code = errno;

	return bi__fail_vendor(err, code == ENOMEM ? BI_ENOMEM : BI_EDRIVER, code, "%s: %s", what, strerror(code));
}

/* Opens a file again if a signal has interrupted the call, as in a pipe without another end. */
static int open_file(const char *path, int flags, unsigned mode)
{
	int descriptor;

	do
		descriptor = open(path, flags | O_CLOEXEC, mode);
	while (descriptor < 0 && errno == EINTR);
	return descriptor;
}

int bi__file_open(const char *path, int *descriptor, int64_t *nbytes, struct bi_error *err)
{
	struct stat facts;
	int is_known;

	*descriptor = open_file(path, O_RDONLY, 0);
	if (*descriptor < 0)
		return fail_system(err, "cannot open");
	/* Some file systems, such as /proc, report the size 0 for files that have bytes. */
	is_known = fstat(*descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
	*nbytes = is_known ? (int64_t)facts.st_size : -1;
	return BI_OK;
}

void bi__file_close(int descriptor)
{
	close(descriptor);
}

/* Windows reads and writes fewer than 2 GiB in one call. */
static unsigned part_of(size_t nbytes)
{
	return nbytes < PART ? (unsigned)nbytes : PART;
}

int bi__file_read(void *descriptor, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	ssize_t count = 1;

	for (*got = 0; *got < nbytes && count; *got += (size_t)count) {
		do
			count = read(*(int *)descriptor, (char *)bytes + *got, part_of(nbytes - *got));
		while (count < 0 && errno == EINTR);
		if (count < 0)
			return fail_system(err, "cannot read");
	}
	return BI_OK;
}

int bi__file_write(void *descriptor, const void *bytes, size_t nbytes, struct bi_error *err)
{
	ssize_t count;

	for (size_t done = 0; done < nbytes; done += (size_t)count) {
		do
			count = write(*(int *)descriptor, (const char *)bytes + done, part_of(nbytes - done));
		while (count < 0 && errno == EINTR);
		if (count == 0)
			errno = ENOSPC; /* the system has written nothing and gives no reason */
		if (count <= 0)
			return fail_system(err, "cannot write");
	}
	return BI_OK;
}

/* Creates a file with a new name in the directory of output->target. The umask removes permissions from `mode`. */
static int create_temporary(struct bi__output *output, unsigned mode, struct bi_error *err)
{
	static atomic_uint last;
	const char *slash = strrchr(output->target, '/');
	const int length = slash ? (int)(slash - output->target) + 1 : 0;

	do {
		snprintf(output->temporary, sizeof(output->temporary), "%.*s.bi-%ld-%u", length, output->target,
			 (long)getpid(), atomic_fetch_add(&last, 1));
		output->descriptor = open_file(output->temporary, O_WRONLY | O_CREAT | O_EXCL, mode);
	} while (output->descriptor < 0 && errno == EEXIST);
	if (output->descriptor >= 0)
		return BI_OK;
	*output->temporary = '\0';
	return fail_system(err, "cannot create a file in this directory");
}

/*
 * Gives the new file the owner, the group and the permissions (0777) of the old one. A process that may not set the
 * owner stays the owner. If the group cannot be set to that of the old file, the group gets no permissions.
 */
static int keep_access(int descriptor, const struct stat *old, struct bi_error *err)
{
	unsigned mode = old->st_mode & 0777;
#ifndef _WIN32
	struct stat now;

	if (fchown(descriptor, old->st_uid, old->st_gid) != 0 && fchown(descriptor, (uid_t)-1, old->st_gid) != 0 &&
	    (fstat(descriptor, &now) != 0 || now.st_gid != old->st_gid))
		mode &= ~070u;
#endif
	return fchmod(descriptor, (mode_t)mode) ? fail_system(err, "cannot set the permissions") : BI_OK;
}

int bi__output_open(struct bi__output *output, const char *path, struct bi_error *err)
{
	struct stat facts, link;
	int exists = stat(path, &facts) == 0, code = errno, rc;

	output->descriptor = -1;
	*output->temporary = '\0';
	if (exists && !S_ISREG(facts.st_mode)) {
		output->descriptor = open_file(path, O_WRONLY, 0);
		return output->descriptor >= 0 ? BI_OK : fail_system(err, "cannot write");
	}
	if (!exists && lstat(path, &link) == 0) {
		errno = code;
		return fail_system(err, "cannot follow the symbolic link");
	}
	if (!exists && (code != ENOENT || !*path)) {
		errno = code;
		return fail_system(err, "cannot write");
	}
	if ((exists && access(path, W_OK) != 0) || !find_target(path, exists, output->target))
		return fail_system(err, "cannot write");
	/* No other user may open the new file before it has the permissions of the old one. */
	rc = create_temporary(output, exists ? 0600 : 0666, err);
	if (!rc && exists)
		rc = keep_access(output->descriptor, &facts, err);
	return rc ? bi__output_close(output, rc, err) : BI_OK;
}

/* Closes the file, and moves a temporary file to its target. */
static int finish_output(struct bi__output *output, struct bi_error *err)
{
	const int descriptor = output->descriptor;
	int rc = 0;

	while (*output->temporary && (rc = fsync(descriptor)) != 0 && errno == EINTR)
		;
	if (rc)
		return fail_system(err, "cannot write");
	output->descriptor = -1;
	/* After EINTR, Linux and macOS have closed the descriptor. fsync has stored the bytes of a regular file. */
	if (close(descriptor) != 0 && errno != EINTR)
		return fail_system(err, "cannot write");
	if (*output->temporary && rename(output->temporary, output->target) != 0)
		return fail_system(err, "cannot rename the temporary file");
	return BI_OK;
}

int bi__output_close(struct bi__output *output, int rc, struct bi_error *err)
{
	if (!rc)
		rc = finish_output(output, err);
	if (output->descriptor >= 0)
		close(output->descriptor);
	if (rc && *output->temporary)
		remove(output->temporary);
	return rc;
}
