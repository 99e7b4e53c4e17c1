/* Random layouts, and a reference for copies and fills that loops over all elements. */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>

const struct item element_types[] = {
	{ "uint8", NULL },
	{ "bool", NULL },
	{ "float4_e2m1fn", NULL },
	{ "int16", NULL },
	{ "bfloat16", NULL },
	{ ">u2", NULL },
	{ "bytes3", NULL },
	{ "float32", NULL },
	{ "<U1", NULL },
	{ "float64", NULL },
	{ "complex64", NULL },
	{ "int32x2", NULL },
	{ "void12", NULL },
	{ "complex128", NULL },
	{ "float32x4", NULL },
	{ ">c16", NULL },
	{ "|V10", "[('x', '<f4'), ('n', '<i2', (3,))]" },
	{ "|V12", "[('z', '<c8'), ('flag', '|b1'), ('', '|V3')]" },
	{ "|V3", "[('rgb', '|u1', (3,))]" },
};

const size_t item_count = ARRAY_LENGTH(element_types);

void (*oracle_cpu_access)(const void *bytes, size_t nbytes, int writes);

#define MOST_ELEMENTS 360

static int64_t between(int64_t low, int64_t high)
{
	return test_between(&fixture.random, low, high);
}

struct bi_dtype item_dtype(size_t item)
{
	return dtype_of(element_types[item].text);
}

size_t random_item(void)
{
	return (size_t)between(0, (int64_t)item_count - 1);
}

size_t random_item_of_size(uint32_t size)
{
	size_t item = random_item();

	while (item_dtype(item).item_size != size)
		item = (item + 1) % item_count;
	return item;
}

static int64_t product(int ndim, const int64_t *shape)
{
	int64_t n = 1;

	for (int i = 0; i < ndim; i++)
		n *= shape[i];
	return n;
}

int random_shape(int64_t *shape)
{
	int ndim = (int)between(0, 8);

	for (int i = 0; i < ndim; i++)
		shape[i] = between(1, 7);
	while (product(ndim, shape) > MOST_ELEMENTS) {
		int64_t *extent = &shape[between(0, ndim - 1)];

		*extent = (*extent + 1) / 2;
	}
	if (ndim && between(0, 19) == 0)
		shape[between(0, ndim - 1)] = 0;
	return ndim;
}

static void shuffled_axes(int ndim, int *axes)
{
	for (int i = 0; i < ndim; i++) {
		int j = (int)between(0, i);

		axes[i] = axes[j];
		axes[j] = i;
	}
}

static int64_t random_gap(int64_t item_size)
{
	switch (between(0, 5)) {
	case 0:
		return item_size * between(1, 3);
	case 1:
		return between(1, 5);
	default:
		return 0;
	}
}

/* Returns a stride for an axis with less than two elements, which may have any stride. */
static int64_t unused_stride(void)
{
	static const int64_t strides[] = { 0, 1, -3, INT64_C(1) << 40, -(INT64_C(1) << 40) };

	return strides[between(0, (int64_t)ARRAY_LENGTH(strides) - 1)];
}

static void nested_strides(int64_t *strides, int ndim, const int64_t *shape, int64_t item_size)
{
	int axes[BI_MAX_NDIM];
	int64_t span = item_size;

	shuffled_axes(ndim, axes);
	for (int i = 0; i < ndim; i++) {
		int axis = axes[i];
		int64_t stride = span + random_gap(item_size);

		strides[axis] = between(0, 2) ? stride : -stride;
		if (shape[axis] > 1)
			span += stride * (shape[axis] - 1);
		else if (between(0, 2) == 0)
			strides[axis] = unused_stride();
	}
}

static void wild_strides(int64_t *strides, int ndim, int64_t item_size)
{
	for (int i = 0; i < ndim; i++)
		strides[i] = between(0, 1) ? between(-30, 30) : item_size * between(-6, 6);
}

static void forget_strides(int64_t *strides, int ndim)
{
	for (int i = 0; i < ndim; i++)
		if (between(0, 2) == 0)
			strides[i] = 0;
}

void random_layout(struct bi_layout *layout, size_t item, int ndim, const int64_t *shape, enum spread spread)
{
	struct bi_dtype dtype = item_dtype(item);
	int64_t strides[BI_MAX_NDIM];

	if (spread == SPREAD_WILD)
		wild_strides(strides, ndim, dtype.item_size);
	else
		nested_strides(strides, ndim, shape, dtype.item_size);
	if (spread == SPREAD_REPEAT)
		forget_strides(strides, ndim);
	OK(bi_layout_init(layout, dtype, ndim, shape, spread == SPREAD_DENSE ? NULL : strides, 0, &error));
	if (element_types[item].descr) {
		layout->descr = element_types[item].descr;
		layout->descr_length = (uint32_t)strlen(element_types[item].descr);
	}
}

enum spread random_source_spread(void)
{
	return (enum spread)between(SPREAD_DENSE, SPREAD_WILD);
}

enum spread random_target_spread(void)
{
	return between(0, 3) ? SPREAD_NESTED : SPREAD_DENSE;
}

size_t naive_size(const struct bi_layout *layout)
{
	return (size_t)product(layout->ndim, layout->shape);
}

size_t settle(struct bi_layout *layout, size_t start)
{
	int64_t low = 0, high = 0;

	if (naive_size(layout) == 0) {
		layout->offset = (int64_t)start;
		return start;
	}
	for (int i = 0; i < layout->ndim; i++) {
		int64_t reach = (layout->shape[i] - 1) * layout->strides[i];

		*(reach < 0 ? &low : &high) += reach;
	}
	layout->offset = (int64_t)start - low;
	return (size_t)(layout->offset + high + layout->dtype.item_size);
}

size_t settle_randomly(struct bi_layout *layout)
{
	int64_t item_size = layout->dtype.item_size;
	int64_t head = between(0, 1) ? item_size * between(0, 4) : between(0, 9);

	return settle(layout, (size_t)head) + (size_t)between(0, 9);
}

const char *layout_text(const struct bi_layout *layout)
{
	static char texts[2][512];
	static int turn;
	char *text = texts[turn ^= 1], name[BI_DTYPE_TEXT];
	size_t used;

	bi_dtype_name(layout->dtype, name);
	used = (size_t)snprintf(text, sizeof(texts[0]), "%d-d %s offset %lld shape x strides", (int)layout->ndim, name,
				(long long)layout->offset);
	for (int i = 0; i < layout->ndim && used < sizeof(texts[0]); i++)
		used += (size_t)snprintf(text + used, sizeof(texts[0]) - used, " %lldx%lld",
					 (long long)layout->shape[i], (long long)layout->strides[i]);
	return text;
}

int64_t *naive_offsets(const struct bi_layout *layout, size_t *count)
{
	int64_t *offsets, offset = layout->offset, index[BI_MAX_NDIM] = { 0 };

	*count = naive_size(layout);
	offsets = malloc((*count + 1) * sizeof(*offsets));
	assert_non_null(offsets);
	for (size_t i = 0; i < *count; i++) {
		offsets[i] = offset;
		for (int axis = layout->ndim; axis-- > 0;) {
			offset += layout->strides[axis];
			if (++index[axis] < layout->shape[axis])
				break;
			offset -= layout->shape[axis] * layout->strides[axis];
			index[axis] = 0;
		}
	}
	return offsets;
}

void naive_gather(const unsigned char *bytes, const struct bi_layout *layout, unsigned char *dense)
{
	size_t count, size = layout->dtype.item_size;
	int64_t *offsets = naive_offsets(layout, &count);

	for (size_t i = 0; i < count; i++)
		memcpy(dense + i * size, bytes + offsets[i], size);
	free(offsets);
}

void naive_scatter(unsigned char *bytes, const struct bi_layout *layout, const unsigned char *dense)
{
	size_t count, size = layout->dtype.item_size;
	int64_t *offsets = naive_offsets(layout, &count);

	for (size_t i = 0; i < count; i++)
		memcpy(bytes + offsets[i], dense + i * size, size);
	free(offsets);
}

void naive_copy(unsigned char *dst, const struct bi_layout *to, const unsigned char *src, const struct bi_layout *from)
{
	unsigned char *aside = malloc(naive_size(from) * from->dtype.item_size + 1);

	assert_non_null(aside);
	naive_gather(src, from, aside);
	naive_scatter(dst, to, aside);
	free(aside);
}

void naive_fill(unsigned char *bytes, const struct bi_layout *layout, const void *element)
{
	size_t count;
	int64_t *offsets = naive_offsets(layout, &count);

	for (size_t i = 0; i < count; i++)
		memcpy(bytes + offsets[i], element, layout->dtype.item_size);
	free(offsets);
}

/* Returns for each byte the number of elements that contain it. Freed by the caller. */
static unsigned *touched_bytes(const struct bi_layout *layout, size_t nbytes)
{
	size_t count;
	int64_t *offsets = naive_offsets(layout, &count);
	unsigned *touched = calloc(nbytes + 1, sizeof(*touched));

	assert_non_null(touched);
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < layout->dtype.item_size; j++)
			touched[offsets[i] + j]++;
	free(offsets);
	return touched;
}

int naive_self_overlap(const struct bi_layout *layout, size_t nbytes)
{
	unsigned *touched = touched_bytes(layout, nbytes);
	int found = 0;

	for (size_t i = 0; i < nbytes; i++)
		found |= touched[i] > 1;
	free(touched);
	return found;
}

int naive_overlap(const struct bi_layout *a, const struct bi_layout *b, size_t nbytes)
{
	unsigned *in_a = touched_bytes(a, nbytes), *in_b = touched_bytes(b, nbytes);
	int found = 0;

	for (size_t i = 0; i < nbytes; i++)
		found |= in_a[i] && in_b[i];
	free(in_a);
	free(in_b);
	return found;
}

struct bi_view *view_of(const struct oracle *oracle, const struct bi_layout *layout, unsigned flags)
{
	struct bi_view *view = STALE(struct bi_view);

	OK(bi_view_create(oracle->memory, layout, flags, &view, &error));
	return view;
}

struct bi_view *bytes_of(struct bi_memory *memory)
{
	const int64_t shape[] = { (int64_t)bi_memory_nbytes(memory) };
	struct bi_layout layout;
	struct bi_view *view = STALE(struct bi_view);

	OK(bi_layout_init(&layout, dtype_of("uint8"), 1, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	return view;
}

void random_bytes(unsigned char *bytes, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)test_next(&fixture.random);
}

int has_place(const struct bi_context *context, enum place place)
{
	return place != PLACE_UNIFIED || can(context, BI_CAP_SVM);
}

static struct bi_memory *wrap_copy(struct bi_context *context, const unsigned char *bytes, size_t nbytes)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = STALE(struct bi_memory);
	unsigned char *own = malloc(nbytes ? nbytes : 1);

	assert_non_null(own);
	memcpy(own, bytes, nbytes);
	foreign.handle = (uintptr_t)own;
	foreign.nbytes = nbytes;
	foreign.release = free;
	foreign.release_data = own;
	OK(bi_memory_wrap(context, &foreign, &memory, &error));
	return memory;
}

static struct bi_memory *allocate_copy(struct bi_context *context, enum place place, const unsigned char *bytes,
				       size_t nbytes)
{
	static const enum bi_memory_kind kinds[] = {
		[PLACE_DEVICE] = BI_MEMORY_DEVICE,
		[PLACE_HOST] = BI_MEMORY_HOST,
		[PLACE_PINNED] = BI_MEMORY_PINNED,
		[PLACE_UNIFIED] = BI_MEMORY_UNIFIED,
	};
	struct bi_memory *memory = STALE(struct bi_memory);
	struct bi_view *all;

	OK(bi_memory_create(context, nbytes, kinds[place], &memory, &error));
	all = bytes_of(memory);
	OK(bi_view_write(all, bytes, nbytes, &error));
	bi_view_release(all);
	return memory;
}

void oracle_open(struct oracle *oracle, struct bi_context *context, enum place place, size_t nbytes)
{
	oracle->nbytes = nbytes;
	oracle->bytes = malloc(nbytes ? nbytes : 1);
	assert_non_null(oracle->bytes);
	random_bytes(oracle->bytes, nbytes);
	oracle->memory = place == PLACE_WRAPPED ? wrap_copy(context, oracle->bytes, nbytes)
						: allocate_copy(context, place, oracle->bytes, nbytes);
	assert_int_equal(bi_memory_nbytes(oracle->memory), nbytes);
}

/* Reads memory of CUDA through its address. Returns 0 for other memory, and if the CPU has no address of it. */
static int read_by_address(const struct bi_view *all, unsigned char *bytes, size_t nbytes)
{
	const void *address = bi_view_host_pointer(all);

	/* OpenCL: the address is valid only while the memory is mapped. */
	if (!address || !is_cuda(bi_memory_context(bi_view_memory(all))))
		return 0;
	OK(bi_view_synchronize(all, &error));
	if (oracle_cpu_access && nbytes)
		oracle_cpu_access(address, nbytes, 0);
	memcpy(bytes, address, nbytes);
	return 1;
}

void oracle_read(const struct oracle *oracle, unsigned char *bytes)
{
	struct bi_view *all = bytes_of(oracle->memory);

	if (test_between(&fixture.random, 0, 1) || !read_by_address(all, bytes, oracle->nbytes))
		OK(bi_view_read(all, bytes, oracle->nbytes, &error));
	bi_view_release(all);
}

void oracle_check(const struct oracle *oracle, const char *what)
{
	unsigned char *bytes = malloc(oracle->nbytes ? oracle->nbytes : 1);
	size_t i = 0;

	assert_non_null(bytes);
	memset(bytes, 0xa5, oracle->nbytes);
	oracle_read(oracle, bytes);
	while (i < oracle->nbytes && bytes[i] == oracle->bytes[i])
		i++;
	if (i < oracle->nbytes)
		fail_msg("case %lu: %s: byte %zu of %zu is 0x%02x and must be 0x%02x", fixture.cases, what, i,
			 oracle->nbytes, bytes[i], oracle->bytes[i]);
	free(bytes);
}

void oracle_close(struct oracle *oracle)
{
	bi_memory_release(oracle->memory);
	free(oracle->bytes);
}
