/* A forked child: host objects work, device objects of the parent fail instead of hanging. */
#define _POSIX_C_SOURCE 200809L
#include "contract.h"
#include "support/use.h"

#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#ifndef THREAD_SANITIZER
#define THREAD_SANITIZER 0
#endif

/* Objects of the parent. */
struct estate {
	struct bi_context *context;
	struct bi_stream *stream;
	struct bi_event *event;
	struct bi_view *view, *other, *host;
};

static void estate_open(struct estate *estate)
{
	static const int64_t shape[] = { 8 };
	struct bi_dtype dtype = dtype_of("uint8");

	estate->context = open_context(fixture.spec);
	OK(bi_stream_create(estate->context, 0, &estate->stream, &error));
	OK(bi_event_record(estate->stream, &estate->event, &error));
	OK(bi_view_empty(estate->context, dtype, 1, shape, &estate->view, &error));
	OK(bi_view_empty(estate->context, dtype, 1, shape, &estate->other, &error));
	OK(bi_view_empty(fixture.host, dtype, 1, shape, &estate->host, &error));
	OK(bi_fill(estate->view, "p", NULL, &error));
	OK(bi_view_synchronize(estate->view, &error));
}

static void estate_close(struct estate *estate)
{
	bi_view_release(estate->host);
	bi_view_release(estate->other);
	bi_view_release(estate->view);
	bi_event_release(estate->event);
	bi_stream_release(estate->stream);
	bi_context_release(estate->context);
}

/* In the child: what is wrong, 0 for nothing. */
typedef int (*child_fn)(struct estate *estate);

static int host_works(struct estate *estate)
{
	static const int64_t shape[] = { 3 };
	unsigned char bytes[8] = { 0 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = NULL;
	struct bi_view *view = NULL;

	if (bi_fill(estate->host, "c", NULL, NULL) || bi_view_read(estate->host, bytes, 8, NULL))
		return 1;
	if (memcmp(bytes, "cccccccc", 8) != 0)
		return 2;
	options.device = "host";
	if (bi_context_open(&options, &context, NULL))
		return 3;
	if (bi_view_empty(context, bi_view_dtype(estate->host), 1, shape, &view, NULL) ||
	    bi_fill(view, "d", NULL, NULL))
		return 4;
	bi_view_release(view);
	bi_context_release(context);
	return 0;
}

/* Every call on a device object, and the status that it must have. */
static int device_calls(struct estate *estate)
{
	int expected = is_device(estate->context) ? BI_EFORK : BI_OK, done = 0;
	static const int64_t index[] = { 0 };
	unsigned char bytes[8] = { 0 };
	struct bi_memory *memory = NULL;
	struct bi_stream *stream = NULL;
	struct bi_event *event = NULL;
	struct bi_map *map = NULL;
	char *text = NULL;
	const int results[] = {
		bi_fill(estate->view, "x", NULL, NULL),
		bi_copy(estate->view, estate->other, NULL, NULL),
		bi_copy(estate->view, estate->other, estate->stream, NULL),
		bi_copy(estate->host, estate->view, NULL, NULL),
		bi_view_read(estate->view, bytes, 8, NULL),
		bi_view_write(estate->view, bytes, 8, NULL),
		bi_view_get_element(estate->view, index, bytes, NULL),
		bi_view_set_element(estate->view, index, bytes, NULL),
		bi_view_synchronize(estate->view, NULL),
		begin_use(estate->view, estate->stream, NULL),
		end_use(estate->view, estate->stream, NULL),
		bi_stream_synchronize(estate->stream, NULL),
		bi_event_synchronize(estate->event, NULL),
		bi_event_query(estate->event, &done, NULL),
		bi_event_record(estate->stream, &event, NULL),
		bi_stream_create(estate->context, 0, &stream, NULL),
		bi_memory_create(estate->context, 64, BI_MEMORY_DEVICE, &memory, NULL),
		bi_view_map(estate->other, BI_MAP_READ, &map, NULL),
		bi_context_trim(estate->context, 0, NULL),
		bi_context_report(estate->context, &text, NULL),
	};

	for (size_t i = 0; i < ARRAY_LENGTH(results); i++)
		if (results[i] != expected)
			return 10 + (int)i;
	if (expected)
		return event || stream || memory || map || text ? 40 : 0;
	bi_report_free(text);
	bi_unmap(map, NULL);
	bi_memory_release(memory);
	bi_stream_release(stream);
	bi_event_release(event);
	return 0;
}

static int release_works(struct estate *estate)
{
	estate_close(estate);
	return 0;
}

/* A device cannot be opened again, and "auto" falls back. */
static int opening(struct estate *estate)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = NULL;
	int opened = is_device(estate->context), count = 0;

	options.device = fixture.spec;
	if ((bi_context_open(&options, &context, NULL) != BI_OK) != opened)
		return 1;
	bi_context_release(context);
	options.device = "auto";
	if (bi_context_open(&options, &context, NULL) != BI_OK || (opened && is_device(context)))
		return 2;
	bi_context_release(context);
	return bi_devices(NULL, 0, &count, NULL) == BI_OK && count > 0 ? 0 : 3;
}

/* Becomes another program, so that nobody looks for leaks of what the parent still holds. */
static void leave(int code)
{
	if (code == 0)
		execl("/bin/true", "true", (char *)NULL);
	_exit(code ? code : 1);
}

/* The child is killed if it hangs. */
static int run_child(child_fn act, struct estate *estate)
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0) {
		alarm(30);
		leave(act(estate));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		fail_msg("the child was ended by signal %d", WTERMSIG(status));
	fixture.cases++;
	return WEXITSTATUS(status);
}

static void test_children(void **state)
{
	static const child_fn acts[] = { host_works, device_calls, opening, release_works };
	struct estate estate;
	unsigned char bytes[8];

	(void)state;
	if (THREAD_SANITIZER)
		skip();
	estate_open(&estate);
	for (int i = 0; i < effort(4); i++)
		assert_int_equal(run_child(acts[chosen(i, 4)], &estate), 0);
	OK(bi_view_read(estate.view, bytes, sizeof(bytes), &error));
	assert_memory_equal(bytes, "pppppppp", 8);
	estate_close(&estate);
}

int fork_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_children),
	};

	return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
