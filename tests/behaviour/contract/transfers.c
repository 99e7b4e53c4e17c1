/*
 * Copies that are too large for one piece of pinned memory (src/common/runtime/pinned_pieces.h): from and to strided
 * host memory, by two threads at once, and with calls of the driver that fail in between. What is smaller is in copy.c
 * and failures.c.
 */
#define _POSIX_C_SOURCE 200809L
#include "contract.h"
#include "driver_opencl.h"
#include "layer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 3 };

/* A matrix of bytes that is dense on the device, and turned round on the host. */
struct transfer {
	int64_t columns;
	size_t nbytes;
	unsigned char *bytes; /* of the host */
	struct bi_view *dense, *turned, *device;
};

/* Three pieces, so that one is used again; where there is less time, one. */
static int64_t many_columns(void)
{
	return is_thorough() ? (3 << 20) + 77 : 1000;
}

static struct bi_view *host_bytes(struct bi_context *context, unsigned char *bytes, int64_t columns)
{
	const int64_t shape[] = { columns, ROWS };
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout;
	struct bi_view *view = STALE(struct bi_view);

	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = (size_t)columns * ROWS;
	OK(bi_layout_init(&layout, dtype_of("uint8"), 2, shape, NULL, 0, &error));
	OK(bi_view_wrap(context, &foreign, &layout, &view, &error));
	return view;
}

static void transfer_open(struct transfer *transfer, struct bi_context *context, int64_t columns)
{
	const int64_t shape[] = { ROWS, columns };

	transfer->columns = columns;
	transfer->nbytes = (size_t)columns * ROWS;
	transfer->bytes = malloc(transfer->nbytes);
	assert_non_null(transfer->bytes);
	transfer->dense = host_bytes(context, transfer->bytes, columns);
	OK(bi_view_permute(transfer->dense, NULL, &transfer->turned, &error));
	OK(bi_view_empty(context, dtype_of("uint8"), 2, shape, &transfer->device, &error));
}

static void transfer_close(struct transfer *transfer)
{
	bi_view_release(transfer->device);
	bi_view_release(transfer->turned);
	bi_view_release(transfer->dense);
	free(transfer->bytes);
}

static unsigned char value_at(int64_t row, int64_t column)
{
	return (unsigned char)((uint64_t)(column * ROWS + row) * 2654435761u >> 13);
}

static void write_host(struct transfer *transfer)
{
	for (int64_t i = 0; i < transfer->columns; i++)
		for (int64_t row = 0; row < ROWS; row++)
			transfer->bytes[i * ROWS + row] = value_at(row, i);
}

static void assert_host(const struct transfer *transfer)
{
	for (int64_t i = 0; i < transfer->columns; i++)
		for (int64_t row = 0; row < ROWS; row++)
			if (transfer->bytes[i * ROWS + row] != value_at(row, i))
				fail_msg("row %lld, column %lld", (long long)row, (long long)i);
}

static void assert_device(const struct transfer *transfer)
{
	unsigned char *bytes = malloc(transfer->nbytes);

	assert_non_null(bytes);
	OK(bi_view_read(transfer->device, bytes, transfer->nbytes, &error));
	for (int64_t row = 0; row < ROWS; row++)
		for (int64_t i = 0; i < transfer->columns; i++)
			if (bytes[row * transfer->columns + i] != value_at(row, i))
				fail_msg("row %lld, column %lld", (long long)row, (long long)i);
	free(bytes);
}

/* There, overwritten here, and back. */
static void go_and_return(struct bi_stream *stream)
{
	struct transfer transfer;

	transfer_open(&transfer, fixture.context, many_columns());
	write_host(&transfer);
	OK(bi_copy(transfer.device, transfer.turned, stream, &error));
	check_order(bi_view_memory(transfer.device));
	OK(bi_view_synchronize(transfer.dense, &error));
	memset(transfer.bytes, 0xee, transfer.nbytes);
	assert_device(&transfer);
	OK(bi_copy(transfer.turned, transfer.device, stream, &error));
	check_order(bi_view_memory(transfer.device));
	OK(bi_fill(transfer.device, "\x11", stream, &error));
	OK(bi_view_synchronize(transfer.dense, &error));
	assert_host(&transfer);
	transfer_close(&transfer);
	fixture.cases++;
}

static void test_pieces(void **state)
{
	struct bi_stream *stream = STALE(struct bi_stream);

	(void)state;
	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	go_and_return(NULL);
	go_and_return(stream);
	bi_stream_release(stream);
}

/* Two who write the same array, and one who reads it. */
struct actor {
	struct bi_view *dst, *src;
	pthread_barrier_t *start;
	atomic_int *failures;
};

static void *act(void *data)
{
	struct actor *actor = data;

	pthread_barrier_wait(actor->start);
	for (int i = 0; i < 3; i++)
		if (bi_copy(actor->dst, actor->src, NULL, NULL))
			atomic_fetch_add(actor->failures, 1);
	return NULL;
}

static void run_actors(struct actor *actors, int count)
{
	pthread_t threads[3];
	pthread_barrier_t start;
	atomic_int failures = 0;

	assert_int_equal(pthread_barrier_init(&start, NULL, (unsigned)count), 0);
	for (int i = 0; i < count; i++) {
		actors[i].start = &start;
		actors[i].failures = &failures;
		assert_int_equal(pthread_create(&threads[i], NULL, act, &actors[i]), 0);
	}
	for (int i = 0; i < count; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&start);
	assert_int_equal(failures, 0);
}

static void assert_one_of(const unsigned char *bytes, size_t nbytes, int least)
{
	for (size_t i = 0; i < nbytes; i++)
		if (bytes[i] < least || bytes[i] > 2)
			fail_msg("byte %zu is %d", i, bytes[i]);
}

static int is_synchronous(const struct bi_context *context)
{
	return is_opencl(context) && works_in_calling_thread(driver_device(opencl_context(context)));
}

static void test_threads(void **state)
{
	struct transfer sides[3];
	struct actor actors[3];

	(void)state;
	if (is_synchronous(fixture.context))
		skip();
	for (int i = 0; i < 3; i++) {
		transfer_open(&sides[i], fixture.context, many_columns());
		memset(sides[i].bytes, i, sides[i].nbytes);
		actors[i] = (struct actor){ .dst = sides[0].device, .src = sides[i].turned };
	}
	actors[0] = (struct actor){ .dst = sides[0].turned, .src = sides[0].device };
	OK(bi_fill(sides[0].device, "\0", NULL, &error));
	run_actors(actors, 3);
	OK(bi_view_synchronize(sides[0].dense, &error));
	assert_one_of(sides[0].bytes, sides[0].nbytes, 0);
	OK(bi_view_read(sides[0].device, sides[0].bytes, sides[0].nbytes, &error));
	assert_one_of(sides[0].bytes, sides[0].nbytes, 1);
	for (int i = 0; i < 3; i++)
		transfer_close(&sides[i]);
	fixture.cases++;
}

/* Everything that the context keeps is given back. */
static int64_t live_buffers(const struct bi_layer *layer)
{
	let_go_of_retired(fixture.context);
	OK(bi_context_trim(fixture.context, 0, &error));
	return layer->live_buffers();
}

/* The driver's threads may let go of a buffer after the command that used it. */
static void expect_buffers(const struct bi_layer *layer, int64_t most)
{
	const struct timespec millisecond = { 0, 1000000 };

	for (int i = 0; i < 5000 && live_buffers(layer) > most; i++)
		nanosleep(&millisecond, NULL);
	assert_true(live_buffers(layer) <= most);
}

/* One copy with that call failing. Returns whether there was such a call. */
static int fail_once(const struct bi_layer *layer, struct transfer *transfer, const char *call, uint64_t nth, int up)
{
	struct bi_view *dst = up ? transfer->device : transfer->turned;
	struct bi_view *src = up ? transfer->turned : transfer->device;
	uint64_t before = layer->fired();
	int rc;

	OK(bi_context_trim(fixture.context, 0, &error));
	layer->arm(call, nth, -6);
	rc = bi_copy(dst, src, NULL, &error);
	layer->arm(call, 0, 0);
	OK(bi_view_synchronize(transfer->device, &error));
	OK(bi_view_synchronize(transfer->dense, &error));
	if (rc == BI_OK && up)
		assert_device(transfer);
	else if (rc == BI_OK)
		assert_host(transfer);
	/* And the next one does it. */
	OK(bi_copy(dst, src, NULL, &error));
	OK(bi_view_synchronize(transfer->dense, &error));
	assert_device(transfer);
	assert_host(transfer);
	fixture.cases++;
	return layer->fired() > before;
}

static void fail_each(const struct bi_layer *layer, struct transfer *transfer, const char *call, int up)
{
	for (uint64_t nth = 1; fail_once(layer, transfer, call, nth, up); nth++)
		continue;
}

/* What is not released because that failed is left, and a leak by right. */
static int is_tried(const struct bi_layer *layer, const char *call)
{
	return layer->count(call) && strncmp(call, "clRelease", 9) != 0;
}

/* Every call of the driver fails once, in copies of two pieces. The simulated CUDA driver has its own sweep
 * (failures.c, tests/behaviour/sweep). */
static void test_faults(void **state)
{
	struct bi_layer layer = { .count = NULL };
	struct transfer transfer;
	int64_t before;

	(void)state;
	if (!is_opencl(fixture.context) || !bi_layer_open(getenv("BI_TEST_LAYER"), &layer))
		skip();
	transfer_open(&transfer, fixture.context, many_columns() / 2);
	before = live_buffers(&layer);
	write_host(&transfer);
	layer.reset();
	OK(bi_copy(transfer.device, transfer.turned, NULL, &error));
	OK(bi_copy(transfer.turned, transfer.device, NULL, &error));
	OK(bi_view_synchronize(transfer.device, &error));
	OK(bi_view_synchronize(transfer.dense, &error));
	for (int i = 0; i < layer.entries(); i++)
		for (int up = 0; up < 2 && is_tried(&layer, layer.entry(i)); up++)
			fail_each(&layer, &transfer, layer.entry(i), up);
	expect_buffers(&layer, before);
	transfer_close(&transfer);
}

/* An array whose home stream is out of order. */
static struct bi_view *out_of_order_view(struct bi_view *owner, struct bi_stream *home)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_native native;
	struct bi_layout layout;
	struct bi_view *view;

	bi_view_native(owner, &native);
	bi_view_layout(owner, &layout);
	foreign.kind = native.kind;
	foreign.handle = native.handle;
	foreign.stream = home;
	OK(bi_view_wrap(fixture.context, &foreign, &layout, &view, &error));
	return view;
}

/*
 * A mapping that is undone because a later call failed has ended before. An out-of-order queue could end the mapping
 * before it begins.
 */
static void test_undone_mapping(void **state)
{
	static const int64_t shape[] = { 64 };
	struct bi_layer layer = { .count = NULL };
	struct bi_stream *home;
	struct bi_view *owner, *view;
	struct bi_map *map = NULL;
	int undone = 0;

	(void)state;
	if (!is_opencl(fixture.context) || !bi_layer_open(getenv("BI_TEST_LAYER"), &layer) ||
	    !(bi_context_device(fixture.context)->capabilities & BI_CAP_OUT_OF_ORDER))
		skip();
	OK(bi_stream_create(fixture.context, BI_STREAM_OUT_OF_ORDER, &home, &error));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &owner, &error));
	view = out_of_order_view(owner, home);
	for (uint64_t nth = 1; !map; nth++) {
		uint64_t maps, waits;

		layer.reset();
		maps = layer.count("clEnqueueMapBuffer");
		waits = layer.count("clWaitForEvents");
		layer.arm("clEnqueueBarrierWithWaitList", nth, -6);
		bi_view_map(view, BI_MAP_READ, &map, NULL);
		layer.arm("clEnqueueBarrierWithWaitList", 0, 0);
		if (map || layer.count("clEnqueueMapBuffer") == maps)
			continue;
		assert_true(layer.count("clWaitForEvents") > waits);
		undone++;
	}
	assert_true(undone > 0);
	OK(bi_unmap(map, &error));
	OK(bi_view_synchronize(view, &error));
	bi_view_release(view);
	bi_view_release(owner);
	bi_stream_release(home);
}

int transfers_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_pieces),
		TEST(test_threads),
		TEST(test_faults),
		TEST(test_undone_mapping),
	};

	return cmocka_run_group_tests_name("transfers", tests, NULL, NULL);
}
