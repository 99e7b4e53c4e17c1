/*
 * The exchange structure between programs that share no library: producer and consumer are loaded at run time, know
 * abi.h alone, and meet directly, through the library, and with the library at one end.
 *     exchange PRODUCER CONSUMER DEVICE
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <buffer_interface.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	int (*alive)(void);
	int (*releases)(void);
	const char *(*name)(int number);
	int (*produce)(int number, struct bi_exchange *out);
} producer;

static int (*consume)(struct bi_exchange *x, double *sum, int64_t *count);
static const char *device;
static struct bi_context *context;
static int alive_before;

#define assert_ok(call) \
	do { \
		int rc_ = (call); \
		if (rc_ != BI_OK) \
			fail_msg("%s: %s: %s", #call, bi_status_name(rc_), err.message); \
	} while (0)

static int open_context(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_error err;

	(void)state;
	options.device = device;
	alive_before = producer.alive();
	assert_ok(bi_context_open(&options, &context, &err));
	return 0;
}

/* Whatever a test did, nothing of the producer is left. */
static int close_context(void **state)
{
	(void)state;
	bi_context_release(context);
	context = NULL;
	assert_int_equal(producer.alive(), alive_before);
	return 0;
}

static int number_of(const char *name)
{
	for (int i = 0; producer.name(i); i++)
		if (strcmp(producer.name(i), name) == 0)
			return i;
	fail_msg("the producer has no array '%s'", name);
	return -1;
}

/* What the consumer must find, from the producer's promise about element k. */
static double promised(const struct bi_exchange *x, int64_t *count)
{
	double sum = 0, value;

	*count = 1;
	for (int64_t i = 0; i < x->ndim; i++)
		*count *= x->shape[i];
	for (int64_t k = 0; k < *count; k++) {
		value = x->type_code == 6 ? (double)(k & 1) : (double)(3 * k + 1);
		if (x->type_code == 5)
			value += 7 * (double)-k;
		if (x->descr && x->descr[0] == '[')
			value += 7 * ((double)k / 2);
		sum += (double)(k + 1) * value;
	}
	return sum;
}

static void assert_consumed(struct bi_exchange *x, double sum, int64_t count)
{
	double found_sum;
	int64_t found_count;

	assert_int_equal(consume(x, &found_sum, &found_count), 0);
	assert_null(x->release);
	assert_int_equal(found_count, count);
	if (found_sum != sum)
		fail_msg("the consumer found %g instead of %g", found_sum, sum);
}

static void test_producer_to_consumer(void **state)
{
	struct bi_exchange x = BI_EXCHANGE_INIT;
	int64_t count;
	double sum;

	(void)state;
	for (int i = 0; producer.name(i); i++) {
		const int before = producer.releases();

		assert_int_equal(producer.produce(i, &x), 0);
		sum = promised(&x, &count);
		assert_consumed(&x, sum, count);
		assert_int_equal(producer.releases(), before + 1);
	}
}

/* Everything that describes the array comes out of the library as it went in. */
static void assert_same_description(const struct bi_exchange *out, const struct bi_exchange *in)
{
	int64_t count = 1;

	assert_int_equal(out->version, BI_ABI_VERSION);
	assert_int_equal(out->struct_size, sizeof(*out));
	assert_int_equal(out->flags, in->flags);
	assert_int_equal(out->type_code, in->type_code);
	assert_int_equal(out->type_bits, in->type_bits);
	assert_int_equal(out->type_lanes, in->type_lanes);
	assert_int_equal(out->item_size, in->item_size);
	assert_int_equal(!out->descr, !in->descr);
	if (in->descr)
		assert_string_equal(out->descr, in->descr);
	assert_int_equal(out->ndim, in->ndim);
	for (int64_t i = 0; i < in->ndim; i++) {
		assert_int_equal(out->shape[i], in->shape[i]);
		assert_int_equal(out->strides[i], in->strides[i]);
		count *= in->shape[i];
	}
	if (count)
		assert_true(out->handle + out->offset == in->handle + in->offset);
}

static void test_producer_through_library_to_consumer(void **state)
{
	struct bi_exchange in, kept, out = BI_EXCHANGE_INIT;
	int64_t shape[3], strides[3], count;
	char descr[64] = "";
	struct bi_error err;
	struct bi_view *view;
	double sum;

	(void)state;
	for (int i = 0; producer.name(i); i++) {
		const int before = producer.releases();

		assert_int_equal(producer.produce(i, &in), 0);
		sum = promised(&in, &count);
		/* A copy of the description that does not live in the producer. */
		kept = in;
		for (int64_t axis = 0; axis < in.ndim; axis++) {
			shape[axis] = in.shape[axis];
			strides[axis] = in.strides[axis];
		}
		if (in.descr)
			snprintf(descr, sizeof(descr), "%s", in.descr);
		kept.shape = shape;
		kept.strides = strides;
		kept.descr = in.descr ? descr : NULL;

		assert_ok(bi_view_import(context, &in, 0, &view, &err));
		assert_null(in.release);
		assert_int_equal(bi_view_flags(view) & BI_VIEW_READONLY, in.flags & BI_READONLY);
		assert_ok(bi_view_export(view, 0, &out, &err));
		assert_same_description(&out, &kept);
		/* The exported struct keeps the producer's memory, the view no longer does. */
		bi_view_release(view);
		assert_int_equal(producer.releases(), before);
		assert_consumed(&out, sum, count);
		assert_int_equal(producer.releases(), before + 1);
	}
}

static void test_library_to_consumer(void **state)
{
	static const float elements[6] = { 1, 4, 7, 10, 13, 16 };
	static const int64_t shape[2] = { 2, 3 };
	struct bi_context *host;
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_dtype dtype;
	struct bi_exchange x = BI_EXCHANGE_INIT, moved = BI_EXCHANGE_INIT;
	struct bi_view *view, *flipped;
	struct bi_error err;
	int64_t count;
	double sum;

	(void)state;
	options.device = "host";
	assert_ok(bi_context_open(&options, &host, &err));
	assert_ok(bi_dtype_make(BI_FLOAT32, 1, 0, &dtype, &err));
	assert_ok(bi_view_empty(host, dtype, 2, shape, &view, &err));
	bi_context_release(host);
	assert_ok(bi_view_write(view, elements, sizeof(elements), &err));
	assert_ok(bi_view_export(view, BI_ACQUIRE_READY, &x, &err));
	assert_int_equal(x.flags, BI_C_CONTIGUOUS);
	assert_int_equal(x.type_code, 2);
	sum = promised(&x, &count);
	/* A struct may be moved. */
	moved = x;
	x.release = NULL;
	assert_consumed(&moved, sum, count);

	/* Of a view of the view, in reverse order: 16, 13, ... */
	assert_ok(bi_view_flip(view, 0, &flipped, &err));
	bi_view_release(view);
	assert_ok(bi_view_flip(flipped, 1, &view, &err));
	bi_view_release(flipped);
	assert_ok(bi_view_export(view, 0, &x, &err));
	bi_view_release(view);
	assert_int_equal(x.flags, 0);
	sum = 0;
	for (int k = 0; k < 6; k++)
		sum += (k + 1) * (double)elements[5 - k];
	assert_consumed(&x, sum, 6);
}

static void test_read_only_stays_read_only(void **state)
{
	const uint16_t zero = 0;
	struct bi_exchange x = BI_EXCHANGE_INIT;
	struct bi_layout layout;
	struct bi_view *view, *other;
	struct bi_error err;

	(void)state;
	assert_int_equal(producer.produce(number_of("uint16, read-only"), &x), 0);
	assert_ok(bi_view_import(context, &x, 0, &view, &err));
	assert_int_equal(bi_fill(view, &zero, NULL, &err), BI_EREADONLY);
	/* So is every other view of that memory. */
	bi_view_layout(view, &layout);
	assert_ok(bi_view_create(bi_view_memory(view), &layout, 0, &other, &err));
	assert_int_equal(bi_fill(other, &zero, NULL, &err), BI_EREADONLY);
	bi_view_release(other);
	assert_ok(bi_view_export(view, 0, &x, &err));
	bi_view_release(view);
	assert_true(x.flags & BI_READONLY);
	x.release(&x);
	assert_null(x.release);
}

/* The library reads what it imported, and copies it to the context's own device. */
static void test_imported_elements(void **state)
{
	struct bi_exchange x = BI_EXCHANGE_INIT;
	struct bi_view *view, *copy;
	struct bi_error err;
	double back[12];

	(void)state;
	assert_int_equal(producer.produce(number_of("float64, negative strides"), &x), 0);
	assert_ok(bi_view_import(context, &x, 0, &view, &err));
	assert_ok(bi_view_empty(context, bi_view_dtype(view), 2, bi_view_shape(view), &copy, &err));
	assert_ok(bi_copy(copy, view, NULL, &err));
	bi_view_release(view);
	assert_ok(bi_view_read(copy, back, sizeof(back), &err));
	bi_view_release(copy);
	for (int k = 0; k < 12; k++)
		assert_true(back[k] == 3 * k + 1);
}

/* Two exports and a view of one import: the producer is called when the last of them is gone, whatever the order. */
static void test_released_once_after_the_last(void **state)
{
	struct bi_exchange x, first = BI_EXCHANGE_INIT, second = BI_EXCHANGE_INIT;
	struct bi_view *view, *column;
	const struct bi_index items[2] = { { BI_INDEX_ELLIPSIS, 0, 0, 0 }, { BI_INDEX_INTEGER, 1, 0, 0 } };
	struct bi_error err;
	const int before = producer.releases();

	(void)state;
	assert_int_equal(producer.produce(number_of("int16"), &x), 0);
	assert_ok(bi_view_import(context, &x, 0, &view, &err));
	assert_ok(bi_view_export(view, 0, &first, &err));
	assert_ok(bi_view_index(view, items, 2, &column, &err));
	bi_view_release(view);
	assert_ok(bi_view_export(column, 0, &second, &err));
	bi_view_release(column);
	second.release(&second);
	assert_int_equal(producer.releases(), before);
	first.release(&first);
	assert_int_equal(producer.releases(), before + 1);
}

static void *release_it(void *data)
{
	struct bi_exchange *x = data;

	x->release(x);
	return NULL;
}

static void test_released_on_another_thread(void **state)
{
	struct bi_exchange x, out[2] = { BI_EXCHANGE_INIT, BI_EXCHANGE_INIT };
	struct bi_view *view;
	struct bi_error err;
	pthread_t threads[2];
	const int before = producer.releases();

	(void)state;
	for (int round = 1; round <= 50; round++) {
		assert_int_equal(producer.produce(0, &x), 0);
		assert_ok(bi_view_import(context, &x, 0, &view, &err));
		for (int i = 0; i < 2; i++)
			assert_ok(bi_view_export(view, 0, &out[i], &err));
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, release_it, &out[i]), 0);
		bi_view_release(view);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(producer.releases(), before + round);
	}
}

static const int64_t negative_shape[2] = { -2, 3 };
static const int64_t huge_shape[2] = { INT64_MAX, INT64_MAX };
static const int64_t far_strides[2] = { INT64_MAX, 2 };
static const int64_t low_strides[2] = { -6, 2 };
static const int64_t high_strides[2] = { 6, 4 };
static const int64_t zero_strides[2] = { 0, 2 };

/* New strides, and no flags that they could contradict. */
static void lay_out(struct bi_exchange *x, const int64_t *strides)
{
	x->strides = strides;
	x->flags = 0;
}

static void name_type(struct bi_exchange *x, const char *descr, uint16_t lanes)
{
	x->type_code = 3;
	x->type_bits = 8;
	x->type_lanes = lanes;
	x->descr = descr;
}

/*
 * How a good struct of a 2 x 3 array of int16 is spoilt, the status that must come (0: any failure), and the rule in
 * the message.
 */
#define BAD_MAP(X) \
	X(major_version, BI_EVERSION, "[B-9]", x->version = 0x00010000u) \
	X(minor_version, BI_EVERSION, "[B-9]", x->version = BI_ABI_VERSION + 1) \
	X(version_zero, BI_EVERSION, "[B-9]", x->version = 0) \
	X(short_struct, 0, "[B-9]", x->struct_size = 64) \
	X(struct_too_long, BI_EVERSION, "[B-9]", x->struct_size = 4097) \
	X(end_outside, BI_EBOUNDS, "[B-17]", x->size = 11) \
	X(size_unknown, BI_EBOUNDS, "[B-17]", x->size = 0) \
	X(size_too_large, BI_EOVERFLOW, "", x->size = UINT64_MAX) \
	X(offset_outside, BI_EBOUNDS, "[B-17]", x->offset = 2) \
	X(offset_overflow, 0, "", x->offset = UINT64_MAX - 1) \
	X(start_outside, BI_EBOUNDS, "[B-17]", lay_out(x, low_strides)) \
	X(stride_outside, BI_EBOUNDS, "[B-17]", lay_out(x, high_strides)) \
	X(negative_extent, BI_EINVAL, "[B-15]", x->shape = negative_shape) \
	X(size_overflow, BI_EOVERFLOW, "[B-16]", x->shape = huge_shape) \
	X(stride_overflow, BI_EOVERFLOW, "[B-16]", x->strides = far_strides) \
	X(no_shape, BI_EINVAL, "[B-14]", x->shape = NULL) \
	X(no_strides, BI_EINVAL, "[B-14]", x->strides = NULL) \
	X(ndim_too_high, BI_EINVAL, "[B-14]", x->ndim = BI_MAX_NDIM + 1) \
	X(handle_kind_unknown, 0, "", x->handle_kind = 99) \
	X(handle_kind_zero, 0, "", x->handle_kind = 0) \
	X(cuda_memory, BI_EINVAL, "", (x->handle_kind = BI_HANDLE_CUDA, x->device_type = BI_EXCHANGE_DEVICE_CUDA)) \
	X(no_handle, 0, "[B-17]", x->handle = 0) \
	X(type_unknown, BI_EDTYPE, "[B-25]", x->type_code = 200) \
	X(no_name, BI_EDTYPE, "[B-26]", x->type_code = 3) \
	X(two_names, BI_EDTYPE, "[B-26]", x->descr = "\">i2\"") \
	X(descr_of_own_type, BI_EDTYPE, "[B-26]", name_type(x, "\"<i2\"", 2)) \
	X(descr_of_other_size, BI_EDTYPE, "[B-29]", name_type(x, "\">i4\"", 4)) \
	X(descr_without_end, BI_EDTYPE, "[B-28]", name_type(x, "\">i2", 2)) \
	X(descr_not_utf8, BI_EDTYPE, "[B-28]", name_type(x, "[[\"\xff\", \"<i2\"]]", 2)) \
	X(descr_in_python, BI_EDTYPE, "[B-28]", name_type(x, "[('a', '<i2')]", 2)) \
	X(descr_bits_differ, BI_EDTYPE, "[B-26]", (name_type(x, "\">i2\"", 2), x->type_bits = 16)) \
	X(descr_lanes_differ, BI_EDTYPE, "[B-26]", name_type(x, "\">i2\"", 1)) \
	X(critical_flag, BI_EUNSUPPORTED, "[B-11]", x->flags |= 2) \
	X(order_kind_unknown, BI_EUNSUPPORTED, "", (x->order_kind = 200, x->stream = 5)) \
	X(event_without_stream_and_done, 0, "", (x->order_kind = BI_ORDER_OPENCL, x->event = 5)) \
	X(event_without_kind, BI_EINVAL, "[B-32]", x->event = 5) \
	X(c_contiguous_differs, BI_EINVAL, "[B-18]", (lay_out(x, zero_strides), x->flags = BI_C_CONTIGUOUS)) \
	X(f_contiguous_differs, BI_EINVAL, "[B-18]", x->flags |= BI_F_CONTIGUOUS) \
	X(stream_without_kind, BI_EINVAL, "[B-32]", x->stream = 5) \
	X(kind_without_stream, BI_EINVAL, "[B-32]", x->order_kind = BI_ORDER_OPENCL) \
	X(reserved, BI_EINVAL, "[B-11]", x->reserved = 1) \
	X(host_with_device_id, BI_EINVAL, "[B-23]", x->device_id = 5) \
	X(host_with_context, BI_EINVAL, "[B-21]", x->context = 5) \
	X(device_type_differs, BI_EINVAL, "[B-21]", x->device_type = BI_EXCHANGE_DEVICE_OPENCL) \
	X(item_size_zero, 0, "[B-27]", x->item_size = 0) \
	X(item_size_differs, 0, "[B-27]", x->item_size = 3)

#define SPOIL(name, status, rule, change) \
	static void name(struct bi_exchange *x) \
	{ \
		change; \
	}
BAD_MAP(SPOIL)
#undef SPOIL

static void test_bad_structs_are_refused(void **state)
{
	static const struct {
		const char *name, *rule;
		int status;
		void (*spoil)(struct bi_exchange *x);
	} bad[] = {
#define ROW(name, status, rule, change) { #name, rule, status, name },
		BAD_MAP(ROW)
#undef ROW
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const int before = producer.releases();
		struct bi_exchange x = BI_EXCHANGE_INIT;
		struct bi_view *view = (struct bi_view *)&x;
		struct bi_error err;
		int rc;

		memset(&err, 0, sizeof(err));
		assert_int_equal(producer.produce(number_of("int16"), &x), 0);
		bad[i].spoil(&x);
		rc = bi_view_import(context, &x, 0, &view, &err);
		if (rc >= 0 || (bad[i].status && rc != bad[i].status))
			fail_msg("%s: %s (%s)", bad[i].name, bi_status_name(rc), rc < 0 ? err.message : "");
		assert_null(view);
		assert_int_equal(err.status, rc);
		assert_true(err.message[0]);
		if (!strstr(err.message, bad[i].rule))
			fail_msg("%s: '%s' does not name %s", bad[i].name, err.message, bad[i].rule);
		/* Not taken: the caller still has it, whatever the version, and lets go once. */
		assert_non_null(x.release);
		assert_int_equal(producer.releases(), before);
		x.release(&x);
		assert_int_equal(producer.releases(), before + 1);
	}
}

static void test_arguments(void **state)
{
	struct bi_exchange x = BI_EXCHANGE_INIT;
	struct bi_view *view;
	struct bi_error err;

	(void)state;
	assert_int_equal(producer.produce(0, &x), 0);
	assert_int_equal(bi_view_import(NULL, &x, 0, &view, &err), BI_EINVAL);
	assert_int_equal(bi_view_import(context, NULL, 0, &view, &err), BI_EINVAL);
	assert_int_equal(bi_view_import(context, &x, 0, NULL, NULL), BI_EINVAL);
	assert_int_equal(bi_view_export(NULL, 0, &x, NULL), BI_EINVAL);
	assert_non_null(x.release);
	x.release(&x);
	/* A spent struct holds nothing. */
	assert_int_equal(bi_view_import(context, &x, 0, &view, &err), BI_EINVAL);
	assert_null(view);
}

static int find(void *library, const char *name, void *function)
{
	void *symbol = library ? dlsym(library, name) : NULL;

	if (!symbol)
		fprintf(stderr, "%s\n", dlerror());
	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

int main(int argc, char **argv)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_context, close_context)
	const struct CMUnitTest tests[] = {
		TEST(test_producer_to_consumer),
		TEST(test_producer_through_library_to_consumer),
		TEST(test_library_to_consumer),
		TEST(test_read_only_stays_read_only),
		TEST(test_imported_elements),
		TEST(test_released_once_after_the_last),
		TEST(test_released_on_another_thread),
		TEST(test_bad_structs_are_refused),
		TEST(test_arguments),
	};
#undef TEST
	void *library;

	if (argc != 4) {
		fprintf(stderr, "usage: exchange PRODUCER CONSUMER DEVICE\n");
		return 2;
	}
	device = argv[3];
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!find(library, "producer_alive", &producer.alive) ||
	    !find(library, "producer_releases", &producer.releases) ||
	    !find(library, "producer_name", &producer.name) || !find(library, "producer_produce", &producer.produce))
		return 2;
	library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (!find(library, "consumer_consume", &consume))
		return 2;
	return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
