/*
 * Calls of the driver that fail in the middle of an operation that consists of several. Only the simulated CUDA driver
 * fails when it is told to. Every call fails once; the tests of the backends do the same for whole programs.
 */
#include "driver_cuda.h"
#include "contract.h"

enum { ROWS = 9, COLUMNS = 7 };

/* A copy that takes more than one step, on a stream that is the home of neither side. */
struct copy {
	const char *what;
	enum place dst, src;
	int turned; /* the source is the matrix turned round */
	int64_t dst_gap, src_gap; /* bytes between rows */
	int64_t shift; /* not 0: both are in one memory, so many bytes apart */
};

static const struct copy copies[] = {
	{ "overlap", PLACE_DEVICE, PLACE_DEVICE, 0, 0, 0, 8 },
	{ "strided upload of dense bytes", PLACE_DEVICE, PLACE_WRAPPED, 0, 4, 0, 0 },
	{ "strided upload of strided bytes", PLACE_DEVICE, PLACE_WRAPPED, 1, 4, 8, 0 },
	{ "strided download to dense bytes", PLACE_WRAPPED, PLACE_DEVICE, 0, 0, 4, 0 },
	{ "strided download to strided bytes", PLACE_WRAPPED, PLACE_DEVICE, 1, 4, 8, 0 },
	{ "dense upload", PLACE_DEVICE, PLACE_WRAPPED, 0, 0, 0, 0 },
	{ "dense download", PLACE_WRAPPED, PLACE_DEVICE, 0, 0, 0, 0 },
	{ "kernel", PLACE_DEVICE, PLACE_PINNED, 1, 0, 0, 0 },
};

#define COPIES ((int)(ARRAY_LENGTH(copies)))

struct trial {
	struct oracle dst, src;
	struct bi_layout to, from;
	struct bi_view *dst_view, *src_view;
	struct bi_stream *stream;
};

static void matrix(struct bi_layout *layout, int64_t gap, int turned, int64_t offset)
{
	const int64_t shape[] = { ROWS, COLUMNS }, strides[] = { 4 * COLUMNS + gap, 4 };
	const int64_t turned_strides[] = { 4, 4 * ROWS + gap };

	OK(bi_layout_init(layout, dtype_of("int32"), 2, shape, turned ? turned_strides : strides, offset, &error));
}

static void trial_open(struct trial *trial, const struct copy *copy)
{
	const size_t nbytes = (size_t)(ROWS + COLUMNS) * 64;

	matrix(&trial->to, copy->dst_gap, 0, copy->shift);
	matrix(&trial->from, copy->src_gap, copy->turned, 0);
	oracle_open(&trial->dst, fixture.context, copy->dst, nbytes);
	if (copy->shift)
		trial->src = trial->dst;
	else
		oracle_open(&trial->src, fixture.context, copy->src, nbytes);
	trial->dst_view = view_of(&trial->dst, &trial->to, 0);
	trial->src_view = view_of(&trial->src, &trial->from, 0);
	OK(bi_stream_create(fixture.context, 0, &trial->stream, &error));
}

static void trial_close(struct trial *trial, const struct copy *copy)
{
	bi_view_release(trial->dst_view);
	bi_view_release(trial->src_view);
	bi_stream_release(trial->stream);
	if (!copy->shift)
		oracle_close(&trial->src);
	oracle_close(&trial->dst);
}

static int starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Where the ends of work could not be recorded, that is made up for by the next call, and not before. */
static int is_about_order(const char *call)
{
	return starts_with(call, "cuCtx") || starts_with(call, "cuThread") || starts_with(call, "cuEvent") ||
	       starts_with(call, "cuStream");
}

static struct cuda_sim_counts counts(void)
{
	struct cuda_sim_counts now;

	cuda_sim()->count(&now);
	return now;
}

/* The copy with its n-th call of the driver failing. Returns whether there was such a call. */
static int fail_once(struct trial *trial, uint64_t n)
{
	struct cuda_sim_counts before = counts();
	const char *call;
	int rc, failed;

	cuda_sim()->arm(n, 0, 0);
	mark_error();
	rc = bi_copy(trial->dst_view, trial->src_view, trial->stream, &error);
	cuda_sim()->arm(0, 0, 0);
	failed = counts().failed_calls > before.failed_calls;
	if (rc == BI_OK || !failed) {
		check_ok(rc, "bi_copy", __FILE__, __LINE__);
		return failed;
	}
	check_refused(rc, BI_OK, "", "bi_copy", __FILE__, __LINE__);
	call = cuda_sim()->call_name(before.calls + n);
	if (call && !is_about_order(call)) {
		check_order(trial->dst.memory);
		check_order(trial->src.memory);
	}
	return 1;
}

/* What was enqueued before the failure stays ordered, also when everything is let go; and the next try does it. */
static int run_trial(const struct copy *copy, uint64_t n)
{
	struct trial trial;
	int failed;

	trial_open(&trial, copy);
	/* A call that fails to free something leaves it behind; the copy itself frees nothing. */
	let_go_of_retired(fixture.context);
	failed = fail_once(&trial, n);
	OK(bi_context_trim(fixture.context, 1, &error));
	OK(bi_copy(trial.dst_view, trial.src_view, n % 2 ? trial.stream : NULL, &error));
	/* Undefined after a failure, and then written again; what overlaps has lost its source. */
	naive_copy(trial.dst.bytes, &trial.to, trial.src.bytes, &trial.from);
	if (!copy->shift)
		oracle_check(&trial.dst, copy->what);
	trial_close(&trial, copy);
	fixture.cases++;
	return failed;
}

static void test_each_call(void **state)
{
	(void)state;
	if (!is_cuda(fixture.context) || !cuda_sim())
		skip();
	for (int i = 0; i < effort(COPIES); i++) {
		const struct copy *copy = &copies[chosen(i, COPIES)];
		uint64_t n = 1;

		while (run_trial(copy, n))
			n++;
		assert_true(n > 4);
	}
}

int failures_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_each_call),
	};

	return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
