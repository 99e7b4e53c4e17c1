/* Wrong uses of contexts, streams, events and host functions. */
#include "sim_tests.h"

static bi__cu_context make_other(void)
{
	bi__cu_context context;

	must(cu->CtxCreate(&context, 0, 0));
	must(cu->CtxPopCurrent(&context));
	return context;
}

static void work_in_other(struct rig *rig, bi__cu_result (*work)(struct rig *rig), int is_right)
{
	bi__cu_context other = make_other();
	bi__cu_result result;

	must(cu->CtxPushCurrent(is_right ? rig->context : other));
	result = work(rig);
	assert_true((result == BI__CU_SUCCESS) == is_right);
	must(cu->CtxPopCurrent(is_right ? &rig->context : &other));
	must(cu->CtxDestroy(other));
}

static bi__cu_result set(struct rig *rig)
{
	return cu->MemsetD8Async(rig->m, 1, 16, rig->a);
}

static bi__cu_result alloc_and_free(struct rig *rig)
{
	bi__cu_pointer memory;
	bi__cu_result result = cu->MemAllocAsync(&memory, 16, rig->a);

	return result ? result : cu->MemFreeAsync(memory, rig->a);
}

static void wrong_context_set_right(struct rig *rig)
{
	work_in_other(rig, set, 1);
}

static void wrong_context_set_wrong(struct rig *rig)
{
	work_in_other(rig, set, 0);
}

static void wrong_context_alloc_right(struct rig *rig)
{
	work_in_other(rig, alloc_and_free, 1);
}

static void wrong_context_alloc_wrong(struct rig *rig)
{
	work_in_other(rig, alloc_and_free, 0);
}

static void foreign_event(struct rig *rig, int is_right)
{
	bi__cu_context other = make_other();
	bi__cu_event event;

	must(cu->CtxPushCurrent(other));
	must(cu->EventCreate(&event, BI__CU_EVENT_DISABLE_TIMING));
	must(cu->CtxPopCurrent(&other));
	if (is_right)
		must(cu->StreamWaitEvent(rig->a, event, 0));
	else
		assert_int_equal(cu->EventRecord(event, rig->a), BI__CU_ERROR_INVALID_HANDLE);
	must(cu->EventDestroy(event));
	must(cu->CtxDestroy(other));
}

static void foreign_event_right(struct rig *rig)
{
	foreign_event(rig, 1);
}

static void foreign_event_wrong(struct rig *rig)
{
	foreign_event(rig, 0);
}

static void destroyed_context_right(struct rig *rig)
{
	bi__cu_context other = make_other();

	(void)rig;
	must(cu->CtxPushCurrent(other));
	must(cu->CtxPopCurrent(&other));
	must(cu->CtxDestroy(other));
}

static void destroyed_context_wrong(struct rig *rig)
{
	bi__cu_context other = make_other();

	(void)rig;
	must(cu->CtxDestroy(other));
	assert_int_not_equal(cu->CtxPushCurrent(other), BI__CU_SUCCESS);
}

static void destroyed_stream_right(struct rig *rig)
{
	must(set(rig));
	must(cu->StreamDestroy(rig->a));
	rig->a = NULL;
}

static void destroyed_stream_wrong(struct rig *rig)
{
	must(cu->StreamDestroy(rig->a));
	assert_int_not_equal(set(rig), BI__CU_SUCCESS);
	rig->a = NULL;
}

static void stream_twice_wrong(struct rig *rig)
{
	must(cu->StreamDestroy(rig->a));
	assert_int_not_equal(cu->StreamDestroy(rig->a), BI__CU_SUCCESS);
	rig->a = NULL;
}

/* A wait stays valid after its event was destroyed. */
static void destroyed_event_right(struct rig *rig)
{
	must(set(rig));
	order(rig, rig->a, rig->b);
	must(cu->EventDestroy(rig->event));
	rig->event = NULL;
	must(cu->MemsetD8Async(rig->m, 1, 16, rig->b));
}

static void destroyed_event_recorded_wrong(struct rig *rig)
{
	must(cu->EventDestroy(rig->event));
	assert_int_not_equal(cu->EventRecord(rig->event, rig->a), BI__CU_SUCCESS);
	rig->event = NULL;
}

static void destroyed_event_waited_wrong(struct rig *rig)
{
	must(cu->EventDestroy(rig->event));
	assert_int_not_equal(cu->StreamWaitEvent(rig->a, rig->event, 0), BI__CU_SUCCESS);
	rig->event = NULL;
}

static void stream_as_event_wrong(struct rig *rig)
{
	bi__cu_event event = (bi__cu_event)(uintptr_t)rig->a;

	assert_int_not_equal(cu->EventQuery(event), BI__CU_SUCCESS);
}

static void without_context(struct rig *rig, int is_right)
{
	bi__cu_pointer memory;
	bi__cu_result result;

	must(cu->CtxPopCurrent(&rig->context));
	if (is_right)
		must(cu->CtxPushCurrent(rig->context));
	result = cu->MemAlloc(&memory, 16);
	assert_int_equal(result, is_right ? BI__CU_SUCCESS : BI__CU_ERROR_INVALID_CONTEXT);
	if (is_right)
		must(cu->MemFree(memory));
	else
		must(cu->CtxPushCurrent(rig->context));
}

static void without_context_right(struct rig *rig)
{
	without_context(rig, 1);
}

static void without_context_wrong(struct rig *rig)
{
	without_context(rig, 0);
}

static void without_context_legacy_wrong(struct rig *rig)
{
	must(cu->CtxPopCurrent(&rig->context));
	assert_int_equal(cu->StreamSynchronize(BI__CU_STREAM_LEGACY), BI__CU_ERROR_INVALID_CONTEXT);
	must(cu->CtxPushCurrent(rig->context));
}

static void pushed_once_more_right(struct rig *rig)
{
	must(cu->CtxPushCurrent(rig->context));
	must(cu->CtxPopCurrent(&rig->context));
}

static void pushed_once_more_wrong(struct rig *rig)
{
	must(cu->CtxPushCurrent(rig->context));
}

static void name_a_code(void *data)
{
	const char *name;

	(void)data;
	cu->GetErrorName(BI__CU_SUCCESS, &name);
}

static void query_the_stream(void *data)
{
	const struct rig *rig = data;

	cu->StreamQuery(rig->b);
}

static void allocate(void *data)
{
	bi__cu_pointer memory;

	(void)data;
	cu->MemAlloc(&memory, 16);
}

static void host_function_right(struct rig *rig)
{
	must(cu->LaunchHostFunc(rig->a, name_a_code, rig));
}

static void host_function_queries_wrong(struct rig *rig)
{
	must(cu->LaunchHostFunc(rig->a, query_the_stream, rig));
}

static void host_function_allocates_wrong(struct rig *rig)
{
	must(cu->LaunchHostFunc(rig->a, allocate, rig));
}

#define OBJECT(name, report) \
	{ \
#name, name##_right, name##_wrong, { report }, NULL, 0 \
	}
#define OBJECT_TWIN(name, right, report) \
	{ \
#name, right##_right, name##_wrong, { report }, NULL, 0 \
	}

const struct defect object_defects[] = {
	OBJECT(wrong_context_set, "wrong context: cuMemsetD8Async (call "),
	OBJECT(wrong_context_alloc, "wrong context: cuMemAllocAsync (call "),
	OBJECT(foreign_event, "wrong context: cuEventRecord (call "),
	OBJECT(destroyed_context, "destroyed context: cuCtxPushCurrent_v2 (call "),
	OBJECT(destroyed_stream, "destroyed handle: cuMemsetD8Async (call "),
	OBJECT_TWIN(stream_twice, destroyed_stream, "destroyed handle: cuStreamDestroy_v2 (call "),
	OBJECT_TWIN(destroyed_event_recorded, destroyed_event, "destroyed handle: cuEventRecord (call "),
	OBJECT_TWIN(destroyed_event_waited, destroyed_event, "destroyed handle: cuStreamWaitEvent (call "),
	OBJECT_TWIN(stream_as_event, destroyed_event, "unknown handle: cuEventQuery (call "),
	OBJECT(without_context, "no current context: cuMemAlloc_v2 (call "),
	OBJECT_TWIN(without_context_legacy, without_context, "no current context: cuStreamSynchronize (call "),
	OBJECT(pushed_once_more, "context stack: cuda_sim_end: "),
	OBJECT_TWIN(host_function_queries, host_function, "call in a host function: cuStreamQuery (call "),
	OBJECT_TWIN(host_function_allocates, host_function, "call in a host function: cuMemAlloc_v2 (call "),
};
const size_t object_defect_count = COUNT_OF(object_defects);
