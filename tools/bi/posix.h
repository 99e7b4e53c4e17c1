/* The functions of POSIX that file.c uses and Windows lacks. Included after the headers of the system. */
#ifndef BI_TOOL_POSIX_H
#define BI_TOOL_POSIX_H

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <windows.h>

#define O_CLOEXEC (_O_BINARY | _O_NOINHERIT)
#define SIGHUP SIGBREAK
#define S_ISLNK(mode) 0
#define lstat stat
#define fsync _commit
#define fchmod(fd, mode) ((void)(fd), (void)(mode), 0)
#define read(fd, bytes, size) _read(fd, bytes, (unsigned)((size) < INT_MAX ? (size) : INT_MAX))
#define write(fd, bytes, size) _write(fd, bytes, (unsigned)((size) < INT_MAX ? (size) : INT_MAX))
#define dup windows_dup
#define rename windows_rename
#define strndup windows_strndup
#define realpath windows_realpath

static inline int windows_dup(int fd)
{
	int copy = _dup(fd);

	if (copy >= 0)
		_setmode(copy, _O_BINARY);
	return copy;
}

static inline int windows_rename(const char *from, const char *to)
{
	if (MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING))
		return 0;
	errno = EACCES;
	return -1;
}

static inline char *windows_strndup(const char *text, size_t length)
{
	char *copy = calloc(1, length + 1);

	return copy ? memcpy(copy, text, length) : NULL;
}

static inline char *windows_realpath(const char *path, char *buffer)
{
	char *whole = _fullpath(buffer, path, 0);

	for (char *c = whole; c && (c = strchr(c, '\\'));)
		*c = '/';
	return whole;
}

/* Signals cannot be blocked on Windows, where handlers run on threads of their own. */
typedef int windows_sigset;
#define sigset_t windows_sigset
#define SIG_SETMASK 0
#define SIG_BLOCK 0
#define sigemptyset(set) (*(set) = 0)
#define sigaddset(set, number) ((void)(set), (void)(number))
#define sigprocmask(how, set, old) ((void)(set), (void)(old))

struct sigaction {
	void (*sa_handler)(int number);
	sigset_t sa_mask;
};

static inline int windows_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	if (old)
		old->sa_handler = SIG_DFL;
	return action && signal(number, action->sa_handler) == SIG_ERR ? -1 : 0;
}
#define sigaction(number, action, old) windows_sigaction(number, action, old)

#endif
