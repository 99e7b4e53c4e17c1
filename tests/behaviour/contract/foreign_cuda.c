/* What only CUDA has: memory of many kinds behind plain addresses, default streams that are numbers, no references. */
#include "driver_cuda.h"
#include "contract.h"
#include "support/use.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static void skip_unless_cuda(void)
{
	if (!is_cuda(fixture.context))
		skip();
}

static uintptr_t native(void)
{
	return bi_context_handle(fixture.context);
}

static struct bi_foreign pointer(uintptr_t address, size_t nbytes, unsigned flags, atomic_int *released)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = address;
	foreign.nbytes = nbytes;
	foreign.flags = flags;
	foreign.release = count_release;
	foreign.release_data = released;
	return foreign;
}

/* All bytes of the foreign memory. */
static struct bi_view *wrap(struct bi_foreign foreign)
{
	struct bi_memory *memory = STALE(struct bi_memory);
	struct bi_view *view;

	OK(bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	view = bytes_of(memory);
	bi_memory_release(memory);
	return view;
}

static void refuse(int status, uintptr_t address, size_t nbytes)
{
	atomic_int released = 0;
	struct bi_foreign foreign = pointer(address, nbytes, 0, &released);
	struct bi_memory *memory = STALE(struct bi_memory);

	REFUSED(status, bi_memory_wrap(fixture.context, &foreign, &memory, &error));
	assert_null(memory);
	assert_int_equal(released, 0);
	fixture.cases++;
}

/* Fills it with a letter, reads it back through the library, lets go. `released` counts one more. */
static void use_and_release(struct bi_view *view, char letter, atomic_int *released)
{
	size_t nbytes = bi_memory_nbytes(bi_view_memory(view));
	unsigned char *bytes = malloc(nbytes);
	int before = *released;

	assert_non_null(bytes);
	OK(bi_fill(view, &letter, NULL, &error));
	OK(bi_view_read(view, bytes, nbytes, &error));
	for (size_t i = 0; i < nbytes; i++)
		assert_int_equal(bytes[i], letter);
	free(bytes);
	bi_view_release(view);
	let_go_of_retired(fixture.context);
	assert_int_equal(*released, before + 1);
	fixture.cases++;
}

/* An address in the middle of an allocation is a memory that ends where the allocation does. */
static void test_inside_allocation(void **state)
{
	atomic_int released = 0;
	struct bi_native shown;
	struct bi_view *view, *half;
	const struct bi_index item = { BI_INDEX_SLICE, 100, BI_OMITTED, 1 };
	unsigned char bytes[300];
	uintptr_t start;

	(void)state;
	skip_unless_cuda();
	start = outside_cuda.new_memory(native(), 300);
	use_and_release(wrap(pointer(start, 300, 0, &released)), 'o', &released);
	view = wrap(pointer(start + 77, 223, 0, &released));
	OK(bi_view_index(view, &item, 1, &half, &error));
	bi_view_native(half, &shown);
	assert_int_equal(shown.handle, start + 177);
	assert_int_equal(shown.offset, 0);
	assert_int_equal(shown.nbytes, 123);
	bi_view_release(half);
	use_and_release(view, 'i', &released);
	outside_cuda.read(native(), start, 0, 300, bytes);
	for (size_t i = 0; i < 300; i++)
		assert_int_equal(bytes[i], i < 77 ? 'o' : 'i');
	refuse(BI_EBOUNDS, start + 77, 224);
	refuse(BI_EBOUNDS, start, 301);
	refuse(BI_EBOUNDS, start, SIZE_MAX / 2);
	refuse(BI_EBOUNDS, start + 77, SIZE_MAX - 75); /* the sum of both is start + 1 */
	outside_cuda.release(DRIVER_MEMORY, native(), start);
}

/* Two memories that were wrapped of one allocation overlap; the copy is as if the source had been copied aside. */
static void test_overlapping_pointers(void **state)
{
	atomic_int released = 0;
	unsigned char bytes[400], back[400];
	struct bi_view *all, *low, *high;
	uintptr_t start;

	(void)state;
	skip_unless_cuda();
	start = outside_cuda.new_memory(native(), sizeof(bytes));
	all = wrap(pointer(start, sizeof(bytes), 0, &released));
	low = wrap(pointer(start, 300, 0, &released));
	high = wrap(pointer(start + 100, 300, 0, &released));
	random_bytes(bytes, sizeof(bytes));
	OK(bi_view_write(all, bytes, sizeof(bytes), &error));
	OK(bi_copy(high, low, NULL, &error));
	memmove(bytes + 100, bytes, 300);
	OK(bi_view_read(all, back, sizeof(back), &error));
	assert_memory_equal(back, bytes, sizeof(bytes));
	bi_view_release(all);
	bi_view_release(low);
	bi_view_release(high);
	let_go_of_retired(fixture.context);
	assert_int_equal(released, 3);
	outside_cuda.release(DRIVER_MEMORY, native(), start);
	fixture.cases++;
}

/* Memory that its producer allocates and frees in the order of a stream of his, which he names. */
static void test_pool_memory(void **state)
{
	atomic_int released = 0;
	bi__cu_pointer address = 0;
	bi__cu_result code = BI__CU_ERROR_NOT_SUPPORTED;
	struct bi_foreign foreign;
	struct bi_view *view;
	uintptr_t queue;

	(void)state;
	skip_unless_cuda();
	queue = outside_cuda.new_stream(native());
	cuda_enter(native());
	if (cuda_driver()->MemAllocAsync)
		code = cuda_driver()->MemAllocAsync(&address, 256, (bi__cu_stream)queue);
	cuda_leave();
	if (code != BI__CU_SUCCESS) {
		outside_cuda.release(DRIVER_STREAM, native(), queue);
		skip();
	}
	foreign = pointer((uintptr_t)address, 256, 0, &released);
	OK(bi_stream_wrap(fixture.context, queue, NULL, NULL, &foreign.stream, &error));
	view = wrap(foreign);
	bi_stream_release(foreign.stream);
	OK(bi_fill(view, "p", NULL, &error));
	bi_view_release(view);
	assert_int_equal(released, 1);
	cuda_enter(native());
	CU(cuda_driver()->MemFreeAsync(address, (bi__cu_stream)queue));
	cuda_leave();
	outside_cuda.finish(DRIVER_STREAM, native(), queue);
	outside_cuda.release(DRIVER_STREAM, native(), queue);
	fixture.cases++;
}

/* Memory that the CPU can use as it stands has its address; the two sides see each other's bytes. */
static void check_addressable(struct bi_view *view, void *host, atomic_int *released)
{
	size_t nbytes = bi_memory_nbytes(bi_view_memory(view));
	unsigned char first = 0;
	static const int64_t index[] = { 0 };

	assert_ptr_equal(bi_view_host_pointer(view), host);
	assert_false(bi_memory_is_host(bi_view_memory(view)));
	OK(bi_fill(view, "d", NULL, &error));
	OK(bi_view_synchronize(view, &error));
	cpu_writes(host, nbytes);
	for (size_t i = 0; i < nbytes; i++)
		assert_int_equal(((unsigned char *)host)[i], 'd');
	memset(host, 'h', nbytes);
	OK(bi_view_get_element(view, index, &first, &error));
	assert_int_equal(first, 'h');
	use_and_release(view, 'e', released);
}

static void test_pinned_memory(void **state)
{
	atomic_int released = 0;
	void *host = NULL;

	(void)state;
	skip_unless_cuda();
	cuda_enter(native());
	CU(cuda_driver()->MemHostAlloc(&host, 300, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
	cuda_leave();
	check_addressable(wrap(pointer((uintptr_t)host, 300, 0, &released)), host, &released);
	check_addressable(wrap(pointer((uintptr_t)host + 10, 290, 0, &released)), (char *)host + 10, &released);
	refuse(BI_EBOUNDS, (uintptr_t)host, (size_t)1 << sizeof(size_t) * 5);
	cuda_enter(native());
	CU(cuda_driver()->MemFreeHost(host));
	cuda_leave();
}

static void test_registered_memory(void **state)
{
	enum { PAGES = 2 * 4096 };
	atomic_int released = 0;
	bi__cu_pointer address = 0;
	void *host;

	(void)state;
	skip_unless_cuda();
	host = aligned_alloc(4096, PAGES);
	assert_non_null(host);
	cuda_enter(native());
	CU(cuda_driver()->MemHostRegister(host, PAGES, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
	CU(cuda_driver()->MemHostGetDevicePointer(&address, host, 0));
	cuda_leave();
	check_addressable(wrap(pointer((uintptr_t)address, PAGES, 0, &released)), host, &released);
	cuda_enter(native());
	CU(cuda_driver()->MemHostUnregister(host));
	cuda_leave();
	free(host);
}

/* Where the CPU may not use it while the device works there is no address to use it by. */
static void test_managed_memory(void **state)
{
	atomic_int released = 0;
	bi__cu_pointer address = 0;
	struct bi_view *view;

	(void)state;
	skip_unless_cuda();
	cuda_enter(native());
	CU(cuda_driver()->MemAllocManaged(&address, 300, BI__CU_MEM_ATTACH_GLOBAL));
	cuda_leave();
	view = wrap(pointer((uintptr_t)address, 300, 0, &released));
	if (can(fixture.context, BI_CAP_SVM)) {
		check_addressable(view, (void *)(uintptr_t)address, &released);
	} else {
		assert_null(bi_view_host_pointer(view));
		use_and_release(view, 'm', &released);
	}
	outside_cuda.release(DRIVER_MEMORY, native(), (uintptr_t)address);
}

/* The driver's structs for memory that is mapped by hand: CUmemAllocationProp and CUmemAccessDesc. */
struct location {
	unsigned type; /* 1: a device */
	int id;
};

struct properties {
	unsigned type; /* 1: pinned */
	unsigned handle_types;
	struct location location;
	void *security;
	unsigned char flags[8];
};

struct access {
	struct location location;
	unsigned flags; /* 3: read and write */
};

enum { SEGMENTS = 2 };

/* One range of addresses, mapped to memories of their own, one behind the other, and its last part to none. */
struct segments {
	bi__cu_pointer address;
	size_t size; /* of one */
	uint64_t handles[SEGMENTS];
};

static void open_segments(struct segments *segments)
{
	const struct cuda_driver *cuda = cuda_driver();
	const struct location location = { 1, bi_context_device(fixture.context)->ordinal };
	const struct properties properties = { .type = 1, .location = location };
	const struct access access = { location, 3 };

	cuda_enter(native());
	CU(cuda->MemGetAllocationGranularity(&segments->size, &properties, 0));
	CU(cuda->MemAddressReserve(&segments->address, (SEGMENTS + 1) * segments->size, 0, 0, 0));
	for (size_t i = 0; i < SEGMENTS; i++) {
		CU(cuda->MemCreate(&segments->handles[i], segments->size, &properties, 0));
		CU(cuda->MemMap(segments->address + i * segments->size, segments->size, 0, segments->handles[i], 0));
	}
	CU(cuda->MemSetAccess(segments->address, SEGMENTS * segments->size, &access, 1));
	cuda_leave();
}

static void close_segments(const struct segments *segments)
{
	const struct cuda_driver *cuda = cuda_driver();

	cuda_enter(native());
	CU(cuda->MemUnmap(segments->address, SEGMENTS * segments->size));
	for (size_t i = 0; i < SEGMENTS; i++)
		CU(cuda->MemRelease(segments->handles[i]));
	CU(cuda->MemAddressFree(segments->address, (SEGMENTS + 1) * segments->size));
	cuda_leave();
}

static uint64_t count_calls(void)
{
	struct cuda_sim_counts counts;

	cuda_sim()->count(&counts);
	return counts.calls;
}

/* The import of memory that consists of many mappings does not ask for each of them. */
static void assert_asked_once(bi__cu_pointer address, size_t nbytes)
{
	atomic_int released = 0;
	uint64_t first = count_calls();

	bi_view_release(wrap(pointer((uintptr_t)address, nbytes, 0, &released)));
	for (uint64_t i = first + 1; i <= count_calls(); i++)
		assert_string_not_equal(cuda_sim()->call_name(i), "cuMemGetAddressRange_v2");
}

/* The driver shows one segment at a time; an array may lie across two, and may not reach beyond the last. */
static void test_mapped_segments(void **state)
{
	const struct cuda_driver *cuda;
	struct segments segments;
	atomic_int released = 0;

	(void)state;
	skip_unless_cuda();
	cuda = cuda_driver();
	if (!cuda->MemAddressReserve || !cuda->MemCreate || !cuda->MemMap || !cuda->MemSetAccess ||
	    !cuda->MemGetAllocationGranularity)
		skip();
	open_segments(&segments);
	if (cuda_sim())
		assert_asked_once(segments.address, SEGMENTS * segments.size);
	use_and_release(wrap(pointer((uintptr_t)segments.address + segments.size - 50, 100, 0, &released)), 's',
			&released);
	use_and_release(wrap(pointer((uintptr_t)segments.address + 2 * segments.size - 9, 9, 0, &released)), 't',
			&released);
	refuse(BI_EBOUNDS, (uintptr_t)segments.address + 2 * segments.size - 9, 10);
	refuse(BI_EBOUNDS, (uintptr_t)segments.address, 2 * segments.size + 1);
	refuse(BI_OK, (uintptr_t)segments.address + 2 * segments.size, 1);
	close_segments(&segments);
}

/* A driver's pool gives freed memory back to the system at each synchronisation, unless it has a threshold. */
static void test_freed_memory_stays_in_the_pool_of_the_driver(void **state)
{
	struct cuda_sim_counts before, after;
	struct bi_memory *memory;
	struct bi_view *view;
	struct bi_native native_view;
	const unsigned char seven = 7;

	(void)state;
	skip_unless_cuda();
	if (!cuda_sim())
		skip();
	cuda_sim()->count(&before);
	for (int i = 0; i < 2; i++) {
		OK(bi_memory_create(fixture.context, 1 << 20, BI_MEMORY_DEVICE, &memory, &error));
		view = bytes_of(memory);
		bi_memory_release(memory);
		OK(bi_fill(view, &seven, NULL, &error));
		/* Exported memory is not kept by the context. */
		bi_view_native(view, &native_view);
		bi_view_release(view);
		OK(bi_stream_synchronize(bi_context_stream(fixture.context), &error));
	}
	cuda_sim()->count(&after);
	assert_int_equal(after.returned, before.returned);
}

/* The context cannot be opened, because its stream is of another one. What was made for it is freed. */
static void test_failed_open_beside_a_capture(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *refused = STALE(struct bi_context);
	bi__cu_context own;
	bi__cu_stream captured;
	bi__cu_graph graph;
	int pushed;

	(void)state;
	skip_unless_cuda();
	assert_int_equal(cuda_driver()->CtxCreate(&own, 0, bi_context_device(fixture.context)->ordinal), 0);
	OK(bi_context_push_current(fixture.context, &pushed, &error));
	assert_int_equal(cuda_driver()->StreamCreate(&captured, BI__CU_STREAM_NON_BLOCKING), 0);
	assert_int_equal(cuda_driver()->StreamBeginCapture(captured, BI__CU_CAPTURE_MODE_GLOBAL), 0);
	options.device = "cuda";
	options.adopt_context = (uintptr_t)own;
	options.adopt_stream = (uintptr_t)captured;
	REFUSED_FOR(BI_EINVAL, "belongs to another CUcontext", bi_context_open(&options, &refused, &error));
	assert_int_equal(cuda_driver()->StreamEndCapture(captured, &graph), 0);
	assert_int_equal(cuda_driver()->GraphDestroy(graph), 0);
	assert_int_equal(cuda_driver()->StreamDestroy(captured), 0);
	bi_context_pop_current(fixture.context, pushed);
	assert_int_equal(cuda_driver()->CtxDestroy(own), 0);
}

static size_t free_of_device(void)
{
	size_t unused, total;
	int pushed;

	OK(bi_context_push_current(fixture.context, &pushed, &error));
	assert_int_equal(cuda_driver()->MemGetInfo(&unused, &total), BI__CU_SUCCESS);
	bi_context_pop_current(fixture.context, pushed);
	return unused;
}

static void synchronize_device(void)
{
	int pushed;

	OK(bi_context_push_current(fixture.context, &pushed, &error));
	assert_int_equal(cuda_driver()->CtxSynchronize(), BI__CU_SUCCESS);
	bi_context_pop_current(fixture.context, pushed);
}

static struct bi_memory *new_memory_of(size_t nbytes, enum bi_memory_kind kind)
{
	struct bi_memory *memory;

	OK(bi_memory_create(fixture.context, nbytes, kind, &memory, &error));
	return memory;
}

/* The library keeps as many events for reuse as there ever were at one time. A trim destroys them. */
static void test_trim_destroys_unused_events(void **state)
{
	struct bi_stream *stream = bi_context_stream(fixture.context);
	struct cuda_sim_counts before, after;
	struct bi_event *events[100];

	(void)state;
	skip_unless_cuda();
	if (!cuda_sim())
		skip();
	let_go_of_retired(fixture.context);
	OK(bi_context_trim(fixture.context, 0, &error));
	cuda_sim()->count(&before);
	for (size_t i = 0; i < ARRAY_LENGTH(events); i++)
		OK(bi_event_record(stream, &events[i], &error));
	for (size_t i = 0; i < ARRAY_LENGTH(events); i++)
		bi_event_release(events[i]);
	OK(bi_context_trim(fixture.context, 0, &error));
	cuda_sim()->count(&after);
	assert_int_equal(after.live_events, before.live_events);
}

/* Memory that the driver's pool keeps is not free. A trim gives it back, at the latest once the device is idle. */
static void test_trim_empties_the_pool_of_the_driver(void **state)
{
	size_t before;

	(void)state;
	skip_unless_cuda();
	if (!cuda_sim())
		skip();
	OK(bi_context_trim(fixture.context, 0, &error));
	synchronize_device();
	before = free_of_device();
	bi_memory_release(new_memory_of(before / 2, BI_MEMORY_DEVICE));
	OK(bi_context_trim(fixture.context, 0, &error));
	synchronize_device();
	assert_true(free_of_device() >= before);
	/* The next memory stays in the pool again. */
	bi_memory_release(new_memory_of(before / 2, BI_MEMORY_DEVICE));
	synchronize_device();
	assert_true(free_of_device() < before);
}

/* BI_POOL_NONE: the driver's pool keeps nothing either, after a trim too. */
static void test_the_pool_of_the_driver_may_keep_nothing(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_memory *memory;
	size_t before;

	(void)state;
	skip_unless_cuda();
	if (!cuda_sim())
		skip();
	options.device = bi_context_device(fixture.context)->spec;
	options.pool_limit = BI_POOL_NONE;
	OK(bi_context_open(&options, &context, &error));
	synchronize_device();
	before = free_of_device();
	for (int round = 0; round < 2; round++) {
		OK(bi_memory_create(context, before / 2, BI_MEMORY_DEVICE, &memory, &error));
		bi_memory_release(memory);
		synchronize_device();
		assert_true(free_of_device() >= before);
		OK(bi_context_trim(context, 0, &error));
	}
	bi_context_release(context);
}

/* Device memory that was released makes room for managed memory. */
static void test_managed_memory_after_device_memory(void **state)
{
	(void)state;
	skip_unless_cuda();
	if (!cuda_sim() || !can(fixture.context, BI_CAP_SVM))
		skip();
	for (int round = 0; round < 2; round++) {
		size_t most = free_of_device() / 4 * 3;

		bi_memory_release(new_memory_of(most, BI_MEMORY_DEVICE));
		bi_memory_release(new_memory_of(most, BI_MEMORY_UNIFIED));
	}
}

/* Plain memory of the host is wrapped as what it is, memory that was freed not at all. */
static void test_unknown_pointers(void **state)
{
	static unsigned char bytes[64];
	uintptr_t gone;

	(void)state;
	skip_unless_cuda();
	refuse(BI_EINVAL, (uintptr_t)bytes, sizeof(bytes));
	refuse(BI_EINVAL, 16, 64);
	gone = outside_cuda.new_memory(native(), 64);
	outside_cuda.release(DRIVER_MEMORY, native(), gone);
	refuse(BI_EINVAL, gone, 64);
}

/* Whose primary context was not opened by us; retained and released around the test. */
static bi__cu_device other_device(void)
{
	int ordinal = bi_context_device(fixture.context)->ordinal, count = 0;
	bi__cu_device device = 0;

	CU(cuda_driver()->DeviceGetCount(&count));
	if (count < 2)
		skip();
	CU(cuda_driver()->DeviceGet(&device, ordinal ? 0 : 1));
	return device;
}

static void test_other_device(void **state)
{
	bi__cu_context context;
	bi__cu_device device;
	uintptr_t address;

	(void)state;
	skip_unless_cuda();
	device = other_device();
	CU(cuda_driver()->DevicePrimaryCtxRetain(&context, device));
	address = outside_cuda.new_memory((uintptr_t)context, 64);
	refuse(BI_EINVAL, address, 64);
	outside_cuda.release(DRIVER_MEMORY, (uintptr_t)context, address);
	CU(cuda_driver()->DevicePrimaryCtxRelease(device));
}

static uint64_t calls(void)
{
	struct cuda_sim_counts counts;

	cuda_sim()->count(&counts);
	return counts.calls;
}

static uint64_t waits(void)
{
	struct cuda_sim_counts counts;

	cuda_sim()->count(&counts);
	return counts.waits;
}

/* cudaDeviceReset() destroys the context that the library retains. Imports notice it, and a new context works. */
static void test_reset_context(void **state)
{
	atomic_int released = 0;
	struct bi_foreign foreign;
	struct bi_context *context;
	struct bi_memory *memory;
	struct bi_stream *stream;
	bi__cu_device device;
	char spec[16];

	(void)state;
	skip_unless_cuda();
	if (fixture.second || !bi__cu->CtxGetId)
		skip(); /* another test uses the other device, or nothing tells the contexts apart */
	device = other_device();
	snprintf(spec, sizeof(spec), "cuda:%d", bi_context_device(fixture.context)->ordinal ? 0 : 1);
	context = open_context(spec);
	foreign = pointer(outside_cuda.new_memory(bi_context_handle(context), 64), 64, 0, &released);
	CU(cuda_driver()->DevicePrimaryCtxReset(device));
	REFUSED_FOR(BI_EDRIVER, "open or adopt one again", bi_memory_wrap(context, &foreign, &memory, &error));
	REFUSED_FOR(BI_EDRIVER, "open or adopt one again", bi_stream_wrap(context, 1, NULL, NULL, &stream, &error));
	bi_context_release(context);
	context = open_context(spec);
	foreign.handle = outside_cuda.new_memory(bi_context_handle(context), 64);
	OK(bi_memory_wrap(context, &foreign, &memory, &error));
	bi_memory_release(memory);
	outside_cuda.release(DRIVER_MEMORY, bi_context_handle(context), foreign.handle);
	bi_context_release(context);
	fixture.cases += 3;
}

/* What is not checked is believed; the driver is not even asked. */
static void test_unchecked(void **state)
{
	atomic_int released = 0;
	uintptr_t address;
	uint64_t before;

	(void)state;
	skip_unless_cuda();
	before = cuda_sim() ? calls() : 0;
	bi_view_release(wrap(pointer(0x1000, 64, BI_WRAP_UNCHECKED, &released)));
	assert_int_equal(released, 1);
	assert_int_equal(cuda_sim() ? calls() : 0, before);
	address = outside_cuda.new_memory(native(), 64);
	use_and_release(wrap(pointer(address, 64, BI_WRAP_UNCHECKED, &released)), 'u', &released);
	outside_cuda.release(DRIVER_MEMORY, native(), address);
	fixture.cases += 2;
}

/* Nothing waits for such a memory or because of it, and it is let go while work is pending. */
static void test_unordered(void **state)
{
	atomic_int released = 0;
	unsigned char bytes[256];
	struct bi_stream *stream;
	struct bi_view *view;
	uintptr_t address;
	uint64_t before;

	(void)state;
	skip_unless_cuda();
	address = outside_cuda.new_memory(native(), sizeof(bytes));
	view = wrap(pointer(address, sizeof(bytes), BI_WRAP_UNORDERED, &released));
	OK(bi_stream_create(fixture.context, 0, &stream, &error));
	before = cuda_sim() ? waits() : 0;
	OK(begin_use(view, stream, &error));
	OK(bi_fill(view, "n", stream, &error));
	OK(bi_fill(view, "o", stream, &error));
	OK(end_use(view, stream, &error));
	bi_view_release(view);
	assert_int_equal(released, 1);
	assert_int_equal(cuda_sim() ? waits() : 0, before);
	OK(bi_stream_synchronize(stream, &error));
	outside_cuda.read(native(), address, 0, sizeof(bytes), bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 'o');
	bi_stream_release(stream);
	outside_cuda.release(DRIVER_MEMORY, native(), address);
	fixture.cases++;
}

static struct bi_stream *wrap_stream(uintptr_t handle)
{
	struct bi_stream *stream = STALE(struct bi_stream);

	OK(bi_stream_wrap(fixture.context, handle, NULL, NULL, &stream, &error));
	assert_int_equal(bi_stream_handle(stream), handle);
	return stream;
}

/* The default streams work like any other. */
static void check_default_stream(bi__cu_stream handle)
{
	static const int64_t shape[] = { 300 };
	struct bi_stream *stream = wrap_stream((uintptr_t)handle), *other;
	struct bi_view *view, *next;
	struct bi_event *event;
	unsigned char bytes[300];

	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &view, &error));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &next, &error));
	other = random_stream(bi_view_memory(view));
	OK(bi_fill(view, "a", other, &error));
	OK(bi_fill(view, "b", stream, &error));
	check_order(bi_view_memory(view));
	OK(bi_copy(next, view, stream, &error));
	check_order(bi_view_memory(view));
	check_order(bi_view_memory(next));
	OK(bi_fill(view, "c", other, &error));
	OK(bi_event_record(stream, &event, &error));
	OK(bi_event_synchronize(event, &error));
	OK(bi_stream_synchronize(stream, &error));
	OK(bi_view_read(next, bytes, sizeof(bytes), &error));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 'b');
	bi_event_release(event);
	bi_stream_release(other);
	bi_stream_release(stream);
	bi_view_release(next);
	bi_view_release(view);
	fixture.cases++;
}

static void test_default_streams(void **state)
{
	(void)state;
	skip_unless_cuda();
	for (int i = 0; i < effort(6); i++) {
		check_default_stream(BI__CU_STREAM_LEGACY);
		check_default_stream(BI__CU_STREAM_PER_THREAD);
	}
}

/* Each context has a legacy default stream, and host memory does not name its context. */
static void test_default_stream_of_host_memory(void **state)
{
	static const unsigned char bytes[3];
	struct bi_exchange exchange = exchange_of(bytes);
	struct bi_view *view;

	(void)state;
	skip_unless_cuda();
	exchange.stream = 1;
	exchange.order_kind = BI_ORDER_CUDA;
	REFUSED_FOR(BI_EINVAL, "[B-33]", bi_view_import(fixture.context, &exchange, 0, &view, &error));
	OK(bi_view_import(fixture.context, &exchange, BI_IMPORT_UNORDERED, &view, &error));
	bi_view_release(view);
	fixture.cases++;
}

/* What two threads share: one stream object that is a different stream on each of them. */
struct relay {
	struct bi_stream *stream;
	struct bi_view *view;
	int rc;
};

static void *fill_there(void *data)
{
	struct relay *relay = data;

	relay->rc = bi_fill(relay->view, "t", relay->stream, NULL);
	return NULL;
}

static void test_stream_of_each_thread(void **state)
{
	static const int64_t shape[] = { 300 };
	struct relay relay;
	unsigned char bytes[300];
	pthread_t thread;

	(void)state;
	skip_unless_cuda();
	relay.stream = wrap_stream((uintptr_t)BI__CU_STREAM_PER_THREAD);
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 1, shape, &relay.view, &error));
	OK(bi_fill(relay.view, "h", relay.stream, &error));
	check_order(bi_view_memory(relay.view));
	assert_int_equal(pthread_create(&thread, NULL, fill_there, &relay), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(relay.rc, BI_OK);
	OK(bi_view_read(relay.view, bytes, sizeof(bytes), &error));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 't');
	bi_view_release(relay.view);
	bi_stream_release(relay.stream);
	fixture.cases++;
}

static struct bi_options with_stream(uintptr_t context, bi__cu_stream stream)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.adopt_context = context;
	options.adopt_stream = (uintptr_t)stream;
	return options;
}

/* A context stream is one stream, so the one of each thread cannot be it. */
static void test_adopted_default_streams(void **state)
{
	static const int64_t shape[] = { 300 };
	struct bi_options refused = with_stream(0, BI__CU_STREAM_PER_THREAD);
	struct bi_context *context;
	struct bi_view *view;
	unsigned char bytes[300];

	(void)state;
	skip_unless_cuda();
	context = open_with("cuda", with_stream(native(), BI__CU_STREAM_LEGACY));
	assert_int_equal(bi_stream_handle(bi_context_stream(context)), (uintptr_t)BI__CU_STREAM_LEGACY);
	OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &view, &error));
	OK(bi_fill(view, "l", NULL, &error));
	OK(bi_view_read(view, bytes, sizeof(bytes), &error));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 'l');
	bi_view_release(view);
	bi_context_release(context);
	refused.adopt_context = native();
	refused.device = "cuda";
	REFUSED(BI_EINVAL, bi_context_open(&refused, &context, &error));
	assert_null(context);
	fixture.cases += 2;
}

/* The caller names the device of the context that he gives, or leaves it out. */
static void test_adopted_device(void **state)
{
	struct bi_options options = with_stream(0, NULL);
	struct bi_context *context;

	(void)state;
	skip_unless_cuda();
	options.adopt_context = native();
	context = open_with(bi_context_device(fixture.context)->spec, options);
	assert_string_equal(bi_context_device(context)->spec, bi_context_device(fixture.context)->spec);
	bi_context_release(context);
	options.device = bi_context_device(fixture.context)->ordinal ? "cuda:0" : "cuda:1";
	REFUSED(BI_EINVAL, bi_context_open(&options, &context, &error));
	assert_null(context);
	fixture.cases += 2;
}

/* Until the last one closes, contexts of a device are its primary context, which others share. */
static void test_primary_context(void **state)
{
	bi__cu_device device;
	bi__cu_context context;
	struct bi_context *second;

	(void)state;
	skip_unless_cuda();
	CU(cuda_driver()->DeviceGet(&device, bi_context_device(fixture.context)->ordinal));
	CU(cuda_driver()->DevicePrimaryCtxRetain(&context, device));
	second = open_context(fixture.spec);
	assert_int_equal(bi_context_handle(second), (uintptr_t)context);
	bi_context_release(second);
	CU(cuda_driver()->DevicePrimaryCtxRelease(device));
	fixture.cases++;
}

int foreign_cuda_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_inside_allocation),
		TEST(test_overlapping_pointers),
		TEST(test_pool_memory),
		TEST(test_pinned_memory),
		TEST(test_registered_memory),
		TEST(test_managed_memory),
		TEST(test_mapped_segments),
		TEST(test_freed_memory_stays_in_the_pool_of_the_driver),
		TEST(test_failed_open_beside_a_capture),
		TEST(test_trim_empties_the_pool_of_the_driver),
		TEST(test_trim_destroys_unused_events),
		TEST(test_the_pool_of_the_driver_may_keep_nothing),
		TEST(test_managed_memory_after_device_memory),
		TEST(test_unknown_pointers),
		TEST(test_other_device),
		TEST(test_unchecked),
		TEST(test_unordered),
		TEST(test_default_streams),
		TEST(test_default_stream_of_host_memory),
		TEST(test_stream_of_each_thread),
		TEST(test_adopted_default_streams),
		TEST(test_adopted_device),
		TEST(test_primary_context),
		TEST(test_reset_context),
	};

	return cmocka_run_group_tests_name("foreign_cuda", tests, NULL, NULL);
}
