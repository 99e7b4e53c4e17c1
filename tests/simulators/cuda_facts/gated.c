/* Calls that may wait for the device, made while a stream of the device waits for a closed gate. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "kinds.h"
#include "kernels/image.h"
#include "kernels/launch.h"
#include "newer.h"

/* A call that has not returned by then counts as waiting for the gate. */
enum { MILLISECONDS = 500 };

typedef bi__cu_result gated_call(struct objects *objects);

struct attempt {
	struct objects *objects;
	gated_call *make;
	bi__cu_result result;
	int is_done;
};

static void *attempt_in_thread(void *data)
{
	struct attempt *attempt = data;

	cu->CtxPushCurrent(attempt->objects->context);
	attempt->result = attempt->make(attempt->objects);
	__atomic_store_n(&attempt->is_done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static const char *behind_gate(struct objects *objects, gated_call *make)
{
	struct attempt attempt = { .objects = objects, .make = make };
	pthread_t thread;
	int returned;

	if (!close_gate(objects, objects->stream))
		return NO_GATE;
	if (pthread_create(&thread, NULL, attempt_in_thread, &attempt))
		return "not asked: no thread";
	for (int i = 0; i < MILLISECONDS && !__atomic_load_n(&attempt.is_done, __ATOMIC_SEQ_CST); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	returned = __atomic_load_n(&attempt.is_done, __ATOMIC_SEQ_CST);
	open_gate(objects);
	pthread_join(thread, NULL);
	return say("%s, %s", code(attempt.result), returned ? "returns" : "waits for the gate");
}

static bi__cu_result load_image(const void *image)
{
	bi__cu_module module;

	return cu->ModuleLoadData(&module, image);
}

static bi__cu_result load_ptx(struct objects *objects)
{
	(void)objects;
	return load_image(bi__image_ptx);
}

static bi__cu_result load_code(struct objects *objects)
{
	int major = 0, minor = 0;
	size_t nbytes;
	void *image;
	bi__cu_result result;

	cu->DeviceGetAttribute(&major, BI__CU_DEVICE_MAJOR, objects->device);
	cu->DeviceGetAttribute(&minor, BI__CU_DEVICE_MINOR, objects->device);
	image = bi__image_load(major, minor, &nbytes);
	result = image ? load_image(image) : BI__CU_ERROR_NOT_FOUND;
	free(image);
	return result;
}

static bi__cu_result alloc(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return cu->MemAlloc(&memory, 1 << 20);
}

static bi__cu_result free_device(struct objects *objects)
{
	bi__cu_result result = cu->MemFree(objects->memory);

	cu->MemAlloc(&objects->memory, OBJECT_BYTES);
	return result;
}

static bi__cu_result alloc_pinned(struct objects *objects)
{
	void *memory;

	(void)objects;
	return cu->MemHostAlloc(&memory, 1 << 20, BI__CU_HOST_ALLOC_PORTABLE);
}

static bi__cu_result free_pinned(struct objects *objects)
{
	void *memory;
	bi__cu_result result = cu->MemFreeHost(objects->pinned);

	if (cu->MemHostAlloc(&memory, OBJECT_BYTES, BI__CU_HOST_ALLOC_PORTABLE) == BI__CU_SUCCESS)
		objects->pinned = memory;
	return result;
}

static bi__cu_result alloc_managed(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	return cu->MemAllocManaged(&memory, OBJECT_BYTES, BI__CU_MEM_ATTACH_GLOBAL);
}

static bi__cu_result alloc_from_pool(struct objects *objects)
{
	bi__cu_pointer memory;

	return cu->MemAllocAsync ? cu->MemAllocAsync(&memory, 1 << 20, objects->second) : BI__CU_ERROR_NOT_SUPPORTED;
}

static bi__cu_result register_memory(struct objects *objects)
{
	(void)objects;
	return cu->MemHostRegister(aligned_alloc(4096, 4096), 4096, 0);
}

static bi__cu_result create_stream(struct objects *objects)
{
	bi__cu_stream stream;

	(void)objects;
	return cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING);
}

/* Many streams, so that the hardware queues of the device are used up. */
static bi__cu_result create_many_streams(struct objects *objects)
{
	bi__cu_result result = BI__CU_SUCCESS;

	for (int i = 0; i < 64 && result == BI__CU_SUCCESS; i++)
		result = create_stream(objects);
	return result;
}

static bi__cu_result destroy_stream(struct objects *objects)
{
	bi__cu_result result = cu->StreamDestroy(objects->second);

	cu->StreamCreate(&objects->second, BI__CU_STREAM_NON_BLOCKING);
	return result;
}

static bi__cu_result create_event(struct objects *objects)
{
	bi__cu_event event;

	(void)objects;
	return cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING);
}

static bi__cu_result copy_pageable(struct objects *objects)
{
	return cu->MemcpyHtoDAsync(objects->memory, objects->pageable, OBJECT_BYTES, objects->second);
}

static bi__cu_result copy_pageable_back(struct objects *objects)
{
	return cu->MemcpyDtoHAsync(objects->pageable, objects->memory, OBJECT_BYTES, objects->second);
}

/* Copies on the stream that waits for the gate. */
static bi__cu_result copy_pageable_back_behind(struct objects *objects)
{
	return cu->MemcpyDtoHAsync(objects->pageable, objects->memory, 8, objects->stream);
}

static bi__cu_result copy_pageable_behind(struct objects *objects)
{
	return cu->MemcpyHtoDAsync(objects->memory, objects->pageable, 8, objects->stream);
}

static bi__cu_result retain_context(struct objects *objects)
{
	bi__cu_context context;
	bi__cu_result result = cu->DevicePrimaryCtxRetain(&context, objects->device);

	return result ? result : cu->DevicePrimaryCtxRelease(objects->device);
}

static void do_nothing(void *data)
{
	(void)data;
}

/* As many as the library enqueues for a copy of 8 GiB of pageable memory. The driver may have room for fewer. */
static bi__cu_result many_host_functions(struct objects *objects)
{
	bi__cu_result result = BI__CU_SUCCESS;

	for (int i = 0; i < 4096 && result == BI__CU_SUCCESS; i++)
		result = cu->LaunchHostFunc(objects->stream, do_nothing, NULL);
	return result;
}

static bi__cu_result free_pinned_after_host_function(struct objects *objects)
{
	bi__cu_result result = cu->LaunchHostFunc(objects->stream, do_nothing, NULL);

	return result ? result : free_pinned(objects);
}

/* Objects that are made before the gate is closed. */
static struct {
	bi__cu_pool pool;
	bi__cu_pointer pooled; /* memory of the pool */
	bi__cu_module module;
	bi__cu_function function; /* of the module; never launched */
} before;

static bi__cu_result create_pool(struct objects *objects)
{
	return cu->MemPoolCreate ? make_pool(objects, &before.pool) : BI__CU_ERROR_NOT_SUPPORTED;
}

static bi__cu_result prepare_pool(struct objects *objects)
{
	bi__cu_result result = create_pool(objects);

	return result ? result : cu->MemAllocFromPoolAsync(&before.pooled, OBJECT_BYTES, before.pool, objects->stream);
}

/* Memory of the pool is freed behind the gate. */
static bi__cu_result trim_pool(struct objects *objects)
{
	bi__cu_result result = cu->MemFreeAsync(before.pooled, objects->stream);

	return result ? result : cu->MemPoolTrimTo(before.pool, 0);
}

static bi__cu_result destroy_pool(struct objects *objects)
{
	bi__cu_result result = cu->MemFreeAsync(before.pooled, objects->stream);

	if (!result)
		result = cu->MemPoolDestroy(before.pool);
	if (!result)
		before.pool = NULL;
	return result;
}

static bi__cu_result alloc_from_own_pool(struct objects *objects)
{
	bi__cu_pointer memory;
	bi__cu_result result = cu->MemAllocFromPoolAsync(&memory, 1 << 20, before.pool, objects->second);

	cu->MemFreeAsync(before.pooled, objects->stream);
	return result ? result : cu->MemFreeAsync(memory, objects->second);
}

static bi__cu_result prepare_module(struct objects *objects)
{
	(void)objects;
	return cu->ModuleLoadData(&before.module, bi__image_ptx);
}

static bi__cu_result unload_module(struct objects *objects)
{
	(void)objects;
	return cu->ModuleUnload(before.module);
}

static bi__cu_result prepare_function(struct objects *objects)
{
	bi__cu_result result = prepare_module(objects);

	return result ? result : cu->ModuleGetFunction(&before.function, before.module, "bi__fill_1");
}

static bi__cu_result get_function(struct objects *objects)
{
	(void)objects;
	return cu->ModuleGetFunction(&before.function, before.module, "bi__fill_1");
}

/*
 * The library looks up every kernel when it loads the module. The driver may load the code of a kernel at its first
 * launch.
 */
static bi__cu_result first_launch(struct objects *objects)
{
	const struct bi__plan plan = {
		.kind = BI_PLAN_STRIDED, .ndim = 1, .unit = 1, .bytes = 64, .shape = { 64 }, .dst_strides = { 2 }
	};
	const struct bi__launch_limits limits = { .group = 64 };
	struct bi__launches launches;
	struct bi__launch one;
	void *arguments[2] = { &objects->memory, &one.arguments };

	bi__launches_fill(&launches, &plan, 0, "\7", &limits);
	bi__launches_next(&launches, &one);
	return cu->LaunchKernel(before.function, one.groups, 1, 1, one.threads, 1, 1, 0, objects->second, arguments,
				NULL);
}

static bi__cu_result load_library(struct objects *objects)
{
	struct CUlib_st *library;
	struct CUkern_st *kernel;
	bi__cu_function function;
	bi__cu_result result = newer()->LibraryLoadData(&library, bi__image_ptx, NULL, NULL, 0, NULL, NULL, 0);

	(void)objects;
	if (!result)
		result = newer()->LibraryGetKernel(&kernel, library, "bi__fill_1");
	return result ? result : newer()->KernelGetFunction(&function, kernel);
}

/* Destroys an event that was recorded behind the gate. */
static bi__cu_result destroy_event(struct objects *objects)
{
	bi__cu_event event;
	bi__cu_result result = cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING);

	if (!result)
		result = cu->EventRecord(event, objects->stream);
	return result ? result : cu->EventDestroy(event);
}

#define GATED_CALLS(X) \
	X(load_ptx) \
	X(load_code) \
	X(alloc) \
	X(free_device) \
	X(alloc_pinned) \
	X(free_pinned) \
	X(alloc_managed) \
	X(alloc_from_pool) \
	X(register_memory) \
	X(create_stream) \
	X(create_many_streams) \
	X(destroy_stream) \
	X(create_event) \
	X(destroy_event) \
	X(copy_pageable) \
	X(copy_pageable_back) \
	X(copy_pageable_behind) \
	X(copy_pageable_back_behind) \
	X(many_host_functions) \
	X(free_pinned_after_host_function) \
	X(retain_context)

#define GATED_QUESTION(name) \
	static const char *ask_##name(struct objects *objects) \
	{ \
		return behind_gate(objects, name); \
	}
GATED_CALLS(GATED_QUESTION)
#undef GATED_QUESTION

static const char *behind_gate_after(struct objects *objects, gated_call *prepare, gated_call *make)
{
	bi__cu_result result = prepare(objects);
	const char *answer = result ? say("not asked: %s", code(result)) : behind_gate(objects, make);

	if (before.pool)
		cu->MemPoolDestroy(before.pool);
	before.pool = NULL;
	return answer;
}

#define PREPARED_CALLS(X) \
	X(create_pool, prepare_nothing) \
	X(trim_pool, prepare_pool) \
	X(destroy_pool, prepare_pool) \
	X(alloc_from_own_pool, prepare_pool) \
	X(unload_module, prepare_module) \
	X(get_function, prepare_module) \
	X(first_launch, prepare_function)

static bi__cu_result prepare_nothing(struct objects *objects)
{
	(void)objects;
	return BI__CU_SUCCESS;
}

#define PREPARED_QUESTION(name, prepare) \
	static const char *ask_##name(struct objects *objects) \
	{ \
		return behind_gate_after(objects, prepare, name); \
	}
PREPARED_CALLS(PREPARED_QUESTION)
#undef PREPARED_QUESTION

static const char *ask_load_library(struct objects *objects)
{
	NEEDS(LibraryLoadData);
	NEEDS(LibraryGetKernel);
	NEEDS(KernelGetFunction);
	return behind_gate(objects, load_library);
}

#define GATED_FACT(name) { #name, assumed, ask_##name },
#define PREPARED_FACT(name, prepare) GATED_FACT(name)

const struct fact gated_facts[] = { GATED_CALLS(GATED_FACT) PREPARED_CALLS(PREPARED_FACT)
					    GATED_FACT(load_library){ NULL, assumed, NULL } };
