/* Mappings: what the CPU sees and writes, and who may do what meanwhile. */
#include "contract.h"

#include "buffer_interface/binding.h"
#include "buffer_interface/cai.h"
#include "buffer_interface/dlpack.h"

#include <stdlib.h>

static enum place some_place(int i)
{
	enum place place = (enum place)(i % PLACE_COUNT);

	return has_place(fixture.context, place) ? place : PLACE_DEVICE;
}

/* Offset of each element from element [0, ..., 0]. */
static int64_t *relative_offsets(const struct bi_layout *layout, size_t *count)
{
	struct bi_layout moved = *layout;

	moved.offset = 0;
	return naive_offsets(&moved, count);
}

/* Announces that the CPU uses all bytes that the elements can reach. */
static void use_mapped(const struct bi_layout *layout, struct bi_map *map, int writes)
{
	int64_t first, end;
	char *bytes = bi_map_data(map);

	bi_layout_extent(layout, &first, &end);
	if (!bytes)
		return;
	bytes += first - layout->offset;
	if (writes)
		cpu_writes(bytes, (size_t)(end - first));
	else
		cpu_reads(bytes, (size_t)(end - first));
}

static void check_read(const struct oracle *oracle, const struct bi_layout *layout, const struct bi_view *view)
{
	struct bi_map *map = STALE(struct bi_map);
	size_t count, size = layout->dtype.item_size;
	int64_t *offsets = relative_offsets(layout, &count);

	OK(bi_view_map(view, BI_MAP_READ, &map, &error));
	use_mapped(layout, map, 0);
	for (size_t i = 0; i < count; i++)
		assert_memory_equal((char *)bi_map_data(map) + offsets[i], oracle->bytes + layout->offset + offsets[i],
				    size);
	OK(bi_unmap(map, &error));
	check_order(oracle->memory);
	free(offsets);
	fixture.cases++;
}

static void write_mapped(const struct oracle *oracle, const struct bi_layout *layout, const struct bi_view *view,
			 unsigned mode)
{
	struct bi_map *map = STALE(struct bi_map);
	size_t count, size = layout->dtype.item_size;
	int64_t *offsets = relative_offsets(layout, &count);

	OK(bi_view_map(view, mode, &map, &error));
	use_mapped(layout, map, 1);
	for (size_t i = 0; i < count; i++) {
		unsigned char *element = oracle->bytes + layout->offset + offsets[i];

		random_bytes(element, size);
		memcpy((char *)bi_map_data(map) + offsets[i], element, size);
	}
	OK(bi_unmap(map, &error));
	check_order(oracle->memory);
	free(offsets);
	oracle_check(oracle, layout_text(layout));
	fixture.cases++;
}

/* Work on a stream of its own is pending when the mapping begins; what is mapped is its result. */
static void fill_first(const struct oracle *oracle, const struct bi_layout *layout, const struct bi_view *view)
{
	unsigned char element[16];
	struct bi_stream *stream = random_stream(oracle->memory);

	random_bytes(element, sizeof(element));
	OK(bi_fill(view, element, stream, &error));
	check_order(oracle->memory);
	bi_stream_release(stream);
	naive_fill(oracle->bytes, layout, element);
}

/* The bytes between the elements survive a mapping that discards. */
static void test_random(void **state)
{
	static const unsigned modes[] = { BI_MAP_WRITE, BI_MAP_READ | BI_MAP_WRITE, BI_MAP_WRITE | BI_MAP_DISCARD };

	(void)state;
	for (int i = 0; i < effort(150); i++) {
		int64_t shape[BI_MAX_NDIM];
		int ndim = random_shape(shape);
		struct bi_layout layout;
		struct oracle oracle;
		struct bi_view *view;

		random_layout(&layout, random_item(), ndim, shape, random_target_spread());
		oracle_open(&oracle, fixture.context, some_place(chosen(i, PLACE_COUNT)), settle_randomly(&layout));
		view = view_of(&oracle, &layout, 0);
		fill_first(&oracle, &layout, view);
		check_read(&oracle, &layout, view);
		write_mapped(&oracle, &layout, view, modes[chosen(i, 3)]);
		check_read(&oracle, &layout, view);
		bi_view_release(view);
		oracle_close(&oracle);
	}
}

/* Two arrays of four numbers; `view` is the one that is mapped. */
struct pair {
	struct oracle oracle;
	struct bi_view *view, *other;
};

static void pair_open(struct pair *pair, enum place place)
{
	static const int64_t shape[] = { 4 };
	struct bi_layout layout;

	OK(bi_layout_init(&layout, dtype_of("int32"), 1, shape, NULL, 0, &error));
	oracle_open(&pair->oracle, fixture.context, place, 16);
	pair->view = view_of(&pair->oracle, &layout, 0);
	OK(bi_view_empty(fixture.context, layout.dtype, 1, shape, &pair->other, &error));
}

static void pair_close(struct pair *pair)
{
	bi_view_release(pair->view);
	bi_view_release(pair->other);
	oracle_close(&pair->oracle);
}

static void check_writing_is_busy(const struct pair *pair)
{
	static const int64_t index[] = { 0 };
	const int32_t values[4] = { 1, 2, 3, 4 };
	struct bi_map *map = STALE(struct bi_map);

	REFUSED(BI_EBUSY, bi_copy(pair->view, pair->other, NULL, &error));
	REFUSED(BI_EBUSY, bi_fill(pair->view, values, NULL, &error));
	REFUSED(BI_EBUSY, bi_view_set_element(pair->view, index, values, &error));
	REFUSED(BI_EBUSY, bi_view_write(pair->view, values, sizeof(values), &error));
	REFUSED(BI_EBUSY, bi_view_map(pair->view, BI_MAP_WRITE, &map, &error));
	assert_null(map);
	fixture.cases += 5;
}

static void check_reading(const struct pair *pair, int allowed)
{
	static const int64_t index[] = { 0 };
	int32_t values[4] = { 0 };
	struct bi_map *map = STALE(struct bi_map);

	if (allowed) {
		OK(bi_copy(pair->other, pair->view, NULL, &error));
		OK(bi_view_get_element(pair->view, index, values, &error));
		OK(bi_view_read(pair->view, values, sizeof(values), &error));
		OK(bi_view_map(pair->view, BI_MAP_READ, &map, &error));
		cpu_reads(bi_map_data(map), 16);
		assert_memory_equal(bi_map_data(map), pair->oracle.bytes, 16);
		OK(bi_unmap(map, &error));
	} else {
		REFUSED(BI_EBUSY, bi_copy(pair->other, pair->view, NULL, &error));
		REFUSED(BI_EBUSY, bi_view_get_element(pair->view, index, values, &error));
		REFUSED(BI_EBUSY, bi_view_read(pair->view, values, sizeof(values), &error));
		REFUSED(BI_EBUSY, bi_view_map(pair->view, BI_MAP_READ, &map, &error));
		assert_null(map);
	}
	fixture.cases += 4;
}

static enum bi_handle_kind kind_of(const struct bi_view *view)
{
	struct bi_native native;

	bi_view_native(view, &native);
	return native.kind;
}

/* The CUDA Array Interface names only the memory of a CUDA device. */
static int has_cai(const struct bi_view *view)
{
	return kind_of(view) == BI_HANDLE_CUDA;
}

/* DLPack has no name for shared virtual memory. */
static int has_dlpack(const struct bi_view *view)
{
	return kind_of(view) != BI_HANDLE_CL_SVM && kind_of(view) != BI_HANDLE_CL_USM;
}

static void check_tensors_are_busy(const struct bi_view *view, const char *words)
{
	struct bi_dl_managed_versioned *versioned = STALE(struct bi_dl_managed_versioned);
	struct bi_dl_managed *unversioned = STALE(struct bi_dl_managed);
	struct bi_dl_tensor tensor;

	REFUSED_FOR(BI_EBUSY, words, bi_dlpack_describe(view, &tensor, &error));
	REFUSED_FOR(BI_EBUSY, words, bi_dlpack_export(view, 0, &versioned, &error));
	REFUSED_FOR(BI_EBUSY, words, bi_dlpack_export_unversioned(view, 0, &unversioned, &error));
	assert_null(versioned);
	assert_null(unversioned);
}

/* A consumer of an export works beside the library, which cannot refuse the work later. */
static void check_exports_are_busy(const struct bi_view *view)
{
	static const char words[] = "end the mapping first";
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_cai cai;

	REFUSED_FOR(BI_EBUSY, words, bi_view_export(view, BI_ACQUIRE_BORROW, &exchange, &error));
	REFUSED_FOR(BI_EBUSY, words, bi_view_export(view, 0, &exchange, &error));
	REFUSED_FOR(BI_EBUSY, words, bi_view_export(view, BI_ACQUIRE_READY, &exchange, &error));
	if (has_dlpack(view))
		check_tensors_are_busy(view, words);
	if (has_cai(view))
		REFUSED_FOR(BI_EBUSY, words, bi_cai_export(view, 3, 0, &cai, &error));
	fixture.cases += 6;
}

static void check_exports_are_free(const struct bi_view *view)
{
	struct bi_dl_managed_versioned *tensor;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_cai cai;

	OK(bi_view_export(view, BI_ACQUIRE_BORROW, &exchange, &error));
	OK(bi_view_export(view, 0, &exchange, &error));
	exchange.release(&exchange);
	if (has_dlpack(view)) {
		OK(bi_dlpack_export(view, 0, &tensor, &error));
		tensor->deleter(tensor);
	}
	if (has_cai(view))
		OK(bi_cai_export(view, 3, 0, &cai, &error));
	fixture.cases += 3;
}

static void check_free(const struct pair *pair)
{
	check_reading(pair, 1);
	OK(bi_view_write(pair->view, pair->oracle.bytes, 16, &error));
	oracle_check(&pair->oracle, "after a mapping");
}

static void test_busy_while_read(void **state)
{
	(void)state;
	for (int i = 0; i < effort(PLACE_COUNT); i++) {
		struct pair pair;
		struct bi_map *first, *second;

		pair_open(&pair, some_place(chosen(i, PLACE_COUNT)));
		OK(bi_view_map(pair.view, BI_MAP_READ, &first, &error));
		OK(bi_view_map(pair.view, BI_MAP_READ, &second, &error));
		check_writing_is_busy(&pair);
		check_reading(&pair, 1);
		OK(bi_unmap(first, &error));
		check_writing_is_busy(&pair);
		check_exports_are_free(pair.view);
		cpu_reads(bi_map_data(second), 16);
		assert_memory_equal(bi_map_data(second), pair.oracle.bytes, 16);
		OK(bi_unmap(second, &error));
		check_free(&pair);
		pair_close(&pair);
	}
}

static void test_busy_while_written(void **state)
{
	(void)state;
	for (int i = 0; i < effort(PLACE_COUNT); i++) {
		struct pair pair;
		struct bi_map *map;

		pair_open(&pair, some_place(chosen(i, PLACE_COUNT)));
		OK(bi_view_map(pair.view, BI_MAP_WRITE | BI_MAP_DISCARD, &map, &error));
		check_writing_is_busy(&pair);
		check_reading(&pair, 0);
		check_exports_are_busy(pair.view);
		cpu_writes(bi_map_data(map), 16);
		memcpy(bi_map_data(map), "sixteen bytes...", 16);
		memcpy(pair.oracle.bytes, "sixteen bytes...", 16);
		OK(bi_unmap(map, &error));
		oracle_check(&pair.oracle, "written while mapped");
		check_exports_are_free(pair.view);
		check_free(&pair);
		pair_close(&pair);
	}
}

/* Another view of the same memory is as busy, another memory is not. */
static void test_busy_is_of_the_memory(void **state)
{
	struct pair pair;
	struct bi_map *map;
	struct bi_view *bytes;
	unsigned char first[16];

	(void)state;
	pair_open(&pair, PLACE_DEVICE);
	bytes = bytes_of(pair.oracle.memory);
	OK(bi_view_map(pair.view, BI_MAP_WRITE, &map, &error));
	REFUSED(BI_EBUSY, bi_view_read(bytes, first, 16, &error));
	OK(bi_fill(pair.other, "\1\2\3\4", NULL, &error));
	cpu_writes(bi_map_data(map), 16);
	memcpy(bi_map_data(map), pair.oracle.bytes, 16);
	OK(bi_unmap(map, &error));
	bi_view_release(bytes);
	oracle_check(&pair.oracle, "mapped and not changed");
	pair_close(&pair);
	fixture.cases += 2;
}

/* A mapping holds what it needs. */
static void test_owner_goes_first(void **state)
{
	static const int64_t shape[] = { 4 };
	struct bi_context *context = open_context(fixture.spec);
	struct bi_view *view;
	struct bi_map *map;

	(void)state;
	OK(bi_view_empty(context, dtype_of("int32"), 1, shape, &view, &error));
	OK(bi_fill(view, "\1\2\3\4", NULL, &error));
	OK(bi_view_map(view, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
	bi_view_release(view);
	bi_context_release(context);
	cpu_writes(bi_map_data(map), 16);
	assert_memory_equal(bi_map_data(map), "\1\2\3\4\1\2\3\4\1\2\3\4\1\2\3\4", 16);
	memset(bi_map_data(map), 0, 16);
	OK(bi_unmap(map, &error));
	fixture.cases++;
}

static void test_modes(void **state)
{
	static const unsigned bad[] = { 0, BI_MAP_DISCARD, BI_MAP_READ | BI_MAP_DISCARD, 8, 0x80000001u };
	struct pair pair;
	struct bi_map *map;

	(void)state;
	pair_open(&pair, PLACE_DEVICE);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		map = STALE(struct bi_map);
		REFUSED(BI_EINVAL, bi_view_map(pair.view, bad[i], &map, &error));
		assert_null(map);
		fixture.cases++;
	}
	REFUSED(BI_EINVAL, bi_view_map(NULL, BI_MAP_READ, &map, &error));
	REFUSED(BI_EINVAL, bi_view_map(pair.view, BI_MAP_READ, NULL, &error));
	OK(bi_unmap(NULL, &error));
	check_free(&pair);
	pair_close(&pair);
}

/* The pointer is that of element [0, ..., 0], and what it points to is the memory. */
static void test_host_pointer(void **state)
{
	(void)state;
	for (int place = 0; place < PLACE_COUNT; place++) {
		static const int64_t shape[] = { 3 }, strides[] = { -4 };
		struct bi_layout layout;
		struct oracle oracle;
		struct bi_view *view;
		unsigned char *pointer;

		if (!has_place(fixture.context, (enum place)place))
			continue;
		OK(bi_layout_init(&layout, dtype_of("int32"), 1, shape, strides, 9, &error));
		oracle_open(&oracle, fixture.context, (enum place)place, 20);
		view = view_of(&oracle, &layout, 0);
		OK(bi_view_synchronize(view, &error));
		pointer = bi_view_host_pointer(view);
		if (place == PLACE_HOST || place == PLACE_WRAPPED || place == PLACE_UNIFIED)
			assert_non_null(pointer);
		if (place == PLACE_PINNED && is_cuda(fixture.context))
			assert_non_null(pointer);
		if (place == PLACE_DEVICE && is_cuda(fixture.context))
			assert_null(pointer);
		assert_int_equal(place == PLACE_HOST || place == PLACE_WRAPPED || !is_device(fixture.context),
				 bi_memory_is_host(oracle.memory));
		if (pointer && (bi_memory_is_host(oracle.memory) || is_cuda(fixture.context))) {
			cpu_writes(pointer - 9, 20);
			assert_memory_equal(pointer - 9, oracle.bytes, 20);
			pointer[1] = oracle.bytes[10] ^= 0xff;
			oracle_check(&oracle, "host pointer");
		}
		bi_view_release(view);
		oracle_close(&oracle);
		fixture.cases++;
	}
}

int map_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_random),
		TEST(test_busy_while_read),
		TEST(test_busy_while_written),
		TEST(test_busy_is_of_the_memory),
		TEST(test_owner_goes_first),
		TEST(test_modes),
		TEST(test_host_pointer),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
