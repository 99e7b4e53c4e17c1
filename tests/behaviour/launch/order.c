/* Launches and other work on the same arrays run in the order of the calls, on any streams (docs/ordering.md, row 37).
 */
#define _POSIX_C_SOURCE 200809L
#include "programs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/view/view.h"
#include "cuda_driver.h"
#include "cuda_sim.h"
#include "opencl_driver.h"

static struct bi_stream *open_stream(unsigned flags)
{
	struct bi_stream *stream;

	OK(bi_stream_create(fixture.context, flags, &stream, &error));
	return stream;
}

/* The kernel takes long enough for later work to overtake it, if nothing holds that work back. */
static void spin(struct bi_kernel *kernel, struct bi_stream *stream, const struct bi_view *in,
		 const struct bi_view *out, int32_t turns)
{
	OK(bi_launch(kernel, stream, &(struct bi_grid){ 1, { 8 }, { 0 } },
		     (struct bi_argument[]){ BI_READS(in), BI_WRITES(out), BI_INT(turns) }, 3, &error));
}

static void row_37_launches_on_several_streams_are_ordered(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_stream *streams[] = { NULL, open_stream(0), open_stream(0),
					can(fixture.context, BI_CAP_OUT_OF_ORDER) ? open_stream(BI_STREAM_OUT_OF_ORDER)
										  : open_stream(0) };
	struct bi_view *a = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *b = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	int32_t values[8];

	(void)state;
	for (int i = 0; i < 40; i++)
		spin(kernel, streams[test_between(&fixture.random, 0, 3)], i % 2 ? b : a, i % 2 ? a : b,
		     i % 3 ? 1 : 20000);
	OK(bi_copy(b, a, streams[2], &error));
	OK(bi_view_read(b, values, sizeof(values), &error));
	for (int i = 0; i < 8; i++)
		assert_int_equal(values[i], i + 40);
	bi_view_release(a);
	bi_view_release(b);
	for (int i = 1; i < 4; i++)
		bi_stream_release(streams[i]);
	bi_kernel_release(kernel);
}

/* Arrays, program, kernel and stream may be released while the launch is pending. */
static void row_37_a_launch_outlives_its_objects(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_stream *stream = open_stream(0);
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *last = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	int32_t values[8];

	(void)state;
	spin(kernel, stream, in, out, 200000);
	bi_view_release(in);
	spin(kernel, NULL, out, last, 1);
	bi_view_release(out);
	bi_stream_release(stream);
	bi_kernel_release(kernel);
	OK(bi_view_read(last, values, sizeof(values), &error));
	for (int i = 0; i < 8; i++)
		assert_int_equal(values[i], i + 2);
	bi_view_release(last);
}

/* Returns how often an allocation was served by the pool. */
static long pool_hits(void)
{
	char *report, *hits;
	long count;

	OK(bi_context_report(fixture.context, &report, &error));
	hits = strstr(report, "\"hits\"");
	assert_non_null(hits);
	count = strtol(hits + strcspn(hits, ":") + 1, NULL, 10);
	bi_report_free(report);
	return count;
}

/* A launch is no export. */
static void row_37_memory_of_launches_is_pooled(void **state)
{
	static const int64_t shape[] = { 1 << 19 };
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 }), *out;
	long before = pool_hits();

	(void)state;
	for (int i = 0; i < 10; i++) {
		OK(bi_view_empty(fixture.context, dtype_of("int32"), 1, shape, &out, &error));
		spin(kernel, NULL, in, out, 1);
		bi_view_release(out);
	}
	assert_int_equal(pool_hits() - before, 9);
	bi_view_release(in);
	bi_kernel_release(kernel);
}

/* Wraps the memory of a view once more. */
static struct bi_view *wrap_again(struct bi_context *context, const struct bi_view *view, int *released)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_native native;
	struct bi_layout layout;
	struct bi_view *wrapped;

	bi_view_native(view, &native);
	bi_view_layout(view, &layout);
	foreign.kind = native.kind;
	foreign.handle = native.handle;
	foreign.nbytes = (size_t)bi_layout_nbytes(&layout);
	foreign.release = count_release;
	foreign.release_data = released;
	OK(bi_view_wrap(context, &foreign, &layout, &wrapped, &error));
	return wrapped;
}

static void row_15_a_launch_frees_retired_memory(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_event *event;
	int released = 0, done = 0;
	struct bi_view *wrapped = wrap_again(fixture.context, out, &released);

	(void)state;
	spin(kernel, NULL, in, wrapped, 200000);
	bi_view_release(wrapped);
	OK(bi_event_record(bi_context_stream(fixture.context), &event, &error));
	while (!done)
		OK(bi_event_query(event, &done, &error));
	bi_event_release(event);
	spin(kernel, NULL, in, out, 1);
	assert_int_equal(released, 1);
	bi_view_release(in);
	bi_view_release(out);
	bi_kernel_release(kernel);
}

/* The limit is 64 MiB in a context without a pool. The second launch uses other arrays, and waits for the first. */
static void row_15_a_launch_keeps_the_limit_of_retired_memory(void **state)
{
	static const int64_t above_the_limit[] = { (16 << 20) + 8 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_memory *memory;
	struct bi_layout layout;
	struct bi_kernel *kernel;
	struct bi_view *in, *out, *large, *wrapped;
	int released = 0;

	(void)state;
	options.device = fixture.spec;
	options.pool_limit = BI_POOL_NONE;
	OK(bi_context_open(&options, &context, &error));
	kernel = get_kernel(context, "spin");
	in = make_numbers(context, 1, (int64_t[]){ 8 });
	out = make_numbers(context, 1, (int64_t[]){ 8 });
	OK(bi_layout_init(&layout, dtype_of("int32"), 1, above_the_limit, NULL, 0, &error));
	/* The simulated device has less memory. */
	OK(bi_memory_create(context, (size_t)above_the_limit[0] * 4,
			    is_cuda(context) ? BI_MEMORY_PINNED : BI_MEMORY_DEVICE, &memory, &error));
	OK(bi_view_create(memory, &layout, 0, &large, &error));
	bi_memory_release(memory);
	wrapped = wrap_again(context, large, &released);
	spin(kernel, NULL, in, wrapped, 2000000);
	bi_view_release(wrapped);
	spin(kernel, NULL, in, out, 1);
	assert_int_equal(released, 1);
	bi_view_release(large);
	bi_view_release(in);
	bi_view_release(out);
	bi_kernel_release(kernel);
	bi_context_release(context);
}

struct launcher {
	struct bi_kernel *kernel;
	int failures; /* calls */
	int32_t last; /* result */
};

static void *launch_often(void *data)
{
	struct launcher *launcher = data;
	struct bi_view *view, *next;
	int32_t values[8] = { 0 };

	if (bi_view_empty(fixture.context, (struct bi_dtype){ 4, 1, BI_INT32, 0 }, 1, (int64_t[]){ 8 }, &view, NULL) ||
	    bi_view_empty(fixture.context, (struct bi_dtype){ 4, 1, BI_INT32, 0 }, 1, (int64_t[]){ 8 }, &next, NULL) ||
	    bi_view_write(view, values, sizeof(values), NULL)) {
		launcher->failures++;
		return NULL;
	}
	for (int i = 0; i < 100; i++) {
		const struct bi_argument arguments[] = { BI_READS(i % 2 ? next : view), BI_WRITES(i % 2 ? view : next),
							 BI_INT(1) };

		launcher->failures += bi_launch(launcher->kernel, NULL, &(struct bi_grid){ 1, { 8 }, { 0 } }, arguments,
						3, NULL) != BI_OK;
	}
	launcher->failures += bi_view_read(view, values, sizeof(values), NULL) != BI_OK;
	launcher->last = values[7];
	bi_view_release(view);
	bi_view_release(next);
	return NULL;
}

/* Several threads launch one kernel with arguments of their own. */
static void row_37_threads_share_a_kernel(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct launcher launchers[6];
	pthread_t threads[6];

	(void)state;
	skip_for_one_thread();
	for (int i = 0; i < 6; i++) {
		launchers[i] = (struct launcher){ kernel, 0, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &launchers[i]), 0);
	}
	for (int i = 0; i < 6; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(launchers[i].failures, 0);
		assert_int_equal(launchers[i].last, 100);
	}
	bi_kernel_release(kernel);
}

/* A captured launch runs when the graph is launched (row 27). */
static void row_37_a_launch_is_captured(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	bi__cu_stream stream = (bi__cu_stream)bi_stream_handle(bi_context_stream(fixture.context));
	int32_t values[8];
	bi__cu_graph graph;
	void *exec;
	int pushed;

	(void)state;
	OK(bi_context_push_current(fixture.context, &pushed, &error));
	if (is_cuda(fixture.context)) {
		OK(bi_view_synchronize(in, &error));
		OK(bi_view_synchronize(out, &error));
		assert_int_equal(cuda_driver()->StreamBeginCapture(stream, BI__CU_CAPTURE_MODE_RELAXED), 0);
		spin(kernel, NULL, in, out, 3);
		assert_int_equal(cuda_driver()->StreamEndCapture(stream, &graph), 0);
		assert_int_equal(cuda_driver()->GraphInstantiate(&exec, graph, 0), 0);
		assert_int_equal(cuda_driver()->GraphLaunch(exec, stream), 0);
		OK(bi_view_read(out, values, sizeof(values), &error));
		for (int i = 0; i < 8; i++)
			assert_int_equal(values[i], i + 1);
		assert_int_equal(cuda_driver()->GraphExecDestroy(exec), 0);
		assert_int_equal(cuda_driver()->GraphDestroy(graph), 0);
	}
	bi_context_pop_current(fixture.context, pushed);
	bi_view_release(in);
	bi_view_release(out);
	bi_kernel_release(kernel);
}

/* The launch is on another stream than the home stream of its idle arrays, and one of the two streams is captured. */
static void refuse_beside_capture(struct bi_stream *stream, struct bi_stream *captured)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	bi__cu_stream handle = (bi__cu_stream)bi_stream_handle(captured);
	const struct bi_argument arguments[] = { BI_READS(in), BI_WRITES(out), BI_INT(3) };
	int32_t before[8], after[8];
	bi__cu_graph graph;
	void *exec;

	OK(bi_view_synchronize(in, &error));
	OK(bi_view_read(out, before, sizeof(before), &error));
	assert_int_equal(cuda_driver()->StreamBeginCapture(handle, BI__CU_CAPTURE_MODE_RELAXED), 0);
	assert_int_equal(bi_launch(kernel, stream, &(struct bi_grid){ 1, { 8 }, { 0 } }, arguments, 3, &error),
			 BI_ECAPTURE);
	assert_int_equal(cuda_driver()->StreamEndCapture(handle, &graph), 0);
	assert_int_equal(cuda_driver()->GraphInstantiate(&exec, graph, 0), 0);
	assert_int_equal(cuda_driver()->GraphLaunch(exec, handle), 0);
	OK(bi_stream_synchronize(stream, &error));
	OK(bi_stream_synchronize(captured, &error));
	OK(bi_view_read(out, after, sizeof(after), &error));
	assert_memory_equal(after, before, sizeof(before));
	assert_int_equal(cuda_driver()->GraphExecDestroy(exec), 0);
	assert_int_equal(cuda_driver()->GraphDestroy(graph), 0);
	bi_view_release(in);
	bi_view_release(out);
	bi_kernel_release(kernel);
}

/* The kernel neither runs nor becomes a part of the graph. */
static void row_37_a_launch_beside_a_capture_is_refused(void **state)
{
	struct bi_stream *stream;
	int pushed;

	(void)state;
	if (!is_cuda(fixture.context))
		return;
	stream = open_stream(0);
	OK(bi_context_push_current(fixture.context, &pushed, &error));
	refuse_beside_capture(stream, stream);
	refuse_beside_capture(stream, bi_context_stream(fixture.context));
	bi_context_pop_current(fixture.context, pushed);
	bi_stream_release(stream);
}

/* A capture on another stream of the CUcontext goes on. */
static void row_37_a_program_is_released_beside_a_capture(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	bi__cu_stream captured;
	bi__cu_graph graph;
	int pushed;

	(void)state;
	OK(bi_context_push_current(fixture.context, &pushed, &error));
	spin(kernel, NULL, in, out, 20000);
	if (is_cuda(fixture.context)) {
		assert_int_equal(cuda_driver()->StreamCreate(&captured, BI__CU_STREAM_NON_BLOCKING), 0);
		assert_int_equal(cuda_driver()->StreamBeginCapture(captured, BI__CU_CAPTURE_MODE_GLOBAL), 0);
	}
	bi_kernel_release(kernel);
	if (is_cuda(fixture.context)) {
		assert_int_equal(cuda_driver()->StreamEndCapture(captured, &graph), 0);
		assert_int_equal(cuda_driver()->GraphDestroy(graph), 0);
		assert_int_equal(cuda_driver()->StreamDestroy(captured), 0);
	}
	bi_context_pop_current(fixture.context, pushed);
	bi_view_release(in);
	bi_view_release(out);
}

static struct bi_stream *wrap_new_stream(bi__cu_stream *made)
{
	struct bi_stream *stream;

	assert_int_equal(cuda_driver()->StreamCreate(made, BI__CU_STREAM_NON_BLOCKING), 0);
	OK(bi_stream_wrap(fixture.context, (uintptr_t)*made, NULL, NULL, &stream, &error));
	return stream;
}

/* Returns the number of the first cuEventRecord in a launch on a new stream, counted from the next call on. */
static uint64_t find_record(struct bi_kernel *kernel, const struct bi_view *in, const struct bi_view *out)
{
	struct cuda_sim_counts before;
	bi__cu_stream made;
	struct bi_stream *stream = wrap_new_stream(&made);
	uint64_t nth = 1;

	OK(bi_stream_join(stream, (struct bi_stream *[]){ bi_context_stream(fixture.context) }, 1, &error));
	OK(bi_stream_synchronize(stream, &error));
	cuda_sim()->count(&before);
	spin(kernel, stream, in, out, 1);
	while (strcmp(cuda_sim()->call_name(before.calls + nth), "cuEventRecord"))
		nth++;
	OK(bi_view_synchronize(in, &error));
	OK(bi_view_synchronize(out, &error));
	bi_stream_release(stream);
	assert_int_equal(cuda_driver()->StreamDestroy(made), 0);
	return nth;
}

/*
 * The event behind the kernels of a stream was last used in a capture, and cannot be recorded. The release of the
 * program does not wait for it, which would make a stream part of that capture.
 */
static void row_37_an_event_that_is_not_recorded_is_not_waited_for(void **state)
{
	struct bi_kernel *kernel;
	struct bi_view *in, *out;
	struct bi_stream *captured, *other, *stream;
	bi__cu_stream handles[3];
	bi__cu_graph graph;
	uint64_t nth;
	int pushed;

	(void)state;
	if (!is_cuda(fixture.context) || !cuda_sim())
		return;
	OK(bi_context_push_current(fixture.context, &pushed, &error));
	kernel = get_kernel(fixture.context, "spin");
	in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	captured = wrap_new_stream(&handles[0]);
	other = wrap_new_stream(&handles[1]);
	stream = wrap_new_stream(&handles[2]);
	nth = find_record(kernel, in, out);
	assert_int_equal(cuda_driver()->StreamBeginCapture(handles[0], BI__CU_CAPTURE_MODE_RELAXED), 0);
	OK(bi_stream_join(other, &captured, 1, &error));
	cuda_sim()->arm_from(nth, 2, BI__CU_ERROR_UNKNOWN);
	spin(kernel, stream, in, out, 20000);
	bi_kernel_release(kernel);
	OK(bi_stream_join(captured, &other, 1, &error));
	assert_int_equal(cuda_driver()->StreamEndCapture(handles[0], &graph), 0);
	assert_int_equal(cuda_driver()->GraphDestroy(graph), 0);
	bi_view_release(in);
	bi_view_release(out);
	bi_stream_release(captured);
	bi_stream_release(other);
	bi_stream_release(stream);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cuda_driver()->StreamDestroy(handles[i]), 0);
	bi_context_pop_current(fixture.context, pushed);
}

/* Another thread that records an event, which needs an event of the CUcontext. */
struct recorder {
	pthread_t thread;
	atomic_int has_begun, has_ended, is_late;
};

static void *record_event(void *data)
{
	struct recorder *recorder = data;
	struct bi_event *event;

	if (bi_event_record(bi_context_stream(fixture.context), &event, NULL) == BI_OK)
		bi_event_release(event);
	recorder->has_ended = 1;
	return NULL;
}

/* Gives the thread ten seconds. */
static void record_meanwhile(void *data)
{
	struct recorder *recorder = data;

	recorder->has_begun = 1;
	assert_int_equal(pthread_create(&recorder->thread, NULL, record_event, recorder), 0);
	for (int i = 0; i < 1000 && !recorder->has_ended; i++)
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	recorder->is_late = !recorder->has_ended;
}

/* Releases a program with kernels on an open and on a closed stream. Returns 0 if it makes fewer than `nth` waits. */
static int release_and_record(uint64_t nth)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct recorder recorder = { .has_begun = 0 };
	bi__cu_stream handles[2];
	struct bi_stream *open = wrap_new_stream(&handles[0]), *closed = wrap_new_stream(&handles[1]);

	spin(kernel, open, in, out, 20000);
	spin(kernel, closed, in, out, 20000);
	bi_stream_release(closed);
	cuda_sim()->before("cuStreamWaitEvent", nth, record_meanwhile, &recorder);
	bi_kernel_release(kernel);
	cuda_sim()->before("", 0, NULL, NULL);
	if (recorder.has_begun)
		assert_int_equal(pthread_join(recorder.thread, NULL), 0);
	assert_false(recorder.is_late);
	bi_view_release(in);
	bi_view_release(out);
	bi_stream_release(open);
	OK(bi_stream_synchronize(bi_context_stream(fixture.context), &error));
	for (int i = 0; i < 2; i++)
		assert_int_equal(cuda_driver()->StreamDestroy(handles[i]), 0);
	return recorder.has_begun;
}

/* The driver may block a wait of a stream that has no room for commands, until other threads go on. */
static void row_37_a_release_of_a_program_stops_no_other_thread(void **state)
{
	uint64_t nth = 1;
	int pushed;

	(void)state;
	if (!is_cuda(fixture.context) || !cuda_sim())
		return;
	OK(bi_context_push_current(fixture.context, &pushed, &error));
	while (release_and_record(nth))
		nth++;
	assert_true(nth > 2);
	bi_context_pop_current(fixture.context, pushed);
}

/* How the stream of the case was made. PER_THREAD is the per-thread default stream of CUDA. */
enum which { CONTEXT_STREAM, OPENED, OPENED_AND_CLOSED, WRAPPED, WRAPPED_AND_CLOSED, PER_THREAD, STREAMS };

static struct bi_stream *open_which(enum which which, bi__cu_stream *made)
{
	struct bi_stream *stream = NULL;

	if (which == OPENED || which == OPENED_AND_CLOSED)
		return open_stream(0);
	if (which == CONTEXT_STREAM || !is_cuda(fixture.context))
		return NULL;
	if (which != PER_THREAD)
		assert_int_equal(cuda_driver()->StreamCreate(made, BI__CU_STREAM_NON_BLOCKING), 0);
	OK(bi_stream_wrap(fixture.context, (uintptr_t)(which == PER_THREAD ? BI__CU_STREAM_PER_THREAD : *made), NULL,
			  NULL, &stream, &error));
	return stream;
}

/* The simulated driver reports a module that is unloaded while its kernels may be running. */
static void row_37_a_release_waits_for_kernels_on_each_stream(void **state)
{
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	int pushed;

	(void)state;
	OK(bi_context_push_current(fixture.context, &pushed, &error));
	for (enum which which = 0; which < STREAMS; which++) {
		struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
		bi__cu_stream made = NULL;
		struct bi_stream *stream = open_which(which, &made);
		int is_closed = which == OPENED_AND_CLOSED || which == WRAPPED_AND_CLOSED;

		spin(kernel, stream, in, out, 20000);
		if (is_closed)
			bi_stream_release(stream);
		if (is_closed && made)
			assert_int_equal(cuda_driver()->StreamDestroy(made), 0);
		bi_kernel_release(kernel);
		if (!is_closed)
			bi_stream_release(stream);
		if (!is_closed && made)
			assert_int_equal(cuda_driver()->StreamDestroy(made), 0);
	}
	bi_context_pop_current(fixture.context, pushed);
	bi_view_release(in);
	bi_view_release(out);
}

/* Two launches that read an array, on two streams, and one that writes it, on a third. */
struct readers {
	struct bi_kernel *kernel;
	struct bi_stream *streams[3];
	struct bi_view *shared, *outputs[2];
};

static void open_readers(struct readers *readers)
{
	static const int64_t shape[] = { 8 };

	readers->kernel = get_kernel(fixture.context, "spin");
	readers->shared = make_numbers(fixture.context, 1, shape);
	for (int i = 0; i < 2; i++)
		readers->outputs[i] = make_numbers(fixture.context, 1, shape);
	for (int i = 0; i < 3; i++)
		readers->streams[i] = open_stream(0);
}

static void close_readers(struct readers *readers)
{
	int32_t values[8];

	for (int i = 0; i < 2; i++) {
		OK(bi_view_read(readers->outputs[i], values, sizeof(values), &error));
		assert_int_equal(values[7], 8);
		bi_view_release(readers->outputs[i]);
	}
	OK(bi_view_read(readers->shared, values, sizeof(values), &error));
	assert_int_equal(values[7], 9);
	bi_view_release(readers->shared);
	for (int i = 0; i < 3; i++)
		bi_stream_release(readers->streams[i]);
	bi_kernel_release(readers->kernel);
}

static void launch_readers(const struct readers *readers)
{
	for (int i = 0; i < 2; i++)
		spin(readers->kernel, readers->streams[i], readers->shared, readers->outputs[i], 1);
}

/* The writer reads the output of the first reader. */
static void launch_writer(const struct readers *readers)
{
	spin(readers->kernel, readers->streams[2], readers->outputs[0], readers->shared, 1);
}

/* The first reader waits for a user event, and the second ends meanwhile. */
static void overlap_on_opencl(struct readers *readers)
{
	cl_event gate = driver()->clCreateUserEvent((cl_context)bi_context_handle(fixture.context), NULL);
	struct bi_event *event, *ends[2];
	int32_t values[8];
	int done;

	OK(bi_event_wrap(fixture.context, (uintptr_t)gate, &event, &error));
	OK(bi_stream_wait(readers->streams[0], event, &error));
	bi_event_release(event);
	launch_readers(readers);
	OK(bi_event_record(readers->streams[0], &ends[0], &error));
	OK(bi_view_read(readers->outputs[1], values, sizeof(values), &error));
	assert_int_equal(values[7], 8);
	launch_writer(readers);
	OK(bi_event_record(readers->streams[2], &ends[1], &error));
	for (int i = 0; i < 2; i++) {
		OK(bi_event_query(ends[i], &done, &error));
		assert_false(done);
		bi_event_release(ends[i]);
	}
	driver()->clSetUserEventStatus(gate, CL_COMPLETE);
	driver()->clReleaseEvent(gate);
}

/* Returns the simulated driver's answer whether a write on the stream would come after all work on the array. */
static int comes_after(struct bi_stream *stream, const struct bi_view *view)
{
	const struct bi__block *block = &view->memory->block;

	return cuda_sim()->ordered(bi_stream_handle(stream), block->handle + block->origin, view->memory->nbytes, 1);
}

static void overlap_on_cuda(struct readers *readers)
{
	launch_readers(readers);
	assert_false(comes_after(readers->streams[1], readers->outputs[0]));
	assert_false(comes_after(readers->streams[0], readers->outputs[1]));
	launch_writer(readers);
	for (int i = 0; i < 2; i++)
		assert_true(comes_after(readers->streams[2], readers->outputs[i]));
}

static int can_gate(const struct bi_context *context)
{
	return is_opencl(context) && !works_in_calling_thread(driver_device((cl_context)bi_context_handle(context)));
}

static void row_38_two_launches_that_read_run_side_by_side(void **state)
{
	struct readers readers;

	(void)state;
	open_readers(&readers);
	if (is_cuda(fixture.context) && cuda_sim()) {
		overlap_on_cuda(&readers);
	} else if (can_gate(fixture.context)) {
		overlap_on_opencl(&readers);
	} else {
		launch_readers(&readers);
		launch_writer(&readers);
	}
	close_readers(&readers);
}

static uint64_t simulated_calls(void)
{
	struct cuda_sim_counts counts;

	cuda_sim()->count(&counts);
	return counts.calls;
}

/*
 * The number of the context is asked, and which one is current. If it is another one, the context is pushed and popped
 * once. On another stream than that of the context, the end is recorded.
 */
static void row_37_a_launch_is_one_step(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "spin");
	struct bi_stream *streams[] = { NULL, open_stream(0) };
	const uint64_t calls[] = { 5, 6, 3, 4 };
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	uint64_t before = 0;
	int pushed = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		if (i == 2)
			OK(bi_context_push_current(fixture.context, &pushed, &error));
		for (int round = 0; round < 3; round++) {
			if (is_cuda(fixture.context) && cuda_sim())
				before = simulated_calls();
			spin(kernel, streams[i % 2], in, out, 1);
			if (is_cuda(fixture.context) && cuda_sim() && round == 2)
				assert_int_equal(simulated_calls() - before, calls[i]);
		}
	}
	bi_context_pop_current(fixture.context, pushed);
	bi_view_release(in);
	bi_view_release(out);
	bi_stream_release(streams[1]);
	bi_kernel_release(kernel);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_open_contexts, fixture_close_contexts)

int order_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(row_37_launches_on_several_streams_are_ordered),
		TEST(row_37_a_launch_outlives_its_objects),
		TEST(row_37_memory_of_launches_is_pooled),
		TEST(row_15_a_launch_frees_retired_memory),
		TEST(row_15_a_launch_keeps_the_limit_of_retired_memory),
		TEST(row_38_two_launches_that_read_run_side_by_side),
		TEST(row_37_a_launch_is_one_step),
		TEST(row_37_threads_share_a_kernel),
		TEST(row_37_a_launch_is_captured),
		TEST(row_37_a_launch_beside_a_capture_is_refused),
		TEST(row_37_a_program_is_released_beside_a_capture),
		TEST(row_37_an_event_that_is_not_recorded_is_not_waited_for),
		TEST(row_37_a_release_of_a_program_stops_no_other_thread),
		TEST(row_37_a_release_waits_for_kernels_on_each_stream),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
