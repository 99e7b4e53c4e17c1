#include "raw.h"

#include <stdio.h>

struct cai_test cai_test;

static void keep_line(void *data, enum bi_log_level level, const char *message)
{
	(void)data;
	(void)level;
	snprintf(cai_test.log, sizeof(cai_test.log), "%s", message);
	cai_test.lines++;
}

struct bi_context *open_context(const char *spec)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = spec;
	options.log = keep_line;
	OK(bi_context_open(&options, &context, &error));
	return context;
}

int open_contexts(void **state)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;

	(void)state;
	cuda_driver();
	options.seed = test_next(&fixture.random);
	options.pools = cai_test.has_pools;
	options.concurrent_managed = cai_test.has_concurrent_managed;
	if (cuda_sim())
		cuda_sim()->begin(&options);
	cai_test.lines = 0;
	fixture.context = open_context(fixture.spec);
	fixture.second = fixture.second_spec ? open_context(fixture.second_spec) : NULL;
	return 0;
}

int close_contexts(void **state)
{
	uint64_t reports;

	(void)state;
	bi_context_release(fixture.second);
	bi_context_release(fixture.context);
	reports = cuda_sim() ? cuda_sim()->end() : 0;
	for (uint64_t i = 0; i < reports; i++)
		print_error("%s\n", cuda_sim()->report(i));
	return reports != 0;
}

/* The library leaves the thread as it is, so the tests have to make their context current themselves. */
static void enter(struct bi_context *context)
{
	/* The number is the handle. */
	CU(cuda_driver()->CtxPushCurrent((bi__cu_context)bi_context_handle(context)));
}

static void leave(void)
{
	bi__cu_context left;

	CU(cuda_driver()->CtxPopCurrent(&left));
}

static bi__cu_stream stream_of(uintptr_t stream)
{
	return (bi__cu_stream)stream;
}

int has_raw(enum raw_kind kind)
{
	bi__cu_device device;
	int has_pools;

	if (kind != RAW_POOL)
		return 1;
	CU(cuda_driver()->DeviceGet(&device, bi_context_device(fixture.context)->ordinal));
	CU(cuda_driver()->DeviceGetAttribute(&has_pools, BI__CU_DEVICE_MEMORY_POOLS_SUPPORTED, device));
	return has_pools && cuda_driver()->MemAllocAsync;
}

void raw_open(struct raw *raw, struct bi_context *context, enum raw_kind kind, size_t nbytes)
{
	const struct cuda_driver *driver = cuda_driver();
	uintptr_t stream = bi_stream_handle(bi_context_stream(context));
	void *host;

	*raw = (struct raw){ .context = context, .kind = kind, .nbytes = nbytes };
	enter(context);
	switch (kind) {
	case RAW_PINNED:
		CU(driver->MemHostAlloc(&host, nbytes, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
		CU(driver->MemHostGetDevicePointer(&raw->pointer, host, 0));
		break;
	case RAW_MANAGED:
		CU(driver->MemAllocManaged(&raw->pointer, nbytes, BI__CU_MEM_ATTACH_GLOBAL));
		break;
	case RAW_POOL:
		CU(driver->MemAllocAsync(&raw->pointer, nbytes, stream_of(stream)));
		CU(driver->StreamSynchronize(stream_of(stream)));
		break;
	default:
		CU(driver->MemAlloc(&raw->pointer, nbytes));
	}
	leave();
}

void raw_close(struct raw *raw)
{
	const struct cuda_driver *driver = cuda_driver();

	enter(raw->context);
	CU(driver->CtxSynchronize());
	if (raw->kind == RAW_PINNED)
		CU(driver->MemFreeHost((void *)(uintptr_t)raw->pointer));
	else
		CU(driver->MemFree(raw->pointer));
	leave();
}

void raw_fill(const struct raw *raw, uintptr_t stream, unsigned char value)
{
	enter(raw->context);
	CU(cuda_driver()->MemsetD8Async(raw->pointer, value, raw->nbytes, stream_of(stream)));
	leave();
}

void raw_check(const struct raw *raw, unsigned char value)
{
	unsigned char *bytes = malloc(raw->nbytes);

	assert_non_null(bytes);
	enter(raw->context);
	CU(cuda_driver()->CtxSynchronize());
	CU(cuda_driver()->MemcpyDtoH(bytes, raw->pointer, raw->nbytes));
	leave();
	for (size_t i = 0; i < raw->nbytes; i++)
		assert_int_equal(bytes[i], value);
	free(bytes);
}

uintptr_t raw_stream_open(struct bi_context *context)
{
	bi__cu_stream stream;

	enter(context);
	CU(cuda_driver()->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING));
	leave();
	return (uintptr_t)stream;
}

void raw_stream_close(struct bi_context *context, uintptr_t stream)
{
	enter(context);
	CU(cuda_driver()->StreamSynchronize(stream_of(stream)));
	CU(cuda_driver()->StreamDestroy(stream_of(stream)));
	leave();
}

struct bi_cai bytes_of(const struct raw *raw)
{
	static int64_t shapes[8];
	static int next;
	struct bi_cai cai = { .version = 3, .ndim = 1, .typestr = "|u1", .stream_kind = BI_CAI_STREAM_NONE };

	next = (next + 1) % 8;
	shapes[next] = (int64_t)raw->nbytes;
	cai.shape = &shapes[next];
	cai.data = raw->pointer;
	return cai;
}

struct bi_cai bytes_on(const struct raw *raw, uintptr_t stream)
{
	struct bi_cai cai = bytes_of(raw);

	cai.stream_kind = BI_CAI_STREAM_GIVEN;
	cai.stream = stream;
	return cai;
}

static struct cuda_sim_counts counts(void)
{
	struct cuda_sim_counts now = { 0 };

	if (cuda_sim())
		cuda_sim()->count(&now);
	return now;
}

uint64_t driver_calls(void)
{
	return counts().calls;
}

uint64_t driver_waits(void)
{
	return counts().waits;
}

uint64_t driver_host_waits(void)
{
	return counts().host_waits;
}

void check_ordered(int expected, uintptr_t stream, const struct raw *raw, const char *file, int line)
{
	int is_ordered = expected;

	/* Streams 1 and 2 are those of the current context. */
	enter(raw->context);
	if (cuda_sim())
		is_ordered = cuda_sim()->ordered(stream, raw->pointer, raw->nbytes, 1);
	leave();
	if (is_ordered == expected)
		return;
	print_error("stream 0x%" PRIxPTR " is%s ordered behind the work on the memory\n", stream,
		    expected ? " not" : "");
	_fail(file, line);
}
