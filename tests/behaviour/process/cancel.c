#define _XOPEN_SOURCE 700
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "buffer_interface/npy.h"
#include "process.h"

#ifdef __SANITIZE_ADDRESS__
#define ROUNDS 150 /* each call takes as long as twenty without the sanitizer, and the order of events is as random */
#else
#define ROUNDS 3000
#endif
#define COUNT ((int64_t)6000)
#define BYTES ((size_t)COUNT * sizeof(int32_t))

/* Objects that the cancelled threads use, and the main thread after them. */
struct shared {
	struct bi_context *context;
	struct bi_view *array, *other;
	struct bi_dtype dtype;
};

static atomic_int closed;

static void note_close(void *data)
{
	(void)data;
	atomic_fetch_add(&closed, 1);
}

static void log_and_end(void *data, enum bi_log_level level, const char *line)
{
	(void)data;
	(void)level;
	(void)line;
	pthread_testcancel();
}

static void open_shared(struct shared *shared)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_error err;

	atomic_store(&closed, 0);
	options.device = device;
	options.release = note_close;
	options.log = log_and_end;
	options.log_level = BI_LOG_DEBUG;
	if (bi_context_open(&options, &shared->context, &err) || bi_dtype_parse("int32", &shared->dtype, &err) ||
	    bi_view_empty(shared->context, shared->dtype, 1, &(int64_t){ COUNT }, &shared->array, &err) ||
	    bi_view_empty(shared->context, shared->dtype, 1, &(int64_t){ COUNT }, &shared->other, &err))
		fail("a context does not open", &err);
}

static int map_once(const struct bi_view *view, struct bi_error *err)
{
	struct bi_map *map;
	int rc = bi_view_map(view, BI_MAP_READ, &map, err);

	return rc ? rc : bi_unmap(map, err);
}

static int make_and_release(const struct shared *shared, struct bi_error *err)
{
	struct bi_view *view;
	int rc = bi_view_empty(shared->context, shared->dtype, 1, &(int64_t){ COUNT }, &view, err);

	if (rc)
		return rc;
	rc = bi_copy(view, shared->array, NULL, err);
	bi_view_release(view);
	return rc;
}

static int use_shared(const struct shared *shared, int32_t *numbers, struct bi_error *err)
{
	int rc = bi_view_write(shared->array, numbers, BYTES, err);

	rc = rc ? rc : bi_copy(shared->other, shared->array, NULL, err);
	rc = rc ? rc : make_and_release(shared, err);
	rc = rc ? rc : map_once(shared->array, err);
	return rc ? rc : bi_view_read(shared->other, numbers, BYTES, err);
}

/* The numbers outlive the thread: a call that would end in the middle could leave work on them. */
static void *use_until_cancelled(void *data)
{
	static int32_t numbers[COUNT];
	struct bi_error err;

	for (;;) {
		if (use_shared(data, numbers, &err))
			fail("a call of a thread fails", &err);
		pthread_testcancel();
	}
	return NULL;
}

static void use_and_compare(const struct shared *shared, int32_t round)
{
	static int32_t numbers[COUNT];
	struct bi_error err;

	for (int64_t i = 0; i < COUNT; i++)
		numbers[i] = round + (int32_t)i;
	if (use_shared(shared, numbers, &err))
		fail("a call after a cancellation fails", &err);
	for (int64_t i = 0; i < COUNT; i++)
		if (numbers[i] != round + (int32_t)i)
			fail("a copy after a cancellation gives wrong elements", NULL);
}

static char path[] = "/tmp/bi-cancel-XXXXXX";

/* A thread that ended within a call would leave the memory mapped, and the next write would be refused. */
static void *save_until_cancelled(void *data)
{
	const struct shared *shared = data;
	struct bi_view *loaded;
	struct bi_error err;

	for (;;) {
		if (bi_npy_save(shared->array, path, &err) || bi_npy_load(shared->context, path, &loaded, &err))
			fail("a file of a thread fails", &err);
		bi_view_release(loaded);
		pthread_testcancel();
	}
	return NULL;
}

/* Returns the lowest descriptor that is free. */
static int free_descriptor(void)
{
	const int descriptor = dup(STDERR_FILENO);

	close(descriptor);
	return descriptor;
}

void cancel_files(void)
{
	struct shared shared;
	int descriptor = mkstemp(path);

	if (descriptor < 0)
		fail("there is no file for the test", NULL);
	close(descriptor);
	open_shared(&shared);
	use_and_compare(&shared, 0);
	descriptor = free_descriptor();
	for (int32_t round = 1; round <= 40; round++) {
		struct timespec pause = { .tv_nsec = round % 20 * 50000 };
		pthread_t thread = start(save_until_cancelled, &shared);

		nanosleep(&pause, NULL);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		use_and_compare(&shared, round);
		if (free_descriptor() != descriptor)
			fail("a cancelled thread left a file open", NULL);
	}
	unlink(path);
	bi_view_release(shared.array);
	bi_view_release(shared.other);
	bi_context_release(shared.context);
	if (atomic_load(&closed) != 1)
		fail("a cancelled thread kept a reference to the context", NULL);
}

void cancel_small_calls(void)
{
	struct shared shared;

	open_shared(&shared);
	for (int32_t round = 0; round < ROUNDS; round++) {
		struct timespec pause = { .tv_nsec = round % 100 * 2000 };
		pthread_t thread = start(use_until_cancelled, &shared);

		nanosleep(&pause, NULL);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		if (round % 8 == 0)
			use_and_compare(&shared, round);
	}
	use_and_compare(&shared, ROUNDS);
	bi_view_release(shared.array);
	bi_view_release(shared.other);
	bi_context_release(shared.context);
	if (atomic_load(&closed) != 1)
		fail("a cancelled thread kept a reference to the context", NULL);
}
