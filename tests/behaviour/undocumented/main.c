/*
 * Behaviours of the CUDA driver that no document fixes. A test does what once failed with one of them. Where drivers
 * may differ, it switches the behaviour on in the simulated driver (SIM_SWITCHES in cuda_sim/decisions.h), and is named
 * after it. docs/cuda.md has the table.
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "buffer_interface/cai.h"
#include "cuda_driver.h"
#include "support/fixture.h"

#define BYTES 4096

#define DID(call) assert_int_equal(cuda_driver()->call, BI__CU_SUCCESS)

static unsigned char pageable[BYTES];

static int begin_with_pools(int pools)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;

	options.pools = pools;
	cuda_sim()->begin(&options);
	fixture.context = fixture_open(fixture.spec, &(struct bi_options)BI_OPTIONS_INIT);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with_pools(1);
}

/* No document says whether a memory pool outlives a reset. The library leaves it to the driver. */
static int begin_without_pools(void **state)
{
	(void)state;
	return begin_with_pools(0);
}

static int end(void **state)
{
	uint64_t reports;

	(void)state;
	bi_context_release(fixture.context);
	reports = cuda_sim()->end();
	for (uint64_t i = 0; i < reports; i++)
		fprintf(stderr, "%s\n", cuda_sim()->report(i));
	cuda_sim()->behave(NULL);
	return reports != 0;
}

static void enter(void)
{
	DID(CtxPushCurrent((bi__cu_context)bi_context_handle(fixture.context)));
}

static void leave(void)
{
	bi__cu_context popped;

	DID(CtxPopCurrent(&popped));
}

static struct bi_view *view_of(struct bi_memory *memory)
{
	const int64_t shape[] = { 64, BYTES / 64 };
	struct bi_layout layout;
	struct bi_view *view;

	OK(bi_layout_init(&layout, dtype_of("uint8"), 2, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_memory_release(memory);
	return view;
}

static struct bi_view *on_device(void)
{
	struct bi_memory *memory;

	OK(bi_memory_create(fixture.context, BYTES, BI_MEMORY_DEVICE, &memory, &error));
	return view_of(memory);
}

static struct bi_view *on_host(void *bytes)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;

	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = BYTES;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	return view_of(memory);
}

static bi__cu_stream new_stream(void)
{
	bi__cu_stream stream;

	enter();
	DID(StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING));
	leave();
	return stream;
}

static struct bi_stream *wrap(bi__cu_stream native)
{
	struct bi_stream *stream;

	OK(bi_stream_wrap(fixture.context, (uintptr_t)native, NULL, NULL, &stream, &error));
	return stream;
}

/* The value of every byte on the device. */
static void assert_holds(const struct bi_view *view, unsigned char value)
{
	unsigned char bytes[BYTES], expected[BYTES];

	memset(expected, value, BYTES);
	OK(bi_view_read(view, bytes, BYTES, &error));
	assert_memory_equal(bytes, expected, BYTES);
}

static void fill(const struct bi_view *view, unsigned char value, struct bi_stream *stream)
{
	OK(bi_fill(view, &value, stream, &error));
}

/* A stream that does nothing until the word is 1. */
struct gate {
	bi__cu_stream stream;
	uint32_t *word;
};

/* The context of the stream must be current. */
static struct gate close_gate_on(bi__cu_stream stream)
{
	struct gate gate = { stream, NULL };

	DID(MemHostAlloc((void **)&gate.word, sizeof(*gate.word), BI__CU_HOST_ALLOC_DEVICEMAP));
	*gate.word = 0;
	DID(StreamWaitValue32(stream, (bi__cu_pointer)(uintptr_t)gate.word, 1, 0));
	return gate;
}

/* The context of the stream must be current. */
static void open_gate_on(struct gate gate)
{
	cuda_sim()->touch(gate.word, sizeof(*gate.word), 1);
	*gate.word = 1;
	DID(StreamSynchronize(gate.stream));
	DID(StreamDestroy(gate.stream));
	DID(MemFreeHost(gate.word));
}

static struct gate close_gate(void)
{
	bi__cu_stream stream = new_stream();
	struct gate gate;

	enter();
	gate = close_gate_on(stream);
	leave();
	return gate;
}

static void open_gate(struct gate gate)
{
	enter();
	open_gate_on(gate);
	leave();
}

/* No context is current on this thread. */
static void capture_context_work_on_a_known_stream(void **state)
{
	bi__cu_stream native = new_stream();
	struct bi_stream *stream = wrap(native);
	struct bi_view *view = on_device();

	(void)state;
	cuda_sim()->behave("capture_context");
	fill(view, 3, stream);
	assert_holds(view, 3);
	bi_view_release(view);
	bi_stream_release(stream);
	DID(StreamDestroy(native));
}

/* No context is current on this thread. */
static void context_needed_import_and_strided_copy(void **state)
{
	const int turn[] = { 1, 0 };
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *imported;
	struct bi_view *to, *from, *turned;
	bi__cu_pointer native;
	void *pinned;

	(void)state;
	cuda_sim()->behave("context_needed");
	enter();
	DID(MemAlloc(&native, BYTES));
	DID(MemHostAlloc(&pinned, BYTES, BI__CU_HOST_ALLOC_PORTABLE));
	leave();
	memset(pinned, 6, BYTES);
	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = native;
	foreign.nbytes = BYTES;
	OK(bi_memory_wrap(fixture.context, &foreign, &imported, &error));
	to = view_of(imported);
	from = on_host(pinned);
	OK(bi_view_permute(from, turn, &turned, &error));
	OK(bi_copy(to, turned, NULL, &error));
	assert_holds(to, 6);
	bi_view_release(turned);
	bi_view_release(from);
	bi_view_release(to);
	enter();
	DID(MemFree(native));
	DID(MemFreeHost(pinned));
	leave();
}

/* Loading a module waits for the work of the context, so the copy must not load one. */
static void strided_copy_behind_a_gate_loads_nothing(void **state)
{
	const int turn[] = { 1, 0 };
	struct bi_view *from = on_device(), *to = on_device(), *turned;
	struct gate gate;

	(void)state;
	OK(bi_view_permute(from, turn, &turned, &error));
	gate = close_gate();
	fill(from, 5, NULL);
	OK(bi_copy(to, turned, NULL, &error));
	open_gate(gate);
	assert_holds(to, 5);
	bi_view_release(turned);
	bi_view_release(from);
	bi_view_release(to);
}

static uint64_t calls_of(const char *name)
{
	struct cuda_sim_counts counts;
	uint64_t found = 0;

	cuda_sim()->count(&counts);
	for (uint64_t i = 1; i <= counts.calls; i++)
		found += strcmp(cuda_sim()->call_name(i), name) == 0;
	return found;
}

static void *open_second(void *unused)
{
	(void)unused;
	return fixture_open("cuda:1", &(struct bi_options)BI_OPTIONS_INIT);
}

/* Another thread waits for a device in order to load kernels. */
static void open_that_loads_stops_no_other_context(void **state)
{
	const int turn[] = { 1, 0 };
	struct bi_view *from = on_device(), *to = on_device(), *turned;
	uint64_t before = calls_of("cuModuleLoadData");
	struct gate gate;
	bi__cu_context second;
	pthread_t thread;
	void *opened;

	(void)state;
	OK(bi_view_permute(from, turn, &turned, &error));
	fill(from, 5, NULL);
	DID(DevicePrimaryCtxRetain(&second, 1));
	DID(CtxPushCurrent(second));
	DID(StreamCreate(&gate.stream, BI__CU_STREAM_NON_BLOCKING));
	gate = close_gate_on(gate.stream);
	assert_int_equal(pthread_create(&thread, NULL, open_second, NULL), 0);
	while (calls_of("cuModuleLoadData") == before)
		sched_yield();
	OK(bi_copy(to, turned, NULL, &error));
	open_gate_on(gate);
	assert_int_equal(pthread_join(thread, &opened), 0);
	leave();
	DID(DevicePrimaryCtxRelease(1));
	bi_context_release(opened);
	assert_holds(to, 5);
	bi_view_release(turned);
	bi_view_release(from);
	bi_view_release(to);
}

static void pinned_waits_pageable_copy_behind_a_gate(void **state)
{
	struct gate gate = close_gate();
	struct bi_view *host = on_host(pageable), *view = on_device();

	(void)state;
	cuda_sim()->behave("pinned_waits");
	memset(pageable, 7, BYTES);
	OK(bi_copy(view, host, NULL, &error));
	open_gate(gate);
	assert_holds(view, 7);
	bi_view_release(host);
	bi_view_release(view);
}

/* The stream of its host functions was made when the context was opened. */
static void stream_waits_large_copy_behind_a_gate(void **state)
{
	enum { LARGE = 5 << 20 };
	const int64_t shape[] = { LARGE };
	unsigned char *bytes = malloc(LARGE), *result = calloc(1, LARGE);
	struct gate gate = close_gate();
	struct bi_view *host, *view;

	(void)state;
	cuda_sim()->behave("stream_waits");
	memset(bytes, 8, LARGE);
	OK(bi_view_wrap_host(fixture.context, bytes, dtype_of("uint8"), 1, shape, NULL, NULL, &host, &error));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &view, &error));
	OK(bi_copy(view, host, NULL, &error));
	open_gate(gate);
	OK(bi_view_read(view, result, LARGE, &error));
	assert_memory_equal(result, bytes, LARGE);
	bi_view_release(host);
	bi_view_release(view);
	free(bytes);
	free(result);
}

/* The driver calls the pending host functions during cuMemFreeHost. They take no lock that is held there. */
static void pinned_memory_is_freed_while_host_functions_are_pending(void **state)
{
	enum { LAST = 16 };
	struct bi_view *host = on_host(pageable), *view = on_device();
	struct bi_memory *pinned;
	uint64_t freed = calls_of("cuMemFreeHost");

	(void)state;
	OK(bi_memory_create(fixture.context, BYTES, BI_MEMORY_PINNED, &pinned, &error));
	bi_memory_release(pinned);
	for (unsigned char value = 1; value <= LAST; value++) {
		fill(view, value, NULL);
		OK(bi_copy(host, view, NULL, &error));
	}
	assert_int_not_equal(pageable[0], LAST);
	OK(bi_context_trim(fixture.context, 0, &error));
	assert_int_equal(calls_of("cuMemFreeHost"), freed + 1);
	assert_int_equal(pageable[0], LAST);
	bi_view_release(host);
	bi_view_release(view);
}

static void lossy_query_work_in_a_capture(void **state)
{
	bi__cu_stream native = new_stream();
	struct bi_stream *stream = wrap(native);
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;
	struct bi_view *view;
	bi__cu_pointer bytes;
	bi__cu_graph graph;

	(void)state;
	cuda_sim()->behave("lossy_query");
	enter();
	DID(MemAlloc(&bytes, BYTES));
	leave();
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = BYTES;
	foreign.kind = BI_HANDLE_CUDA;
	foreign.stream = stream;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	view = view_of(memory);
	enter();
	DID(StreamBeginCapture(native, BI__CU_CAPTURE_MODE_RELAXED));
	leave();
	fill(view, 1, stream);
	enter();
	DID(StreamEndCapture(native, &graph));
	DID(GraphDestroy(graph));
	leave();
	bi_view_release(view);
	bi_stream_release(stream);
	enter();
	DID(MemFree(bytes));
	DID(StreamDestroy(native));
	leave();
}

static void green_streams_are_wrapped(void **state)
{
	bi__cu_stream native = new_stream();

	(void)state;
	cuda_sim()->behave("green_streams");
	bi_stream_release(wrap(native));
	DID(StreamDestroy(native));
}

/* The context that was made from the green one is opened with a stream of it. Its memory is that of the primary one. */
static void green_streams_with_their_own_context(void **state)
{
	bi__cu_stream native = new_stream();
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *green;
	struct bi_memory *memory;
	struct bi_view *view;
	bi__cu_context context;
	bi__cu_pointer bytes;

	(void)state;
	cuda_sim()->behave("green_streams");
	enter();
	DID(MemAlloc(&bytes, BYTES));
	leave();
	DID(StreamGetCtx(native, &context));
	options.adopt_context = (uintptr_t)context;
	options.adopt_stream = (uintptr_t)native;
	green = fixture_open("cuda", &options);
	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = bytes;
	foreign.nbytes = BYTES;
	OK(bi_memory_wrap(green, &foreign, &memory, &error));
	view = view_of(memory);
	fill(view, 4, NULL);
	assert_holds(view, 4);
	bi_view_release(view);
	bi_context_release(green);
	DID(StreamDestroy(native));
	enter();
	DID(MemFree(bytes));
	leave();
}

/* The handle of the stream is not used when the last reference is released. */
static void stream_crashes_release_after_the_stream(void **state)
{
	bi__cu_stream native = new_stream();
	struct bi_cai cai = { .version = 3, .ndim = 2, .shape = (const int64_t[]){ 64, BYTES / 64 }, .typestr = "|u1" };
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *view, *from = on_device(), *turned;
	const int turn[] = { 1, 0 };
	bi__cu_pointer bytes;

	(void)state;
	cuda_sim()->behave("stream_crashes");
	enter();
	DID(MemAlloc(&bytes, BYTES));
	leave();
	cai.data = bytes;
	cai.stream_kind = BI_CAI_STREAM_GIVEN;
	cai.stream = (uintptr_t)native;
	OK(bi_cai_import(fixture.context, &cai, &options, &view, &error));
	/* A kernel runs on the stream. */
	OK(bi_view_permute(from, turn, &turned, &error));
	fill(from, 9, NULL);
	OK(bi_copy(view, turned, NULL, &error));
	OK(bi_view_synchronize(view, &error));
	DID(StreamDestroy(native));
	bi_view_release(turned);
	bi_view_release(from);
	bi_view_release(view);
	enter();
	DID(MemFree(bytes));
	leave();
}

/* Other code resets the device; a context that is opened then has the handle of the one that is gone. */
static void context_returns_after_a_reset(void **state)
{
	struct bi_context *before = fixture.context;
	struct bi_view *view = on_device();

	(void)state;
	fill(view, 1, NULL);
	OK(bi_view_synchronize(view, &error));
	cuda_sim()->behave("context_returns");
	DID(DevicePrimaryCtxReset(0));
	fixture.context = fixture_open(fixture.spec, &(struct bi_options)BI_OPTIONS_INIT);
	bi_view_release(view);
	bi_context_release(before);
	view = on_device();
	fill(view, 2, NULL);
	assert_holds(view, 2);
	bi_view_release(view);
}

/* The events that timed work are gone with the context, and their handles are not used. */
static void reset_of_a_context_with_timed_events(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *timed;
	struct bi_memory *memory;
	struct bi_view *view;

	(void)state;
	options.profile = 1;
	timed = fixture_open(fixture.spec, &options);
	OK(bi_memory_create(timed, BYTES, BI_MEMORY_DEVICE, &memory, &error));
	view = view_of(memory);
	fill(view, 1, NULL);
	OK(bi_view_synchronize(view, &error));
	DID(DevicePrimaryCtxReset(0));
	bi_view_release(view);
	bi_context_release(timed);
}

#define RESET(call) REFUSED_FOR(BI_EDRIVER, "open or adopt one again", call)

/*
 * A driver makes a context that was reset current, and ends the process if a stream or an event of it is used. The work
 * on the view was pending at the reset. `again`: other code uses the device after the reset. The new context has the
 * handle of the old one. `is_current`: the handle is current on the thread.
 */
static void use_after_a_reset(int again, int is_current)
{
	const unsigned char value = 2;
	unsigned char bytes[BYTES];
	struct bi_stream *stream, *late;
	struct bi_view *view = on_device();
	bi__cu_context native;

	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	fill(view, 1, stream);
	if (is_current)
		enter();
	DID(DevicePrimaryCtxReset(0));
	if (again)
		DID(DevicePrimaryCtxRetain(&native, 0));
	RESET(bi_view_read(view, bytes, BYTES, &error));
	REFUSED(BI_EDRIVER, bi_fill(view, &value, NULL, &error));
	REFUSED(BI_EDRIVER, bi_fill(view, &value, stream, &error));
	RESET(bi_stream_synchronize(stream, &error));
	RESET(bi_stream_create(fixture.context, 0, &late, &error));
	bi_stream_release(stream);
	bi_view_release(view);
	bi_context_release(fixture.context);
	if (is_current)
		leave();
	if (again)
		DID(DevicePrimaryCtxRelease(0));
	fixture.context = fixture_open(fixture.spec, &(struct bi_options)BI_OPTIONS_INIT);
	view = on_device();
	fill(view, value, NULL);
	assert_holds(view, value);
	bi_view_release(view);
}

static void use_after_a_reset_is_refused(void **state)
{
	(void)state;
	use_after_a_reset(0, 0);
	use_after_a_reset(0, 1);
}

static void use_after_a_reset_and_a_retain_is_refused(void **state)
{
	(void)state;
	use_after_a_reset(1, 0);
	use_after_a_reset(1, 1);
}

/* The stream of the copy belongs to the other device. It cannot wait for one that is gone. */
static void copy_from_a_device_that_was_reset_is_refused(void **state)
{
	struct bi_context *mine = fixture.context;
	struct bi_view *from = on_device(), *to;

	(void)state;
	fill(from, 1, NULL);
	fixture.context = fixture_open("cuda:1", &(struct bi_options)BI_OPTIONS_INIT);
	to = on_device();
	DID(DevicePrimaryCtxReset(0));
	RESET(bi_copy(to, from, NULL, &error));
	bi_view_release(to);
	bi_view_release(from);
	bi_context_release(mine);
}

/* The handle of the context is that of the old one, but the memory and the events of the old one are gone. */
static void memory_from_before_a_reset_is_refused(void **state)
{
	struct bi_context *before = fixture.context;
	struct bi_view *idle = on_device(), *used = on_device(), *host = on_host(pageable), *view;

	(void)state;
	fill(idle, 1, NULL);
	OK(bi_view_synchronize(idle, &error));
	OK(bi_copy(used, host, NULL, &error));
	DID(DevicePrimaryCtxReset(0));
	fixture.context = fixture_open(fixture.spec, &(struct bi_options)BI_OPTIONS_INIT);
	view = on_device();
	RESET(bi_copy(view, idle, NULL, &error));
	REFUSED(BI_EDRIVER, bi_copy(view, host, NULL, &error));
	bi_view_release(view);
	bi_view_release(used);
	bi_view_release(idle);
	bi_view_release(host);
	bi_context_release(before);
}

static void note_release(void *data)
{
	++*(int *)data;
}

/* The work that was pending at the reset has ended, so the owner of the memory gets it back. */
static void memory_with_work_at_a_reset_is_released(void **state)
{
	struct bi_view *used = on_device(), *host;
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;
	int released = 0;

	(void)state;
	foreign.handle = (uintptr_t)pageable;
	foreign.nbytes = BYTES;
	foreign.release = note_release;
	foreign.release_data = &released;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	host = view_of(memory);
	OK(bi_copy(used, host, NULL, &error));
	DID(DevicePrimaryCtxReset(0));
	bi_view_release(host);
	bi_view_release(used);
	bi_context_release(fixture.context);
	fixture.context = NULL;
	assert_int_equal(released, 1);
}

/* Pageable memory is copied through pinned memory, so the call does not wait. */
static void hmm_pageable_memory_is_pageable(void **state)
{
	struct bi_view *host = on_host(pageable), *view = on_device();
	struct cuda_sim_counts before, after;

	(void)state;
	cuda_sim()->behave("hmm");
	cuda_sim()->count(&before);
	OK(bi_copy(view, host, NULL, &error));
	cuda_sim()->count(&after);
	assert_int_equal(after.host_functions, before.host_functions + 1);
	OK(bi_view_synchronize(view, &error));
	bi_view_release(host);
	bi_view_release(view);
}

static void partly_registered_memory_is_copied(void **state)
{
	enum { PAGE = 4096 };
	unsigned char *bytes = aligned_alloc(PAGE, 2 * PAGE);
	struct bi_view *host, *view = on_device();

	(void)state;
	cuda_sim()->behave("partly_registered");
	memset(bytes, 4, 2 * PAGE);
	enter();
	DID(MemHostRegister(bytes, PAGE, 0));
	leave();
	host = on_host(bytes + PAGE - BYTES + 1); /* one byte is behind the registered ones */
	OK(bi_copy(view, host, NULL, &error));
	assert_holds(view, 4);
	bi_view_release(host);
	bi_view_release(view);
	enter();
	DID(MemHostUnregister(bytes));
	leave();
	free(bytes);
}

/* The bytes of the other device are from a pool, so its context must be current for the copy. */
static void far_pools_pinned_memory_of_another_device(void **state)
{
	struct bi_context *mine = fixture.context;
	struct bi_memory *memory;
	struct bi_stream *stream;
	struct bi_view *pinned, *view, *back;

	(void)state;
	cuda_sim()->behave("far_pools");
	OK(bi_memory_create(mine, BYTES, BI_MEMORY_PINNED, &memory, &error));
	pinned = view_of(memory);
	OK(bi_memory_create(mine, BYTES, BI_MEMORY_PINNED, &memory, &error));
	back = view_of(memory);
	OK(bi_stream_create(mine, 0, &stream, &error));
	fixture.context = fixture_open("cuda:1", &(struct bi_options)BI_OPTIONS_INIT);
	view = on_device();
	fill(pinned, 7, NULL);
	OK(bi_copy(view, pinned, stream, &error));
	OK(bi_copy(back, view, NULL, &error));
	assert_holds(back, 7);
	bi_view_release(view);
	bi_context_release(fixture.context);
	fixture.context = mine;
	bi_stream_release(stream);
	bi_view_release(pinned);
	bi_view_release(back);
}

/* Without an address for it, a kernel or a copy of another context would fail later. */
static void registered_apart_is_refused(void **state)
{
	unsigned char *bytes = aligned_alloc(4096, BYTES);
	struct bi_context *other = fixture_open("cuda:1", &(struct bi_options)BI_OPTIONS_INIT);
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;

	(void)state;
	cuda_sim()->behave("registered_apart");
	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = BYTES;
	for (unsigned flags = 0; flags < 2; flags++) {
		enter();
		DID(MemHostRegister(bytes, BYTES, flags));
		leave();
		OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
		bi_memory_release(memory);
		if (flags == BI__CU_HOST_ALLOC_PORTABLE) {
			OK(bi_memory_wrap(other, &foreign, &memory, &error));
			bi_memory_release(memory);
		} else {
			REFUSED_FOR(BI_EINVAL, "not portable", bi_memory_wrap(other, &foreign, &memory, &error));
		}
		enter();
		DID(MemHostUnregister(bytes));
		leave();
	}
	bi_context_release(other);
	free(bytes);
}

/* Kernels get the address for devices; the library's own host functions, and copies of the host, that for the CPU. */
static void registered_elsewhere_is_used_at_both_addresses(void **state)
{
	const struct bi_index back = { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, -1 };
	const int turn[] = { 1, 0 };
	unsigned char *bytes = aligned_alloc(BYTES, BYTES);
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;
	struct bi_view *view, *turned, *device = on_device(), *host = on_host(bytes);
	struct bi_cai cai;
	bi__cu_pointer address;

	(void)state;
	cuda_sim()->behave("registered_elsewhere");
	enter();
	DID(MemHostRegister(bytes, BYTES, 0));
	DID(MemHostGetDevicePointer(&address, bytes, 0));
	leave();
	foreign.kind = BI_HANDLE_CUDA;
	foreign.nbytes = BYTES;
	for (unsigned char i = 0; i < 2; i++) {
		foreign.handle = i ? (uintptr_t)address : (uintptr_t)bytes;
		OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
		view = view_of(memory);
		assert_ptr_equal(bi_view_host_pointer(view), bytes);
		fill(view, i, NULL); /* a memset */
		assert_holds(view, i);
		OK(bi_view_permute(view, turn, &turned, &error));
		fill(device, (unsigned char)(7 + i), NULL);
		OK(bi_copy(turned, device, NULL, &error)); /* a kernel */
		assert_holds(view, (unsigned char)(7 + i));
		fill(device, 0, NULL);
		OK(bi_copy(device, turned, NULL, &error));
		assert_holds(device, (unsigned char)(7 + i));
		OK(bi_cai_export(view, 3, 0, &cai, &error));
		assert_int_equal(cai.data, address);
		bi_view_release(turned);
		for (int k = 0; k < BYTES; k++)
			bytes[k] = (unsigned char)(k / 64);
		OK(bi_view_index_axis(host, 0, back, &turned, &error));
		OK(bi_copy(view, turned, NULL, &error)); /* the two share their bytes */
		OK(bi_view_synchronize(view, &error));
		for (int k = 0; k < BYTES; k++)
			assert_int_equal(bytes[k], 63 - k / 64);
		bi_view_release(turned);
		bi_view_release(view);
	}
	bi_view_release(host);
	bi_view_release(device);
	enter();
	DID(MemHostUnregister(bytes));
	leave();
	free(bytes);
}

static void *open_word_soon(void *word)
{
	const struct timespec moment = { 0, 10000000 };

	nanosleep(&moment, NULL);
	cuda_sim()->touch(word, sizeof(uint32_t), 1);
	atomic_store((_Atomic uint32_t *)word, 1);
	return NULL;
}

/* Copies from `from`, which is the last memory of its context, on the home of `to`, and closes the context meanwhile.
 */
static void close_while_a_copy_is_pending(struct bi_context *closed, struct bi_view *to, struct bi_view *from)
{
	bi__cu_stream native = new_stream();
	struct bi_stream *wrapped = wrap(native);
	struct gate gate;
	pthread_t thread;

	enter();
	gate = close_gate_on(native);
	leave();
	OK(bi_stream_join(bi_context_stream(fixture.context), &wrapped, 1, &error));
	bi_stream_release(wrapped);
	OK(bi_copy(to, from, NULL, &error));
	bi_view_release(from);
	assert_int_equal(pthread_create(&thread, NULL, open_word_soon, gate.word), 0);
	bi_context_release(closed);
	assert_int_equal(pthread_join(thread, NULL), 0);
	open_gate(gate);
}

/* The primary context of the other device goes with its last user. No kernel has run there: a close waits for those. */
static void work_lost_close_waits_for_a_copy_to_another_device(void **state)
{
	struct bi_context *mine = fixture.context, *other;
	struct bi_view *to = on_device(), *from;

	(void)state;
	cuda_sim()->behave("work_lost");
	other = fixture.context = fixture_open("cuda:1", &(struct bi_options)BI_OPTIONS_INIT);
	from = on_device();
	memset(pageable, 7, BYTES);
	OK(bi_view_write(from, pageable, BYTES, &error));
	fixture.context = mine;
	close_while_a_copy_is_pending(other, to, from);
	assert_holds(to, 7);
	bi_view_release(to);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(capture_context_work_on_a_known_stream),
		TEST(context_needed_import_and_strided_copy),
		TEST(strided_copy_behind_a_gate_loads_nothing),
		TEST(open_that_loads_stops_no_other_context),
		TEST(pinned_waits_pageable_copy_behind_a_gate),
		TEST(stream_waits_large_copy_behind_a_gate),
		TEST(pinned_memory_is_freed_while_host_functions_are_pending),
		TEST(lossy_query_work_in_a_capture),
		TEST(green_streams_are_wrapped),
		TEST(green_streams_with_their_own_context),
		TEST(stream_crashes_release_after_the_stream),
		cmocka_unit_test_setup_teardown(context_returns_after_a_reset, begin_without_pools, end),
		cmocka_unit_test_setup_teardown(reset_of_a_context_with_timed_events, begin_without_pools, end),
		cmocka_unit_test_setup_teardown(use_after_a_reset_is_refused, begin_without_pools, end),
		cmocka_unit_test_setup_teardown(use_after_a_reset_and_a_retain_is_refused, begin_without_pools, end),
		cmocka_unit_test_setup_teardown(copy_from_a_device_that_was_reset_is_refused, begin_without_pools, end),
		cmocka_unit_test_setup_teardown(memory_from_before_a_reset_is_refused, begin_without_pools, end),
		cmocka_unit_test_setup_teardown(memory_with_work_at_a_reset_is_released, begin_without_pools, end),
		TEST(hmm_pageable_memory_is_pageable),
		TEST(partly_registered_memory_is_copied),
		TEST(far_pools_pinned_memory_of_another_device),
		TEST(registered_apart_is_refused),
		TEST(registered_elsewhere_is_used_at_both_addresses),
		TEST(work_lost_close_waits_for_a_copy_to_another_device),
	};

	if (!fixture_start("undocumented", argc, argv))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
