/* Durations of calls that decide between designs, and host functions beside calls that free. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "newer.h"
#include "facts.h"
#include "kernels/image.h"

/* The library copies pageable memory by host functions. Other threads may free memory meanwhile. */
enum { CALLERS = 4, ROUNDS = 200 };

static void do_nothing(void *data)
{
	(void)data;
}

static void *call_host_functions(void *data)
{
	struct objects *objects = data;
	bi__cu_stream stream;

	cu->CtxPushCurrent(objects->context);
	cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < ROUNDS; i++) {
		cu->LaunchHostFunc(stream, do_nothing, NULL);
		if (i % 16 == 0)
			cu->StreamSynchronize(stream);
	}
	cu->StreamSynchronize(stream);
	cu->StreamDestroy(stream);
	return NULL;
}

typedef void free_some(void);

static const char *beside_host_functions(struct objects *objects, free_some *free_one)
{
	pthread_t threads[CALLERS];

	for (int i = 0; i < CALLERS; i++)
		if (pthread_create(&threads[i], NULL, call_host_functions, objects))
			return "not asked: no thread";
	for (int i = 0; i < ROUNDS; i++)
		free_one();
	for (int i = 0; i < CALLERS; i++)
		pthread_join(threads[i], NULL);
	return "done";
}

static void free_one_pinned(void)
{
	void *memory;

	if (cu->MemHostAlloc(&memory, 4096, BI__CU_HOST_ALLOC_PORTABLE) == BI__CU_SUCCESS)
		cu->MemFreeHost(memory);
}

static void free_one_on_device(void)
{
	bi__cu_pointer memory;

	if (cu->MemAlloc(&memory, 4096) == BI__CU_SUCCESS)
		cu->MemFree(memory);
}

static const char *beside_free(struct objects *objects)
{
	return beside_host_functions(objects, free_one_on_device);
}

static const char *beside_free_host(struct objects *objects)
{
	return beside_host_functions(objects, free_one_pinned);
}

const struct fact host_functions_facts[] = {
	FACT(beside_free, assumed),
	FACT(beside_free_host, assumed),
	{ NULL, assumed, NULL },
};

/* Times of the simulated driver have no meaning. */
#define SIMULATED "not asked: the driver is simulated"

typedef void timed_call(struct objects *objects);

/* Returns the shortest of several times, without costs that occur only once. */
static const char *time_of(struct objects *objects, timed_call *call, int rounds)
{
	struct timespec begin, end;
	double least = 1e9;

	if (cuda_sim())
		return SIMULATED;
	for (int i = 0; i < rounds; i++) {
		double microseconds;

		clock_gettime(CLOCK_MONOTONIC, &begin);
		call(objects);
		clock_gettime(CLOCK_MONOTONIC, &end);
		microseconds = (double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
		least = microseconds < least ? microseconds : least;
	}
	return say("%.2f us", least);
}

static void push_and_pop(struct objects *objects)
{
	cu->CtxPushCurrent(objects->context);
	cu->CtxPopCurrent(&(bi__cu_context){ NULL });
}

static void query_capture(struct objects *objects)
{
	unsigned status;

	cu->StreamIsCapturing(objects->stream, &status);
}

static void exchange_capture_mode(struct objects *objects)
{
	unsigned mode = BI__CU_CAPTURE_MODE_RELAXED;

	(void)objects;
	cu->ThreadExchangeStreamCaptureMode(&mode);
	cu->ThreadExchangeStreamCaptureMode(&mode);
}

static void query_event(struct objects *objects)
{
	cu->EventQuery(objects->event);
}

static void record_and_wait(struct objects *objects)
{
	cu->EventRecord(objects->event, objects->stream);
	cu->StreamWaitEvent(objects->second, objects->event, 0);
}

static void query_attributes(struct objects *objects)
{
	unsigned what[2] = { BI__CU_POINTER_MEMORY_TYPE, BI__CU_POINTER_CONTEXT }, type;
	bi__cu_context context;
	void *values[2] = { &type, &context };

	cu->PointerGetAttributes(2, what, values, objects->memory);
}

static void query_range(struct objects *objects)
{
	bi__cu_pointer base;
	size_t nbytes;

	cu->MemGetAddressRange(&base, &nbytes, objects->memory);
}

static void set_and_synchronize(struct objects *objects)
{
	cu->MemsetD8Async(objects->memory, 1, 16, objects->stream);
	cu->StreamSynchronize(objects->stream);
}

static void read_8_bytes_pinned(struct objects *objects)
{
	cu->MemcpyDtoHAsync(objects->pinned, objects->memory, 8, objects->stream);
	cu->StreamSynchronize(objects->stream);
}

static void read_8_bytes_pageable(struct objects *objects)
{
	cu->MemcpyDtoHAsync(objects->pageable, objects->memory, 8, objects->stream);
	cu->StreamSynchronize(objects->stream);
}

static void load_ptx(struct objects *objects)
{
	bi__cu_module module;

	(void)objects;
	if (cu->ModuleLoadData(&module, bi__image_ptx) == BI__CU_SUCCESS)
		cu->ModuleUnload(module);
}

static void create_stream(struct objects *objects)
{
	bi__cu_stream stream;

	(void)objects;
	if (cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING) == BI__CU_SUCCESS)
		cu->StreamDestroy(stream);
}

static void alloc_pinned_1_mib(struct objects *objects)
{
	void *memory;

	(void)objects;
	if (cu->MemHostAlloc(&memory, 1 << 20, BI__CU_HOST_ALLOC_PORTABLE) == BI__CU_SUCCESS)
		cu->MemFreeHost(memory);
}

/* Allocates from the default pool, frees in the order of the stream, and waits. After the wait the pool may shrink. */
static void alloc_256_mib_of_pool(struct objects *objects)
{
	bi__cu_pointer memory;

	if (!cu->MemAllocAsync || cu->MemAllocAsync(&memory, 256 << 20, objects->stream))
		return;
	cu->MemFreeAsync(memory, objects->stream);
	cu->StreamSynchronize(objects->stream);
}

#define TIMED_CALLS(X) \
	X(push_and_pop, 1000) \
	X(query_capture, 1000) \
	X(exchange_capture_mode, 1000) \
	X(query_event, 1000) \
	X(record_and_wait, 1000) \
	X(query_attributes, 1000) \
	X(query_range, 1000) \
	X(set_and_synchronize, 100) \
	X(read_8_bytes_pinned, 100) \
	X(read_8_bytes_pageable, 100) \
	X(load_ptx, 3) \
	X(create_stream, 20) \
	X(alloc_pinned_1_mib, 20) \
	X(alloc_256_mib_of_pool, 20)

#define TIMED_QUESTION(name, rounds) \
	static const char *time_of_##name(struct objects *objects) \
	{ \
		return time_of(objects, name, rounds); \
	}
TIMED_CALLS(TIMED_QUESTION)
#undef TIMED_QUESTION

/* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: bytes that the default pool keeps when a stream is waited for. */
enum { RELEASE_THRESHOLD = 4 };

static const char *bytes_that_the_pool_keeps(struct objects *objects)
{
	bi__cu_pool pool;
	uint64_t nbytes = 1;
	bi__cu_result result;

	NEEDS(DeviceGetDefaultMemPool);
	NEEDS(MemPoolGetAttribute);
	result = newer()->DeviceGetDefaultMemPool(&pool, objects->device);
	if (!result)
		result = newer()->MemPoolGetAttribute(pool, RELEASE_THRESHOLD, &nbytes);
	return result ? code(result) : say("%llu", (unsigned long long)nbytes);
}

#define TIMED_FACT(name, rounds) { #name, assumed, time_of_##name },

const struct fact times_facts[] = { TIMED_CALLS(TIMED_FACT) FACT(bytes_that_the_pool_keeps, documented),
				    { NULL, assumed, NULL } };
