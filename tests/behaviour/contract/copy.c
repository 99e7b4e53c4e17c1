/* bi_copy between any two layouts and memories, every byte of both memories compared afterwards. */
#include "pair.h"

struct end {
	struct bi_context *context;
	enum place place;
};

static void random_pair(struct bi_layout *dst, struct bi_layout *src)
{
	int64_t shape[BI_MAX_NDIM];
	int ndim = random_shape(shape);
	size_t item = random_item();

	random_layout(dst, item, ndim, shape, random_target_spread());
	random_layout(src, random_item_of_size(dst->dtype.item_size), ndim, shape, random_source_spread());
}

static void copy_cases(struct end dst_end, struct end src_end, int count)
{
	for (int i = 0; i < count; i++) {
		struct oracle dst_oracle, src_oracle;
		struct side dst = { &dst_oracle, { .ndim = 0 } }, src = { &src_oracle, { .ndim = 0 } };

		random_pair(&dst.layout, &src.layout);
		oracle_open(&dst_oracle, dst_end.context, dst_end.place, settle_randomly(&dst.layout));
		oracle_open(&src_oracle, src_end.context, src_end.place, settle_randomly(&src.layout));
		copy_both(&dst, &src);
		oracle_close(&dst_oracle);
		oracle_close(&src_oracle);
	}
}

static void test_within_device(void **state)
{
	const struct end device = { fixture.context, PLACE_DEVICE };

	(void)state;
	copy_cases(device, device, effort(700));
}

/* Every kind of memory of the context as source and as destination. */
static void test_between_places(void **state)
{
	enum { PAIRS = PLACE_COUNT * PLACE_COUNT };

	(void)state;
	for (int i = 0; i < effort(60 * PAIRS); i++) {
		int pair = chosen(i, PAIRS);
		enum place to = (enum place)(pair / PLACE_COUNT), from = (enum place)(pair % PLACE_COUNT);

		if (has_place(fixture.context, to) && has_place(fixture.context, from))
			copy_cases((struct end){ fixture.context, to }, (struct end){ fixture.context, from }, 1);
	}
}

static void both_ways(struct bi_context *other, enum place place, int count)
{
	const struct end here = { fixture.context, PLACE_DEVICE }, there = { other, place };

	copy_cases(here, there, count);
	copy_cases(there, here, count);
}

static void test_host_context(void **state)
{
	(void)state;
	both_ways(fixture.host, PLACE_DEVICE, effort(120));
	both_ways(fixture.host, PLACE_WRAPPED, effort(120));
}

static void test_other_context(void **state)
{
	struct bi_context *other = open_context(fixture.spec);

	(void)state;
	both_ways(other, PLACE_DEVICE, effort(120));
	both_ways(other, PLACE_WRAPPED, effort(60));
	bi_context_release(other);
}

static void test_context_apart(void **state)
{
	struct bi_context *other = open_apart();

	(void)state;
	both_ways(other, PLACE_DEVICE, effort(120));
	both_ways(other, PLACE_PINNED, effort(60));
	both_ways(other, PLACE_WRAPPED, effort(60));
	bi_context_release(other);
}

static void test_second_device(void **state)
{
	(void)state;
	if (!fixture.second)
		skip();
	both_ways(fixture.second, PLACE_DEVICE, effort(200));
	both_ways(fixture.second, PLACE_PINNED, effort(100));
	both_ways(fixture.second, PLACE_WRAPPED, effort(100));
	copy_cases((struct end){ fixture.second, PLACE_HOST }, (struct end){ fixture.context, PLACE_HOST }, effort(20));
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Moves a settled layout somewhere else in a memory of nbytes. */
static void move_randomly(struct bi_layout *layout, size_t used, size_t nbytes)
{
	layout->offset += test_between(&fixture.random, 0, (int64_t)(nbytes - used));
}

/* Two layouts in one memory. Returns whether they share bytes. */
static int copy_within_one(enum place place)
{
	struct oracle oracle;
	struct side dst = { &oracle, { .ndim = 0 } }, src = { &oracle, { .ndim = 0 } };
	size_t to, from, nbytes;
	int overlap;

	random_pair(&dst.layout, &src.layout);
	to = settle(&dst.layout, 0);
	from = settle(&src.layout, 0);
	nbytes = larger(to, from) + (size_t)test_between(&fixture.random, 0, 1) * (to + from);
	move_randomly(&dst.layout, to, nbytes);
	move_randomly(&src.layout, from, nbytes);
	overlap = naive_overlap(&dst.layout, &src.layout, nbytes);
	assert_int_equal(bi_layout_overlap(&dst.layout, &src.layout), overlap);
	oracle_open(&oracle, fixture.context, place, nbytes);
	copy_both(&dst, &src);
	oracle_close(&oracle);
	return overlap;
}

static void test_within_one_memory(void **state)
{
	static const enum place places[] = { PLACE_DEVICE, PLACE_DEVICE, PLACE_WRAPPED, PLACE_HOST };
	int count = effort(800), overlaps = 0;

	(void)state;
	for (int i = 0; i < count; i++)
		overlaps += copy_within_one(places[i % (int)ARRAY_LENGTH(places)]);
	if (count >= 100)
		assert_in_range(overlaps, count / 5, count - count / 20);
}

/* Shifts by a few elements in both directions, the overlap that memcpy gets wrong. */
static void test_shifts(void **state)
{
	enum { SHIFTS = 9 };

	(void)state;
	for (int i = 0; i < effort(SHIFTS * SHIFTS); i++) {
		int which = chosen(i, SHIFTS * SHIFTS), from = which / SHIFTS, to = which % SHIFTS;
		const int64_t shape[] = { 40 }, stride[] = { to % 3 == 1 ? -4 : 4 };
		struct oracle oracle;
		struct side dst = { &oracle, { .ndim = 0 } }, src = { &oracle, { .ndim = 0 } };

		OK(bi_layout_init(&dst.layout, dtype_of("int32"), 1, shape, NULL, 0, &error));
		OK(bi_layout_init(&src.layout, dtype_of("int32"), 1, shape, stride, 0, &error));
		settle(&dst.layout, (size_t)to * 2);
		settle(&src.layout, (size_t)from * 2);
		oracle_open(&oracle, fixture.context, PLACE_DEVICE, 180);
		copy_both(&dst, &src);
		oracle_close(&oracle);
	}
}

/* A view copied onto itself, or onto another view with the same layout. */
static void test_same_layout(void **state)
{
	(void)state;
	for (int i = 0; i < effort(60); i++) {
		int64_t shape[BI_MAX_NDIM];
		int ndim = random_shape(shape);
		struct oracle oracle;
		struct side side = { &oracle, { .ndim = 0 } };
		struct bi_view *view;

		random_layout(&side.layout, random_item(), ndim, shape, SPREAD_NESTED);
		oracle_open(&oracle, fixture.context, PLACE_DEVICE, settle_randomly(&side.layout));
		copy_both(&side, &side);
		view = view_of(&oracle, &side.layout, 0);
		OK(bi_copy(view, view, NULL, &error));
		bi_view_release(view);
		oracle_check(&oracle, "copy of a view onto itself");
		oracle_close(&oracle);
	}
}

/* A destination with two elements in the same bytes is refused, any other is not. Returns whether it was refused. */
static int copy_to_wild(void)
{
	int64_t shape[BI_MAX_NDIM];
	int ndim = random_shape(shape), shared;
	struct oracle dst_oracle, src_oracle;
	struct side dst = { &dst_oracle, { .ndim = 0 } }, src = { &src_oracle, { .ndim = 0 } };
	size_t item = random_item(), nbytes;

	random_layout(&dst.layout, item, ndim, shape, SPREAD_WILD);
	random_layout(&src.layout, item, ndim, shape, SPREAD_DENSE);
	nbytes = settle_randomly(&dst.layout);
	shared = naive_self_overlap(&dst.layout, nbytes);
	oracle_open(&dst_oracle, fixture.context, PLACE_DEVICE, nbytes);
	oracle_open(&src_oracle, fixture.context, PLACE_DEVICE, settle_randomly(&src.layout));
	if (shared) {
		struct bi_view *to = view_of(&dst_oracle, &dst.layout, 0), *from = view_of(&src_oracle, &src.layout, 0);

		REFUSED(BI_EOVERLAP, bi_copy(to, from, NULL, &error));
		bi_view_release(to);
		bi_view_release(from);
		oracle_check(&dst_oracle, pair_text(&dst, &src));
		fixture.cases++;
	} else {
		copy_both(&dst, &src);
	}
	oracle_close(&dst_oracle);
	oracle_close(&src_oracle);
	return shared;
}

static void test_self_overlap(void **state)
{
	int count = effort(300), shared = 0;

	(void)state;
	for (int i = 0; i < count; i++)
		shared += copy_to_wild();
	if (count >= 100)
		assert_in_range(shared, 1, count - 1);
}

/* Wrapped memories are apart by their addresses, in both directions. The copy turns the bytes, so it needs two steps.
 */
static void test_shifts_of_addresses(void **state)
{
	unsigned char bytes[12], expected[12];

	(void)state;
	for (int shift = -4; shift <= 4; shift++) {
		static const int64_t shape[] = { 8 };
		struct bi_view *to, *from, *turned;

		for (unsigned char i = 0; i < sizeof(bytes); i++)
			bytes[i] = expected[i] = i;
		for (int i = 0; i < 8; i++)
			expected[(shift > 0 ? shift : 0) + i] = bytes[(shift < 0 ? -shift : 0) + 7 - i];
		OK(bi_view_wrap_host(fixture.host, bytes + (shift > 0 ? shift : 0), dtype_of("uint8"), 1, shape, NULL,
				     NULL, &to, &error));
		OK(bi_view_wrap_host(fixture.host, bytes + (shift < 0 ? -shift : 0), dtype_of("uint8"), 1, shape, NULL,
				     NULL, &from, &error));
		OK(bi_view_flip(from, 0, &turned, &error));
		OK(bi_copy(to, turned, NULL, &error));
		assert_memory_equal(bytes, expected, sizeof(bytes));
		bi_view_release(turned);
		bi_view_release(from);
		bi_view_release(to);
		fixture.cases++;
	}
}

/* Two views of six elements to copy between, and the memory under them. */
struct duo {
	struct bi_view *dst, *src;
};

static struct bi_view *new_view(const char *dtype, int ndim, const int64_t *shape)
{
	struct bi_view *view = STALE(struct bi_view);

	OK(bi_view_empty(fixture.context, dtype_of(dtype), ndim, shape, &view, &error));
	return view;
}

static void check_mismatch(int status, const char *dst_type, int dst_ndim, const int64_t *dst_shape,
			   const char *src_type, int src_ndim, const int64_t *src_shape)
{
	struct duo duo = { new_view(dst_type, dst_ndim, dst_shape), new_view(src_type, src_ndim, src_shape) };

	REFUSED(status, bi_copy(duo.dst, duo.src, NULL, &error));
	bi_view_release(duo.dst);
	bi_view_release(duo.src);
	fixture.cases++;
}

static void test_mismatches(void **state)
{
	static const int64_t a[] = { 2, 3 }, b[] = { 3, 2 }, c[] = { 2, 3, 1 }, d[] = { 1, 3 }, e[] = { 0, 3 };

	(void)state;
	check_mismatch(BI_EINVAL, "int32", 2, a, "int32", 2, b);
	check_mismatch(BI_EINVAL, "int32", 2, a, "int32", 3, c);
	check_mismatch(BI_EINVAL, "int32", 2, a, "int32", 2, d);
	check_mismatch(BI_EINVAL, "int32", 2, a, "int32", 0, NULL);
	check_mismatch(BI_EINVAL, "int32", 2, a, "int32", 2, e);
	check_mismatch(BI_EINVAL, "int32", 2, e, "int32", 2, a);
	check_mismatch(BI_EDTYPE, "int32", 2, a, "int16", 2, a);
	check_mismatch(BI_EDTYPE, "bytes3", 2, e, "uint8", 2, e);
}

static void test_read_only(void **state)
{
	static const int64_t shapes[][2] = { { 2, 3 }, { 0, 3 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bi_view *src = new_view("int32", 2, shapes[i]), *whole = new_view("int32", 2, shapes[i]), *dst;
		struct bi_layout layout;

		bi_view_layout(whole, &layout);
		OK(bi_view_create(bi_view_memory(whole), &layout, BI_VIEW_READONLY, &dst, &error));
		REFUSED(BI_EREADONLY, bi_copy(dst, src, NULL, &error));
		OK(bi_copy(src, dst, NULL, &error));
		bi_view_release(dst);
		bi_view_release(whole);
		bi_view_release(src);
		fixture.cases++;
	}
}

/* Device memory is for streams of its context; host memories are one place, and no place for a device's stream. */
static void test_foreign_streams(void **state)
{
	static const int64_t shape[] = { 5 };
	struct bi_context *other = open_apart();
	struct bi_stream *streams[2] = { bi_context_stream(other), STALE(struct bi_stream) };
	struct duo duo = { new_view("int32", 1, shape), new_view("int32", 1, shape) };
	const int32_t item = 7;

	(void)state;
	OK(bi_stream_create(other, 0, &streams[1], &error));
	for (size_t i = 0; i < 2 && is_device(fixture.context); i++) {
		REFUSED(BI_EINVAL, bi_copy(duo.dst, duo.src, streams[i], &error));
		REFUSED(BI_EINVAL, bi_fill(duo.dst, &item, streams[i], &error));
		fixture.cases += 2;
	}
	bi_stream_release(streams[1]);
	bi_view_release(duo.dst);
	bi_view_release(duo.src);
	bi_context_release(other);
}

/* Where host and device memory meet, the stream must be the device's. */
static void test_host_stream_for_device(void **state)
{
	static const int64_t shape[] = { 5 };
	struct bi_view *host = STALE(struct bi_view), *device = new_view("int32", 1, shape);

	(void)state;
	OK(bi_view_empty(fixture.host, dtype_of("int32"), 1, shape, &host, &error));
	if (is_device(fixture.context)) {
		REFUSED(BI_EINVAL, bi_copy(device, host, bi_context_stream(fixture.host), &error));
		REFUSED(BI_EINVAL, bi_copy(host, device, bi_context_stream(fixture.host), &error));
		REFUSED(BI_EINVAL, bi_fill(host, "\1\2\3\4", bi_context_stream(fixture.context), &error));
	}
	OK(bi_copy(device, host, bi_context_stream(fixture.context), &error));
	OK(bi_copy(host, device, bi_context_stream(fixture.context), &error));
	bi_view_release(device);
	bi_view_release(host);
	fixture.cases++;
}

/* What moves no byte is checked like everything else. */
static void test_onto_itself_is_checked(void **state)
{
	static const int64_t shape[] = { 5 };
	struct bi_context *other = open_apart();
	struct bi_view *view = new_view("int32", 1, shape);
	struct bi_map *map;

	(void)state;
	if (is_device(fixture.context))
		REFUSED_FOR(BI_EINVAL, "two contexts of device", bi_copy(view, view, bi_context_stream(other), &error));
	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	REFUSED(BI_EBUSY, bi_copy(view, view, NULL, &error));
	OK(bi_unmap(map, &error));
	OK(bi_copy(view, view, NULL, &error));
	bi_view_release(view);
	bi_context_release(other);
	fixture.cases += 3;
}

/* Many copies that depend on each other are enqueued before anything is waited for. */
static void test_chain(void **state)
{
	(void)state;
	for (int round = 0; round < effort(20); round++) {
		struct oracle oracles[2];
		struct side sides[2] = { { &oracles[0], { .ndim = 0 } }, { &oracles[1], { .ndim = 0 } } };

		for (int i = 0; i < 2; i++)
			oracle_open(&oracles[i], fixture.context, PLACE_DEVICE, 4096);
		for (int i = 0; i < 20; i++) {
			int to = i % 2;
			struct bi_view *dst, *src;
			struct bi_stream *stream = random_stream(oracles[0].memory);

			random_pair(&sides[to].layout, &sides[!to].layout);
			if (settle_randomly(&sides[to].layout) <= 4096 && settle_randomly(&sides[!to].layout) <= 4096) {
				dst = view_of(&oracles[to], &sides[to].layout, 0);
				src = view_of(&oracles[!to], &sides[!to].layout, 0);
				OK(bi_copy(dst, src, stream, &error));
				check_order(oracles[0].memory);
				check_order(oracles[1].memory);
				trim_randomly(fixture.context);
				naive_copy(oracles[to].bytes, &sides[to].layout, oracles[!to].bytes,
					   &sides[!to].layout);
				bi_view_release(dst);
				bi_view_release(src);
				fixture.cases++;
			}
			bi_stream_release(stream);
		}
		for (int i = 0; i < 2; i++) {
			oracle_check(&oracles[i], "chain of copies");
			oracle_close(&oracles[i]);
		}
	}
}

/* As many bytes of one memory as of the other, anywhere in both. */
static void random_slices(struct side *dst, struct side *src)
{
	const int64_t shape[] = { test_between(&fixture.random, 1, (int64_t)dst->oracle->nbytes) };
	struct side *sides[] = { dst, src };

	for (int i = 0; i < 2; i++) {
		int64_t room = (int64_t)sides[i]->oracle->nbytes - shape[0];

		OK(bi_layout_init(&sides[i]->layout, dtype_of("uint8"), 1, shape, NULL,
				  test_between(&fixture.random, 0, room), &error));
	}
}

/* One of the transfers below, and what it leaves behind; nothing is waited for. */
static void transfer(struct oracle *to, struct oracle *from)
{
	struct side dst = { to, { .ndim = 0 } }, src = { from, { .ndim = 0 } };
	struct bi_stream *stream;
	struct bi_view *dst_view, *src_view;

	random_slices(&dst, &src);
	stream = pair_stream(&dst, &src);
	dst_view = view_of(to, &dst.layout, 0);
	src_view = view_of(from, &src.layout, 0);
	OK(bi_copy(dst_view, src_view, stream, &error));
	naive_copy(to->bytes, &dst.layout, from->bytes, &src.layout);
	check_order(to->memory);
	check_order(from->memory);
	bi_view_release(dst_view);
	bi_view_release(src_view);
	bi_stream_release(stream);
	fixture.cases++;
}

/*
 * Dense bytes to and fro between the memories of two contexts and host memory, on many streams, each transfer from or
 * to what others are still at work on. Host memory is pageable, the library's or pinned; the calling thread uses none
 * of it meanwhile.
 */
static void test_transfers(void **state)
{
	static const enum place places[] = { PLACE_DEVICE, PLACE_DEVICE, PLACE_WRAPPED, PLACE_HOST, PLACE_PINNED };
	enum { MEMORIES = 5 };
	struct bi_context *other = open_context(fixture.spec);

	(void)state;
	for (int round = 0; round < effort(20); round++) {
		struct oracle oracles[MEMORIES];

		for (int i = 0; i < MEMORIES; i++)
			oracle_open(&oracles[i], i ? fixture.context : other, places[i], 3000);
		for (int i = 0; i < 30; i++) {
			int device = (int)test_between(&fixture.random, 0, 1);
			int partner = (device + (int)test_between(&fixture.random, 1, MEMORIES - 1)) % MEMORIES;

			if (test_between(&fixture.random, 0, 1))
				transfer(&oracles[device], &oracles[partner]);
			else
				transfer(&oracles[partner], &oracles[device]);
		}
		for (int i = 0; i < MEMORIES; i++) {
			oracle_check(&oracles[i], "transfers");
			oracle_close(&oracles[i]);
		}
	}
	bi_context_release(other);
}

enum { LANES = 7 };

/* A device memory, a host memory of its size and a stream, with which no other lane has to do. */
struct lane {
	struct oracle device, host;
	struct bi_view *there, *here;
	struct bi_stream *stream;
};

static void lane_open(struct lane *lane, enum place place)
{
	size_t nbytes = (size_t)test_between(&fixture.random, 1000, 9000);

	oracle_open(&lane->device, fixture.context, PLACE_DEVICE, nbytes);
	oracle_open(&lane->host, fixture.context, place, nbytes);
	lane->there = bytes_of(lane->device.memory);
	lane->here = bytes_of(lane->host.memory);
	OK(bi_stream_create(fixture.context, 0, &lane->stream, &error));
}

static void lane_close(struct lane *lane)
{
	bi_view_release(lane->there);
	bi_view_release(lane->here);
	bi_stream_release(lane->stream);
	oracle_close(&lane->device);
	oracle_close(&lane->host);
}

static void lane_upload(struct lane *lane)
{
	OK(bi_copy(lane->there, lane->here, lane->stream, &error));
	check_order(lane->device.memory);
	memcpy(lane->device.bytes, lane->host.bytes, lane->host.nbytes);
}

static void lane_download(struct lane *lane)
{
	OK(bi_copy(lane->here, lane->there, lane->stream, &error));
	check_order(lane->device.memory);
	memcpy(lane->host.bytes, lane->device.bytes, lane->device.nbytes);
}

static void lanes_finish(struct lane *lanes)
{
	for (int i = 0; i < LANES; i++) {
		oracle_check(&lanes[i].device, "parallel transfers");
		oracle_check(&lanes[i].host, "parallel transfers");
		OK(bi_view_synchronize(lanes[i].there, &error));
		fixture.cases++;
	}
}

/*
 * Transfers that have nothing to do with each other, all at once. Each begins on memory on which nothing is pending, so
 * that no stream waits for another, and what they share inside of the library is not theirs to share.
 */
static void test_parallel_transfers(void **state)
{
	struct lane lanes[LANES];

	(void)state;
	for (int i = 0; i < LANES; i++)
		lane_open(&lanes[i], i % 3 ? PLACE_WRAPPED : PLACE_HOST);
	lanes_finish(lanes);
	for (int i = 0; i < LANES; i++)
		lane_upload(&lanes[i]);
	lanes_finish(lanes);
	for (int i = 0; i < LANES; i++)
		random_bytes(lanes[i].device.bytes, lanes[i].device.nbytes);
	for (int i = 0; i < LANES; i++)
		OK(bi_view_write(lanes[i].there, lanes[i].device.bytes, lanes[i].device.nbytes, &error));
	lanes_finish(lanes);
	for (int i = 0; i < LANES; i++)
		lane_download(&lanes[i]);
	lanes_finish(lanes);
	for (int i = 0; i < LANES; i++)
		lane_close(&lanes[i]);
}

/* Items without bytes are elements all the same. */
static void test_items_without_bytes(void **state)
{
	static const int64_t shape[] = { 4 };
	struct duo duo = { NULL, NULL };
	struct bi_dtype dtype;

	(void)state;
	OK(bi_dtype_make(BI_VOID, 1, 0, &dtype, &error));
	OK(bi_view_empty(fixture.context, dtype, 1, shape, &duo.dst, &error));
	OK(bi_view_empty(fixture.context, dtype, 1, shape, &duo.src, &error));
	OK(bi_copy(duo.dst, duo.src, NULL, &error));
	OK(bi_fill(duo.dst, "", NULL, &error));
	bi_view_release(duo.dst);
	bi_view_release(duo.src);
	fixture.cases++;
}

int copy_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_within_device),
		TEST(test_between_places),
		TEST(test_host_context),
		TEST(test_other_context),
		TEST(test_context_apart),
		TEST(test_second_device),
		TEST(test_within_one_memory),
		TEST(test_shifts),
		TEST(test_shifts_of_addresses),
		TEST(test_same_layout),
		TEST(test_self_overlap),
		TEST(test_mismatches),
		TEST(test_read_only),
		TEST(test_foreign_streams),
		TEST(test_host_stream_for_device),
		TEST(test_onto_itself_is_checked),
		TEST(test_chain),
		TEST(test_transfers),
		TEST(test_parallel_transfers),
		TEST(test_items_without_bytes),
	};

	return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
