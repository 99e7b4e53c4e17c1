#define _XOPEN_SOURCE 700

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "text.h"
#ifdef _WIN32
#include "posix.h"
#endif

#define OUTPUTS 2

static const int fatal_signals[] = {
	SIGINT,  SIGTERM, SIGHUP,
#ifndef _WIN32
	SIGPIPE, SIGQUIT, SIGXCPU,
#endif
};
static char *volatile temporaries[OUTPUTS];

int input_open(struct input *input, const char *path, struct bi_error *err)
{
	struct stat info;

	input->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (input->fd < 0)
		return fail_errno(err, "cannot open");
	if (fstat(input->fd, &info)) {
		input_close(input);
		return fail_errno(err, "cannot read the size of the file");
	}
	/*
	 * Standard input may be in the middle of a file. Some file systems report the size 0 for files that have bytes.
	 */
	input->size = S_ISREG(info.st_mode) ? (int64_t)(info.st_size - lseek(input->fd, 0, SEEK_CUR)) : -1;
	if (input->size <= 0)
		input->size = -1;
	return BI_OK;
}

int input_read(struct input *input, void *bytes, size_t size, size_t *got, struct bi_error *err)
{
	unsigned char *to = bytes;
	ssize_t count = 1;

	for (*got = 0; *got < size && count; *got += (size_t)count) {
		do
			count = read(input->fd, to + *got, size - *got);
		while (count < 0 && errno == EINTR);
		if (count < 0)
			return fail_errno(err, "cannot read");
	}
	return BI_OK;
}

void input_close(struct input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	input->fd = -1;
}

static void remove_temporaries(int number)
{
	for (int i = 0; i < OUTPUTS; i++)
		if (temporaries[i])
			unlink(temporaries[i]);
	signal(number, SIG_DFL);
	raise(number);
}

/*
 * Opens /dev/null for each standard descriptor that is closed. Otherwise an output file could get that number, and the
 * messages of the process would be written into it. Reading and writing through such a descriptor fails.
 */
static int fill_standard_descriptors(void)
{
#ifndef _WIN32
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -1;
#endif
	return 0;
}

int output_prepare(void)
{
	struct sigaction action = { .sa_handler = remove_temporaries }, old;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++)
		if (!sigaction(fatal_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(fatal_signals[i], &action, NULL);
#ifdef SIGXFSZ
	signal(SIGXFSZ, SIG_IGN);
#endif
	return fill_standard_descriptors();
}

static void hold_signals(sigset_t *old)
{
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++)
		sigaddset(&held, fatal_signals[i]);
	sigprocmask(SIG_BLOCK, &held, old);
}

static char *volatile *find_slot(const char *temporary)
{
	for (int i = 0; i < OUTPUTS; i++)
		if (temporaries[i] == temporary)
			return &temporaries[i];
	return NULL;
}

/*
 * Returns 1 if the file is the standard output. Returns 0 on systems whose files have no number. If stdout is no
 * terminal, returns 0 for a character device, because several outputs may be written to /dev/null.
 */
static int is_stdout(const struct stat *info)
{
	struct stat out;

	if (S_ISCHR(info->st_mode) && !isatty(STDOUT_FILENO))
		return 0;
	return !fstat(STDOUT_FILENO, &out) && out.st_dev == info->st_dev && out.st_ino == info->st_ino && out.st_ino;
}

/* Returns a name for mkstemp, "dir/.bi-XXXXXX", in the directory of the target. The caller frees it. */
static char *temporary_name(const char *target)
{
	const char *slash = strrchr(target, '/');
	int length = slash ? (int)(slash - target) + 1 : 0;
	size_t size = (size_t)length + sizeof(".bi-XXXXXX");
	char *name = malloc(size);

	if (name)
		snprintf(name, size, "%.*s.bi-XXXXXX", length, target);
	return name;
}

/*
 * Fails with a message that names the directory of the target. The temporary file is not named, because the user does
 * not know its name.
 */
static int cannot_create(const char *target, struct bi_error *err)
{
	const char *slash = strrchr(target, '/');
	int code = errno, length = slash ? (int)(slash - target) + (slash == target) : 1;
	char *folder = strndup(slash ? target : ".", (size_t)length);
	char what[sizeof(err->message)];
	struct stat info;
	int exists = folder && !stat(folder, &info) && S_ISDIR(info.st_mode);

	/* The reason follows, and the caller adds the path, so a long folder is cut. */
	snprintf(what, sizeof(what), "cannot %s the directory %.*s%s", exists ? "create a file in" : "use",
		 folder ? text_fit(folder, strlen(folder), 100) : 100, folder ? folder : "of this path",
		 folder && strlen(folder) > 100 ? "…" : "");
	errno = code;
	fail_errno(err, what);
	free(folder);
	return BI_EDRIVER;
}

static mode_t new_file_mode(void)
{
	mode_t mask = (mode_t)umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/*
 * Gives the temporary file the owner, the group and the permissions of the file that it replaces, or the default
 * permissions if there is none. Without the right to give files away, the process stays the owner. If the group cannot
 * be set, the group gets no permissions.
 */
static int set_access(int fd, const struct stat *old, struct bi_error *err)
{
	mode_t mode = old ? old->st_mode & 0777 : new_file_mode();
#ifndef _WIN32
	struct stat now;

	if (old && fchown(fd, old->st_uid, old->st_gid) && fchown(fd, (uid_t)-1, old->st_gid) &&
	    (fstat(fd, &now) || now.st_gid != old->st_gid))
		mode &= ~(mode_t)070;
#endif
	return fchmod(fd, mode) ? fail_errno(err, "cannot set the permissions") : BI_OK;
}

/* Creates the temporary file. Signals are blocked until the file is in the list of files that a signal removes. */
static int create_temporary(struct output *output, const struct stat *old_file, struct bi_error *err)
{
	char *volatile *slot = find_slot(NULL);
	char *name = temporary_name(output->target);
	sigset_t old;

	if (!slot || !name) {
		free(name);
		return fail(err, slot ? BI_ENOMEM : BI_EBUSY, slot ? "out of memory" : "too many outputs");
	}
	hold_signals(&old);
	output->fd = mkstemp(name);
	if (output->fd >= 0)
		*slot = name;
	if (output->fd < 0)
		cannot_create(output->target, err);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (output->fd < 0) {
		free(name);
		return BI_EDRIVER;
	}
	output->temporary = name;
	return set_access(output->fd, old_file, err);
}

static int open_target(struct output *output, struct bi_error *err)
{
	struct stat info, link;
	int is_dash = !strcmp(output->target, "-"), exists = !is_dash && !stat(output->target, &info), code = errno;

	if (!*output->target) {
		errno = ENOENT;
		return fail_errno(err, "cannot write");
	}
	if (is_dash || (exists && is_stdout(&info))) {
		output->is_stdout = 1;
		output->fd = dup(STDOUT_FILENO);
	} else if (!exists && !lstat(output->target, &link) && S_ISLNK(link.st_mode)) {
		errno = code;
		return fail_errno(err, "cannot follow the symbolic link");
	} else if (!exists && code == ENAMETOOLONG) { /* mkstemp would succeed with its short name */
		errno = code;
		return fail_errno(err, "cannot write");
	} else if (exists && !S_ISREG(info.st_mode)) {
		output->fd = open(output->target, O_WRONLY | O_CLOEXEC);
	} else if (exists && access(output->target, W_OK)) {
		return fail_errno(err, "cannot write");
	} else {
		return create_temporary(output, exists ? &info : NULL, err);
	}
	return output->fd < 0 ? fail_errno(err, "cannot write") : BI_OK;
}

/* Returns the path of a file that does not exist, in the resolved directory, or NULL. The caller frees it. */
static char *resolve_new_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = strndup(slash ? path : ".", slash ? (size_t)(name - path) : 1);
	char *resolved = folder ? realpath(folder, NULL) : NULL;
	size_t size = resolved ? strlen(resolved) + strlen(name) + 2 : 0;
	char *whole = resolved ? malloc(size) : NULL;

	if (whole)
		snprintf(whole, size, "%s/%s", resolved, name);
	free(resolved);
	free(folder);
	return whole;
}

/* Returns the path without symbolic links, or a copy of a path that cannot be resolved. The caller frees it. */
static char *resolve_path(const char *path)
{
	char *whole = strcmp(path, "-") ? realpath(path, NULL) : strdup(path);

	if (!whole && errno == ENOENT && *path)
		whole = resolve_new_path(path);
	return whole ? whole : strdup(path);
}

int output_open(struct output *output, const char *path, struct bi_error *err)
{
	int rc;

	*output = (struct output)OUTPUT_INIT;
	output->target = resolve_path(path);
	if (!output->target)
		return fail(err, BI_ENOMEM, "out of memory");
	rc = open_target(output, err);
	if (rc != BI_OK)
		output_discard(output);
	return rc;
}

int output_is_same(const struct output *a, const struct output *b)
{
	if (a->is_stdout || b->is_stdout)
		return a->is_stdout && b->is_stdout;
	return a->temporary && b->temporary && !strcmp(a->target, b->target);
}

int output_is_input(const struct output *output, const struct input *input)
{
	struct stat read, written;

	return output->temporary && !fstat(input->fd, &read) && !stat(output->target, &written) && read.st_ino &&
	       read.st_ino == written.st_ino && read.st_dev == written.st_dev;
}

int output_write(struct output *output, const void *bytes, size_t size, struct bi_error *err)
{
	const unsigned char *from = bytes;
	ssize_t count;

	for (; size; from += count, size -= (size_t)count) {
		do
			count = write(output->fd, from, size);
		while (count < 0 && errno == EINTR);
		if (count == 0)
			errno = ENOSPC; /* the system takes no more bytes, and does not say why */
		if (count <= 0)
			return fail_errno(err, "cannot write");
	}
	return BI_OK;
}

static int close_target(struct output *output, struct bi_error *err)
{
	int fd = output->fd;

	if (output->temporary && fsync(fd))
		return fail_errno(err, "cannot write");
	output->fd = -1;
	if (close(fd))
		return fail_errno(err, "cannot write");
	if (output->temporary && rename(output->temporary, output->target))
		return fail_errno(err, "cannot rename the temporary file");
	return BI_OK;
}

/*
 * Removes the temporary file, which was deleted or renamed, from the list of files that a signal removes. Resets the
 * output.
 */
static void forget_temporary(struct output *output)
{
	char *volatile *slot = output->temporary ? find_slot(output->temporary) : NULL;

	if (slot)
		*slot = NULL;
	free(output->temporary);
	free(output->target);
	*output = (struct output)OUTPUT_INIT;
}

int output_commit(struct output *output, struct bi_error *err)
{
	int rc = close_target(output, err);

	if (rc == BI_OK)
		forget_temporary(output);
	else
		output_discard(output);
	return rc;
}

void output_discard(struct output *output)
{
	if (output->fd >= 0)
		close(output->fd);
	if (output->temporary)
		unlink(output->temporary);
	forget_temporary(output);
}
