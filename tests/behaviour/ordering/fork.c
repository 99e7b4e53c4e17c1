/* Row 20: a child of fork. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/runtime/object.h"
#include "uses.h"
#include "support/use.h"

static const struct producer nobody;

/* Objects of the parent. */
struct inherited {
	struct bi_stream *stream;
	struct bi_event *event;
	struct bi_view *device, *other, *host;
	struct bi_context *host_context;
	struct bi_view *on_host; /* of host_context */
	struct bi_exchange exchange; /* of other */
};

/* In the child a failed check ends the process; the code is the line. */
#define CHECK(condition) \
	do { \
		if (!(condition)) \
			_exit(1 + __LINE__ % 250); \
	} while (0)

#define FORKED(call) CHECK((call) == BI_EFORK)

static void use_arrays(const struct inherited *in)
{
	const int64_t zero[] = { 0 };
	unsigned char byte = 1, bytes[ARRAY_BYTES];
	const struct bi_index nothing = { BI_INDEX_SLICE, 0, 0, 1 };
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_view *empty;
	struct bi_map *map;

	CHECK(bi_view_index(in->device, &nothing, 1, &empty, NULL) == BI_OK);
	FORKED(bi_view_map(empty, BI_MAP_READ, &map, NULL));
	bi_view_release(empty);
	FORKED(bi_copy(in->device, in->other, NULL, NULL));
	FORKED(bi_copy(in->device, in->host, NULL, NULL));
	FORKED(bi_copy(in->host, in->device, in->stream, NULL));
	FORKED(bi_fill(in->device, &byte, NULL, NULL));
	FORKED(bi_view_set_element(in->device, zero, &byte, NULL));
	FORKED(bi_view_get_element(in->device, zero, &byte, NULL));
	FORKED(bi_view_read(in->device, bytes, sizeof(bytes), NULL));
	FORKED(bi_view_write(in->device, bytes, sizeof(bytes), NULL));
	FORKED(bi_view_map(in->device, BI_MAP_READ, &map, NULL));
	FORKED(bi_view_synchronize(in->device, NULL));
	FORKED(bi_view_export(in->device, 0, &exchange, NULL));
	FORKED(bi_view_export(in->device, BI_ACQUIRE_READY, &exchange, NULL));
	exchange = in->exchange;
	CHECK(exchange.done(&exchange, BI_ORDER_NONE, 0, 0));
}

static void use_streams(const struct inherited *in)
{
	struct bi_stream *stream;
	struct bi_event *event;
	int done;

	FORKED(begin_use(in->device, in->stream, NULL));
	FORKED(end_use(in->device, in->stream, NULL));
	FORKED(bi_stream_create(fixture.context, 0, &stream, NULL));
	FORKED(bi_stream_wrap(fixture.context, bi_stream_handle(in->stream), NULL, NULL, &stream, NULL));
	FORKED(bi_stream_synchronize(in->stream, NULL));
	FORKED(bi_stream_wait(in->stream, in->event, NULL));
	FORKED(bi_event_record(in->stream, &event, NULL));
	FORKED(bi_event_wrap(fixture.context, bi_event_handle(in->event), &event, NULL));
	FORKED(bi_event_query(in->event, &done, NULL));
	FORKED(bi_event_synchronize(in->event, NULL));
}

static void use_context(void)
{
	struct bi_memory *memory;
	char *report;

	FORKED(bi_memory_create(fixture.context, ARRAY_BYTES, BI_MEMORY_DEVICE, &memory, NULL));
	FORKED(bi_context_trim(fixture.context, 0, NULL));
	FORKED(bi_context_report(fixture.context, &report, NULL));
}

/* Host memory works, of a host context as well as idle memory of a device's. */
static void use_host(const struct inherited *in)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_memory *memory;
	struct bi_view *views[] = { in->on_host, in->host };
	unsigned char bytes[ARRAY_BYTES], byte = 5;

	for (size_t i = 0; i < ARRAY_LENGTH(views); i++) {
		CHECK(bi_fill(views[i], &byte, NULL, NULL) == BI_OK);
		CHECK(bi_view_read(views[i], bytes, sizeof(bytes), NULL) == BI_OK);
		CHECK(bytes[17] == 5);
	}
	CHECK(bi_copy(in->host, in->on_host, NULL, NULL) == BI_OK);
	CHECK(bi_memory_create(fixture.context, 16, BI_MEMORY_HOST, &memory, NULL) == BI_OK);
	bi_memory_release(memory);
	options.device = "host";
	CHECK(bi_context_open(&options, &context, NULL) == BI_OK);
	bi_context_release(context);
}

static void let_go(const struct inherited *in)
{
	struct bi_exchange exchange = in->exchange;

	exchange.release(&exchange);
	bi_view_release(in->device);
	bi_view_release(in->other);
	bi_view_release(in->host);
	bi_view_release(in->on_host);
	bi_event_release(in->event);
	bi_stream_release(in->stream);
	bi_context_release(in->host_context);
	bi_context_release(fixture.context);
}

static void be_child(const struct inherited *in)
{
	uint64_t before = all_calls();

	alarm(60);
	if (is_device(fixture.context)) {
		use_arrays(in);
		use_streams(in);
		use_context();
	}
	use_host(in);
	let_go(in);
	CHECK(all_calls() == before);
	_exit(0);
}

static void fork_and_wait(const struct inherited *in)
{
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		be_child(in);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status))
		fail_msg("the child was ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		fail_msg("the check in line %d of fork.c failed", WEXITSTATUS(status) - 1);
}

static void row_20_fork(void **state)
{
	struct inherited in = { .stream = new_stream(BI_STREAM_IN_ORDER), .exchange = BI_EXCHANGE_INIT };

	(void)state;
	in.device = wrap(PLACE_DEVICE, 1, nobody);
	in.other = allocate();
	in.host = wrap(PLACE_HOST, 2, nobody);
	in.host_context = open_context("host", (struct bi_options)BI_OPTIONS_INIT);
	in.on_host = wrap_in(in.host_context, PLACE_HOST, 3, nobody);
	OK(bi_view_export(in.other, 0, &in.exchange, &error));
	fill(in.device, 4, in.stream);
	OK(bi_event_record(in.stream, &in.event, &error));
	bi_view_release(allocate()); /* for the pool */
	fork_and_wait(&in);
	fill(in.device, 5, NULL);
	finish_all();
	assert_int_equal(value_of(in.device), 5);
	in.exchange.release(&in.exchange);
	bi_event_release(in.event);
	bi_view_release(in.device);
	bi_view_release(in.other);
	bi_view_release(in.host);
	bi_view_release(in.on_host);
}

/* The thread that copies inline does not exist in the child, so nobody there would ever end its copy. */
static void row_20_fork_during_an_inline_copy(void **state)
{
	struct bi_view *view = allocate();
	struct bi_memory *memory = bi_view_memory(view);
	int status = 0;
	pid_t child;

	(void)state;
	atomic_fetch_or(&memory->marks, BI__MARK_INLINE);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct bi_native native;

		alarm(60);
		bi_view_native(view, &native);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	atomic_fetch_and(&memory->marks, (unsigned char)~BI__MARK_INLINE);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	bi_view_release(view);
}

/* The parent could not record the end of its work on host memory. The child cannot know that the work has ended. */
static void row_19_a_child_does_not_make_up_for_the_end(void **state)
{
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *host = wrap(PLACE_HOST, 1, nobody);
	struct bi_stream *stream = new_stream(stream_kinds() > 1 ? BI_STREAM_OUT_OF_ORDER : BI_STREAM_IN_ORDER);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	unsigned char bytes[ARRAY_BYTES], byte = 5;
	int status = 0;
	pid_t child;

	(void)state;
	arm("clEnqueueMarkerWithWaitList", 1);
	REFUSED(BI_ENOMEM, bi_copy(host, from, stream, &error));
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		alarm(60);
		for (int times = 0; times < 2; times++) {
			FORKED(bi_fill(host, &byte, NULL, NULL));
			FORKED(bi_view_read(host, bytes, sizeof(bytes), NULL));
			FORKED(bi_view_synchronize(host, NULL));
			FORKED(bi_view_export(host, BI_ACQUIRE_BORROW, &exchange, NULL));
			FORKED(end_use(host, stream, NULL));
		}
		bi_view_release(host);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status))
		fail_msg("the check in line %d of fork.c failed", WEXITSTATUS(status) - 1);
	assert_true(WIFEXITED(status));
	fill(host, 3, NULL);
	expect_waits("cross", 1);
	assert_int_equal(value_of(host), 3);
	bi_view_release(from);
	bi_view_release(host);
}

int fork_rows(void)
{
	static const struct row rows[] = {
		ROW(row_20_fork, 0),
		ROW(row_20_fork_during_an_inline_copy, NEED_DEVICE),
		ROW(row_19_a_child_does_not_make_up_for_the_end, NEED_OPENCL | NEED_COUNTS),
	};

	return run_rows("fork", rows, ARRAY_LENGTH(rows));
}
