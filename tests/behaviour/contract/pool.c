/* Free memory that is kept, and the debug option. What the pool holds is read from the report. */
#include "driver.h"
#include "contract.h"
#include "json.h"

#include <stdio.h>

static double pool_state(struct bi_context *context, const char *member)
{
	char path[32], *text = NULL;
	const char *value;
	double number;

	OK(bi_context_report(context, &text, &error));
	snprintf(path, sizeof(path), "pool.%s", member);
	value = json_find(text, path);
	assert_non_null(value);
	number = json_number(value);
	bi_report_free(text);
	return number;
}

static struct bi_memory *new_memory(struct bi_context *context, size_t nbytes)
{
	struct bi_memory *memory = STALE(struct bi_memory);

	OK(bi_memory_create(context, nbytes, BI_MEMORY_DEVICE, &memory, &error));
	return memory;
}

static struct bi_context *with_limit(size_t limit)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.pool_limit = limit;
	return open_with(fixture.spec, options);
}

static void test_recycling(void **state)
{
	struct bi_context *context = with_limit(0);
	int pooled = is_device(context);

	(void)state;
	bi_memory_release(new_memory(context, 5000));
	assert_int_equal(pool_state(context, "bytes") >= 5000, pooled);
	bi_memory_release(new_memory(context, 5000));
	assert_true(pool_state(context, "hits") == pooled);
	bi_memory_release(new_memory(context, 0));
	OK(bi_context_trim(context, 0, &error));
	assert_true(pool_state(context, "bytes") == 0);
	bi_context_release(context);
	fixture.cases += 3;
}

/* What the last owner still does to the memory comes before whatever the next one does. */
static void test_pending_work(void **state)
{
	static const int64_t shape[] = { 20000 };
	static unsigned char bytes[20000];
	struct bi_context *context = with_limit(0);

	(void)state;
	for (int i = 0; i < effort(40); i++) {
		struct bi_view *first, *second;
		struct bi_stream *stream;

		OK(bi_stream_create(context, 0, &stream, &error));
		OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &first, &error));
		OK(bi_fill(first, "a", stream, &error));
		bi_view_release(first);
		bi_stream_release(stream);
		OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &second, &error));
		OK(bi_fill(second, "b", NULL, &error));
		OK(bi_view_read(second, bytes, sizeof(bytes), &error));
		bi_view_release(second);
		for (size_t j = 0; j < sizeof(bytes); j++)
			assert_int_equal(bytes[j], 'b');
		fixture.cases++;
	}
	bi_context_release(context);
}

static void test_limit(void **state)
{
	struct bi_context *context = with_limit(100000);
	struct bi_memory *memories[10];

	(void)state;
	for (size_t i = 0; i < 10; i++)
		memories[i] = new_memory(context, 30000);
	for (size_t i = 0; i < 10; i++) {
		bi_memory_release(memories[i]);
		assert_true(pool_state(context, "bytes") <= 100000);
	}
	assert_int_equal(pool_state(context, "bytes") >= 60000, is_device(context));
	OK(bi_context_trim(context, 50000, &error));
	assert_true(pool_state(context, "bytes") <= 50000);
	assert_int_equal(pool_state(context, "bytes") >= 30000, is_device(context));
	bi_memory_release(new_memory(context, 200000));
	assert_true(pool_state(context, "bytes") <= 100000);
	REFUSED(BI_EINVAL, bi_context_trim(NULL, 0, &error));
	bi_context_release(context);
	fixture.cases += 12;
}

/* Memory that is smaller than the smallest class, or has no size of a class, is not taken by a pool of its size. */
static void test_limit_below_a_class(void **state)
{
	static const size_t limits[] = { 1, 50, 255, 256, 257, 1000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
		struct bi_context *context = with_limit(limits[i]);

		for (int round = 0; round < 2; round++) {
			bi_memory_release(new_memory(context, 1));
			bi_memory_release(new_memory(context, limits[i]));
			assert_int_equal(pool_state(context, "bytes"), limits[i] < 256 ? 0 : is_device(context) * 256);
		}
		bi_context_release(context);
		fixture.cases++;
	}
}

static void test_nothing_kept(void **state)
{
	struct bi_context *context = with_limit(BI_POOL_NONE);

	(void)state;
	for (int i = 0; i < 4; i++) {
		bi_memory_release(new_memory(context, 4096));
		assert_true(pool_state(context, "bytes") == 0);
	}
	assert_true(pool_state(context, "hits") == 0);
	bi_context_release(context);
	fixture.cases += 4;
}

/* Memory of two kinds but one size, taken out in another order than it came back, and never twice. */
static void test_kinds_of_one_size(void **state)
{
	static const enum bi_memory_kind kinds[] = { BI_MEMORY_DEVICE, BI_MEMORY_PINNED, BI_MEMORY_DEVICE };
	struct bi_context *context = with_limit(0);
	struct bi_memory *memories[3], *again[4];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		OK(bi_memory_create(context, 1000, kinds[i], &memories[i], &error));
	for (size_t i = 0; i < 3; i++)
		bi_memory_release(memories[i]);
	OK(bi_memory_create(context, 1000, BI_MEMORY_PINNED, &again[0], &error));
	for (size_t i = 1; i < 4; i++)
		again[i] = new_memory(context, 1000);
	assert_true(pool_state(context, "hits") == (is_device(context) ? 3 : 0));
	assert_true(pool_state(context, "bytes") == 0);
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < i; j++)
			assert_ptr_not_equal(again[i], again[j]);
	for (size_t i = 0; i < 4; i++)
		bi_memory_release(again[i]);
	bi_context_release(context);
	fixture.cases++;
}

static struct bi_native native_of(struct bi_memory *memory)
{
	struct bi_view *view = bytes_of(memory);
	struct bi_native native;

	bi_view_native(view, &native);
	bi_view_release(view);
	return native;
}

static void test_shown_memory(void **state)
{
	struct bi_context *context = with_limit(0);
	struct bi_memory *memory = new_memory(context, 4096);

	(void)state;
	assert_true(native_of(memory).handle != 0);
	bi_memory_release(memory);
	assert_true(pool_state(context, "bytes") == 0);
	bi_context_release(context);
	fixture.cases++;
}

/* Large memory of the host is kept as well, where it is the host's own. What device work still uses is not. */
static void test_large_host_memory(void **state)
{
	struct bi_context *context = with_limit(0);
	const int pooled = !is_device(context);

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bi_memory *memory = STALE(struct bi_memory);

		OK(bi_memory_create(context, (size_t)5 << 20, BI_MEMORY_HOST, &memory, &error));
		assert_int_equal(bi_memory_nbytes(memory), (size_t)5 << 20);
		bi_memory_release(memory);
		assert_int_equal(pool_state(context, "bytes") >= (size_t)5 << 20, pooled);
		assert_true(pool_state(context, "hits") == (pooled ? i : 0));
	}
	OK(bi_context_trim(context, 0, &error));
	assert_true(pool_state(context, "bytes") == 0);
	bi_context_release(context);
	fixture.cases += 3;
}

/* An array exported through the exchange structure has been shown as well. */
static void test_exported_memory(void **state)
{
	struct bi_context *context = with_limit(0);
	struct bi_memory *memory = new_memory(context, 4096);
	struct bi_view *view = bytes_of(memory);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	OK(bi_view_export(view, 0, &exchange, &error));
	bi_view_release(view);
	bi_memory_release(memory);
	assert_true(exchange.handle != 0);
	exchange.release(&exchange);
	assert_true(pool_state(context, "bytes") == 0);
	bi_context_release(context);
	fixture.cases++;
}

/* Recycled memory is as large as it is said to be, whatever size came before. */
static void test_sizes(void **state)
{
	(void)state;
	for (int i = 0; i < effort(100); i++) {
		struct oracle first, second;
		size_t nbytes = (size_t)test_between(&fixture.random, 1, 3000);

		oracle_open(&first, fixture.context, PLACE_DEVICE, nbytes);
		oracle_close(&first);
		oracle_open(&second, fixture.context, PLACE_DEVICE,
			    nbytes + (size_t)test_between(&fixture.random, 0, 64));
		oracle_check(&second, "recycled memory");
		oracle_close(&second);
		fixture.cases++;
	}
}

/* Where handles are addresses they are those of the element. */
static size_t offset_in_allocation(const struct bi_context *context, const struct bi_native *native)
{
	if (native->kind != BI_HANDLE_CUDA)
		return native->offset;
	assert_int_equal(native->offset, 0);
	return outside_cuda.origin(bi_context_handle(context), native->handle);
}

/* Every allocation starts 64 bytes in, on a context without the option at 0. */
static void test_debug_offset(void **state)
{
	static const enum bi_memory_kind kinds[] = { BI_MEMORY_DEVICE, BI_MEMORY_PINNED, BI_MEMORY_HOST };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	(void)state;
	options.debug = 1;
	context = open_with(fixture.spec, options);
	for (size_t i = 0; i < 3; i++) {
		struct bi_memory *debugged, *plain;
		struct bi_native native;

		OK(bi_memory_create(context, 100, kinds[i], &debugged, &error));
		OK(bi_memory_create(fixture.context, 100, kinds[i], &plain, &error));
		native = native_of(debugged);
		assert_int_equal(offset_in_allocation(context, &native), 64);
		assert_true(native.nbytes >= native.offset + 100);
		native = native_of(plain);
		assert_int_equal(offset_in_allocation(fixture.context, &native), 0);
		assert_true(native.nbytes >= 100);
		assert_int_equal(bi_memory_nbytes(debugged), 100);
		bi_memory_release(debugged);
		bi_memory_release(plain);
		fixture.cases++;
	}
	bi_context_release(context);
}

int pool_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_recycling),           TEST(test_pending_work),    TEST(test_limit),
		TEST(test_limit_below_a_class), TEST(test_nothing_kept),    TEST(test_kinds_of_one_size),
		TEST(test_shown_memory),        TEST(test_exported_memory), TEST(test_sizes),
		TEST(test_large_host_memory),   TEST(test_debug_offset),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
