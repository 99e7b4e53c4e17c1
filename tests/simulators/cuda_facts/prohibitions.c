/* Calls while a stream is captured: in each mode, in the capturing thread and in another. */
#include "kinds.h"

/* A call that may be refused. It frees the objects that it makes. */
typedef bi__cu_result call(struct objects *objects);

static bi__cu_result call_alloc(struct objects *objects)
{
	bi__cu_pointer memory;
	bi__cu_result result = cu->MemAlloc(&memory, 16);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->MemFree(memory);
	return result;
}

static bi__cu_result call_host_alloc(struct objects *objects)
{
	void *memory;
	bi__cu_result result = cu->MemHostAlloc(&memory, 16, 0);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->MemFreeHost(memory);
	return result;
}

static bi__cu_result call_managed(struct objects *objects)
{
	bi__cu_pointer memory;
	bi__cu_result result = cu->MemAllocManaged(&memory, 16, BI__CU_MEM_ATTACH_GLOBAL);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->MemFree(memory);
	return result;
}

static bi__cu_result call_copy(struct objects *objects)
{
	return cu->MemcpyHtoD(objects->memory, objects->pageable, 16);
}

static bi__cu_result call_context_synchronize(struct objects *objects)
{
	(void)objects;
	return cu->CtxSynchronize();
}

/* The pool itself is made and destroyed in the relaxed mode. */
static bi__cu_result with_pool(struct objects *objects, bi__cu_result (*make)(bi__cu_pool pool))
{
	bi__cu_pool pool;
	unsigned mode = BI__CU_CAPTURE_MODE_RELAXED, relaxed;
	bi__cu_result result;

	if (!cu->MemPoolCreate)
		return BI__CU_ERROR_NOT_SUPPORTED;
	cu->ThreadExchangeStreamCaptureMode(&mode);
	result = make_pool(objects, &pool);
	cu->ThreadExchangeStreamCaptureMode(&mode);
	if (result)
		return result;
	result = make(pool);
	relaxed = BI__CU_CAPTURE_MODE_RELAXED;
	cu->ThreadExchangeStreamCaptureMode(&relaxed);
	cu->MemPoolDestroy(pool);
	cu->ThreadExchangeStreamCaptureMode(&relaxed);
	return result;
}

static bi__cu_result trim(bi__cu_pool pool)
{
	return cu->MemPoolTrimTo(pool, 0);
}

static bi__cu_result set_threshold(bi__cu_pool pool)
{
	uint64_t bytes = 0;

	return cu->MemPoolSetAttribute(pool, BI__CU_POOL_RELEASE_THRESHOLD, &bytes);
}

static bi__cu_result call_pool_trim(struct objects *objects)
{
	return with_pool(objects, trim);
}

static bi__cu_result call_pool_set(struct objects *objects)
{
	return with_pool(objects, set_threshold);
}

static bi__cu_result call_event_create(struct objects *objects)
{
	bi__cu_event event;
	bi__cu_result result = cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->EventDestroy(event);
	return result;
}

static bi__cu_result call_stream_create(struct objects *objects)
{
	bi__cu_stream stream;
	bi__cu_result result = cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING);

	(void)objects;
	if (result == BI__CU_SUCCESS)
		cu->StreamDestroy(stream);
	return result;
}

static bi__cu_result call_event_query(struct objects *objects)
{
	return cu->EventQuery(objects->timed);
}

static bi__cu_result call_event_synchronize(struct objects *objects)
{
	return cu->EventSynchronize(objects->timed);
}

static bi__cu_result call_query_of_other_stream(struct objects *objects)
{
	return cu->StreamQuery(objects->second);
}

static bi__cu_result call_synchronize_of_other_stream(struct objects *objects)
{
	return cu->StreamSynchronize(objects->second);
}

static bi__cu_result call_work_on_other_stream(struct objects *objects)
{
	return cu->MemsetD8Async(objects->memory, 1, 16, objects->second);
}

static bi__cu_result call_work_on_legacy(struct objects *objects)
{
	return cu->MemsetD8Async(objects->memory, 1, 16, BI__CU_STREAM_LEGACY);
}

static bi__cu_result call_query(struct objects *objects)
{
	return cu->StreamQuery(objects->stream);
}

static bi__cu_result call_synchronize(struct objects *objects)
{
	return cu->StreamSynchronize(objects->stream);
}

static bi__cu_result call_stream_context(struct objects *objects)
{
	bi__cu_context context;

	return cu->StreamGetCtx(objects->stream, &context);
}

static bi__cu_result call_attributes(struct objects *objects)
{
	unsigned what = BI__CU_POINTER_MEMORY_TYPE, type;
	void *value = &type;

	return cu->PointerGetAttributes(1, &what, &value, objects->memory);
}

static bi__cu_result call_range(struct objects *objects)
{
	bi__cu_pointer base;

	return cu->MemGetAddressRange(&base, NULL, objects->memory);
}

static bi__cu_result call_info(struct objects *objects)
{
	size_t free, total;

	(void)objects;
	return cu->MemGetInfo(&free, &total);
}

static bi__cu_result call_captured_set(struct objects *objects)
{
	return cu->MemsetD8Async(objects->memory, 1, 16, objects->stream);
}

static bi__cu_result call_captured_pinned_copy(struct objects *objects)
{
	return cu->MemcpyHtoDAsync(objects->memory, objects->pinned, 16, objects->stream);
}

static bi__cu_result call_captured_pageable_copy(struct objects *objects)
{
	return cu->MemcpyHtoDAsync(objects->memory, objects->pageable, 16, objects->stream);
}

static bi__cu_result call_captured_pageable_copy_back(struct objects *objects)
{
	return cu->MemcpyDtoHAsync(objects->pageable, objects->memory, 16, objects->stream);
}

static void do_nothing(void *data)
{
	(void)data;
}

static bi__cu_result call_captured_host_function(struct objects *objects)
{
	return cu->LaunchHostFunc(objects->stream, do_nothing, NULL);
}

static bi__cu_result call_captured_alloc(struct objects *objects)
{
	bi__cu_pointer memory;
	bi__cu_result result;

	if (!cu->MemAllocAsync)
		return BI__CU_ERROR_NOT_SUPPORTED;
	result = cu->MemAllocAsync(&memory, 16, objects->stream);
	return result ? result : cu->MemFreeAsync(memory, objects->stream);
}

struct capture {
	bi__cu_stream stream;
	unsigned mode;
	call *call;
	int elsewhere;
	bi__cu_result result;
};

static void call_there(struct objects *objects, void *data)
{
	struct capture *capture = data;

	capture->result = capture->call(objects);
}

/* Returns the code of the call, whether the capture is still valid after it, and the code of the end of the capture. */
static const char *during(struct objects *objects, struct capture *capture)
{
	unsigned status = 99;
	bi__cu_graph graph = NULL;
	bi__cu_result ended;

	if (cu->StreamBeginCapture(capture->stream, capture->mode) != BI__CU_SUCCESS)
		return "fails";
	if (capture->elsewhere)
		in_another_thread(objects, call_there, capture);
	else
		call_there(objects, capture);
	cu->StreamIsCapturing(capture->stream, &status);
	ended = cu->StreamEndCapture(capture->stream, &graph);
	if (graph)
		cu->GraphDestroy(graph);
	return say("%s, %s, end %s", code(capture->result), status == BI__CU_CAPTURE_ACTIVE ? "active" : "invalidated",
		   code(ended));
}

/* Calls whose results may depend on the mode: name, source. */
#define UNSAFE_CALLS(X) \
	X(alloc, documented) \
	X(host_alloc, assumed) \
	X(managed, assumed) \
	X(copy, documented) \
	X(context_synchronize, assumed) \
	X(pool_trim, assumed) \
	X(pool_set, assumed) \
	X(event_query, assumed) \
	X(event_synchronize, assumed) \
	X(synchronize_of_other_stream, assumed) \
	X(query_of_other_stream, assumed) \
	X(work_on_other_stream, documented)

/* Calls that are made in one mode only. */
#define OTHER_CALLS(X) \
	X(event_create, assumed) \
	X(stream_create, assumed) \
	X(work_on_legacy, documented) \
	X(query, documented) \
	X(synchronize, documented) \
	X(stream_context, assumed) \
	X(attributes, assumed) \
	X(range, assumed) \
	X(info, assumed) \
	X(captured_set, documented) \
	X(captured_pinned_copy, documented) \
	X(captured_pageable_copy, assumed) \
	X(captured_pageable_copy_back, assumed) \
	X(captured_host_function, documented) \
	X(captured_alloc, documented)

#define ASK_IN_MODE(mode, MODE, name, elsewhere) \
	{ \
		return during(objects, &(struct capture){ objects->stream, BI__CU_CAPTURE_MODE_##MODE, call_##name, \
							  elsewhere, 0 }); \
	}
#define ASK_UNSAFE(name, source) \
	static const char *name##_global(struct objects *objects) ASK_IN_MODE( \
		global, GLOBAL, name, 0) static const char *name##_thread_local(struct objects *objects) \
		ASK_IN_MODE(thread_local, THREAD_LOCAL, name, \
			    0) static const char *name##_relaxed(struct objects *objects) \
			ASK_IN_MODE(relaxed, RELAXED, name, \
				    0) static const char *name##_global_elsewhere(struct objects *objects) \
				ASK_IN_MODE(global, GLOBAL, name, 1) static const char *name##_thread_local_elsewhere( \
					struct objects *objects) ASK_IN_MODE(thread_local, THREAD_LOCAL, name, 1)
UNSAFE_CALLS(ASK_UNSAFE)
#define ASK_OTHER(name, source) static const char *name(struct objects *objects) ASK_IN_MODE(global, GLOBAL, name, 0)
OTHER_CALLS(ASK_OTHER)

static const char *blocking_besides(struct objects *objects, call *made)
{
	return during(objects, &(struct capture){ objects->blocking, BI__CU_CAPTURE_MODE_RELAXED, made, 0, 0 });
}

static const char *work_on_legacy_besides_blocking(struct objects *objects)
{
	return blocking_besides(objects, call_work_on_legacy);
}

static const char *copy_besides_blocking(struct objects *objects)
{
	return blocking_besides(objects, call_copy);
}

static const char *context_synchronize_besides_blocking(struct objects *objects)
{
	return blocking_besides(objects, call_context_synchronize);
}

static const char *exchange(unsigned mode, unsigned *before)
{
	*before = mode;
	return code(cu->ThreadExchangeStreamCaptureMode(before));
}

static const char *mode_at_start(struct objects *objects)
{
	unsigned before;
	const char *answer = exchange(BI__CU_CAPTURE_MODE_RELAXED, &before);

	(void)objects;
	return say("%s %u", answer, before);
}

static const char *mode_exchanged(struct objects *objects)
{
	unsigned before;

	(void)objects;
	exchange(BI__CU_CAPTURE_MODE_THREAD_LOCAL, &before);
	exchange(BI__CU_CAPTURE_MODE_RELAXED, &before);
	return say("%u", before);
}

static void tell_mode(struct objects *objects, void *data)
{
	unsigned *before = data;

	(void)objects;
	exchange(BI__CU_CAPTURE_MODE_RELAXED, before);
}

static const char *mode_is_of_thread(struct objects *objects)
{
	unsigned before;

	exchange(BI__CU_CAPTURE_MODE_RELAXED, &before);
	in_another_thread(objects, tell_mode, &before);
	return say("%u", before);
}

static const char *mode_unknown(struct objects *objects)
{
	unsigned before;

	(void)objects;
	return exchange(9, &before);
}

static const char *mode_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->ThreadExchangeStreamCaptureMode(NULL));
}

/* The capture has the global mode, and its thread the relaxed mode. */
static const char *alloc_in_relaxed_thread(struct objects *objects)
{
	unsigned before;

	exchange(BI__CU_CAPTURE_MODE_RELAXED, &before);
	return during(objects, &(struct capture){ objects->stream, BI__CU_CAPTURE_MODE_GLOBAL, call_alloc, 0, 0 });
}

#define UNSAFE_FACTS(name, source) \
	FACT(name##_global, source), FACT(name##_thread_local, source), FACT(name##_relaxed, source), \
		FACT(name##_global_elsewhere, source), FACT(name##_thread_local_elsewhere, source),
#define OTHER_FACTS(name, source) FACT(name, source),

const struct fact prohibitions_facts[] = {
	UNSAFE_CALLS(UNSAFE_FACTS) OTHER_CALLS(OTHER_FACTS) FACT(work_on_legacy_besides_blocking, documented),
	FACT(copy_besides_blocking, documented),
	FACT(context_synchronize_besides_blocking, assumed),
	FACT(mode_at_start, documented),
	FACT(mode_exchanged, documented),
	FACT(mode_is_of_thread, documented),
	FACT(mode_unknown, assumed),
	FACT(mode_to_null, documented),
	FACT(alloc_in_relaxed_thread, documented),
	{ NULL, assumed, NULL },
};
