/* Short forms for unit tests that need objects: contexts, arrays whose bytes are known, lines that a context logs. */
#ifndef BI_TESTS_SUPPORT_UNIT_H
#define BI_TESTS_SUPPORT_UNIT_H

#include <stdio.h>
#include <stdlib.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "fixture.h"

static inline struct bi_context *open_device(const char *spec)
{
	const struct bi_options options = BI_OPTIONS_INIT;

	fixture.suite = "unit test";
	return fixture_open(spec, &options);
}

/* The first lines that a context logs. Further lines are dropped, and long lines are cut. */
struct log_lines {
	int count;
	char lines[64][256];
};

static inline void keep_log_line(void *data, enum bi_log_level level, const char *message)
{
	struct log_lines *log = data;

	(void)level;
	if (log->count < (int)ARRAY_LENGTH(log->lines))
		snprintf(log->lines[log->count++], sizeof(log->lines[0]), "%s", message);
}

/* Opens a device whose context logs each step of a copy. Drops the lines of the opening. */
static inline struct bi_context *open_logging(const char *spec, struct log_lines *log)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.log = keep_log_line;
	options.log_data = log;
	options.log_level = BI_LOG_DEBUG;
	fixture.suite = "unit test";
	context = fixture_open(spec, &options);
	log->count = 0;
	return context;
}

/* Returns how many lines contain the text, and drops all lines. */
static inline int count_lines(struct log_lines *log, const char *text)
{
	int found = 0;

	for (int i = 0; i < log->count; i++)
		found += strstr(log->lines[i], text) != NULL;
	log->count = 0;
	return found;
}

/* Makes an array in memory of the library. */
static inline struct bi_view *new_array(struct bi_context *context, const char *type, int ndim, const int64_t *shape)
{
	struct bi_view *view;

	OK(bi_view_empty(context, dtype_of(type), ndim, shape, &view, &error));
	return view;
}

#define NEW_ARRAY(context, type, ...) \
	new_array(context, type, (int)ARRAY_LENGTH(((int64_t[]){ __VA_ARGS__ })), (int64_t[]){ __VA_ARGS__ })

/* Allocates memory of this kind. Returns a view of all its bytes. */
static inline struct bi_view *new_bytes(struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	const int64_t shape[] = { (int64_t)nbytes };
	struct bi_layout layout;
	struct bi_memory *memory;
	struct bi_view *view;

	OK(bi_memory_create(context, nbytes, kind, &memory, &error));
	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_memory_release(memory);
	return view;
}

static inline size_t bytes_in(const struct bi_view *view)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	return (size_t)bi_layout_nbytes(&layout);
}

/* Returns byte number i of an array that number_bytes has written. */
static inline unsigned char number_at(size_t i)
{
	return (unsigned char)(i % 251);
}

/* Writes 0, 1, 2, ... modulo 251 into the array, in C order. */
static inline void number_bytes(struct bi_view *view)
{
	size_t nbytes = bytes_in(view);
	unsigned char *bytes = malloc(nbytes + 1);

	assert_non_null(bytes);
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = number_at(i);
	OK(bi_view_write(view, bytes, nbytes, &error));
	free(bytes);
}

/* Ends the test unless both arrays have the same bytes in C order. */
static inline void assert_same_elements(const struct bi_view *a, const struct bi_view *b)
{
	size_t nbytes = bytes_in(a);
	unsigned char *bytes = calloc(2, nbytes + 1);

	assert_non_null(bytes);
	assert_int_equal(bytes_in(b), nbytes);
	OK(bi_view_read(a, bytes, nbytes, &error));
	OK(bi_view_read(b, bytes + nbytes, nbytes, &error));
	if (nbytes)
		assert_memory_equal(bytes, bytes + nbytes, nbytes);
	free(bytes);
}

static inline struct bi_view *transposed(const struct bi_view *view)
{
	struct bi_view *out;

	OK(bi_view_permute(view, NULL, &out, &error));
	return out;
}

/* Returns a view of every `step`-th element along the first axis. */
static inline struct bi_view *every(const struct bi_view *view, int64_t step)
{
	const struct bi_index item = { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, step };
	struct bi_view *out;

	OK(bi_view_index(view, &item, 1, &out, &error));
	return out;
}

#ifndef _WIN32
/*
 * Ends a forked child that leaves memory behind, such as that of threads of the parent: after success it becomes
 * another program, so that valgrind looks for no leak. Returns the status of a failure.
 */
static inline int leave_child(int rc)
{
	if (!rc)
		execl("/bin/true", "true", (char *)NULL);
	return rc ? rc : 1;
}

/* Returns the exit status of a forked child that runs `child`, or 128 if a signal ends it. */
static inline int status_of_child(int (*child)(void *data), void *data)
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (!pid)
		_exit(child(data));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
#endif

#endif
