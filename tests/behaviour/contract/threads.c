/* Objects shared by threads. Worth most under ThreadSanitizer. */
#define _POSIX_C_SOURCE 200809L
#include "buffer_interface/dlpack.h"
#include "buffer_interface/binding.h"
#include "contract.h"
#include "driver_opencl.h"
#include "support/use.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4

/* What all threads of a test see. Threads count what fails; the test's own thread looks at the count. */
struct scene {
	struct bi_context *context;
	struct bi_memory *memory;
	struct bi_view *view, *other;
	struct bi_dtype dtype;
	int rounds;
	atomic_int failures;
	pthread_barrier_t start;
};

struct actor {
	struct scene *scene;
	int number;
	void (*act)(struct scene *scene, int number);
};

static void *run_actor(void *data)
{
	struct actor *actor = data;

	pthread_barrier_wait(&actor->scene->start);
	actor->act(actor->scene, actor->number);
	return NULL;
}

/* Runs `act` on `count` threads at once. */
static void play(struct scene *scene, int count, void (*act)(struct scene *scene, int number))
{
	pthread_t threads[THREADS];
	struct actor actors[THREADS];

	atomic_init(&scene->failures, 0);
	assert_int_equal(pthread_barrier_init(&scene->start, NULL, (unsigned)count), 0);
	for (int i = 0; i < count; i++) {
		actors[i] = (struct actor){ scene, i, act };
		assert_int_equal(pthread_create(&threads[i], NULL, run_actor, &actors[i]), 0);
	}
	for (int i = 0; i < count; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	pthread_barrier_destroy(&scene->start);
	assert_int_equal(scene->failures, 0);
}

static void expect(struct scene *scene, int condition)
{
	if (!condition)
		atomic_fetch_add(&scene->failures, 1);
}

static void skip_where_threads_deadlock(void)
{
	if (is_opencl(fixture.context) && works_in_calling_thread(driver_device(opencl_context(fixture.context))))
		skip();
}

static void retain_and_release(struct scene *scene, int number)
{
	(void)number;
	for (int i = 0; i < scene->rounds; i++) {
		bi_memory_retain(scene->memory);
		bi_view_retain(scene->view);
		bi_context_retain(scene->context);
		bi_view_release(scene->view);
		bi_context_release(scene->context);
		bi_memory_release(scene->memory);
	}
}

static struct bi_memory *wrap(struct bi_context *context, unsigned char *bytes, size_t nbytes, atomic_int *released)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = STALE(struct bi_memory);

	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = nbytes;
	foreign.release = count_release;
	foreign.release_data = released;
	OK(bi_memory_wrap(context, &foreign, &memory, &error));
	return memory;
}

static void test_counts(void **state)
{
	unsigned char bytes[64] = { 0 };
	atomic_int released = 0;
	struct scene scene = { .context = fixture.context, .rounds = effort(20000) };

	(void)state;
	scene.memory = wrap(scene.context, bytes, sizeof(bytes), &released);
	scene.view = bytes_of(scene.memory);
	play(&scene, 2, retain_and_release);
	assert_int_equal(released, 0);
	bi_memory_release(scene.memory);
	assert_int_equal(released, 0);
	bi_view_release(scene.view);
	assert_int_equal(released, 1);
	fixture.cases++;
}

/* One thread has the last reference to the memory, the other to the view; who is last is anybody's guess. */
static void let_go(struct scene *scene, int number)
{
	if (number)
		bi_view_release(scene->view);
	else
		bi_memory_release(scene->memory);
}

static void test_last_release(void **state)
{
	(void)state;
	for (int i = 0; i < effort(200); i++) {
		unsigned char bytes[64] = { 0 };
		atomic_int released = 0;
		struct scene scene = { .context = fixture.context };

		scene.memory = wrap(scene.context, bytes, sizeof(bytes), &released);
		scene.view = bytes_of(scene.memory);
		OK(bi_fill(scene.view, "x", NULL, &error));
		play(&scene, 2, let_go);
		assert_int_equal(released, 1);
		fixture.cases++;
	}
}

/* Views of one view, and of those, which come and go at the same time. */
static void take_parts(struct scene *scene, int number)
{
	const struct bi_index part = { BI_INDEX_SLICE, number, number + 8, 1 + number };
	const struct bi_index element = { BI_INDEX_INTEGER, 1, 0, 0 };
	int64_t extent = (8 + number) / (1 + number);

	for (int i = 0; i < scene->rounds; i++) {
		struct bi_view *outer = NULL, *inner = NULL;
		struct bi_exchange exchange = BI_EXCHANGE_INIT;
		struct bi_layout layout;

		expect(scene, bi_view_index(scene->view, &part, 1, &outer, NULL) == BI_OK);
		expect(scene, bi_view_index(outer, &element, 1, &inner, NULL) == BI_OK);
		expect(scene, bi_view_export(i % 2 ? outer : scene->view, BI_ACQUIRE_BORROW, &exchange, NULL) == BI_OK);
		expect(scene, exchange.shape[0] == (i % 2 ? extent : 16));
		expect(scene, exchange.strides[0] == (i % 2 ? 4 * (1 + number) : 4));
		bi_view_release(i % 3 ? outer : inner);
		bi_view_layout(i % 3 ? inner : outer, &layout);
		expect(scene, layout.ndim == (i % 3 ? 0 : 1));
		expect(scene, layout.offset == (i % 3 ? 4 * (2 * number + 1) : 4 * number));
		bi_view_release(i % 3 ? inner : outer);
	}
}

static void test_views(void **state)
{
	static const int64_t shape[] = { 16 };
	struct scene scene = { .context = fixture.context, .rounds = effort(5000) };
	unsigned char bytes[64] = { 0 };
	struct bi_layout layout;

	(void)state;
	OK(bi_layout_init(&layout, dtype_of("int32"), 1, shape, NULL, 0, &error));
	for (int i = 0; i < effort(4); i++) {
		atomic_int released = 0;

		scene.memory = wrap(scene.context, bytes, sizeof(bytes), &released);
		OK(bi_view_create(scene.memory, &layout, 0, &scene.view, &error));
		play(&scene, THREADS, take_parts);
		bi_memory_release(scene.memory);
		assert_int_equal(released, 0);
		bi_view_release(scene.view);
		assert_int_equal(released, 1);
		fixture.cases += THREADS * (unsigned long)scene.rounds;
	}
}

/* Each with views of its own in shared memories. */
static void copy_own_rows(struct scene *scene, int number)
{
	const struct bi_index row = { BI_INDEX_INTEGER, number, 0, 0 };
	struct bi_view *dst = NULL, *src = NULL;
	struct bi_stream *stream = NULL;
	unsigned char element[4];

	expect(scene, bi_view_index(scene->view, &row, 1, &dst, NULL) == BI_OK);
	expect(scene, bi_view_index(scene->other, &row, 1, &src, NULL) == BI_OK);
	expect(scene, bi_stream_create(scene->context, 0, &stream, NULL) == BI_OK);
	for (int i = 0; i < scene->rounds && scene->failures == 0; i++) {
		memset(element, i + number, sizeof(element));
		expect(scene, bi_fill(src, element, i % 2 ? stream : NULL, NULL) == BI_OK);
		expect(scene, bi_copy(dst, src, i % 3 ? stream : NULL, NULL) == BI_OK);
	}
	bi_stream_release(stream);
	bi_view_release(dst);
	bi_view_release(src);
}

static void test_copies(void **state)
{
	static const int64_t shape[] = { THREADS, 50 };
	struct scene scene = { .context = fixture.context, .rounds = effort(60) };
	unsigned char bytes[THREADS][200];

	(void)state;
	skip_where_threads_deadlock();
	OK(bi_view_empty(scene.context, dtype_of("int32"), 2, shape, &scene.view, &error));
	OK(bi_view_empty(scene.context, dtype_of("int32"), 2, shape, &scene.other, &error));
	play(&scene, THREADS, copy_own_rows);
	OK(bi_view_read(scene.view, bytes, sizeof(bytes), &error));
	for (int i = 0; i < THREADS; i++)
		for (size_t j = 0; j < sizeof(bytes[0]); j++)
			assert_int_equal(bytes[i][j], scene.rounds - 1 + i);
	bi_view_release(scene.view);
	bi_view_release(scene.other);
	fixture.cases += THREADS * (unsigned long)scene.rounds;
}

/* Each with arrays of its own. On a GPU all of them launch the same kernel, with other arguments. */
static void transpose_own_array(struct scene *scene, int number)
{
	static const int64_t shape[] = { 8, 8 };
	static const int axes[] = { 1, 0 };
	struct bi_view *dst = NULL, *src = NULL, *transposed = NULL;

	expect(scene, bi_view_empty(scene->context, scene->dtype, 2, shape, &dst, NULL) == BI_OK);
	expect(scene, bi_view_empty(scene->context, scene->dtype, 2, shape, &src, NULL) == BI_OK);
	expect(scene, bi_view_permute(src, axes, &transposed, NULL) == BI_OK);
	for (int i = 0; i < scene->rounds && scene->failures == 0; i++) {
		int32_t values[64], result[64];
		int same = 0;

		for (int j = 0; j < 64; j++)
			values[j] = 64 * (i * THREADS + number) + j;
		expect(scene, bi_view_write(src, values, sizeof(values), NULL) == BI_OK);
		expect(scene, bi_copy(dst, transposed, NULL, NULL) == BI_OK);
		expect(scene, bi_view_read(dst, result, sizeof(result), NULL) == BI_OK);
		for (int j = 0; j < 64; j++)
			same += result[j] == values[j % 8 * 8 + j / 8];
		expect(scene, same == 64);
	}
	bi_view_release(transposed);
	bi_view_release(dst);
	bi_view_release(src);
}

static void test_strided_copies(void **state)
{
	struct scene scene = { .context = fixture.context, .rounds = effort(100), .dtype = dtype_of("int32") };

	(void)state;
	skip_where_threads_deadlock();
	play(&scene, THREADS, transpose_own_array);
	fixture.cases += THREADS * (unsigned long)scene.rounds;
}

/* Copies in both directions between two memories take their locks in one order. */
static void copy_across(struct scene *scene, int number)
{
	struct bi_view *views[] = { scene->view, scene->other };

	for (int i = 0; i < scene->rounds; i++)
		expect(scene, bi_copy(views[number % 2], views[!(number % 2)], NULL, NULL) == BI_OK);
}

static void test_opposite_copies(void **state)
{
	static const int64_t shape[] = { 64 };
	struct scene scene = { .context = fixture.context, .rounds = effort(60) };
	unsigned char bytes[64];

	(void)state;
	skip_where_threads_deadlock();
	OK(bi_view_empty(scene.context, dtype_of("uint8"), 1, shape, &scene.view, &error));
	OK(bi_view_empty(scene.context, dtype_of("uint8"), 1, shape, &scene.other, &error));
	OK(bi_fill(scene.view, "z", NULL, &error));
	OK(bi_fill(scene.other, "z", NULL, &error));
	play(&scene, THREADS, copy_across);
	OK(bi_view_read(scene.view, bytes, sizeof(bytes), &error));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 'z');
	bi_view_release(scene.view);
	bi_view_release(scene.other);
	fixture.cases += THREADS * (unsigned long)scene.rounds;
}

/* Memory wanders between threads through the pool. */
static void allocate_and_check(struct scene *scene, int number)
{
	const int64_t shape[] = { 500 + 30 * number };
	unsigned char bytes[700], letter = (unsigned char)('a' + number);

	for (int i = 0; i < scene->rounds; i++) {
		struct bi_view *view = NULL;
		size_t nbytes = (size_t)shape[0], same = 0;

		expect(scene, bi_view_empty(scene->context, scene->dtype, 1, shape, &view, NULL) == BI_OK);
		expect(scene, bi_fill(view, &letter, NULL, NULL) == BI_OK);
		expect(scene, bi_view_read(view, bytes, nbytes, NULL) == BI_OK);
		bi_view_release(view);
		while (same < nbytes && bytes[same] == letter)
			same++;
		expect(scene, same == nbytes);
	}
}

static void test_pool(void **state)
{
	struct scene scene = { .context = fixture.context, .rounds = effort(60), .dtype = dtype_of("uint8") };

	(void)state;
	skip_where_threads_deadlock();
	play(&scene, THREADS, allocate_and_check);
	fixture.cases += THREADS * (unsigned long)scene.rounds;
}

static void open_and_close(struct scene *scene, int number)
{
	struct bi_options options = BI_OPTIONS_INIT;

	(void)number;
	options.device = fixture.spec;
	for (int i = 0; i < scene->rounds; i++) {
		static const int64_t shape[] = { 10 };
		struct bi_context *context = NULL;
		struct bi_view *view = NULL;
		unsigned char bytes[10] = { 0 };
		int count = 0;

		expect(scene, bi_context_open(&options, &context, NULL) == BI_OK);
		expect(scene, bi_view_empty(context, scene->dtype, 1, shape, &view, NULL) == BI_OK);
		bi_context_release(context);
		expect(scene, bi_fill(view, "t", NULL, NULL) == BI_OK);
		expect(scene, bi_view_read(view, bytes, sizeof(bytes), NULL) == BI_OK);
		expect(scene, memcmp(bytes, "tttttttttt", 10) == 0);
		bi_view_release(view);
		expect(scene, bi_devices(NULL, 0, &count, NULL) == BI_OK && count > 0);
	}
}

static void test_contexts(void **state)
{
	struct scene scene = { .rounds = effort(4), .dtype = dtype_of("uint8") };

	(void)state;
	skip_for_one_thread();
	play(&scene, THREADS, open_and_close);
	fixture.cases += THREADS * (unsigned long)scene.rounds;
}

/* One thread reads reports and trims while others work and map. */
static void work_or_watch(struct scene *scene, int number)
{
	for (int i = 0; i < scene->rounds; i++) {
		char *text = NULL;
		struct bi_map *map = NULL;

		if (number == 0) {
			expect(scene, bi_context_report(scene->context, &text, NULL) == BI_OK);
			bi_report_free(text);
			expect(scene, bi_context_trim(scene->context, 0, NULL) == BI_OK);
		} else if (number == 1) {
			bi_context_profile_pause(scene->context);
			bi_context_profile_resume(scene->context);
			expect(scene, bi_view_map(scene->other, BI_MAP_READ, &map, NULL) == BI_OK);
			expect(scene, bi_unmap(map, NULL) == BI_OK);
		} else {
			expect(scene, bi_copy(scene->view, scene->other, NULL, NULL) == BI_OK);
		}
	}
}

static void test_report_meanwhile(void **state)
{
	static const int64_t shape[] = { 64 };
	struct bi_options options = BI_OPTIONS_INIT;
	struct scene scene = { .rounds = effort(40) };

	(void)state;
	skip_where_threads_deadlock();
	options.profile = 1;
	scene.context = open_with(fixture.spec, options);
	OK(bi_view_empty(scene.context, dtype_of("uint8"), 1, shape, &scene.view, &error));
	OK(bi_view_empty(scene.context, dtype_of("uint8"), 1, shape, &scene.other, &error));
	OK(bi_fill(scene.other, "w", NULL, &error));
	play(&scene, THREADS, work_or_watch);
	bi_view_release(scene.view);
	bi_view_release(scene.other);
	bi_context_release(scene.context);
	fixture.cases += THREADS * (unsigned long)scene.rounds;
}

/* What one thread says of a view while others use it and move its home is true of some moment. */
static void describe_or_move(struct scene *scene, int number)
{
	for (int i = 0; i < scene->rounds; i++) {
		struct bi_exchange exchange = BI_EXCHANGE_INIT;
		struct bi_dl_tensor tensor;

		if (number == 0) {
			expect(scene, bi_fill(scene->view, "d", NULL, NULL) == BI_OK);
		} else if (number == 1) {
			expect(scene, bi_view_export(scene->view, BI_ACQUIRE_BORROW, &exchange, NULL) == BI_OK);
			expect(scene, exchange.shape[0] == 64);
		} else if (number == 2) {
			expect(scene, bi_view_switch_to_context_stream(scene->view, NULL) == BI_OK);
			expect(scene, bi_view_synchronize(scene->view, NULL) == BI_OK);
		} else {
			expect(scene, begin_use(scene->view, bi_context_stream(scene->context), NULL) == BI_OK);
			expect(scene, bi_dlpack_describe(scene->view, &tensor, NULL) == BI_OK);
		}
	}
}

/* Memory of the library as somebody else's, who names a stream. */
static struct bi_view *named_again(const struct bi_view *view, struct bi_stream *stream)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;
	struct bi_native native;
	struct bi_view *again;

	bi_view_native(view, &native);
	foreign.kind = native.kind;
	foreign.handle = native.handle;
	foreign.nbytes = native.nbytes;
	foreign.stream = stream;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	again = bytes_of(memory);
	bi_memory_release(memory);
	return again;
}

static void test_description_meanwhile(void **state)
{
	static const int64_t shape[] = { 64 };
	struct scene scene = { .context = fixture.context, .rounds = effort(20) };
	struct bi_stream *stream;
	struct bi_view *view;

	(void)state;
	skip_where_threads_deadlock();
	OK(bi_stream_create(scene.context, BI_STREAM_IN_ORDER, &stream, &error));
	for (int i = 0; i < effort(20); i++) {
		OK(bi_view_empty(scene.context, dtype_of("uint8"), 1, shape, &view, &error));
		OK(bi_view_synchronize(view, &error));
		scene.view = named_again(view, stream);
		play(&scene, THREADS, describe_or_move);
		OK(bi_view_synchronize(scene.view, &error));
		bi_view_release(scene.view);
		bi_view_release(view);
	}
	bi_stream_release(stream);
	fixture.cases += THREADS * (unsigned long)scene.rounds;
}

/* While one thread holds the shared context, all get this one. Otherwise it opens and closes all the time. */
static void share_context(struct scene *scene, int number)
{
	const char *spec = bi_context_device(fixture.context)->spec;
	struct bi_context *context;

	(void)number;
	for (int i = 0; i < scene->rounds; i++) {
		expect(scene, bi_context_shared(spec, &context, NULL) == BI_OK);
		expect(scene, !scene->context || context == scene->context);
		bi_context_release(context);
	}
}

static void test_shared_contexts(void **state)
{
	struct scene scene = { .context = NULL, .rounds = effort(20) };

	(void)state;
	skip_for_one_thread();
	play(&scene, THREADS, share_context);
	OK(bi_context_shared(bi_context_device(fixture.context)->spec, &scene.context, &error));
	play(&scene, THREADS, share_context);
	bi_context_release(scene.context);
	fixture.cases += 2 * THREADS * (unsigned long)scene.rounds;
}

int threads_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_counts),
		TEST(test_last_release),
		TEST(test_views),
		TEST(test_copies),
		TEST(test_strided_copies),
		TEST(test_opposite_copies),
		TEST(test_pool),
		TEST(test_contexts),
		TEST(test_shared_contexts),
		TEST(test_report_meanwhile),
		TEST(test_description_meanwhile),
	};

	return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
