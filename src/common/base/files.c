#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* mkstemp, O_NOFOLLOW */
#else
#define _XOPEN_SOURCE 700
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

#ifdef _WIN32
#include <io.h>
#include <windows.h>

#define O_CLOEXEC (_O_BINARY | _O_NOINHERIT)
#define lstat stat
#define fsync _commit
#define fchmod(descriptor, mode) ((void)(mode), 0)
#define rename replace_file

static int replace_file(const char *from, const char *to)
{
	errno = EACCES;
	return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : -1;
}

static char *find_target(const char *path, char target[BI__PATH])
{
	if (!_fullpath(target, path, BI__PATH))
		return NULL;
	for (char *at = target; (at = strchr(at, '\\')) != NULL;)
		*at = '/';
	return target;
}
#else
/* Writes the path behind symbolic links. Returns NULL on failure. */
static char *find_target(const char *path, char target[BI__PATH])
{
	return realpath(path, target);
}
#endif

/* Returns a stream of the descriptor, which it closes if that fails. */
static FILE *stream_of(int descriptor, const char *mode)
{
	FILE *file = descriptor >= 0 ? fdopen(descriptor, mode) : NULL;

	if (!file && descriptor >= 0)
		close(descriptor);
	return file;
}

#ifdef _WIN32
FILE *bi__file_open_own(const char *directory, const char *path)
{
	(void)directory;
	(void)path;
	return NULL;
}

FILE *bi__file_create_own(const char *directory, char *path)
{
	return bi__file_open_own(directory, path);
}
#else
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

FILE *bi__file_create_own(const char *directory, char *path)
{
	mkdir(directory, 0700);
	return is_own_directory(directory) ? stream_of(mkstemp(path), "wb") : NULL;
}
#endif

/* Fails with what the last call of the system has left in errno. */
static int fail_system(struct bi_error *err, const char *what)
{
	const int code = errno;

	return bi__fail_vendor(err, code == ENOMEM ? BI_ENOMEM : BI_EDRIVER, code, "%s: %s", what, strerror(code));
}

int bi__file_open(const char *path, FILE **file, int64_t *nbytes, struct bi_error *err)
{
	struct stat facts;

	*file = stream_of(open(path, O_RDONLY | O_CLOEXEC), "rb");
	if (!*file)
		return fail_system(err, "cannot open");
	*nbytes = fstat(fileno(*file), &facts) == 0 && S_ISREG(facts.st_mode) ? (int64_t)facts.st_size : -1;
	return BI_OK;
}

int bi__file_read(void *file, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	*got = 0;
	do {
		clearerr(file);
		*got += fread((char *)bytes + *got, 1, nbytes - *got, file);
	} while (*got < nbytes && ferror(file) && errno == EINTR);
	return *got < nbytes && ferror(file) ? fail_system(err, "cannot read") : BI_OK;
}

int bi__file_write(void *file, const void *bytes, size_t nbytes, struct bi_error *err)
{
	for (size_t done = 0; done < nbytes;) {
		clearerr(file);
		done += fwrite((const char *)bytes + done, 1, nbytes - done, file);
		if (done < nbytes && errno != EINTR)
			return fail_system(err, "cannot write");
	}
	return BI_OK;
}

/* Creates a file with a new name in the directory of output->target. */
static int create_temporary(struct bi__output *output, struct bi_error *err)
{
	static atomic_uint last;
	const char *slash = strrchr(output->target, '/');
	const int length = slash ? (int)(slash - output->target) + 1 : 0;
	int descriptor;

	do {
		snprintf(output->temporary, sizeof(output->temporary), "%.*s.bi-%ld-%u", length, output->target,
			 (long)getpid(), atomic_fetch_add(&last, 1));
		descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} while (descriptor < 0 && errno == EEXIST);
	output->file = stream_of(descriptor, "wb");
	if (output->file)
		return BI_OK;
	if (descriptor < 0)
		*output->temporary = '\0';
	return fail_system(err, "cannot create a file in this directory");
}

int bi__output_open(struct bi__output *output, const char *path, struct bi_error *err)
{
	struct stat facts, link;
	int exists = stat(path, &facts) == 0, code = errno, rc;

	output->file = NULL;
	*output->temporary = '\0';
	if (exists && !S_ISREG(facts.st_mode)) {
		output->file = stream_of(open(path, O_WRONLY | O_CLOEXEC), "wb");
		return output->file ? BI_OK : fail_system(err, "cannot write");
	}
	if (!exists && lstat(path, &link) == 0) {
		errno = code;
		return fail_system(err, "cannot follow the symbolic link");
	}
	if (exists && (access(path, W_OK) != 0 || !find_target(path, output->target)))
		return fail_system(err, "cannot write");
	if (!exists && snprintf(output->target, BI__PATH, "%s", path) >= BI__PATH)
		return bi__fail(err, BI_EINVAL, "the path has more than %d bytes", BI__PATH - 1);
	rc = create_temporary(output, err);
	if (!rc && exists && fchmod(fileno(output->file), facts.st_mode & 0777) != 0)
		rc = fail_system(err, "cannot set the permissions");
	return rc ? bi__output_close(output, rc, err) : BI_OK;
}

/* Writes what is buffered, and moves the file to its target. */
static int finish_output(struct bi__output *output, struct bi_error *err)
{
	FILE *file = output->file;

	if (fflush(file) != 0 || (*output->temporary && fsync(fileno(file)) != 0))
		return fail_system(err, "cannot write");
	output->file = NULL;
	if (fclose(file) != 0)
		return fail_system(err, "cannot write");
	if (*output->temporary && rename(output->temporary, output->target) != 0)
		return fail_system(err, "cannot rename the temporary file");
	return BI_OK;
}

int bi__output_close(struct bi__output *output, int rc, struct bi_error *err)
{
	if (!rc)
		rc = finish_output(output, err);
	if (output->file)
		fclose(output->file);
	if (rc && *output->temporary)
		remove(output->temporary);
	return rc;
}
