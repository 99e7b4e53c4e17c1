/* The raw work of CUDA. */
#include "cuda_driver.h"
#include "raw.h"

#include <stdatomic.h>
#include <string.h>

static struct {
	bi__cu_device device;
	bi__cu_context context; /* primary, retained */
	bi__cu_stream streams[RAW_STREAMS];
	bi__cu_pointer source, stock[RAW_PARTS][RAW_STOCK];
	unsigned char bytes[RAW_BYTES], *pinned;
} own;

static void enter(void)
{
	RAW(cuda_driver()->CtxPushCurrent(own.context));
}

static void leave(void)
{
	bi__cu_context context;

	RAW(cuda_driver()->CtxPopCurrent(&context));
}

static void open_objects(struct bi_context *context)
{
	own.device = bi_context_device(context)->ordinal;
	RAW(cuda_driver()->DevicePrimaryCtxRetain(&own.context, own.device));
	enter();
	for (size_t i = 0; i < RAW_BYTES; i++)
		own.bytes[i] = raw_source(i);
	RAW(cuda_driver()->MemAlloc(&own.source, RAW_BYTES));
	RAW(cuda_driver()->MemcpyHtoD(own.source, own.bytes, RAW_BYTES));
	for (int part = 0; part < RAW_PARTS; part++)
		for (int i = 0; i < RAW_STOCK; i++)
			RAW(cuda_driver()->MemAlloc(&own.stock[part][i], RAW_BYTES));
	RAW(cuda_driver()->MemHostAlloc((void **)&own.pinned, (size_t)RAW_PARTS * RAW_WITNESSES * RAW_BYTES,
					BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP));
	for (int i = 0; i < RAW_STREAMS; i++)
		RAW(cuda_driver()->StreamCreate(&own.streams[i], BI__CU_STREAM_NON_BLOCKING));
	leave();
}

static void close_objects(void)
{
	enter();
	RAW(cuda_driver()->CtxSynchronize());
	for (int part = 0; part < RAW_PARTS; part++)
		for (int i = 0; i < RAW_STOCK; i++)
			RAW(cuda_driver()->MemFree(own.stock[part][i]));
	RAW(cuda_driver()->MemFree(own.source));
	RAW(cuda_driver()->MemFreeHost(own.pinned));
	for (int i = 0; i < RAW_STREAMS; i++)
		RAW(cuda_driver()->StreamDestroy(own.streams[i]));
	leave();
	RAW(cuda_driver()->DevicePrimaryCtxRelease(own.device));
}

static uintptr_t stream(int index)
{
	return (uintptr_t)own.streams[index];
}

static uintptr_t memory(int part, int index)
{
	return (uintptr_t)own.stock[part][index];
}

static unsigned char *witness(int part, int index)
{
	return own.pinned + (size_t)(part * RAW_WITNESSES + index) * RAW_BYTES;
}

/*
 * Copies into host memory by host functions, in the order of a stream. A copy of pageable memory by the driver would
 * block the caller. A program makes fewer copies than the array has before it waits for the streams.
 */
static struct host_copy {
	unsigned char *to;
	const unsigned char *from;
	size_t nbytes;
} copies[256];

static atomic_uint copy_count;

static void do_host_copy(void *data)
{
	const struct host_copy *copy = data;

	memcpy(copy->to, copy->from, copy->nbytes);
}

static void put_on_host(bi__cu_stream stream, unsigned char *to, size_t from, size_t nbytes)
{
	struct host_copy *copy = &copies[atomic_fetch_add(&copy_count, 1) % (sizeof(copies) / sizeof(*copies))];

	*copy = (struct host_copy){ to, own.bytes + from, nbytes };
	RAW(cuda_driver()->LaunchHostFunc(stream, do_host_copy, copy));
}

static void put(uintptr_t handle, struct raw_place place, size_t from, size_t nbytes)
{
	bi__cu_stream stream = (bi__cu_stream)handle;
	unsigned char *host = place.host;

	enter();
	if (host)
		put_on_host(stream, host + place.offset, from, nbytes);
	else
		RAW(cuda_driver()->MemcpyDtoDAsync(place.handle + place.offset, own.source + from, nbytes, stream));
	leave();
}

static void get(uintptr_t stream, struct raw_place place, unsigned char *to, size_t nbytes)
{
	enter();
	RAW(cuda_driver()->MemcpyDtoHAsync(to, place.handle + place.offset, nbytes, (bi__cu_stream)stream));
	leave();
}

static void finish(uintptr_t stream)
{
	enter();
	RAW(cuda_driver()->StreamSynchronize((bi__cu_stream)stream));
	leave();
}

static const char *check_stock(int part, int index)
{
	(void)part;
	(void)index;
	return NULL;
}

const struct raw raw_cuda = {
	.open = open_objects,
	.close = close_objects,
	.stream = stream,
	.memory = memory,
	.witness = witness,
	.put = put,
	.get = get,
	.finish = finish,
	.check = check_stock,
	.kind = BI_HANDLE_CUDA,
};
