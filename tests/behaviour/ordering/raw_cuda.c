/*
 * The raw driver of CUDA, simulated or real. A gate is a word of pinned memory that a stream waits for. The simulated
 * driver counts and fails calls; a real one tells nothing, and its tests look at bytes alone.
 *
 * Nothing is freed while work may be pending, because that would make the driver wait: what a test lets go of is buried
 * when its case has ended. A driver may also wait when a stream is made or pinned memory is allocated, so each context
 * has some of both before a gate is closed.
 */
#define _POSIX_C_SOURCE 200809L
#include "raw_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "raw_driver.h"
#include "common/runtime/object.h"

#define MOST 512

enum grave_kind { GRAVE_MEMORY, GRAVE_PINNED, GRAVE_EVENT };
enum { SPARE_STREAMS = 12, SPARE_PINNED = 48 };

/* Streams and pinned memory that no test has used yet. The memory is that of every context. */
static struct {
	struct {
		bi__cu_context context;
		bi__cu_stream stream;
	} streams[MOST + 1];
	void *pinned[SPARE_PINNED];
	size_t stream_count, pinned_count;
} spare;

static struct {
	struct {
		enum grave_kind kind;
		uintptr_t handle;
		bi__cu_context context;
	} graves[MOST];
	size_t grave_count;
	struct {
		bi__cu_device device;
		bi__cu_context context;
	} held[MOST]; /* primary contexts */
	size_t held_count;
	bi__cu_context shared;
} kept;

/* ------------------------------------------------------------------------------------------------------------ calls */

static bi__cu_context native_of(const struct bi_context *context)
{
	return (bi__cu_context)bi_context_handle(context);
}

void check_cuda(bi__cu_result code, const char *call, const char *file, int line)
{
	const char *name = NULL;

	if (code == BI__CU_SUCCESS)
		return;
	cuda_driver()->GetErrorName(code, &name);
	print_error("%s\n  returned %u, %s\n", call, code, name ? name : "?");
	_fail(file, line);
}

bi__cu_stream cuda_stream_of(const struct bi_stream *stream)
{
	return (bi__cu_stream)bi_stream_handle(stream);
}

bi__cu_pointer cuda_pointer_of(const struct bi_view *view)
{
	return handle_of(view);
}

static void enter_native(bi__cu_context context)
{
	DID(CtxPushCurrent(context));
}

void cuda_enter(const struct bi_context *context)
{
	enter_native(native_of(context));
}

void cuda_leave(void)
{
	bi__cu_context context;

	DID(CtxPopCurrent(&context));
}

/* ----------------------------------------------------------------------------------------------------------- counts */

static struct cuda_sim_counts counts_now(void)
{
	struct cuda_sim_counts counts = { 0 };

	if (cuda_sim())
		cuda_sim()->count(&counts);
	return counts;
}

uint64_t cuda_calls(void)
{
	return counts_now().calls;
}

unsigned cuda_find_call(uint64_t since, const char *name, unsigned nth)
{
	uint64_t end = cuda_calls();

	for (uint64_t i = since + 1; i <= end; i++)
		if (strcmp(cuda_sim()->call_name(i), name) == 0 && !--nth)
			return (unsigned)(i - since);
	return 0;
}

/* Arming anew would forget a wait that is to be left out (drop.py). */
static uint64_t drop_left(void)
{
	const char *text = getenv("CUDA_SIM_DROP_WAIT");
	uint64_t wanted = text ? strtoull(text, NULL, 10) : 0;
	struct cuda_sim_counts counts = counts_now();

	return wanted > counts.waits ? wanted - counts.waits : 0;
}

void cuda_fail_call(unsigned nth, bi__cu_result code)
{
	cuda_sim()->arm(nth, (int)code, drop_left());
}

void cuda_fail_calls(unsigned nth, unsigned count, bi__cu_result code)
{
	cuda_sim()->arm_from(nth, count, (int)code);
}

static int counts(void)
{
	return cuda_sim() != NULL;
}

static uint64_t host_waits(void)
{
	return counts_now().host_waits;
}

static void tell_waits(void)
{
	uint64_t end = counts_now().host_waits;

	for (uint64_t i = end > 5 ? end - 5 : 0; i < end; i++)
		print_error("  waited: %s\n", cuda_sim()->host_wait(i));
}

/* For the end of the context stream (16.2). The driver may wait for other work when staging buffers are freed (28.3).
 */
static uint64_t closing_waits(void)
{
	uint64_t end = counts_now().host_waits, found = 0;

	for (uint64_t i = 0; i < end; i++)
		found += !strcmp(cuda_sim()->host_wait(i), "cuMemFreeHost") ||
			 !strcmp(cuda_sim()->host_wait(i), "cuStreamSynchronize");
	return found;
}

static uint64_t count_prefix(const char *prefix)
{
	uint64_t end = cuda_calls(), sum = 0;

	for (uint64_t i = 1; i <= end; i++)
		sum += strncmp(cuda_sim()->call_name(i), prefix, strlen(prefix)) == 0;
	return sum;
}

static uint64_t calls(const char *name)
{
	uint64_t end = cuda_calls(), sum = 0;

	for (uint64_t i = 1; i <= end; i++)
		sum += strcmp(cuda_sim()->call_name(i), name) == 0;
	return sum;
}

static uint64_t count_enqueued(void)
{
	static const char *const prefixes[] = { "cuMemcpy",     "cuMemset",        "cuLaunch",      "cuEventRecord",
						"cuStreamWait", "cuMemAllocAsync", "cuMemFreeAsync" };
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++)
		sum += count_prefix(prefixes[i]);
	return sum;
}

static uint64_t count(enum counted what)
{
	switch (what) {
	case COUNT_ALL:
		return cuda_calls();
	case COUNT_ENQUEUED:
		return count_enqueued();
	case COUNT_RECORDS:
		return calls("cuEventRecord");
	case COUNT_WAITS:
		return calls("cuStreamWaitEvent");
	default:
		return calls("cuEventQuery");
	}
}

static int64_t live_memory_now(void)
{
	return (int64_t)counts_now().live_memory;
}

static void arm_call(const char *name, unsigned nth)
{
	(void)nth;
	fail_msg("%s: the simulated driver fails calls by their number", name);
}

static void arm_calls_from(unsigned nth)
{
	cuda_sim()->arm_from(nth, 0, BI__CU_ERROR_UNKNOWN);
}

static uint64_t failed_calls(void)
{
	return counts_now().failed_calls;
}

/* Host waits of the test itself are what the driver counted meanwhile. */
static uint64_t own_begin;

static void begin_own(void)
{
	own_begin = host_waits();
}

static void end_own(void)
{
	own_waits(host_waits() - own_begin);
}

/* ---------------------------------------------------------------------------------------------------- begin and end */

static unsigned open_device(const char *spec)
{
	(void)spec;
	cuda_driver();
	if (!cuda_sim())
		return NEED_DEVICE | NEED_CUDA | NEED_GATE;
	return NEED_DEVICE | NEED_CUDA | NEED_GATE | NEED_SIM | NEED_COUNTS;
}

/* Each test is a run of the simulator, with what the environment says; it forgets what a failed one has left. */
static void begin(void)
{
	kept.grave_count = kept.held_count = 0;
	spare.stream_count = spare.pinned_count = 0;
	kept.shared = NULL;
	if (cuda_sim())
		cuda_sim()->begin(NULL);
}

static void bury_one(enum grave_kind kind, uintptr_t handle, bi__cu_context context)
{
	enter_native(context);
	if (kind == GRAVE_EVENT)
		DID(EventDestroy((bi__cu_event)handle));
	else if (kind == GRAVE_MEMORY)
		DID(MemFree(handle));
	else
		DID(MemFreeHost((void *)handle));
	cuda_leave();
}

/* Their contexts are there, held until the test has ended. */
static void bury_graves(void)
{
	begin_own();
	while (kept.grave_count) {
		kept.grave_count--;
		bury_one(kept.graves[kept.grave_count].kind, kept.graves[kept.grave_count].handle,
			 kept.graves[kept.grave_count].context);
	}
	end_own();
}

/* What is let go of in a callback has no context of the library that could still be asked for it. */
static bi__cu_context context_of_pointer(uintptr_t pointer)
{
	bi__cu_context context = NULL;

	DID(PointerGetAttribute(&context, BI__CU_POINTER_CONTEXT, pointer));
	return context;
}

static void dig(enum grave_kind kind, uintptr_t handle, bi__cu_context context)
{
	assert_true(kept.grave_count < MOST);
	kept.graves[kept.grave_count].kind = kind;
	kept.graves[kept.grave_count].context = context;
	kept.graves[kept.grave_count++].handle = handle;
}

static void dig_memory(enum grave_kind kind, uintptr_t pointer)
{
	dig(kind, pointer, context_of_pointer(pointer));
}

static void *new_pinned(void)
{
	void *bytes;

	DID(MemHostAlloc(&bytes, ARRAY_BYTES, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
	return bytes;
}

static bi__cu_stream new_stream_now(void)
{
	bi__cu_stream stream;

	DID(StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING));
	return stream;
}

static size_t find_spare(bi__cu_context context)
{
	size_t i = 0;

	while (i < spare.stream_count && spare.streams[i].context != context)
		i++;
	return i;
}

static size_t count_spares(bi__cu_context context)
{
	size_t count = 0;

	for (size_t i = 0; i < spare.stream_count; i++)
		count += spare.streams[i].context == context;
	return count;
}

/* A driver that loads its own code on first use may wait for the device to do so. The context is current. */
static void warm_up(bi__cu_stream stream, void *pinned)
{
	bi__cu_pointer pointer;

	if (cuda_sim())
		return;
	DID(MemAlloc(&pointer, ARRAY_BYTES));
	DID(MemsetD8Async(pointer, 1, 16, stream));
	DID(MemsetD16Async(pointer, 1, 16, stream));
	DID(MemsetD32Async(pointer, 1, 16, stream));
	DID(MemcpyDtoDAsync(pointer + 64, pointer, 16, stream));
	DID(MemcpyDtoHAsync(pinned, pointer, 16, stream));
	DID(MemcpyHtoDAsync(pointer, pinned, 16, stream));
	DID(StreamSynchronize(stream));
	DID(MemFree(pointer));
}

/* The context is current. */
static void make_spares(bi__cu_context context)
{
	size_t there = count_spares(context);
	int is_new = !there;

	while (spare.pinned_count < SPARE_PINNED)
		spare.pinned[spare.pinned_count++] = new_pinned();
	for (; there < SPARE_STREAMS && spare.stream_count < MOST; there++) {
		spare.streams[spare.stream_count].context = context;
		spare.streams[spare.stream_count++].stream = new_stream_now();
	}
	if (is_new && spare.stream_count)
		warm_up(spare.streams[spare.stream_count - 1].stream, spare.pinned[0]);
}

static void refill(bi__cu_context context)
{
	enter_native(context);
	make_spares(context);
	cuda_leave();
}

static void destroy_stream(bi__cu_context context, bi__cu_stream stream)
{
	enter_native(context);
	DID(StreamDestroy(stream));
	cuda_leave();
}

static void free_spares(void)
{
	while (spare.stream_count) {
		spare.stream_count--;
		destroy_stream(spare.streams[spare.stream_count].context, spare.streams[spare.stream_count].stream);
	}
	while (spare.pinned_count)
		dig_memory(GRAVE_PINNED, (uintptr_t)spare.pinned[--spare.pinned_count]);
	bury_graves();
}

/* No gate is closed and nothing is pending. */
static void bury(void)
{
	bury_graves();
	if (kept.shared)
		refill(kept.shared);
	for (size_t i = 0; i < kept.held_count; i++)
		refill(kept.held[i].context);
}

/* The context is current. */
static bi__cu_stream take_stream(const struct bi_context *context)
{
	size_t i = find_spare(native_of(context));
	bi__cu_stream stream = spare.streams[i].stream;

	if (i == spare.stream_count)
		return new_stream_now();
	spare.streams[i] = spare.streams[--spare.stream_count];
	return stream;
}

/* The stream is idle and its context is current. */
static void give_stream(bi__cu_stream stream)
{
	bi__cu_context context;

	DID(CtxGetCurrent(&context));
	if (spare.stream_count == MOST) {
		DID(StreamDestroy(stream));
		return;
	}
	spare.streams[spare.stream_count].context = context;
	spare.streams[spare.stream_count++].stream = stream;
}

static void hold(struct bi_context *context)
{
	bi__cu_device device = bi_context_device(context)->ordinal;
	bi__cu_context primary;

	assert_true(kept.held_count < MOST);
	DID(DevicePrimaryCtxRetain(&primary, device));
	kept.held[kept.held_count].context = primary;
	kept.held[kept.held_count++].device = device;
	if (find_spare(primary) == spare.stream_count)
		refill(primary);
}

static void end(void)
{
	uint64_t reports;

	free_spares();
	while (kept.held_count)
		DID(DevicePrimaryCtxRelease(kept.held[--kept.held_count].device));
	if (!cuda_sim())
		return;
	reports = cuda_sim()->end();
	for (uint64_t i = 0; i < reports; i++)
		print_error("%s\n", cuda_sim()->report(i));
	if (reports)
		fail_msg("the simulated driver has made %llu reports", (unsigned long long)reports);
}

/* The context of an earlier test, or NULL. Hardware takes most of a second to create and destroy one. */
static bi__cu_context lasting;

static uintptr_t share(const char *const specs[2], const char *adopt[2])
{
	int ordinal = 0;
	bi__cu_context context;

	sscanf(specs[0], "cuda:%d", &ordinal);
	kept.shared = lasting;
	if (lasting)
		DID(CtxPushCurrent(lasting));
	else
		DID(CtxCreate(&kept.shared, 0, ordinal));
	make_spares(kept.shared);
	DID(CtxPopCurrent(&context));
	adopt[0] = adopt[1] = "cuda";
	return (uintptr_t)kept.shared;
}

static void unshare(uintptr_t native)
{
	kept.shared = NULL;
	free_spares();
	if (!cuda_sim()) {
		lasting = (bi__cu_context)native;
		return;
	}
	begin_own();
	DID(CtxDestroy((bi__cu_context)native));
	end_own();
}

/* ---------------------------------------------------------------------------------------------------------- streams */

static void begin_early(int is_early)
{
	if (cuda_sim())
		cuda_sim()->behave(is_early ? "" : NULL);
}

static uintptr_t stream_create(struct bi_context *context, unsigned flags)
{
	bi__cu_stream stream;

	assert_int_equal(flags, BI_STREAM_IN_ORDER);
	cuda_enter(context);
	stream = take_stream(context);
	cuda_leave();
	return (uintptr_t)stream;
}

static void stream_release(uintptr_t native, uintptr_t stream)
{
	destroy_stream((bi__cu_context)native, (bi__cu_stream)stream);
}

static void sleep_for(long nanoseconds)
{
	const struct timespec moment = { 0, nanoseconds };

	nanosleep(&moment, NULL);
}

static void settle_context(struct bi_context *context)
{
	int version;

	(void)context;
	if (cuda_sim()) {
		cuda_sim()->settle();
		return;
	}
	/* The simulated device without its controls works when the driver is called. */
	DID(DriverGetVersion(&version));
	sleep_for(3000000);
}

static int is_empty(const struct bi_stream *stream)
{
	bi__cu_result code;

	cuda_enter(bi_stream_context(stream));
	code = cuda_driver()->StreamQuery(cuda_stream_of(stream));
	cuda_leave();
	if (code != BI__CU_ERROR_NOT_READY)
		check_cuda(code, "StreamQuery", __FILE__, __LINE__);
	return code == BI__CU_SUCCESS;
}

static void finish(struct bi_stream *const *streams, size_t number)
{
	for (size_t i = 0; i < number; i++)
		while (!is_empty(streams[i]))
			settle_context(NULL);
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static void *host_alloc(const struct bi_context *context)
{
	void *bytes;

	if (spare.pinned_count)
		return spare.pinned[--spare.pinned_count];
	cuda_enter(context);
	bytes = new_pinned();
	cuda_leave();
	return bytes;
}

static void host_free(void *bytes)
{
	dig_memory(GRAVE_PINNED, (uintptr_t)bytes);
}

static bi__cu_pointer alloc_device(const struct bi_context *context, size_t nbytes)
{
	bi__cu_pointer pointer;

	cuda_enter(context);
	DID(MemAlloc(&pointer, nbytes));
	cuda_leave();
	return pointer;
}

/* A stream of its own, so that nothing else is waited for. */
struct aside {
	bi__cu_stream stream;
};

static struct aside step_aside(const struct bi_context *context)
{
	struct aside aside;

	cuda_enter(context);
	aside.stream = take_stream(context);
	return aside;
}

static void step_back(struct aside aside)
{
	begin_own();
	DID(StreamSynchronize(aside.stream));
	end_own();
	give_stream(aside.stream);
	cuda_leave();
}

static uintptr_t alloc_bytes(struct bi_context *context, int value)
{
	bi__cu_pointer pointer = alloc_device(context, ARRAY_BYTES);
	struct aside aside = step_aside(context);

	DID(MemsetD8Async(pointer, (unsigned char)value, ARRAY_BYTES, aside.stream));
	step_back(aside);
	return (uintptr_t)pointer;
}

static void free_bytes(uintptr_t handle)
{
	dig_memory(GRAVE_MEMORY, handle);
}

/* Does the driver know the bytes that the array lies in? */
static int is_known(const struct bi_view *view)
{
	return setting.is_pinned || !bi_memory_is_host(bi_view_memory(view));
}

static uintptr_t address_of(const struct bi_view *view)
{
	void *host = bi_view_host_pointer(view);

	return host ? (uintptr_t)host : (uintptr_t)cuda_pointer_of(view);
}

static const struct bi_context *context_of_view(const struct bi_view *view)
{
	return bi_memory_context(bi_view_memory(view));
}

static void download(struct bi_view *view, unsigned char bytes[ARRAY_BYTES])
{
	void *pinned = host_alloc(context_of_view(view));
	struct aside aside = step_aside(context_of_view(view));

	DID(MemcpyDtoHAsync(pinned, cuda_pointer_of(view), ARRAY_BYTES, aside.stream));
	step_back(aside);
	memcpy(bytes, pinned, ARRAY_BYTES);
	host_free(pinned);
}

static void peek_bytes(struct bi_view *view, unsigned char bytes[ARRAY_BYTES], int is_quiet)
{
	void *host = bi_view_host_pointer(view);

	if (cuda_sim() && is_quiet && is_known(view) && !cuda_sim()->ordered(0, address_of(view), ARRAY_BYTES, 0))
		fail_msg("the CPU cannot know that the work on the bytes is done");
	if (host)
		memcpy(bytes, host, ARRAY_BYTES);
	else if (cuda_sim())
		cuda_sim()->peek(bytes, cuda_pointer_of(view), ARRAY_BYTES);
	else
		download(view, bytes);
}

static void poke_bytes(struct bi_view *view, const unsigned char bytes[ARRAY_BYTES])
{
	void *host = bi_view_host_pointer(view), *pinned;
	struct aside aside;

	if (host) {
		memcpy(host, bytes, ARRAY_BYTES);
		return;
	}
	pinned = host_alloc(context_of_view(view));
	memcpy(pinned, bytes, ARRAY_BYTES);
	aside = step_aside(context_of_view(view));
	DID(MemcpyHtoDAsync(cuda_pointer_of(view), pinned, ARRAY_BYTES, aside.stream));
	step_back(aside);
	host_free(pinned);
}

static int has_pools(const struct bi_context *context)
{
	int value = 0;

	if (!cuda_driver()->MemAllocAsync)
		return 0;
	DID(DeviceGetAttribute(&value, BI__CU_DEVICE_MEMORY_POOLS_SUPPORTED, bi_context_device(context)->ordinal));
	return value;
}

static int is_free(uintptr_t handle, uintptr_t stream)
{
	int answer;

	if (!cuda_sim())
		return 1;
	enter_native(context_of_pointer(handle));
	answer = cuda_sim()->ordered(stream, handle, ARRAY_BYTES, 1);
	cuda_leave();
	return answer == 1;
}

/* All bytes of the memory, without showing its handle: that would change what becomes of it. */
static uintptr_t start_of(const struct bi_view *view)
{
	const struct bi__block *block = &view->memory->block;

	return block->host ? (uintptr_t)block->host : block->handle + block->origin;
}

/* Only CUDA's own streams are those of the current context; others leave it, and the count of calls, alone. */
static int ordered_on(struct bi_stream *stream, struct bi_view *view, int writes)
{
	int needs_context = bi_stream_handle(stream) <= (uintptr_t)BI__CU_STREAM_PER_THREAD;
	int answer;

	if (!cuda_sim() || !is_known(view))
		return -1;
	if (needs_context)
		cuda_enter(bi_stream_context(stream));
	answer = cuda_sim()->ordered(bi_stream_handle(stream), start_of(view), bi_memory_nbytes(view->memory), writes);
	if (needs_context)
		cuda_leave();
	return answer;
}

/* --------------------------------------------------------------------------------------------------------- commands */

/* Work of the host in the order of a stream, on pageable memory, which the driver moves only while the caller waits. */
struct host_work {
	void *to;
	const void *from; /* or NULL: all bytes become `value` */
	int value;
};

static void do_host_work(void *data)
{
	struct host_work *work = data;

	if (work->from)
		memcpy(work->to, work->from, ARRAY_BYTES);
	else
		memset(work->to, work->value, ARRAY_BYTES);
	free(work);
}

static void host_work(const struct bi_stream *stream, struct host_work work)
{
	struct host_work *copy = malloc(sizeof(*copy));

	assert_non_null(copy);
	*copy = work;
	DID(LaunchHostFunc(cuda_stream_of(stream), do_host_work, copy));
}

static void download_value(const struct bi_stream *stream, void *host, int value)
{
	uintptr_t source = alloc_bytes(bi_stream_context(stream), value);

	DID(MemcpyDtoHAsync(host, source, ARRAY_BYTES, cuda_stream_of(stream)));
	free_bytes(source);
}

static uintptr_t record(const struct bi_stream *stream)
{
	bi__cu_event event;

	DID(EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING));
	DID(EventRecord(event, cuda_stream_of(stream)));
	return (uintptr_t)event;
}

static void gate_close(struct gate *gate, struct bi_stream *stream);

static void write_bytes(struct bi_stream *stream, struct bi_view *view, int value, struct gate *gate, uintptr_t *event)
{
	void *host = bi_view_host_pointer(view);

	if (gate)
		gate_close(gate, stream);
	cuda_enter(bi_stream_context(stream));
	if (!host)
		DID(MemsetD8Async(cuda_pointer_of(view), (unsigned char)value, ARRAY_BYTES, cuda_stream_of(stream)));
	else if (is_known(view))
		download_value(stream, host, value);
	else
		host_work(stream, (struct host_work){ host, NULL, value });
	if (event)
		*event = record(stream);
	cuda_leave();
}

static void copy_bytes(struct bi_stream *stream, struct bi_view *to, struct bi_view *from)
{
	cuda_enter(bi_stream_context(stream));
	DID(MemcpyDtoDAsync(cuda_pointer_of(to), cuda_pointer_of(from), ARRAY_BYTES, cuda_stream_of(stream)));
	cuda_leave();
}

static void upload_bytes(struct bi_stream *stream, struct bi_view *to, struct bi_view *from)
{
	void *host = bi_view_host_pointer(from), *pinned = host;

	if (!is_known(from))
		pinned = host_alloc(bi_stream_context(stream));

	cuda_enter(bi_stream_context(stream));
	if (pinned != host) {
		host_work(stream, (struct host_work){ pinned, host, 0 });
		host_free(pinned);
	}
	DID(MemcpyHtoDAsync(cuda_pointer_of(to), pinned, ARRAY_BYTES, cuda_stream_of(stream)));
	cuda_leave();
}

/* ------------------------------------------------------------------------------------------------------------ gates */

static void gate_init(struct gate *gate)
{
	gate->handle = (uintptr_t)host_alloc(gate->context);
	memset((void *)gate->handle, 0, ARRAY_BYTES);
}

static void wait_for_gate(void *data)
{
	const struct gate *gate = data;

	while (!atomic_load(&gate->open))
		sleep_for(100000);
}

/* Where a stream cannot wait for a word, a function on the host blocks it, and with it all other such functions. */
static void gate_close(struct gate *gate, struct bi_stream *stream)
{
	bi__cu_result code = BI__CU_ERROR_NOT_SUPPORTED;

	cuda_enter(bi_stream_context(stream));
	if (cuda_driver()->StreamWaitValue32)
		code = cuda_driver()->StreamWaitValue32(cuda_stream_of(stream), gate->handle, 1, 0);
	if (code == BI__CU_ERROR_NOT_SUPPORTED && !cuda_sim())
		code = cuda_driver()->LaunchHostFunc(cuda_stream_of(stream), wait_for_gate, gate);
	check_cuda(code, "gate_close", __FILE__, __LINE__);
	cuda_leave();
}

static void gate_open(struct gate *gate)
{
	atomic_store((_Atomic uint32_t *)gate->handle, 1);
}

static void gate_release(struct gate *gate)
{
	host_free((void *)gate->handle);
}

static uintptr_t event_complete(struct bi_context *context)
{
	struct aside aside = step_aside(context);
	bi__cu_event event;

	DID(EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING));
	DID(EventRecord(event, aside.stream));
	step_back(aside);
	return (uintptr_t)event;
}

/* The library does not retain it. */
static void event_release(uintptr_t native, uintptr_t event)
{
	dig(GRAVE_EVENT, event, (bi__cu_context)native);
}

static void event_wait(struct bi_stream *stream, uintptr_t event)
{
	cuda_enter(bi_stream_context(stream));
	DID(StreamWaitEvent(cuda_stream_of(stream), (bi__cu_event)event, 0));
	cuda_leave();
}

static int event_done(uintptr_t event)
{
	return cuda_driver()->EventQuery((bi__cu_event)event) == BI__CU_SUCCESS;
}

const struct raw_driver raw_cuda = {
	.backend = "cuda",
	.handle_kind = BI_HANDLE_CUDA,
	.stream_kind = BI_ORDER_CUDA,
	.open = open_device,
	.begin = begin,
	.end = end,
	.counts = counts,
	.host_waits = host_waits,
	.tell_waits = tell_waits,
	.closing_waits = closing_waits,
	.count = count,
	.calls = calls,
	.live_memory = live_memory_now,
	.arm = arm_call,
	.arm_from = arm_calls_from,
	.failures = failed_calls,
	.share = share,
	.unshare = unshare,
	.hold = hold,
	.make_early = begin_early,
	.stream_create = stream_create,
	.stream_release = stream_release,
	.finish = finish,
	.settle = settle_context,
	.alloc = alloc_bytes,
	.free = free_bytes,
	.host_alloc = host_alloc,
	.host_free = host_free,
	.allocates_in_order = has_pools,
	.bury = bury,
	.peek = peek_bytes,
	.poke = poke_bytes,
	.is_free = is_free,
	.ordered = ordered_on,
	.write = write_bytes,
	.copy = copy_bytes,
	.upload = upload_bytes,
	.gate_init = gate_init,
	.gate_close = gate_close,
	.gate_open = gate_open,
	.gate_release = gate_release,
	.event_complete = event_complete,
	.event_release = event_release,
	.event_wait = event_wait,
	.event_done = event_done,
};
