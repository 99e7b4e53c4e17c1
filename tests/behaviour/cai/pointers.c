/* Pointers that are not what they are said to be, masks, and a driver that fails: nothing is taken, nothing is left. */
#include <stdatomic.h>

#include "raw.h"

#define N 1000

static atomic_int released;

static void refuse(struct bi_context *context, const struct bi_cai *cai, int status, const char *reason)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *view = (struct bi_view *)(void *)&options;

	atomic_store(&released, 0);
	options.release = count_release;
	options.release_data = &released;
	REFUSED_FOR(status, reason, bi_cai_import(context, cai, &options, &view, &error));
	assert_null(view);
	assert_int_equal(released, 0);
}

static void cai_C15_pointer_to_nothing_of_cuda(void **state)
{
	unsigned char *bytes = malloc(N);
	struct raw raw = { .nbytes = N };
	struct bi_cai cai = bytes_of(&raw);
	int ordinal;

	(void)state;
	assert_non_null(bytes);
	cai.data = (uintptr_t)bytes;
	refuse(fixture.context, &cai, BI_EINVAL, "CUDA knows [C15]");
	assert_true(bi_cai_device(&cai, &ordinal, &error) < 0);
	cai.data = 16;
	refuse(fixture.context, &cai, BI_EINVAL, "0x10");
	free(bytes);
}

static void cai_C15_range_ends_with_the_allocation(void **state)
{
	static const int64_t shape[] = { 2 }, backward[] = { -1 };
	struct bi_cai cai;
	char below[24];
	struct raw raw;

	(void)state;
	for (int kind = 0; kind < RAW_COUNT; kind++) {
		if (!has_raw((enum raw_kind)kind))
			continue;
		raw_open(&raw, fixture.context, (enum raw_kind)kind, N);
		cai = bytes_of(&raw);
		cai.data++;
		refuse(fixture.context, &cai, BI_EBOUNDS, "[C15]");
		cai.shape = shape;
		cai.strides = backward;
		cai.data = raw.pointer;
		snprintf(below, sizeof(below), "0x%llx", raw.pointer - 1);
		refuse(fixture.context, &cai, BI_EINVAL, below);
		raw_close(&raw);
	}
}

static void cai_C15_freed_memory(void **state)
{
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	raw_close(&raw);
	refuse(fixture.context, &cai, BI_EINVAL, "[C15]");
}

static void cai_C15_memory_of_another_device(void **state)
{
	struct bi_cai cai;
	struct raw raw;
	int ordinal;

	(void)state;
	if (!fixture.second)
		skip();
	raw_open(&raw, fixture.second, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	refuse(fixture.context, &cai, BI_EINVAL, "[C15]");
	OK(bi_cai_device(&cai, &ordinal, &error));
	assert_int_equal(ordinal, bi_context_device(fixture.second)->ordinal);
	raw_close(&raw);
	if (!has_raw(RAW_POOL))
		return;
	raw_open(&raw, fixture.second, RAW_POOL, N);
	cai = bytes_of(&raw);
	refuse(fixture.context, &cai, BI_EINVAL, "[C15]");
	raw_close(&raw);
}

/* Not the primary context, but one of somebody's own. */
static void cai_C15_memory_of_another_context(void **state)
{
	const struct cuda_driver *driver = cuda_driver();
	struct raw raw = { .nbytes = N };
	bi__cu_context other, left;
	bi__cu_device device;
	struct bi_cai cai;

	(void)state;
	CU(driver->DeviceGet(&device, bi_context_device(fixture.context)->ordinal));
	CU(driver->CtxCreate(&other, 0, device));
	CU(driver->MemAlloc(&raw.pointer, N));
	CU(driver->CtxPopCurrent(&left));
	cai = bytes_of(&raw);
	refuse(fixture.context, &cai, BI_EINVAL, "[C15]");
	CU(driver->CtxPushCurrent(other));
	CU(driver->MemFree(raw.pointer));
	CU(driver->CtxDestroy(other));
}

static void cai_C15_every_kind_of_memory_is_found(void **state)
{
	(void)state;
	for (int kind = 0; kind < RAW_COUNT; kind++) {
		struct bi_view *view;
		struct bi_cai cai;
		struct raw raw;
		int ordinal;

		if (!has_raw((enum raw_kind)kind))
			continue;
		raw_open(&raw, fixture.context, (enum raw_kind)kind, N);
		cai = bytes_of(&raw);
		OK(bi_cai_device(&cai, &ordinal, &error));
		assert_int_equal(ordinal, bi_context_device(fixture.context)->ordinal);
		OK(bi_cai_import(fixture.context, &cai, NULL, &view, &error));
		bi_view_release(view);
		raw_close(&raw);
	}
}

/* How many calls an import makes on a thread without a context; the nth says that it needs one (0: none does). */
static uint64_t calls_without_context(const struct bi_cai *cai, uint64_t nth)
{
	uint64_t calls = driver_calls();
	bi__cu_context current;
	struct bi_view *view;

	cuda_sim()->arm(nth, BI__CU_ERROR_INVALID_CONTEXT, 0);
	OK(bi_cai_import(fixture.context, cai, NULL, &view, &error));
	calls = driver_calls() - calls;
	bi_view_release(view);
	CU(cuda_driver()->CtxGetCurrent(&current));
	assert_null(current);
	return calls;
}

/* Returns true if the driver refuses questions without a context. Each one is then asked again, in the context. */
static int refuses_without_context(const struct raw *raw)
{
	bi__cu_pointer start;

	return cuda_driver()->PointerGetAttribute(&start, BI__CU_POINTER_RANGE_START, raw->pointer) ==
	       BI__CU_ERROR_INVALID_CONTEXT;
}

/* Most drivers say to anybody where pool memory ends, and whose a stream is; one that needs a context gets it. */
static void cai_C6_C15_questions_that_need_a_context(void **state)
{
	struct bi_stream *stream;
	struct bi_cai cai;
	struct raw raw;
	int refused;

	(void)state;
	if (!cuda_sim() || !has_raw(RAW_POOL))
		skip();
	raw_open(&raw, fixture.context, RAW_POOL, N);
	refused = refuses_without_context(&raw);
	cai = bytes_of(&raw);
	/* The number of the context, and two questions about the memory. */
	assert_int_equal(calls_without_context(&cai, 0), refused ? 9 : 3);
	if (!refused)
		assert_true(calls_without_context(&cai, 3) > 3);
	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	cai = bytes_on(&raw, bi_stream_handle(stream));
	assert_int_equal(calls_without_context(&cai, 0), refused ? 14 : 5);
	if (!refused)
		assert_true(calls_without_context(&cai, 2) > 5);
	bi_stream_release(stream);
	raw_close(&raw);
}

static void cai_C15_the_current_context_stays(void **state)
{
	bi__cu_context before, after;
	struct bi_view *view;
	struct bi_cai cai;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_on(&raw, 1);
	CU(cuda_driver()->CtxGetCurrent(&before));
	OK(bi_cai_import(fixture.context, &cai, NULL, &view, &error));
	OK(bi_cai_export(view, 2, 0, &cai, &error));
	CU(cuda_driver()->CtxGetCurrent(&after));
	assert_ptr_equal(before, after);
	bi_view_release(view);
	raw_close(&raw);
}

static void cai_C15_unchecked_pointers_are_believed(void **state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *view;
	struct bi_cai cai;
	uint64_t calls;
	struct raw raw;

	(void)state;
	raw_open(&raw, fixture.context, RAW_PLAIN, N);
	cai = bytes_of(&raw);
	options.flags = BI_CAI_UNCHECKED;
	calls = driver_calls();
	OK(bi_cai_import(fixture.context, &cai, &options, &view, &error));
	assert_int_equal(driver_calls(), calls);
	bi_view_release(view);
	assert_int_equal(driver_calls(), calls);
	/* The context's own stream, as it stands in an export, is known already. */
	cai = bytes_on(&raw, bi_stream_handle(bi_context_stream(fixture.context)));
	OK(bi_cai_import(fixture.context, &cai, &options, &view, &error));
	assert_int_equal(driver_calls(), calls);
	bi_view_release(view);
	raw_close(&raw);
}

/* Masks. */

struct masked {
	struct raw bytes, bits;
	struct bi_cai cai, mask;
	struct bi_cai_import_options options;
	struct bi_view *out;
};

static void open_masked(struct masked *masked)
{
	raw_open(&masked->bytes, fixture.context, RAW_PLAIN, N);
	raw_open(&masked->bits, fixture.context, RAW_PLAIN, N);
	masked->cai = bytes_of(&masked->bytes);
	masked->mask = bytes_of(&masked->bits);
	masked->cai.mask = &masked->mask;
	masked->out = NULL;
	masked->options = (struct bi_cai_import_options)BI_CAI_IMPORT_INIT;
	masked->options.mask = &masked->out;
	masked->options.release = count_release;
	masked->options.release_data = &released;
	atomic_store(&released, 0);
}

static void close_masked(struct masked *masked)
{
	raw_close(&masked->bytes);
	raw_close(&masked->bits);
}

static void cai_C3_mask_and_array_have_one_owner(void **state)
{
	struct masked masked;

	(void)state;
	for (int mask_first = 0; mask_first < 2; mask_first++) {
		struct bi_view *view;
		struct bi_cai again;

		open_masked(&masked);
		OK(bi_cai_import(fixture.context, &masked.cai, &masked.options, &view, &error));
		OK(bi_cai_export(masked.out, 3, 0, &again, &error));
		assert_same_array(&again, &masked.mask);
		bi_view_release(mask_first ? masked.out : view);
		assert_int_equal(released, 0);
		bi_view_release(mask_first ? view : masked.out);
		assert_int_equal(released, 1);
		close_masked(&masked);
	}
}

static void cai_C3_mask_and_array_need_no_release(void **state)
{
	struct masked masked;
	struct bi_view *view;

	(void)state;
	open_masked(&masked);
	masked.options.release = NULL;
	OK(bi_cai_import(fixture.context, &masked.cai, &masked.options, &view, &error));
	bi_view_release(view);
	bi_view_release(masked.out);
	assert_int_equal(released, 0);
	close_masked(&masked);
}

static void cai_C3_masked_is_refused_without_room(void **state)
{
	struct masked masked;

	(void)state;
	open_masked(&masked);
	refuse(fixture.context, &masked.cai, BI_EUNSUPPORTED, "[C3]");
	close_masked(&masked);
}

static void cai_C3_no_mask_is_no_view(void **state)
{
	struct masked masked;
	struct bi_view *view;

	(void)state;
	open_masked(&masked);
	masked.cai.mask = NULL;
	masked.out = (struct bi_view *)(void *)&masked;
	OK(bi_cai_import(fixture.context, &masked.cai, &masked.options, &view, &error));
	assert_null(masked.out);
	bi_view_release(view);
	assert_int_equal(released, 1);
	close_masked(&masked);
}

/* A bad mask is found before the array has made anything wait. */
static void cai_C3_bad_mask_leaves_nothing_enqueued(void **state)
{
	struct masked masked;
	struct bi_view *view;
	uint64_t waits;

	(void)state;
	open_masked(&masked);
	masked.cai.stream_kind = BI_CAI_STREAM_GIVEN;
	masked.cai.stream = 2;
	masked.mask.data++;
	waits = driver_waits();
	REFUSED_FOR(BI_EBOUNDS, "mask: ", bi_cai_import(fixture.context, &masked.cai, &masked.options, &view, &error));
	assert_int_equal(driver_waits(), waits);
	assert_null(view);
	assert_null(masked.out);
	assert_int_equal(released, 0);
	close_masked(&masked);
}

/*
 * Each call of the driver fails once, on the way of a masked import from the per-thread stream: what comes back is
 * an error or a view, and the owner is released once for a view and never for an error.
 */
static void cai_C8_not_taken_when_the_driver_fails(void **state)
{
	int failed = 1;

	(void)state;
	if (!cuda_sim())
		skip();
	for (uint64_t n = 1; failed; n++) {
		struct cuda_sim_counts counts;
		struct masked masked;
		struct bi_view *view;
		int rc;

		open_masked(&masked);
		masked.cai.stream_kind = masked.mask.stream_kind = BI_CAI_STREAM_GIVEN;
		masked.cai.stream = masked.mask.stream = 2;
		cuda_sim()->count(&counts);
		failed = (int)counts.failed_calls;
		cuda_sim()->arm(n, 0, 0);
		rc = bi_cai_import(fixture.context, &masked.cai, &masked.options, &view, &error);
		cuda_sim()->arm(0, 0, 0);
		cuda_sim()->count(&counts);
		failed = (int)counts.failed_calls > failed;
		if (rc) {
			assert_null(view);
			assert_null(masked.out);
			assert_int_equal(error.status, rc);
		}
		assert_true(failed || rc == BI_OK);
		bi_view_release(view);
		bi_view_release(masked.out);
		OK(bi_stream_synchronize(bi_context_stream(fixture.context), &error));
		OK(bi_context_trim(fixture.context, 0, &error));
		assert_int_equal(released, rc == BI_OK);
		close_masked(&masked);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_contexts, close_contexts)

int pointers_group(void)
{
	const struct CMUnitTest tests[] = {
		CASE(cai_C15_pointer_to_nothing_of_cuda),
		CASE(cai_C15_range_ends_with_the_allocation),
		CASE(cai_C15_freed_memory),
		CASE(cai_C15_memory_of_another_device),
		CASE(cai_C15_memory_of_another_context),
		CASE(cai_C15_every_kind_of_memory_is_found),
		CASE(cai_C6_C15_questions_that_need_a_context),
		CASE(cai_C15_the_current_context_stays),
		CASE(cai_C15_unchecked_pointers_are_believed),
		CASE(cai_C3_mask_and_array_have_one_owner),
		CASE(cai_C3_mask_and_array_need_no_release),
		CASE(cai_C3_masked_is_refused_without_room),
		CASE(cai_C3_no_mask_is_no_view),
		CASE(cai_C3_bad_mask_leaves_nothing_enqueued),
		CASE(cai_C8_not_taken_when_the_driver_fails),
	};

	return cmocka_run_group_tests_name("pointers", tests, NULL, NULL);
}
