/* Life of objects: counts, callbacks, orders of release, and what a failure leaves behind. */
#include "contract.h"
#include "buffer_interface/binding.h"
#include "support/use.h"

#include <stdatomic.h>
#include <stdlib.h>

static void test_null(void **state)
{
	(void)state;
	bi_context_release(NULL);
	bi_stream_release(NULL);
	bi_event_release(NULL);
	bi_memory_release(NULL);
	bi_view_release(NULL);
	bi_report_free(NULL);
	OK(bi_unmap(NULL, &error));
	fixture.cases += 7;
}

static void test_options(void **state)
{
	struct bi_context *context = STALE(struct bi_context);
	atomic_int released = 0;
	struct bi_options good = BI_OPTIONS_INIT, bad;

	(void)state;
	good.device = fixture.spec;
	good.release = count_release;
	good.release_data = &released;
#define BAD(change) \
	do { \
		bad = good; \
		change; \
		REFUSED(BI_EINVAL, bi_context_open(&bad, &context, &error)); \
		assert_null(context); \
		context = STALE(struct bi_context); \
		fixture.cases++; \
	} while (0)
	BAD(bad.struct_size = 0);
	BAD(bad.struct_size = sizeof(size_t));
	BAD(bad.memory = 5);
	BAD(bad.memory = -1);
	BAD(bad.log_level = 99);
	BAD(bad.adopt_stream = 1);
#undef BAD
	REFUSED(BI_EINVAL, bi_context_open(&good, NULL, &error));
	assert_int_equal(released, 0);
}

/* A memory, a view of it with work pending, a stream and an event, all of one new context. */
enum { CONTEXT, STREAM, EVENT, MEMORY, VIEW, PARTS };

struct family {
	struct bi_context *context;
	struct bi_stream *stream;
	struct bi_event *event;
	struct bi_memory *memory;
	struct bi_view *view;
	atomic_int released;
	unsigned char bytes[64];
};

static struct bi_memory *wrap_counted(struct bi_context *context, void *bytes, size_t nbytes, atomic_int *released)
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

static void family_open(struct family *family, int wrapped)
{
	static const int64_t shape[] = { 16 };
	struct bi_view *source;
	struct bi_layout layout;

	atomic_init(&family->released, 0);
	family->context = open_context(fixture.spec);
	if (wrapped)
		family->memory = wrap_counted(family->context, family->bytes, 64, &family->released);
	else
		OK(bi_memory_create(family->context, 64, BI_MEMORY_DEFAULT, &family->memory, &error));
	OK(bi_layout_init(&layout, dtype_of("int32"), 1, shape, NULL, 0, &error));
	OK(bi_view_create(family->memory, &layout, 0, &family->view, &error));
	OK(bi_stream_create(family->context, 0, &family->stream, &error));
	OK(bi_view_empty(family->context, layout.dtype, 1, shape, &source, &error));
	OK(bi_fill(source, "\1\2\3\4", family->stream, &error));
	check_order(bi_view_memory(source));
	OK(bi_copy(family->view, source, family->stream, &error));
	check_order(bi_view_memory(source));
	check_order(family->memory);
	OK(bi_event_record(family->stream, &family->event, &error));
	bi_view_release(source);
}

static void release_part(struct family *family, int part)
{
	switch (part) {
	case CONTEXT:
		bi_context_release(family->context);
		break;
	case STREAM:
		bi_stream_release(family->stream);
		break;
	case EVENT:
		bi_event_release(family->event);
		break;
	case MEMORY:
		bi_memory_release(family->memory);
		break;
	default:
		bi_view_release(family->view);
	}
}

/* The n-th permutation of the parts. */
static void permutation(int n, int *order)
{
	for (int i = 0; i < PARTS; i++) {
		int j = n % (i + 1);

		n /= i + 1;
		memmove(order + j + 1, order + j, (size_t)(i - j) * sizeof(*order));
		order[j] = i;
	}
}

/* All 120 orders, work pending each time. The callback has come once when all is gone, and the bytes are there. */
static void test_orders_of_release(void **state)
{
	(void)state;
	for (int i = 0; i < effort(120); i++) {
		struct family family = { .bytes = { 0 } };
		int order[PARTS], n = chosen(i, 120), wrapped = n % 2;

		permutation(n, order);
		family_open(&family, wrapped);
		for (int part = 0; part < PARTS; part++)
			release_part(&family, order[part]);
		assert_int_equal(family.released, wrapped);
		for (size_t j = 0; j < sizeof(family.bytes) && wrapped; j++)
			assert_int_equal(family.bytes[j], 1 + j % 4);
		fixture.cases++;
	}
}

/* Row of a 4 x 4 array of int32 at the start of its memory. */
static struct bi_view *row_of(const struct bi_view *view, int64_t row)
{
	const struct bi_index item = { BI_INDEX_INTEGER, row, 0, 0 };
	struct bi_view *out = STALE(struct bi_view);

	OK(bi_view_index(view, &item, 1, &out, &error));
	return out;
}

static void check_row(const struct bi_view *view, int64_t row)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	assert_int_equal(layout.ndim, 1);
	assert_int_equal(layout.shape[0], 4);
	assert_int_equal(layout.strides[0], 4);
	assert_int_equal(layout.offset, 16 * row);
	assert_null(layout.descr);
}

/* The parts of the test below: three rows, all of the array, and the memory. */
enum { ROWS = 3, ARRAY = 3, BYTES = 4 };

/* Each of the rows that are left is what it was, also while there is one more. What is refused holds nothing. */
static void check_rows(struct bi_view *const *views)
{
	const struct bi_index beyond = { BI_INDEX_INTEGER, 4, 0, 0 };
	struct bi_view *last = NULL, *none;

	if (views[ARRAY]) {
		REFUSED(BI_EBOUNDS, bi_view_index(views[ARRAY], &beyond, 1, &none, &error));
		last = row_of(views[ARRAY], 3);
	}

	for (int i = 0; i < ROWS; i++)
		if (views[i])
			check_row(views[i], i);
	if (last)
		check_row(last, 3);
	bi_view_release(last);
}

/* All 120 orders. Views of a view do not get in each other's way, wherever they lie, and the last one ends the memory.
 */
static void test_views_of_a_view(void **state)
{
	static const int64_t shape[] = { 4, 4 };

	(void)state;
	for (int i = 0; i < effort(120); i++) {
		int32_t values[4][4];
		atomic_int released = 0;
		struct bi_memory *memory = wrap_counted(fixture.context, values, sizeof(values), &released);
		struct bi_view *views[ARRAY + 1];
		struct bi_layout layout;
		int order[PARTS];

		permutation(chosen(i, 120), order);
		OK(bi_layout_init(&layout, dtype_of("int32"), 2, shape, NULL, 0, &error));
		OK(bi_view_create(memory, &layout, 0, &views[ARRAY], &error));
		for (int row = 0; row < ROWS; row++)
			views[row] = row_of(views[ARRAY], row);
		for (int part = 0; part < PARTS; part++) {
			assert_int_equal(released, 0);
			check_rows(views);
			if (order[part] == BYTES) {
				bi_memory_release(memory);
				continue;
			}
			bi_view_release(views[order[part]]);
			views[order[part]] = NULL;
		}
		assert_int_equal(released, 1);
		fixture.cases++;
	}
}

/* What was retained is released as often, and the object lives in between. */
static void test_counts(void **state)
{
	struct family family = { .bytes = { 0 } };
	int32_t values[16];

	(void)state;
	family_open(&family, 1);
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(bi_context_retain(family.context), family.context);
		assert_ptr_equal(bi_memory_retain(family.memory), family.memory);
		assert_ptr_equal(bi_view_retain(family.view), family.view);
		assert_ptr_equal(bi_stream_retain(family.stream), family.stream);
		assert_ptr_equal(bi_event_retain(family.event), family.event);
	}
	for (int i = 0; i < 3; i++)
		for (int part = 0; part < PARTS; part++)
			release_part(&family, part);
	OK(bi_view_read(family.view, values, sizeof(values), &error));
	OK(bi_event_synchronize(family.event, &error));
	OK(bi_stream_synchronize(family.stream, &error));
	assert_int_equal(family.released, 0);
	assert_ptr_equal(bi_view_memory(family.view), family.memory);
	assert_ptr_equal(bi_memory_context(family.memory), family.context);
	assert_ptr_equal(bi_stream_context(family.stream), family.context);
	for (int part = 0; part < PARTS; part++)
		release_part(&family, part);
	assert_int_equal(family.released, 1);
	fixture.cases++;
}

/*
 * Copies that no driver has a command for, on several streams, none of which is waited for before everything, the
 * context last, is let go. The work still has all that it needs.
 */
static void test_close_with_work(void **state)
{
	enum { STREAMS = 3 };
	static const int64_t shape[] = { 50, 60 }, turned[] = { 60, 50 };
	struct bi_context *context = open_context(fixture.spec);

	(void)state;
	for (int i = 0; i < STREAMS; i++) {
		struct bi_stream *stream;
		struct bi_view *src, *rows, *dst;

		OK(bi_stream_create(context, 0, &stream, &error));
		OK(bi_view_empty(context, dtype_of("bytes3"), 2, shape, &src, &error));
		OK(bi_view_empty(context, dtype_of("bytes3"), 2, turned, &dst, &error));
		OK(bi_view_permute(src, NULL, &rows, &error));
		OK(bi_fill(src, "abc", stream, &error));
		check_order(bi_view_memory(src));
		OK(bi_copy(dst, rows, stream, &error));
		bi_view_release(dst);
		bi_view_release(rows);
		bi_view_release(src);
		bi_stream_release(stream);
		fixture.cases++;
	}
	bi_context_release(context);
}

/* The context stream counts as the context. */
static void test_context_stream(void **state)
{
	struct bi_context *context = open_context(fixture.spec);
	struct bi_stream *stream = bi_stream_retain(bi_context_stream(context));

	(void)state;
	assert_ptr_equal(bi_stream_context(stream), context);
	bi_context_release(context);
	OK(bi_stream_synchronize(stream, &error));
	assert_string_equal(bi_context_device(bi_stream_context(stream))->backend,
			    bi_context_device(fixture.context)->backend);
	bi_stream_release(stream);
	fixture.cases++;
}

static void test_streams_and_events(void **state)
{
	struct bi_stream *a, *b, *none = STALE(struct bi_stream), *others[2];
	struct bi_event *event, *no_event = STALE(struct bi_event);
	int done = -1;

	(void)state;
	OK(bi_stream_create(fixture.context, 0, &a, &error));
	OK(bi_stream_create(fixture.context, 0, &b, &error));
	others[0] = a;
	others[1] = bi_context_stream(fixture.context);
	OK(bi_stream_join(b, others, 2, &error));
	OK(bi_stream_join(b, others, 0, &error));
	OK(bi_stream_join(b, &b, 1, &error));
	OK(bi_event_record(a, &event, &error));
	OK(bi_stream_wait(b, event, &error));
	OK(bi_event_synchronize(event, &error));
	OK(bi_event_query(event, &done, &error));
	assert_int_equal(done, 1);
	REFUSED(BI_EINVAL, bi_stream_create(NULL, 0, &none, &error));
	assert_null(none);
	REFUSED(BI_EINVAL, bi_stream_create(fixture.context, 0x40, &none, &error));
	REFUSED(BI_EINVAL, bi_stream_create(fixture.context, 0, NULL, &error));
	REFUSED(BI_EINVAL, bi_event_record(NULL, &no_event, &error));
	assert_null(no_event);
	REFUSED(BI_EINVAL, bi_stream_join(b, NULL, 1, &error));
	REFUSED(BI_EINVAL, bi_stream_wait(b, NULL, &error));
	REFUSED(BI_EINVAL, bi_event_query(event, NULL, &error));
	bi_event_release(event);
	bi_stream_release(a);
	bi_stream_release(b);
	fixture.cases += 12;
}

/* A device without out-of-order streams says so. */
static void test_out_of_order(void **state)
{
	struct bi_stream *stream = STALE(struct bi_stream);

	(void)state;
	if (can(fixture.context, BI_CAP_OUT_OF_ORDER)) {
		OK(bi_stream_create(fixture.context, BI_STREAM_OUT_OF_ORDER, &stream, &error));
		bi_stream_release(stream);
	} else {
		REFUSED(BI_EUNSUPPORTED, bi_stream_create(fixture.context, BI_STREAM_OUT_OF_ORDER, &stream, &error));
		assert_null(stream);
	}
	fixture.cases++;
}

static void test_memory(void **state)
{
	struct bi_memory *memory = STALE(struct bi_memory);
	static const enum bi_memory_kind kinds[] = {
		BI_MEMORY_DEFAULT,
		BI_MEMORY_DEVICE,
		BI_MEMORY_PINNED,
		BI_MEMORY_HOST,
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		OK(bi_memory_create(fixture.context, 0, kinds[i], &memory, &error));
		assert_int_equal(bi_memory_nbytes(memory), 0);
		assert_ptr_equal(bi_memory_context(memory), fixture.context);
		bi_memory_release(memory);
		OK(bi_memory_create(fixture.context, 1, kinds[i], &memory, &error));
		assert_int_equal(bi_memory_nbytes(memory), 1);
		bi_memory_release(memory);
		fixture.cases += 2;
	}
	REFUSED(BI_EINVAL, bi_memory_create(NULL, 8, BI_MEMORY_DEFAULT, &memory, &error));
	assert_null(memory);
	REFUSED(BI_EINVAL, bi_memory_create(fixture.context, 8, (enum bi_memory_kind)9, &memory, &error));
	REFUSED(BI_EINVAL, bi_memory_create(fixture.context, 8, BI_MEMORY_DEFAULT, NULL, &error));
	if (!can(fixture.context, BI_CAP_SVM)) {
		REFUSED(BI_EUNSUPPORTED, bi_memory_create(fixture.context, 8, BI_MEMORY_UNIFIED, &memory, &error));
		assert_null(memory);
	}
	fixture.cases += 4;
}

/* More than any machine has. */
static void test_too_much_memory(void **state)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 63, SIZE_MAX - 64, SIZE_MAX / 2,
					SIZE_MAX / (sizeof(size_t) > 4 ? 4 : 2) };
	static const int64_t shape[] = { INT64_C(1) << 31, INT64_C(1) << 31 };
	static const int64_t wide[] = { INT64_C(1) << 40, INT64_C(1) << 40 };
	struct bi_memory *memory = STALE(struct bi_memory);
	struct bi_view *view = STALE(struct bi_view);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		REFUSED(BI_ENOMEM, bi_memory_create(fixture.context, sizes[i], BI_MEMORY_DEFAULT, &memory, &error));
		assert_null(memory);
		REFUSED(BI_ENOMEM, bi_memory_create(fixture.context, sizes[i], BI_MEMORY_HOST, &memory, &error));
		fixture.cases += 2;
	}
	REFUSED(BI_ENOMEM, bi_view_empty(fixture.context, dtype_of("uint8"), 2, shape, &view, &error));
	assert_null(view);
	REFUSED(BI_EOVERFLOW, bi_view_empty(fixture.context, dtype_of("uint8"), 2, wide, &view, &error));
	assert_null(view);
	fixture.cases += 2;
}

/* One byte with a shape whose number of bytes, 2^62, has only zeros in its lower 32 bits. */
static void test_too_many_elements(void **state)
{
	static const int64_t shape[] = { INT64_C(1) << 31, INT64_C(1) << 31 };
	struct bi_view *byte, *wide, *made = STALE(struct bi_view);
	unsigned char bytes[8];

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 0, NULL, &byte, &error));
	OK(bi_view_broadcast(byte, 2, shape, &wide, &error));
	REFUSED_FOR(BI_EBOUNDS, "4611686018427387904", bi_view_read(wide, bytes, 0, &error));
	REFUSED_FOR(BI_EBOUNDS, "4611686018427387904", bi_view_read(wide, bytes, 8, &error));
	REFUSED(BI_ENOMEM, bi_view_clone(wide, NULL, &made, &error));
	REFUSED(BI_ENOMEM, bi_view_contiguous(wide, &made, &error));
	REFUSED(BI_ENOMEM, bi_view_clone(wide, fixture.host, &made, &error));
	assert_null(made);
	bi_view_release(wide);
	bi_view_release(byte);
	fixture.cases += 5;
}

static void test_wrapped_bytes(void **state)
{
	static const int64_t shape[] = { 2, 3 };
	unsigned char bytes[24];
	atomic_int released = 0;
	struct bi_view *view = STALE(struct bi_view);
	int32_t values[6];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(7 * i);
	OK(bi_view_wrap_host(fixture.context, bytes, dtype_of("int32"), 2, shape, count_release, &released, &view,
			     &error));
	assert_true(bi_memory_is_host(bi_view_memory(view)));
	assert_ptr_equal(bi_view_host_pointer(view), bytes);
	OK(bi_view_read(view, values, sizeof(values), &error));
	assert_memory_equal(values, bytes, sizeof(bytes));
	assert_int_equal(released, 0);
	bi_view_release(view);
	OK(bi_context_trim(fixture.context, 0, &error));
	assert_int_equal(released, 1);
	OK(bi_view_wrap_host(fixture.context, bytes, dtype_of("int32"), 2, shape, NULL, NULL, &view, &error));
	bi_view_release(view);
	fixture.cases += 2;
}

/* After a failure the caller still has what he gave. */
static void test_wrapping_nothing(void **state)
{
	static const int64_t shape[] = { 2, 3 }, negative[] = { 2, -3 }, empty[] = { 0, 3 };
	unsigned char bytes[24];
	atomic_int released = 0;
	struct bi_view *view = STALE(struct bi_view);
	const struct bi_dtype dtype = dtype_of("int32");

	(void)state;
#define BAD(context, data, ndim, shape) \
	do { \
		REFUSED(BI_EINVAL, bi_view_wrap_host(context, data, dtype, ndim, shape, count_release, &released, \
						     &view, &error)); \
		assert_null(view); \
		view = STALE(struct bi_view); \
		fixture.cases++; \
	} while (0)
	BAD(fixture.context, NULL, 2, shape);
	BAD(fixture.context, bytes, 2, negative);
	BAD(fixture.context, bytes, -1, shape);
	BAD(fixture.context, bytes, BI_MAX_NDIM + 1, shape);
	BAD(fixture.context, bytes, 2, NULL);
	BAD(NULL, bytes, 2, shape);
#undef BAD
	REFUSED(BI_EINVAL,
		bi_view_wrap_host(fixture.context, bytes, dtype, 2, shape, count_release, &released, NULL, &error));
	assert_int_equal(released, 0);
	OK(bi_view_wrap_host(fixture.context, NULL, dtype, 2, empty, count_release, &released, &view, &error));
	bi_view_release(view);
	assert_int_equal(released, 1);
	fixture.cases += 2;
}

static void test_foreign(void **state)
{
	unsigned char bytes[16];
	atomic_int released = 0;
	struct bi_foreign good = BI_FOREIGN_INIT, bad;
	struct bi_memory *memory = STALE(struct bi_memory);
	struct bi_event *no_events[] = { NULL };

	(void)state;
	good.handle = (uintptr_t)bytes;
	good.nbytes = sizeof(bytes);
	good.release = count_release;
	good.release_data = &released;
#define BAD(change) \
	do { \
		bad = good; \
		change; \
		REFUSED(BI_EINVAL, bi_memory_wrap(fixture.context, &bad, &memory, &error)); \
		assert_null(memory); \
		memory = STALE(struct bi_memory); \
		fixture.cases++; \
	} while (0)
	BAD(bad.struct_size = 0);
	BAD(bad.struct_size--);
	BAD(bad.handle = 0);
	BAD(bad.flags = 0x100);
	BAD(bad.event_count = 1);
	BAD((bad.event_count = 1, bad.events = no_events));
#undef BAD
	bad = good;
	for (size_t i = 0; i < 3; i++) {
		bad.kind = ((const enum bi_handle_kind[]){ (enum bi_handle_kind)0, (enum bi_handle_kind)77,
							   BI_HANDLE_CUDA })[i];
		FAILS(bi_memory_wrap(fixture.context, &bad, &memory, &error));
		assert_null(memory);
		memory = STALE(struct bi_memory);
	}
	REFUSED(BI_EINVAL, bi_memory_wrap(fixture.context, NULL, &memory, &error));
	REFUSED(BI_EINVAL, bi_memory_wrap(NULL, &good, &memory, &error));
	REFUSED(BI_EINVAL, bi_memory_wrap(fixture.context, &good, NULL, &error));
	if (!is_opencl(fixture.context)) {
		bad.kind = BI_HANDLE_CL_MEM;
		FAILS(bi_memory_wrap(fixture.context, &bad, &memory, &error));
		bad.kind = BI_HANDLE_CL_SVM;
		FAILS(bi_memory_wrap(fixture.context, &bad, &memory, &error));
	}
	assert_int_equal(released, 0);
	fixture.cases += 6;
}

/* A wrapping of 0 bytes needs no address. A read-only one makes read-only views. */
static void test_foreign_flags(void **state)
{
	unsigned char bytes[16] = "0123456789abcde";
	atomic_int released = 0;
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;
	struct bi_view *view;

	(void)state;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	assert_int_equal(bi_memory_nbytes(memory), 0);
	bi_memory_release(memory);
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = sizeof(bytes);
	foreign.flags = BI_WRAP_READONLY;
	foreign.release = count_release;
	foreign.release_data = &released;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	view = bytes_of(memory);
	assert_int_equal(bi_view_flags(view), BI_VIEW_READONLY);
	REFUSED(BI_EREADONLY, bi_fill(view, "x", NULL, &error));
	bi_view_release(view);
	assert_int_equal(released, 0);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
	fixture.cases += 2;
}

/* Memory and view in one call. What is refused is not taken, whether the layout or the memory is at fault. */
static void test_wrapped_view(void **state)
{
	static const int64_t shape[] = { 2, 2 }, strides[] = { -8, 4 };
	int32_t numbers[] = { 1, 2, 3, 4 }, back[4];
	atomic_int released = 0;
	struct bi_foreign foreign = BI_FOREIGN_INIT, bad;
	struct bi_layout layout, wrong;
	struct bi_view *view = STALE(struct bi_view);

	(void)state;
	OK(bi_layout_init(&layout, dtype_of("int32"), 2, shape, strides, 8, &error));
	foreign.handle = (uintptr_t)numbers;
	foreign.nbytes = sizeof(numbers);
	foreign.release = count_release;
	foreign.release_data = &released;
#define BAD(status, change) \
	do { \
		wrong = layout; \
		bad = foreign; \
		change; \
		REFUSED(status, bi_view_wrap(fixture.context, &bad, &wrong, &view, &error)); \
		assert_null(view); \
		assert_int_equal(released, 0); \
		view = STALE(struct bi_view); \
		fixture.cases++; \
	} while (0)
	BAD(BI_EBOUNDS, wrong.offset = 12);
	BAD(BI_EBOUNDS, wrong.offset = 4);
	BAD(BI_EBOUNDS, bad.nbytes = 15);
	BAD(BI_EINVAL, wrong.ndim = -1);
	BAD(BI_EINVAL, wrong.ndim = BI_MAX_NDIM + 1);
	BAD(BI_EINVAL, wrong.shape[0] = -2);
	BAD(BI_EOVERFLOW, wrong.strides[0] = INT64_MAX);
	BAD(BI_EOVERFLOW, wrong.strides[0] = INT64_MIN);
	BAD(BI_EDTYPE, wrong.dtype.lanes = 0);
	BAD(BI_EDTYPE, (wrong.descr = "[('x', '<i4')]", wrong.descr_length = 14));
	BAD(BI_EINVAL, bad.flags = BI_WRAP_STEAL);
	BAD(BI_EINVAL, bad.handle = 0);
#undef BAD
	REFUSED(BI_EINVAL, bi_view_wrap(fixture.context, &foreign, NULL, &view, &error));
	assert_null(view);
	REFUSED(BI_EINVAL, bi_view_wrap(fixture.context, &foreign, &layout, NULL, &error));
	foreign.flags = BI_WRAP_READONLY;
	OK(bi_view_wrap(fixture.context, &foreign, &layout, &view, &error));
	assert_int_equal(bi_view_flags(view), BI_VIEW_READONLY);
	assert_true(bi_view_is_idle(view));
	OK(bi_view_read(view, back, sizeof(back), &error));
	assert_memory_equal(back, ((const int32_t[]){ 3, 4, 1, 2 }), sizeof(back));
	assert_int_equal(released, 0);
	bi_view_release(view);
	assert_int_equal(released, 1);
	fixture.cases += 3;
}

/* The memory is what the layout reaches around its first element. What is refused is not taken. */
static void test_wrapped_around(void **state)
{
	static const int64_t shape[] = { 2, 2 }, strides[] = { -8, 4 }, none[] = { 0, 2 };
	int32_t numbers[] = { 0, 1, 2, 3, 4, 5 }, back[4];
	const uint64_t data = (uintptr_t)(numbers + 3);
	atomic_int released = 0;
	struct bi_foreign foreign = BI_FOREIGN_INIT, asked;
	struct bi_layout layout, wanted;
	struct bi_view *view = STALE(struct bi_view);

	(void)state;
	OK(bi_layout_init(&layout, dtype_of("int32"), 2, shape, strides, 0, &error));
	layout.offset = 77;
	foreign.handle = 77;
	foreign.nbytes = 77;
	foreign.release = count_release;
	foreign.release_data = &released;
#define BAD(status, address, change) \
	do { \
		wanted = layout; \
		asked = foreign; \
		change; \
		REFUSED(status, bi_view_wrap_at(fixture.context, address, &asked, &wanted, &view, &error)); \
		assert_null(view); \
		assert_int_equal(released, 0); \
		view = STALE(struct bi_view); \
		fixture.cases++; \
	} while (0)
	BAD(BI_EINVAL, 0, (void)0);
	BAD(BI_EBOUNDS, 7, (void)0);
	BAD(BI_EBOUNDS, UINT64_MAX - 6, (void)0);
	BAD(BI_EINVAL, data, wanted.shape[1] = -1);
	BAD(BI_EINVAL, data, wanted.ndim = BI_MAX_NDIM + 1);
	BAD(BI_EDTYPE, data, wanted.dtype.lanes = 0);
	BAD(BI_EOVERFLOW, data, wanted.strides[0] = INT64_MIN);
	BAD(BI_EOVERFLOW, data, wanted.shape[0] = INT64_MAX);
	BAD(BI_EOVERFLOW, data, (wanted.strides[0] = INT64_MAX - 7, wanted.strides[1] = -8));
	BAD(BI_EINVAL, data, asked.kind = BI_HANDLE_CL_MEM);
	BAD(BI_EINVAL, data, asked.flags = BI_WRAP_STEAL);
#undef BAD
	REFUSED(BI_EINVAL, bi_view_wrap_at(fixture.context, data, &foreign, NULL, &view, &error));
	REFUSED(BI_EINVAL, bi_view_wrap_at(fixture.context, data, NULL, &layout, &view, &error));
	REFUSED(BI_EINVAL, bi_view_wrap_at(fixture.context, data, &foreign, &layout, NULL, &error));
	OK(bi_view_wrap_at(fixture.context, data, &foreign, &layout, &view, &error));
	assert_int_equal(layout.offset, 8);
	assert_int_equal(foreign.handle, (uintptr_t)(numbers + 1));
	assert_int_equal(foreign.nbytes, 16);
	assert_int_equal(bi_memory_nbytes(bi_view_memory(view)), 16);
	OK(bi_view_read(view, back, sizeof(back), &error));
	assert_memory_equal(back, ((const int32_t[]){ 3, 4, 1, 2 }), sizeof(back));
	bi_view_release(view);
	assert_int_equal(released, 1);
	/* Without elements any address does, and any stride. */
	OK(bi_layout_init(&layout, dtype_of("int32"), 2, none, strides, 0, &error));
	layout.strides[1] = INT64_MIN;
	OK(bi_view_wrap_at(fixture.context, 0, &foreign, &layout, &view, &error));
	assert_int_equal(bi_memory_nbytes(bi_view_memory(view)), 0);
	bi_view_release(view);
	assert_int_equal(released, 2);
	if (!strcmp(bi_context_device(fixture.context)->backend, "cuda")) {
		foreign.kind = BI_HANDLE_CUDA;
		REFUSED_FOR(BI_EINVAL, "handle is 0, which only host memory of 0 bytes may have",
			    bi_view_wrap_at(fixture.context, 0, &foreign, &layout, &view, &error));
	}
	fixture.cases += 5;
}

/* Wrapped memory is used on the device, and released once, with its last view; the bytes are wrapped again. */
static void test_wrapped_again(void **state)
{
	const int64_t shape[] = { 4 };
	int64_t many[BI_MAX_NDIM];
	const struct bi_index tail = { BI_INDEX_SLICE, 2, BI_OMITTED, 1 };
	int32_t numbers[] = { 1, 2, 3, 4 }, back[4];
	int releases = 0;
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_layout layout;
	struct bi_view *view, *part, *copy;

	(void)state;
	for (int i = 0; i < BI_MAX_NDIM; i++)
		many[i] = 1;
	foreign.release = count_release;
	foreign.release_data = &releases;
	for (int round = 0; round < 3; round++) {
		OK(bi_layout_init(&layout, dtype_of("int32"), round ? 1 : BI_MAX_NDIM, round ? shape : many, NULL, 0,
				  &error));
		OK(bi_view_wrap_at(fixture.context, (uintptr_t)numbers, &foreign, &layout, &view, &error));
		OK(bi_view_empty(fixture.context, dtype_of("int32"), layout.ndim, layout.shape, &copy, &error));
		OK(bi_copy(copy, view, NULL, &error));
		OK(bi_copy(view, copy, NULL, &error));
		OK(bi_view_index(view, &tail, round ? 1 : 0, &part, &error));
		bi_view_release(view);
		assert_int_equal(releases, round);
		OK(bi_view_synchronize(part, &error));
		OK(bi_view_read(part, back, round ? 8 : 4, &error));
		assert_memory_equal(back, round ? numbers + 2 : numbers, round ? 8 : 4);
		bi_view_release(part);
		assert_int_equal(releases, round + 1);
		bi_view_release(copy);
	}
	layout.descr = "[('x', '<i8')]";
	layout.descr_length = 14;
	REFUSED(BI_EDTYPE, bi_view_wrap_at(fixture.context, (uintptr_t)numbers, &foreign, &layout, &view, &error));
	assert_int_equal(releases, 3);
	fixture.cases += 4;
}

/* A producer's stream and events come before the first use, and their objects may go. */
static void test_foreign_order(void **state)
{
	unsigned char bytes[16] = { 0 }, back[16];
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;
	struct bi_stream *stream;
	struct bi_event *event;
	struct bi_view *view;

	(void)state;
	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	OK(bi_event_record(stream, &event, &error));
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = sizeof(bytes);
	foreign.stream = stream;
	foreign.events = &event;
	foreign.event_count = 1;
	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	bi_event_release(event);
	bi_stream_release(stream);
	view = bytes_of(memory);
	OK(bi_fill(view, "x", NULL, &error));
	OK(bi_view_read(view, back, sizeof(back), &error));
	assert_memory_equal(back, "xxxxxxxxxxxxxxxx", 16);
	bi_view_release(view);
	bi_memory_release(memory);
	fixture.cases++;
}

static void test_ordering_calls(void **state)
{
	static const int64_t shape[] = { 1000 };
	struct bi_stream *stream, *foreign;
	struct bi_context *other = open_context(fixture.spec);
	struct bi_view *view;
	int32_t values[1000];

	(void)state;
	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	OK(bi_stream_create(other, 0, &foreign, &error));
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 1, shape, &view, &error));
	OK(begin_use(view, stream, &error));
	OK(bi_fill(view, "\1\1\1\1", stream, &error));
	check_order(bi_view_memory(view));
	OK(end_use(view, stream, &error));
	OK(bi_view_synchronize(view, &error));
	OK(bi_view_read(view, values, sizeof(values), &error));
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(values[i], 0x01010101);
	REFUSED(BI_EINVAL, begin_use(NULL, stream, &error));
	REFUSED(BI_EINVAL, begin_use(view, NULL, &error));
	REFUSED(BI_EINVAL, end_use(view, NULL, &error));
	REFUSED(BI_EINVAL, bi_view_synchronize(NULL, &error));
	bi_view_release(view);
	bi_stream_release(foreign);
	bi_stream_release(stream);
	bi_context_release(other);
	fixture.cases += 5;
}

int objects_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_null),
		TEST(test_options),
		TEST(test_orders_of_release),
		TEST(test_views_of_a_view),
		TEST(test_counts),
		TEST(test_close_with_work),
		TEST(test_context_stream),
		TEST(test_streams_and_events),
		TEST(test_out_of_order),
		TEST(test_memory),
		TEST(test_too_much_memory),
		TEST(test_too_many_elements),
		TEST(test_wrapped_bytes),
		TEST(test_wrapping_nothing),
		TEST(test_foreign),
		TEST(test_foreign_flags),
		TEST(test_wrapped_view),
		TEST(test_wrapped_around),
		TEST(test_wrapped_again),
		TEST(test_foreign_order),
		TEST(test_ordering_calls),
	};

	return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
