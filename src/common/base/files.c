#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* mkstemp, O_NOFOLLOW */
#else
#define _POSIX_C_SOURCE 200809L
#endif
#include "common/base/files.h"

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
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_own(const struct stat *facts)
{
	return facts->st_uid == geteuid() && !(facts->st_mode & (S_IWGRP | S_IWOTH));
}

static int is_own_directory(const char *directory)
{
	struct stat facts;

	return stat(directory, &facts) == 0 && S_ISDIR(facts.st_mode) && is_own(&facts);
}

/* Returns a stream of the descriptor, which it closes if that fails. */
static FILE *stream_of(int descriptor, const char *mode)
{
	FILE *file = descriptor >= 0 ? fdopen(descriptor, mode) : NULL;

	if (!file && descriptor >= 0)
		close(descriptor);
	return file;
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
