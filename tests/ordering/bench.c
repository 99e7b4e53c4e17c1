#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

struct gate {
	cl_event event;
	atomic_int open;
	int soon; /* `thread` runs */
	pthread_t thread;
};

struct bench bench;
struct bi_error error;

/* What is closed after the test. */
static struct {
	struct bi_context *contexts[MOST];
	struct bi_stream *streams[MOST];
	struct gate gates[MOST];
	size_t context_count, stream_count, gate_count;
	int closed; /* contexts */
	int finished; /* the test came to its end */
} kept;

/* ------------------------------------------------------------------------------------------------------------ checks
 */

void check_ok(int rc, const char *call, const char *file, int line)
{
	if (rc == BI_OK)
		return;
	print_error("%s\n  returned %s: %.256s\n", call, bi_status_name(rc), error.message);
	_fail(file, line);
}

void check_refused(int rc, int status, const char *call, const char *file, int line)
{
	if (rc == status)
		return;
	print_error("%s\n  returned %s, expected %s\n", call, bi_status_name(rc), bi_status_name(status));
	_fail(file, line);
}

int is_opencl(const struct bi_context *context)
{
	return strcmp(bi_context_device(context)->backend, "opencl") == 0;
}

int can(const struct bi_context *context, unsigned capability)
{
	return (bi_context_device(context)->capabilities & capability) != 0;
}

/* ---------------------------------------------------------------------------------------------------------- contexts
 */

static void count_close(void *data)
{
	(void)data;
	kept.closed++;
}

struct bi_context *open_context(const char *spec, struct bi_options options)
{
	struct bi_context *context;

	options.device = spec;
	options.release = count_close;
	assert_true(kept.context_count < MOST);
	OK(bi_context_open(&options, &context, &error));
	return kept.contexts[kept.context_count++] = context;
}

static struct bi_context *adopt(const char *device)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.adopt_context = (uintptr_t)bench.shared;
	return open_context(device, options);
}

static void release_context(struct bi_context *context, unsigned waits)
{
	int closed = kept.closed;
	uint64_t before;

	account_for(context);
	before = library_waits();
	bi_context_release(context);
	if (kept.closed == closed)
		fail_msg("something still refers to the context");
	assert_int_equal(library_waits() - before, waits);
	for (unsigned i = 0; i < waits; i++)
		own_wait();
}

void close_context(struct bi_context *context, unsigned waits)
{
	size_t i = 0;

	while (kept.contexts[i] != context)
		i++;
	kept.contexts[i] = kept.contexts[--kept.context_count];
	release_context(context, waits);
}

void trim_all(void)
{
	for (size_t i = 0; i < kept.context_count; i++)
		OK(bi_context_trim(kept.contexts[i], 0, &error));
}

/* ----------------------------------------------------------------------------------------------------------- streams
 */

static struct bi_stream *keep_stream(struct bi_stream *stream)
{
	assert_true(kept.stream_count < MOST);
	return kept.streams[kept.stream_count++] = stream;
}

struct bi_stream *new_stream(unsigned flags)
{
	struct bi_stream *stream;

	OK(bi_stream_create(bench.other, flags, &stream, &error));
	return keep_stream(stream);
}

cl_command_queue queue_of(const struct bi_stream *stream)
{
	return (cl_command_queue)bi_stream_handle(stream);
}

struct bi_stream *home_of(struct bi_context *context)
{
	return bi_context_stream(context);
}

static cl_command_queue new_queue(struct bi_context *context, cl_command_queue_properties properties)
{
	cl_command_queue like = queue_of(home_of(context)), queue;
	cl_device_id device;

	assert_int_equal(driver()->clGetCommandQueueInfo(like, CL_QUEUE_DEVICE, sizeof(device), &device, NULL), 0);
	queue = driver()->clCreateCommandQueue((cl_context)bi_context_handle(context), device, properties, NULL);
	assert_non_null(queue);
	return queue;
}

struct bi_stream *new_producer_in(struct bi_context *context, unsigned flags)
{
	cl_command_queue queue = new_queue(context, flags ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
	struct bi_stream *stream;

	OK(bi_stream_wrap(context, (uintptr_t)queue, NULL, NULL, &stream, &error));
	driver()->clReleaseCommandQueue(queue);
	return keep_stream(stream);
}

struct bi_stream *new_producer(unsigned flags)
{
	return new_producer_in(bench.other, flags);
}

size_t stream_kinds(void)
{
	return can(bench.other, BI_CAP_OUT_OF_ORDER) ? 2 : 1;
}

static void finish(cl_command_queue queue)
{
	own_wait();
	assert_int_equal(driver()->clFinish(queue), CL_SUCCESS);
}

/* The queues of all streams and contexts. */
static size_t all_queues(cl_command_queue queues[2 * MOST])
{
	size_t count = 0;

	for (size_t i = 0; i < kept.stream_count; i++)
		if (queue_of(kept.streams[i]))
			queues[count++] = queue_of(kept.streams[i]);
	for (size_t i = 0; i < kept.context_count; i++)
		if (is_opencl(kept.contexts[i]))
			queues[count++] = queue_of(home_of(kept.contexts[i]));
	return count;
}

static int is_done(cl_event event)
{
	cl_int status = CL_COMPLETE;

	assert_int_equal(
		driver()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL),
		CL_SUCCESS);
	return status <= CL_COMPLETE;
}

/*
 * By flushing until all is done: a device that works in the calling thread goes on only in calls for its own queue, so
 * that waiting for one queue may be waiting for another that nobody moves.
 */
void finish_all(void)
{
	const struct timespec moment = { 0, 20000 };
	cl_command_queue queues[2 * MOST];
	cl_event ends[2 * MOST];
	size_t count = all_queues(queues), done = 0;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(driver()->clEnqueueMarkerWithWaitList(queues[i], 0, NULL, &ends[i]), CL_SUCCESS);
	while (done < count) {
		for (size_t i = 0; i < count; i++)
			assert_int_equal(driver()->clFlush(queues[i]), CL_SUCCESS);
		while (done < count && is_done(ends[done]))
			driver()->clReleaseEvent(ends[done++]);
		if (done < count)
			nanosleep(&moment, NULL);
	}
}

/*
 * The driver begins commands in the order in which they become ready: when two that came later are done, the earlier
 * ones are at least on their way.
 */
void settle(void)
{
	const struct timespec moment = { 0, 2000000 };
	unsigned char zero = 0;
	cl_command_queue queue = new_queue(bench.other, 0);
	cl_mem buffer = driver()->clCreateBuffer((cl_context)bi_context_handle(bench.other), 0, 1, NULL, NULL);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(driver()->clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, 1, 0, NULL, NULL), 0);
		finish(queue);
	}
	nanosleep(&moment, NULL);
	driver()->clReleaseMemObject(buffer);
	driver()->clReleaseCommandQueue(queue);
}

/* ------------------------------------------------------------------------------------------------------------- gates
 */

static struct gate *new_gate(cl_context context)
{
	struct gate *gate = &kept.gates[kept.gate_count++];

	assert_true(kept.gate_count < MOST);
	gate->soon = 0;
	atomic_init(&gate->open, 0);
	gate->event = driver()->clCreateUserEvent(context, NULL);
	assert_non_null(gate->event);
	return gate;
}

static cl_context context_of(const struct bi_stream *stream)
{
	return (cl_context)bi_context_handle(bi_stream_context(stream));
}

struct gate *close_gate(struct bi_stream *stream)
{
	struct gate *gate = new_gate(context_of(stream));

	assert_int_equal(driver()->clEnqueueBarrierWithWaitList(queue_of(stream), 1, &gate->event, NULL), 0);
	return gate;
}

/* Both kinds of arrays have a buffer or an address; a producer's work writes either. */
static void write_behind(struct bi_stream *stream, struct bi_view *view, int value, cl_event gate, cl_event *out)
{
	unsigned char byte = (unsigned char)value;
	cl_uint count = gate ? 1 : 0;
	const cl_event *list = gate ? &gate : NULL;
	unsigned char *host = bi_view_host_pointer(view);
	cl_mem buffer;

	if (!host) {
		assert_int_equal(driver()->clEnqueueFillBuffer(queue_of(stream), buffer_of(view), &byte, 1, 0,
							       ARRAY_BYTES, count, list, out),
				 0);
		return;
	}
	buffer = driver()->clCreateBuffer(context_of(stream), 0, ARRAY_BYTES, NULL, NULL);
	assert_int_equal(
		driver()->clEnqueueFillBuffer(queue_of(stream), buffer, &byte, 1, 0, ARRAY_BYTES, 0, NULL, NULL), 0);
	finish(queue_of(stream));
	assert_int_equal(driver()->clEnqueueReadBuffer(queue_of(stream), buffer, CL_FALSE, 0, ARRAY_BYTES, host, count,
						       list, out),
			 0);
	driver()->clReleaseMemObject(buffer);
}

struct gate *close_gate_on_write(struct bi_stream *stream, struct bi_view *view, int value)
{
	struct gate *gate = new_gate(context_of(stream));

	write_behind(stream, view, value, gate->event, NULL);
	return gate;
}

void raw_write(struct bi_stream *stream, struct bi_view *view, int value)
{
	write_behind(stream, view, value, NULL, NULL);
	assert_int_equal(driver()->clFlush(queue_of(stream)), CL_SUCCESS);
}

static struct bi_event *keep_event(struct bi_context *context, cl_event event)
{
	struct bi_event *wrapped;

	OK(bi_event_wrap(context, (uintptr_t)event, &wrapped, &error));
	driver()->clReleaseEvent(event);
	return wrapped;
}

struct bi_event *gated_event(struct bi_context *context, struct bi_stream *stream, struct bi_view *view, int value,
			     struct gate **gate)
{
	cl_event event;

	*gate = new_gate(context_of(stream));
	write_behind(stream, view, value, (*gate)->event, &event);
	assert_int_equal(driver()->clFlush(queue_of(stream)), CL_SUCCESS);
	return keep_event(context, event);
}

struct bi_event *user_event(struct bi_context *context, cl_int status)
{
	cl_event event = driver()->clCreateUserEvent((cl_context)bi_context_handle(context), NULL);

	assert_non_null(event);
	assert_int_equal(driver()->clSetUserEventStatus(event, status), CL_SUCCESS);
	return keep_event(context, event);
}

static void set_gate(struct gate *gate, cl_int status)
{
	if (!atomic_exchange(&gate->open, 1))
		driver()->clSetUserEventStatus(gate->event, status);
}

void open_gate(struct gate *gate)
{
	set_gate(gate, CL_COMPLETE);
}

void fail_gate(struct gate *gate)
{
	set_gate(gate, CL_OUT_OF_RESOURCES);
}

static void *open_later(void *data)
{
	const struct timespec moment = { 0, 30000000 };

	nanosleep(&moment, NULL);
	open_gate(data);
	return NULL;
}

void open_gate_soon(struct gate *gate)
{
	gate->soon = 1;
	assert_int_equal(pthread_create(&gate->thread, NULL, open_later, gate), 0);
}

int is_open(const struct gate *gate)
{
	return atomic_load(&gate->open);
}

void open_and_finish(struct gate *gate)
{
	open_gate(gate);
	finish_all();
}

static void drop_gates(void)
{
	while (kept.gate_count) {
		struct gate *gate = &kept.gates[--kept.gate_count];

		if (gate->soon)
			pthread_join(gate->thread, NULL);
		open_gate(gate);
		driver()->clReleaseEvent(gate->event);
	}
}

void clear_case(void)
{
	drop_gates();
	finish_all();
	trim_all();
	while (kept.stream_count)
		bi_stream_release(kept.streams[--kept.stream_count]);
}

/* ------------------------------------------------------------------------------------------------------------ arrays
 */

struct owner {
	atomic_int *released;
	unsigned char *bytes; /* or NULL */
};

static void give_back(void *data)
{
	struct owner *owner = data;

	if (owner->released)
		atomic_fetch_add(owner->released, 1);
	free(owner->bytes);
	free(owner);
}

static struct bi_view *view_bytes(struct bi_memory *memory)
{
	const int64_t shape[] = { ARRAY_BYTES };
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view;

	OK(bi_dtype_make(BI_UINT8, 1, 0, &dtype, &error));
	OK(bi_layout_init(&layout, dtype, 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_memory_release(memory);
	return view;
}

/* Host memory of the test, or a new buffer that belongs to the library. */
static void make_bytes(struct bi_context *context, enum place place, int value, struct bi_foreign *foreign,
		       struct owner *owner)
{
	foreign->nbytes = ARRAY_BYTES;
	if (place == PLACE_DEVICE && is_opencl(context)) {
		foreign->kind = BI_HANDLE_CL_MEM;
		foreign->flags = BI_WRAP_STEAL;
		foreign->handle = (uintptr_t)driver()->clCreateBuffer((cl_context)bi_context_handle(context), 0,
								      ARRAY_BYTES, NULL, NULL);
	} else {
		owner->bytes = malloc(ARRAY_BYTES);
		foreign->handle = (uintptr_t)owner->bytes;
		memset(owner->bytes, value, ARRAY_BYTES);
	}
	assert_true(foreign->handle != 0);
}

static void write_now(struct bi_context *context, cl_mem buffer, int value)
{
	unsigned char byte = (unsigned char)value;
	cl_command_queue queue = new_queue(context, 0);

	assert_int_equal(driver()->clEnqueueFillBuffer(queue, buffer, &byte, 1, 0, ARRAY_BYTES, 0, NULL, NULL), 0);
	finish(queue);
	driver()->clReleaseCommandQueue(queue);
}

struct bi_view *wrap_in(struct bi_context *context, enum place place, int value, struct producer producer)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct owner *owner = calloc(1, sizeof(*owner));
	struct bi_memory *memory;

	assert_non_null(owner);
	owner->released = producer.released;
	make_bytes(context, place, value, &foreign, owner);
	if (foreign.kind == BI_HANDLE_CL_MEM)
		write_now(context, (cl_mem)foreign.handle, value);
	foreign.stream = producer.stream;
	foreign.events = &producer.event;
	foreign.event_count = producer.event ? 1 : 0;
	foreign.release = give_back;
	foreign.release_data = owner;
	OK(bi_memory_wrap(context, &foreign, &memory, &error));
	return view_bytes(memory);
}

struct bi_view *wrap(enum place place, int value, struct producer producer)
{
	return wrap_in(bench.context, place, value, producer);
}

/* A reference to the first wrapping, which owns the bytes. */
struct second_owner {
	atomic_int *released;
	struct bi_view *made;
};

static void give_back_again(void *data)
{
	struct second_owner *owner = data;

	if (owner->released)
		atomic_fetch_add(owner->released, 1);
	bi_view_release(owner->made);
	free(owner);
}

struct bi_view *wrap_again(struct bi_view *made, struct producer producer)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct second_owner *owner = malloc(sizeof(*owner));
	struct bi_native native;
	struct bi_memory *memory;

	assert_non_null(owner);
	*owner = (struct second_owner){ producer.released, bi_view_retain(made) };
	bi_view_native(made, &native);
	foreign.kind = native.kind;
	foreign.handle = native.handle;
	foreign.nbytes = native.nbytes;
	foreign.stream = producer.stream;
	foreign.events = &producer.event;
	foreign.event_count = producer.event ? 1 : 0;
	foreign.release = give_back_again;
	foreign.release_data = owner;
	OK(bi_memory_wrap(bench.context, &foreign, &memory, &error));
	return view_bytes(memory);
}

/* The producer's work comes before he hands the memory over. */
struct bi_view *wrap_gated(enum place place, int value, struct bi_stream *stream, struct gate **gate)
{
	struct bi_view *made = wrap(place, 0, (struct producer){ 0 }), *view;

	*gate = close_gate_on_write(stream, made, value);
	view = wrap_again(made, (struct producer){ .stream = stream });
	bi_view_release(made);
	return view;
}

struct bi_view *allocate(void)
{
	struct bi_memory *memory;

	OK(bi_memory_create(bench.context, ARRAY_BYTES, BI_MEMORY_DEFAULT, &memory, &error));
	return view_bytes(memory);
}

struct bi_view *slice(struct bi_view *view, int64_t start, int64_t count, int64_t step)
{
	const struct bi_index item = { BI_INDEX_SLICE, start, start + count * step, step };
	struct bi_view *out;

	OK(bi_view_index(view, &item, 1, &out, &error));
	return out;
}

cl_mem buffer_of(const struct bi_view *view)
{
	struct bi_native native;

	bi_view_native(view, &native);
	return native.kind == BI_HANDLE_CL_MEM ? (cl_mem)native.handle : NULL;
}

void peek(struct bi_view *view, unsigned char bytes[ARRAY_BYTES])
{
	void *host = bi_view_host_pointer(view);
	cl_command_queue queue;

	if (host) {
		memcpy(bytes, host, ARRAY_BYTES);
		return;
	}
	queue = new_queue(bi_memory_context(bi_view_memory(view)), 0);
	assert_int_equal(
		driver()->clEnqueueReadBuffer(queue, buffer_of(view), CL_FALSE, 0, ARRAY_BYTES, bytes, 0, NULL, NULL),
		0);
	finish(queue);
	driver()->clReleaseCommandQueue(queue);
}

void poke(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES])
{
	void *host = bi_view_host_pointer(view);
	cl_command_queue queue;

	if (host) {
		memcpy(host, bytes, ARRAY_BYTES);
		return;
	}
	queue = new_queue(bi_memory_context(bi_view_memory(view)), 0);
	assert_int_equal(
		driver()->clEnqueueWriteBuffer(queue, buffer_of(view), CL_FALSE, 0, ARRAY_BYTES, bytes, 0, NULL, NULL),
		0);
	finish(queue);
	driver()->clReleaseCommandQueue(queue);
}

int value_of(struct bi_view *view)
{
	unsigned char bytes[ARRAY_BYTES];

	peek(view, bytes);
	for (size_t i = 1; i < ARRAY_BYTES; i++)
		if (bytes[i] != bytes[0])
			return -1;
	return bytes[0];
}

void fill(struct bi_view *view, int value, struct bi_stream *stream)
{
	unsigned char byte = (unsigned char)value;

	OK(bi_fill(view, &byte, stream, &error));
}

/* ------------------------------------------------------------------------------------------------- setup and teardown
 */

static void open_contexts(void)
{
	if (bench.shared) {
		bench.context = adopt(bench.adopt[0]);
		bench.other = adopt(bench.adopt[1]);
	} else {
		bench.context = bench.other = open_context(bench.spec, (struct bi_options)BI_OPTIONS_INIT);
	}
}

int bench_setup(void **state)
{
	const struct row *row = *state;

	memset(&kept, 0, sizeof(kept));
	accounts_begin(row->name);
	open_contexts();
	alarm(60);
	return 0;
}

/* Everything is done by then, so closing a context must not wait. */
static void close_contexts(void)
{
	clear_case();
	for (size_t i = 0; i < kept.context_count; i++)
		assert_int_equal(reported(kept.contexts[i], "retired"), 0);
	while (kept.context_count)
		release_context(kept.contexts[--kept.context_count], 0);
}

int bench_teardown(void **state)
{
	(void)state;
	drop_gates();
	if (!kept.finished)
		return 0;
	close_contexts();
	accounts_end();
	return 0;
}

/* -------------------------------------------------------------------------------------------------------------- rows
 */

unsigned rows_seen;

static void run_row(void **state)
{
	const struct row *row = *state;
	int number = 0;

	row->run(state);
	sscanf(row->name, "row_%d_", &number);
	rows_seen |= 1u << number;
	kept.finished = 1;
}

/* The rows of a pair of devices are its own: see pair.c. */
static int is_runnable(const struct row *row)
{
	return (row->needs & bench.needs) == row->needs && (row->needs & NEED_PAIR) == (bench.needs & NEED_PAIR);
}

int run_rows(const char *group, const struct row *rows, size_t count)
{
	struct CMUnitTest *tests = calloc(count, sizeof(*tests));
	size_t runnable = 0;
	int failed;

	assert_non_null(tests);
	for (size_t i = 0; i < count; i++) {
		if (is_runnable(&rows[i]))
			tests[runnable++] = (struct CMUnitTest){ rows[i].name, run_row, bench_setup, bench_teardown,
								 (void *)(uintptr_t)&rows[i] };
		else
			fprintf(stderr, "ordering: %s is not for %s\n", rows[i].name, bench.space);
	}
	failed = runnable ? _cmocka_run_group_tests(group, tests, runnable, NULL, NULL) : 0;
	free(tests);
	return failed;
}
