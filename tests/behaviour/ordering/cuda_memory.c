/* Rows 28 and 29: memory that is allocated in the order of a stream, and pageable host memory. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "raw_cuda.h"
#include "uses.h"

static const struct producer nobody;

/* ----------------------------------------------------------------------------------------------------------- row 28 */

static int has_ended(struct bi_event *event)
{
	int done;

	OK(bi_event_query(event, &done, &error));
	return done;
}

static void assert_ended(struct bi_stream *stream, int expected)
{
	struct bi_event *event;

	OK(bi_event_record(stream, &event, &error));
	SETTLE_UNTIL(has_ended(event) || !expected);
	assert_int_equal(has_ended(event), expected);
	bi_event_release(event);
}

/* Allocated behind the gate on the home: what another stream does with it is behind the gate too. */
static void row_28_own_memory_is_pending_from_the_start(void **state)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct gate *gate = close_gate(home_of(fixture.context));
	struct bi_view *view = allocate();
	int in_order = allocates_in_order();

	(void)state;
	assert_exported_stream(view, in_order ? home_of(fixture.context) : NULL);
	fill(view, 7, stream);
	assert_ordered(stream, view);
	assert_ended(stream, !in_order);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 7);
	bi_view_release(view);
}

static void wait_for_memory(int64_t count)
{
	for (int i = 0; i < 200 && live_memory() != count; i++) {
		settle();
		trim_all();
	}
	assert_int_equal(live_memory(), count);
}

/* Its last use, on another stream, is behind the gate when it is let go of; freed by nobody who waits. */
static void let_go(int is_shown)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *view = allocate();
	struct gate *gate = close_gate(stream);
	int64_t memory = live_memory();

	if (is_shown)
		assert_true(handle_of(view) != 0);
	fill(view, 7, stream);
	bi_view_release(view);
	assert_int_equal(reported(fixture.context, "retired"), is_shown && !allocates_in_order());
	trim_all();
	assert_int_equal(reported(fixture.context, "retired"), !allocates_in_order());
	settle();
	assert_false(is_open(gate));
	open_and_finish(gate);
	wait_for_memory(is_counted() ? memory - 1 : memory);
	clear_case();
}

static void row_28_own_memory_is_freed_behind_its_last_use(void **state)
{
	(void)state;
	let_go(0);
	let_go(1);
}

/* Pinned memory has no order to be freed in: it is kept until its work is done. */
static void row_28_pinned_memory_is_freed_when_its_work_is_done(void **state)
{
	struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *pinned = allocate_in(fixture.context, BI_MEMORY_PINNED), *to = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate = close_gate(stream);
	int64_t memory = live_memory();

	(void)state;
	fill(pinned, 7, stream);
	copy(to, pinned, stream);
	bi_view_release(pinned);
	trim_all();
	assert_int_equal(live_memory(), memory);
	assert_int_equal(reported(fixture.context, "retired"), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	wait_for_memory(is_counted() ? memory - 1 : memory);
	bi_view_release(to);
}

/* The order of streams says nothing to the CPU: what a device still reads is not lent again. */
static void row_28_pinned_memory_is_not_lent_while_it_is_read(void **state)
{
	struct bi_view *pinned = allocate_in(fixture.context, BI_MEMORY_PINNED), *to = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *next;
	struct gate *gate;

	(void)state;
	fill(pinned, 7, NULL);
	finish_all();
	gate = close_gate(home_of(fixture.context));
	copy(to, pinned, NULL);
	bi_view_release(pinned);
	next = allocate_in(fixture.context, BI_MEMORY_PINNED);
	memset(bi_view_host_pointer(next), 9, ARRAY_BYTES);
	assert_false(is_open(gate));
	open_and_finish(gate);
	assert_int_equal(value_of(to), 7);
	bi_view_release(next);
	bi_view_release(to);
}

/* The driver may make whoever frees memory wait for all work of the context, whatever it works on. */
static void free_beside_other_work(enum bi_memory_kind kind)
{
	struct bi_view *view = allocate_in(fixture.context, kind), *other = wrap(PLACE_DEVICE, 1, nobody);
	struct gate *gate;

	fill(view, 7, NULL);
	finish_all();
	gate = close_gate(new_stream(BI_STREAM_IN_ORDER));
	bi_view_release(view);
	for (int i = 0; i < 3; i++) {
		settle();
		trim_all();
		fill(other, 2, NULL);
	}
	assert_false(is_open(gate));
	open_and_finish(gate);
	bi_view_release(other);
	clear_case();
}

static void row_28_freeing_does_not_wait_for_other_work(void **state)
{
	(void)state;
	if (allocates_in_order())
		free_beside_other_work(BI_MEMORY_DEVICE);
}

/* ----------------------------------------------------------------------------------------------------------- row 29 */

/* More than all pieces through which such memory goes. */
#define MANY_BYTES ((9 << 20) + 3)

static struct bi_view *many_bytes(struct bi_context *context, void *host)
{
	const struct bi_dtype byte = { 1, 1, BI_UINT8, 0 };
	const int64_t shape[] = { MANY_BYTES };
	struct bi_view *view;

	if (host)
		OK(bi_view_wrap_host(context, host, byte, 1, shape, NULL, NULL, &view, &error));
	else
		OK(bi_view_empty(context, byte, 1, shape, &view, &error));
	return view;
}

static unsigned char *map_many_bytes(void)
{
	void *bytes = mmap(NULL, MANY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(bytes, MAP_FAILED);
	return bytes;
}

/* Up and down again behind a gate: both calls return, and neither reads nor writes before its time. */
static void row_29_many_pageable_bytes_do_not_wait(void **state)
{
	unsigned char *bytes = malloc(MANY_BYTES), *result = calloc(1, MANY_BYTES);
	struct bi_view *from = many_bytes(fixture.context, bytes), *to = many_bytes(fixture.context, result);
	struct bi_view *view = many_bytes(fixture.context, NULL);
	struct gate *gate = close_gate(home_of(fixture.context));

	(void)state;
	memset(bytes, 1, MANY_BYTES);
	copy(view, from, NULL);
	copy(to, view, NULL);
	settle();
	for (size_t i = 0; i < MANY_BYTES; i++) {
		assert_int_equal(result[i], 0);
		bytes[i] = (unsigned char)(i * 7 / 3);
	}
	assert_false(is_open(gate));
	open_and_finish(gate);
	assert_memory_equal(result, bytes, MANY_BYTES);
	bi_view_release(from);
	bi_view_release(to);
	bi_view_release(view);
	clear_case();
	free(bytes);
	free(result);
}

/* One that stands still leaves the others enough to go on with. */
static void row_29_streams_do_not_stop_each_other(void **state)
{
	struct bi_stream *first = new_stream(BI_STREAM_IN_ORDER), *second = new_stream(BI_STREAM_IN_ORDER);
	struct bi_view *host = wrap(PLACE_HOST, 7, nobody), *view = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *other_host = wrap(PLACE_HOST, 8, nobody), *other = wrap(PLACE_DEVICE, 2, nobody);
	struct gate *gate = close_gate(first);

	(void)state;
	copy(view, host, first);
	copy(other, other_host, second);
	SETTLE_UNTIL(value_of(other) == 8);
	assert_int_equal(value_of(view), 1);
	open_and_finish(gate);
	assert_int_equal(value_of(view), 7);
	bi_view_release(host);
	bi_view_release(view);
	bi_view_release(other_host);
	bi_view_release(other);
}

/* Two streams that stand still have all pairs of staging buffers. The third one goes on without. */
static void row_29_large_copies_do_not_stop_each_other(void **state)
{
	enum { STREAMS = 3 };
	unsigned char *bytes = malloc(MANY_BYTES), *result = calloc(1, MANY_BYTES);
	struct bi_view *from[STREAMS], *views[STREAMS], *to = many_bytes(fixture.context, result);
	struct bi_stream *streams[STREAMS];
	struct gate *gates[STREAMS];

	(void)state;
	for (size_t i = 0; i < MANY_BYTES; i++)
		bytes[i] = (unsigned char)(i * 5 / 3);
	for (int i = 0; i < STREAMS; i++) {
		streams[i] = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
		from[i] = many_bytes(fixture.context, bytes);
		views[i] = many_bytes(fixture.context, NULL);
	}
	for (int i = 0; i < STREAMS - 1; i++)
		gates[i] = close_gate(streams[i]);
	for (int i = 0; i < STREAMS; i++)
		copy(views[i], from[i], streams[i]);
	copy(to, views[STREAMS - 1], streams[STREAMS - 1]);
	assert_ended(streams[STREAMS - 1], 1);
	assert_memory_equal(result, bytes, MANY_BYTES);
	for (int i = 0; i < STREAMS - 1; i++)
		assert_false(is_open(gates[i]));
	open_gate(gates[0]);
	open_and_finish(gates[1]);
	for (int i = 0; i < STREAMS - 1; i++) {
		copy(to, views[i], streams[i]);
		finish_all();
		assert_memory_equal(result, bytes, MANY_BYTES);
	}
	for (int i = 0; i < STREAMS; i++) {
		bi_view_release(from[i]);
		bi_view_release(views[i]);
	}
	bi_view_release(to);
	clear_case();
	free(bytes);
	free(result);
}

/* Returns 1 if a call failed: there are fewer calls than `nth` otherwise. */
static int copy_with_a_failure(struct bi_view *view, struct bi_view *host, unsigned nth, unsigned count)
{
	uint64_t before = failures();

	if (count == 1)
		cuda_fail_call(nth, BI__CU_ERROR_UNKNOWN);
	else
		cuda_fail_calls(nth, count, BI__CU_ERROR_UNKNOWN);
	if (bi_copy(view, host, NULL, &error))
		assert_string_not_equal(error.message, "");
	cuda_fail_call(0, 0);
	return failures() != before;
}

/* More failures than there are staging buffers, at each call of a copy. The driver works again, so the copies do. */
static void row_29_failures_cost_no_staging_buffer(void **state)
{
	enum { ROUNDS = 40 };
	uint64_t before = calls_of("cuCtxSynchronize");

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct bi_view *host = wrap(PLACE_HOST, 7, nobody), *view = wrap(PLACE_DEVICE, 1, nobody);

		for (unsigned nth = 1; copy_with_a_failure(view, host, nth, 1); nth++)
			finish_all();
		copy(view, host, NULL);
		finish_all();
		assert_int_equal(value_of(view), 7);
		bi_view_release(host);
		bi_view_release(view);
		clear_case();
	}
	assert_int_equal(calls_of("cuCtxSynchronize"), before); /* it would invalidate captures */
}

/* Copies while calls fail, from the one that records the last use of the staging buffer on. Returns the status. */
static int copy_with_failures(struct bi_view *view, struct bi_view *host, unsigned count)
{
	uint64_t before, waited = library_waits();
	int rc;

	OK(bi_copy(view, host, NULL,
		   &error)); /* the next copies use the same staging buffer, so they make the same calls */
	before = cuda_calls();
	OK(bi_copy(view, host, NULL, &error));
	if (!setting.is_pinned) /* pinned memory needs no staging buffer */
		cuda_fail_calls(cuda_find_call(before, "cuEventRecord", 1), count, BI__CU_ERROR_UNKNOWN);
	rc = bi_copy(view, host, NULL, &error);
	cuda_fail_calls(0, 0, BI__CU_SUCCESS);
	own_waits(library_waits() - waited); /* no reason counts them */
	return rc;
}

/*
 * `count` calls fail one after the other, for more copies than there are staging buffers. Two are the two attempts to
 * record the last use: the copy then waits for the stream. Five are also the relaxed mode and the two attempts of that
 * wait: when no staging buffer is left, a copy waits for the context.
 */
static void copies_after_failures(unsigned count)
{
	for (int round = 0; round < 20; round++) {
		struct bi_view *host = wrap(PLACE_HOST, 7, nobody), *view = wrap(PLACE_DEVICE, 1, nobody);
		uint64_t waited;

		assert_int_equal(copy_with_failures(view, host, count), setting.is_pinned ? BI_OK : BI_EDRIVER);
		finish_all();
		waited = library_waits();
		copy(view, host, NULL);
		own_waits(library_waits() - waited);
		finish_all();
		assert_int_equal(value_of(view), 7);
		bi_view_release(host);
		bi_view_release(view);
		clear_case();
	}
}

static void row_29_refused_twice(void **state)
{
	uint64_t before = calls_of("cuCtxSynchronize");

	(void)state;
	copies_after_failures(2);
	assert_int_equal(calls_of("cuCtxSynchronize"), before);
}

static void row_29_refused_five_times(void **state)
{
	uint64_t before = calls_of("cuCtxSynchronize");

	(void)state;
	copies_after_failures(5);
	assert_int_equal(calls_of("cuCtxSynchronize") > before, !setting.is_pinned);
}

/*
 * When the stream of the copy is empty, nothing uses the host memory any more. Up to two calls in a row fail: with
 * more, a wait for the host functions may have been refused too.
 */
static int large_copy_with_a_failure(struct bi_view *to, struct bi_view *from, void *host, unsigned nth, unsigned count)
{
	uint64_t waited = library_waits();
	int failed = copy_with_a_failure(to, from, nth, count);

	own_waits(library_waits() - waited); /* no reason counts them */
	if (count > 2) {
		settle();
		return failed;
	}
	cuda_enter(fixture.context);
	DID(StreamSynchronize(cuda_stream_of(home_of(fixture.context))));
	cuda_leave();
	own_waits(1);
	assert_int_equal(mprotect(host, MANY_BYTES, PROT_NONE), 0);
	settle();
	assert_int_equal(mprotect(host, MANY_BYTES, PROT_READ | PROT_WRITE), 0);
	return failed;
}

/* `count` calls fail, from each call of a large copy on. The driver works again, so a copy on another stream does. */
static void large_copies_after_failures(unsigned count)
{
	unsigned char *bytes = map_many_bytes(), *result = map_many_bytes();
	struct bi_view *from = many_bytes(fixture.context, bytes), *view = many_bytes(fixture.context, NULL);
	struct bi_view *to = many_bytes(fixture.context, result);

	memset(bytes, 3, MANY_BYTES);
	for (unsigned nth = 1; large_copy_with_a_failure(view, from, bytes, nth, count); nth++)
		;
	for (unsigned nth = 1; large_copy_with_a_failure(to, view, result, nth, count); nth++)
		;
	memset(bytes, 4, MANY_BYTES);
	copy(view, from, new_stream(BI_STREAM_IN_ORDER));
	copy(to, view, new_stream(BI_STREAM_IN_ORDER));
	finish_all();
	assert_memory_equal(result, bytes, MANY_BYTES);
	bi_view_release(from);
	bi_view_release(view);
	bi_view_release(to);
	clear_case();
	munmap(bytes, MANY_BYTES);
	munmap(result, MANY_BYTES);
}

static void row_19_failures_of_a_large_copy(void **state)
{
	(void)state;
	large_copies_after_failures(1);
}

/* The wait for the host functions of a pair is refused twice, so the call blocks until they have ended. */
static void row_19_two_failures_of_a_large_copy(void **state)
{
	(void)state;
	large_copies_after_failures(2);
}

/* The call cannot block either, so the pair is not used again. */
static void row_19_many_failures_of_a_large_copy(void **state)
{
	(void)state;
	large_copies_after_failures(5);
}

/* The driver may have enqueued a read that it refused. So the slots of refused reads are not used again. */
static void row_21_slots_of_refused_reads_are_not_used_again(void **state)
{
	enum { SLOTS = 64 };
	struct bi_view *view = allocate(), *part = slice(view, 0, 8, 1);
	uint64_t before, functions;
	unsigned char bytes[8];
	unsigned nth = 0;

	(void)state;
	fill(view, 7, NULL);
	finish_all();
	for (int i = 0; i < 2; i++) {
		before = cuda_calls();
		OK(bi_view_read(part, bytes, sizeof(bytes), &error));
		nth = cuda_find_call(before, "cuMemcpyDtoHAsync_v2", 1);
	}
	functions = calls_of("cuLaunchHostFunc");
	for (int i = 0; i < SLOTS; i++) {
		cuda_fail_call(nth, BI__CU_ERROR_UNKNOWN);
		REFUSED(BI_EDRIVER, bi_view_read(part, bytes, sizeof(bytes), &error));
		memset(bytes, 0, sizeof(bytes));
		finish_all();
		assert_int_equal(bytes[0], 0);
	}
	MORE(calls_of("cuLaunchHostFunc"), functions, 0);
	OK(bi_view_read(part, bytes, sizeof(bytes), &error));
	assert_int_equal(bytes[0], 7);
	MORE(calls_of("cuLaunchHostFunc"), functions, 1);
	expect_waits("value", SLOTS + 3);
	bi_view_release(part);
	bi_view_release(view);
}

static void *close_it(void *context)
{
	bi_context_release(context);
	return NULL;
}

/* Through a staging buffer. No kernel runs. */
static void fill_large_item(struct bi_memory *memory)
{
	static const unsigned char item[512] = { 1, 2 };
	const int64_t shape[] = { 1 };
	struct bi_layout layout;
	struct bi_dtype dtype;
	struct bi_view *view;

	OK(bi_dtype_make(BI_VOID, 1, sizeof(item), &dtype, &error));
	OK(bi_layout_init(&layout, dtype, 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	OK(bi_fill(view, item, NULL, &error));
	bi_view_release(view);
}

/* A close waits for the staging buffers. Other threads enqueue kernels, open and close contexts meanwhile. */
static void row_29_a_close_stops_no_other_context(void **state)
{
	struct bi_context *closed = fixture_open("cuda:1", &(struct bi_options)BI_OPTIONS_INIT);
	struct bi_view *from = wrap(PLACE_DEVICE, 7, nobody), *to = wrap(PLACE_DEVICE, 1, nobody);
	struct bi_view *odd = slice(from, 1, ARRAY_BYTES / 2, 2), *even = slice(to, 0, ARRAY_BYTES / 2, 2);
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *opened;
	struct bi_memory *memory;
	bi__cu_context native = (bi__cu_context)bi_context_handle(closed);
	bi__cu_stream stream;
	bi__cu_pointer bytes;
	uint32_t *word;
	uint64_t before;
	pthread_t thread;

	(void)state;
	cuda_enter(closed);
	DID(DevicePrimaryCtxRetain(&native, 1));
	DID(MemAlloc(&bytes, 1024));
	DID(StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING));
	DID(MemHostAlloc((void **)&word, sizeof(*word), BI__CU_HOST_ALLOC_DEVICEMAP));
	*word = 0;
	DID(StreamWaitValue32(stream, (bi__cu_pointer)(uintptr_t)word, 1, 0));
	cuda_leave();
	foreign.handle = bytes;
	foreign.nbytes = 1024;
	foreign.kind = BI_HANDLE_CUDA;
	OK(bi_stream_wrap(closed, (uintptr_t)stream, NULL, NULL, &foreign.stream, &error));
	OK(bi_memory_wrap(closed, &foreign, &memory, &error));
	bi_stream_release(foreign.stream);
	fill_large_item(memory);
	bi_memory_release(memory);
	before = calls_of("cuEventSynchronize");
	assert_int_equal(pthread_create(&thread, NULL, close_it, closed), 0);
	while (calls_of("cuEventSynchronize") == before)
		sched_yield();
	copy(even, odd, NULL);
	options.device = fixture.spec;
	make_early(fixture.context, 1);
	OK(bi_context_open(&options, &opened, &error));
	make_early(fixture.context, 0);
	bi_context_release(opened);
	cuda_sim()->touch(word, sizeof(*word), 1);
	atomic_store((_Atomic uint32_t *)word, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	own_waits(calls_of("cuEventSynchronize") - before);
	finish_all();
	DID(CtxPushCurrent(native));
	DID(StreamDestroy(stream));
	DID(MemFreeHost(word));
	DID(MemFree(bytes));
	cuda_leave();
	DID(DevicePrimaryCtxRelease(1));
	bi_view_release(even);
	bi_view_release(odd);
	bi_view_release(from);
	bi_view_release(to);
}

int cuda_memory_rows(void)
{
	static const struct row rows[] = {
		ROW(row_28_own_memory_is_pending_from_the_start, NEED_CUDA | NEED_GATE),
		ROW(row_28_own_memory_is_freed_behind_its_last_use, NEED_CUDA | NEED_GATE),
		ROW(row_28_pinned_memory_is_freed_when_its_work_is_done, NEED_CUDA | NEED_GATE),
		ROW(row_28_pinned_memory_is_not_lent_while_it_is_read, NEED_CUDA | NEED_GATE),
		ROW(row_28_freeing_does_not_wait_for_other_work, NEED_CUDA | NEED_GATE),
		ROW(row_29_many_pageable_bytes_do_not_wait, NEED_CUDA | NEED_GATE),
		ROW(row_29_streams_do_not_stop_each_other, NEED_CUDA | NEED_GATE),
		ROW(row_29_large_copies_do_not_stop_each_other, NEED_CUDA | NEED_GATE),
		ROW(row_29_failures_cost_no_staging_buffer, NEED_CUDA | NEED_SIM),
		ROW(row_29_refused_twice, NEED_CUDA | NEED_SIM),
		ROW(row_29_refused_five_times, NEED_CUDA | NEED_SIM),
		ROW(row_19_failures_of_a_large_copy, NEED_CUDA | NEED_SIM),
		ROW(row_19_two_failures_of_a_large_copy, NEED_CUDA | NEED_SIM),
		ROW(row_19_many_failures_of_a_large_copy, NEED_CUDA | NEED_SIM),
		ROW(row_21_slots_of_refused_reads_are_not_used_again, NEED_CUDA | NEED_SIM),
		ROW(row_29_a_close_stops_no_other_context, NEED_CUDA | NEED_SIM | NEED_GATE),
	};

	return run_rows("CUDA's memory", rows, ARRAY_LENGTH(rows));
}
