/* Rows 19 and 38: uses of several arrays are one step, also if the driver fails in it. */
#include "buffer_interface/binding.h"
#include "uses.h"

#include "raw_driver.h"
#include "common/runtime/object.h"
#include "support/use.h"

#define MOST_VIEWS 33 /* one more than a step has */

static const char *const functions[] = { "clEnqueueMarkerWithWaitList", "clEnqueueBarrierWithWaitList", "clFlush" };

/* Functions that are failed by name. CUDA's calls are failed by number. */
static size_t function_count(void)
{
	return is_cuda(fixture.context) ? 1 : ARRAY_LENGTH(functions);
}

/* Private arrays with work on the home stream alone, exported ones, and private ones that another stream writes. */
struct several {
	size_t count;
	struct bi_view *views[MOST_VIEWS], *copies[3];
	struct bi_use uses[MOST_VIEWS];
	struct bi_stream *stream, *aside;
};

static struct bi_view *example(const struct several *several, int i)
{
	return several->views[(size_t)i < several->count ? several->count - 1 - (size_t)i : 0];
}

static void make_several(struct several *several, size_t count, struct bi_stream *stream)
{
	several->count = count;
	several->stream = stream;
	several->aside = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
	for (size_t i = 0; i < count; i++) {
		several->views[i] = allocate();
		several->uses[i] = (struct bi_use){ several->views[i], BI_ACCESS_READ_WRITE };
		fill(several->views[i], 5, NULL);
		if (i % 3 == 1)
			handle_of(several->views[i]);
	}
	for (int i = 0; i < 3; i++)
		several->copies[i] = allocate();
	finish_all();
}

/* Later owners of the memory, which write it immediately. */
static void release_several(struct several *several)
{
	struct bi_stream *other = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);

	for (size_t i = 0; i < several->count; i++)
		bi_view_release(several->views[i]);
	for (size_t i = 0; i < several->count; i++) {
		several->views[i] = allocate();
		fill(several->views[i], 3, i % 2 ? NULL : other);
	}
	for (size_t i = 0; i < several->count; i++)
		bi_view_release(several->views[i]);
}

static void work_of_the_test(const struct several *several)
{
	borrow_handles(1);
	for (int i = 0; i < 3; i++)
		raw_write(several->stream, example(several, i), 9);
	borrow_handles(0);
}

struct failing {
	size_t count;
	int in_end; /* else in the beginning */
	const char *function;
	unsigned nth;
};

/* Returns the status of the call in which a call of the driver fails. */
static int use_and_fail(const struct failing *failing, struct several *several, struct gate **gate)
{
	int rc;

	arm_any(failing->function, failing->in_end ? 0 : failing->nth);
	rc = bi_use_begin(several->stream, several->uses, several->count, &error);
	arm_any(failing->function, 0);
	assert_true(rc == BI_OK || error.status == rc);
	if (rc)
		return rc;
	/* The simulated driver reports work that is not ordered, whenever it runs; there a call may wait. */
	if (!is_cuda(fixture.context))
		*gate = close_gate(several->stream);
	work_of_the_test(several);
	arm_any(failing->function, failing->in_end ? failing->nth : 0);
	rc = bi_use_end(several->stream, several->uses, several->count, &error);
	arm_any(failing->function, 0);
	return rc;
}

static void check_copies(struct several *several, int value)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(value_of(several->copies[i]), value);
		bi_view_release(several->copies[i]);
	}
}

/* Whatever failed, later work comes after the work so far. Returns 1 if a call of the driver failed. */
static int fail_one_call(const struct failing *failing, struct bi_stream *stream)
{
	struct gate *aside = NULL, *gate = NULL;
	struct wait_count before;
	struct several several;
	uint64_t failed = failures();
	int rc;

	make_several(&several, failing->count, stream);
	before = count_waits(fixture.context);
	if (!is_cuda(fixture.context))
		aside = close_gate(several.aside);
	for (size_t i = 2; i < several.count; i += 3)
		fill(several.views[i], 6, several.aside);
	if (several.count < 3)
		fill(several.views[0], 6, several.aside);
	rc = use_and_fail(failing, &several, &gate);
	failed = failures() - failed;
	for (int i = 0; i < 3; i++)
		OK(bi_copy(several.copies[i], example(&several, i), i ? NULL : several.aside, &error));
	release_several(&several);
	expect_waits_since(fixture.context, before);
	settle();
	if (aside)
		open_gate(aside);
	if (gate)
		open_gate(gate);
	finish_all();
	if (failing->in_end || !rc)
		check_copies(&several, 9);
	else
		for (int i = 0; i < 3; i++)
			bi_view_release(several.copies[i]);
	clear_case();
	return failed != 0;
}

static unsigned fail_each_call(size_t count, int in_end, struct bi_stream *(*make)(void))
{
	unsigned failed = 0;

	for (size_t i = 0; i < function_count(); i++) {
		struct failing failing = { count, in_end, functions[i], 1 };

		for (; fail_one_call(&failing, make()); failing.nth++)
			failed++;
	}
	return failed;
}

static struct bi_stream *in_order(void)
{
	return new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
}

static struct bi_stream *out_of_order(void)
{
	return new_stream_in(fixture.context, BI_STREAM_OUT_OF_ORDER);
}

static struct bi_stream *per_thread(void)
{
	return wrap_stream(fixture.context, 2);
}

static void row_19_every_call_of_a_use_fails_once(void **state)
{
	static const size_t counts[] = { 1, 3, MOST_VIEWS };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++)
		for (int in_end = 0; in_end < 2; in_end++)
			assert_true(fail_each_call(counts[i], in_end, in_order) > 0);
}

static void row_19_every_call_of_a_use_on_other_streams_fails_once(void **state)
{
	struct bi_stream *(*make)(void) = is_cuda(fixture.context) ? per_thread : out_of_order;

	(void)state;
	if (!is_cuda(fixture.context) && stream_kinds() < 2)
		return;
	for (int in_end = 0; in_end < 2; in_end++)
		assert_true(fail_each_call(3, in_end, make) > 1);
}

/* Two arrays, in both orders of their addresses. The stream of the first use may belong to another context. */
struct two {
	int swap, is_exported;
	enum failing_step { END_ALONE, FAIL_BEGIN, FAIL_END, STEPS } step; /* the second call that fails is in this */
	unsigned first, second; /* calls that fail */
};

static void make_two(const struct two *two, struct bi_view *views[2])
{
	int swap = two->swap;

	for (int i = 0; i < 2; i++)
		views[i] = allocate();
	if ((bi_view_memory(views[0]) > bi_view_memory(views[1])) != swap) {
		struct bi_view *first = views[0];

		views[0] = views[1];
		views[1] = first;
	}
	if (two->is_exported)
		handle_of(views[1]);
	for (int i = 0; i < 2; i++)
		fill(views[i], 7, NULL);
	finish_all();
}

static void use_two(const struct two *two, struct bi_view *const views[2], struct bi_stream *stream)
{
	const struct bi_use uses[] = { { views[0], BI_ACCESS_READ_WRITE }, { views[1], BI_ACCESS_READ_WRITE } };
	int rc = BI_OK;

	arm_any(NULL, two->step == FAIL_BEGIN ? two->second : 0);
	if (two->step != END_ALONE)
		rc = bi_use_begin(stream, uses, 2, &error);
	arm_any(NULL, 0);
	if (rc)
		return;
	borrow_handles(1);
	if (two->step != END_ALONE)
		raw_write(stream, views[1], 8);
	borrow_handles(0);
	arm_any(NULL, two->step == FAIL_BEGIN ? 0 : two->second);
	rc = bi_use_end(stream, uses, 2, &error);
	arm_any(NULL, 0);
	assert_true(rc == BI_OK || error.status == rc);
}

/*
 * A fill whose end may be refused, and a step in which a call may fail. Sets failed[i] if the call number i failed. The
 * simulated driver reports work that is not ordered.
 */
static void refuse_twice(const struct two *two, int failed[2])
{
	struct bi_stream *first = new_stream(BI_STREAM_IN_ORDER);
	struct bi_stream *last = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
	struct bi_stream *stream = new_stream_in(fixture.context, BI_STREAM_IN_ORDER);
	const unsigned char nine = 9;
	struct wait_count before, other;
	struct bi_view *views[2];
	uint64_t counts[3];

	make_two(two, views);
	before = count_waits(fixture.context);
	other = count_waits(setting.other);
	counts[0] = failures();
	arm_any(NULL, two->first);
	bi_fill(views[1], &nine, first, &error);
	arm_any(NULL, 0);
	counts[1] = failures();
	use_two(two, views, stream);
	counts[2] = failures();
	fill(views[1], 3, last);
	fill(views[0], 3, last);
	expect_waits_since(fixture.context, before);
	if (setting.is_shared) {
		other.driver = library_waits(); /* counted */
		expect_waits_since(setting.other, other);
	}
	finish_all();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(value_of(views[i]), 3);
		bi_view_release(views[i]);
		failed[i] = counts[i + 1] != counts[i];
	}
	clear_case();
}

static unsigned refuse_all_pairs(struct two two)
{
	int failed[2] = { 1, 1 };
	unsigned pairs = 0;

	for (two.first = 1; failed[0]; two.first++)
		for (two.second = 1; two.second == 1 || failed[1]; two.second++) {
			refuse_twice(&two, failed);
			pairs++;
		}
	return pairs;
}

static void row_19_a_step_after_a_refused_end(void **state)
{
	(void)state;
	for (enum failing_step step = END_ALONE; step < STEPS; step++)
		for (int way = 0; way < 4; way++)
			assert_true(refuse_all_pairs((struct two){ way & 1, way >> 1, step, 0, 0 }) > 10);
}

/*
 * A call may fail in an end without a beginning, of arrays that only the home stream has used. Later work takes the
 * events that the library has freed. Returns 1 if a call failed.
 */
static int end_and_fail(unsigned nth, int is_reverse)
{
	struct several several;
	struct wait_count before;
	uint64_t failed;
	int rc;

	make_several(&several, 3, per_thread());
	work_of_the_test(&several);
	before = count_waits(fixture.context);
	failed = failures();
	arm_any(NULL, nth);
	rc = bi_use_end(several.stream, several.uses, several.count, &error);
	arm_any(NULL, 0);
	assert_true(rc == BI_OK || error.status == rc);
	failed = failures() - failed;
	for (int i = 0; i < 3; i++)
		fill(several.copies[i], 4, in_order());
	for (size_t i = 0; i < several.count; i++)
		fill(several.views[is_reverse ? several.count - 1 - i : i], 3, in_order());
	for (int i = 0; i < 3; i++)
		OK(bi_copy(several.copies[i], several.views[i], NULL, &error));
	release_several(&several);
	expect_waits_since(fixture.context, before);
	finish_all();
	check_copies(&several, 3);
	clear_case();
	return failed != 0;
}

static void row_19_every_call_of_an_end_alone_fails_once(void **state)
{
	(void)state;
	for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
		unsigned nth = 1;

		while (end_and_fail(nth, is_reverse))
			nth++;
		assert_true(nth > 1);
	}
}

/* The home stream waits for the second array's work after the stream has waited for the home stream. */
static void row_38_a_home_stream_that_waits_is_waited_for_again(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		const struct two two = { .swap = swap };
		struct bi_stream *stream = new_stream(BI_STREAM_IN_ORDER), *aside = in_order();
		struct bi_view *views[2], *to = allocate();
		struct bi_use uses[2];
		struct gate *gate;

		make_two(&two, views);
		for (int i = 0; i < 2; i++)
			uses[i] = (struct bi_use){ views[i], BI_ACCESS_READ };
		handle_of(views[0]);
		gate = close_gate(aside);
		fill(views[1], 9, aside);
		OK(bi_use_begin(stream, uses, 2, &error));
		borrow_handles(1);
		raw_copy(stream, to, views[1]);
		borrow_handles(0);
		OK(bi_use_end(stream, uses, 2, &error));
		settle();
		open_and_finish(gate);
		assert_int_equal(value_of(to), 9);
		bi_view_release(to);
		bi_view_release(views[0]);
		bi_view_release(views[1]);
		clear_case();
	}
}

int several_rows(void)
{
	static const struct row rows[] = {
		ROW(row_19_every_call_of_a_use_fails_once, NEED_GATE | NEED_COUNTS),
		ROW(row_19_every_call_of_a_use_on_other_streams_fails_once, NEED_GATE | NEED_COUNTS),
		ROW(row_19_a_step_after_a_refused_end, NEED_GATE | NEED_SIM),
		ROW(row_19_every_call_of_an_end_alone_fails_once, NEED_GATE | NEED_SIM),
		ROW(row_38_a_home_stream_that_waits_is_waited_for_again, NEED_GATE),
	};

	if (setting.is_pinned || setting.needs & NEED_INLINE)
		return 0;
	return run_rows("several", rows, ARRAY_LENGTH(rows));
}
