/* Calls without a current context, and while another context is current. */
#include "facts.h"

static void leave_context(void)
{
	bi__cu_context context;

	cu->CtxPopCurrent(&context);
}

static const char *none_for_device(struct objects *objects)
{
	bi__cu_device device;

	(void)objects;
	leave_context();
	return code(cu->CtxGetDevice(&device));
}

static const char *none_for_synchronize(struct objects *objects)
{
	(void)objects;
	leave_context();
	return code(cu->CtxSynchronize());
}

static const char *none_for_alloc(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	leave_context();
	return code(cu->MemAlloc(&memory, 16));
}

static const char *none_for_host_alloc(struct objects *objects)
{
	void *memory;

	(void)objects;
	leave_context();
	return code(cu->MemHostAlloc(&memory, 16, 0));
}

static const char *none_for_managed(struct objects *objects)
{
	bi__cu_pointer memory;

	(void)objects;
	leave_context();
	return code(cu->MemAllocManaged(&memory, 16, BI__CU_MEM_ATTACH_GLOBAL));
}

static const char *none_for_info(struct objects *objects)
{
	size_t free, total;

	(void)objects;
	leave_context();
	return code(cu->MemGetInfo(&free, &total));
}

static const char *none_for_stream(struct objects *objects)
{
	bi__cu_stream stream;

	(void)objects;
	leave_context();
	return code(cu->StreamCreate(&stream, 0));
}

static const char *none_for_event(struct objects *objects)
{
	bi__cu_event event;

	(void)objects;
	leave_context();
	return code(cu->EventCreate(&event, 0));
}

static const char *none_for_module(struct objects *objects)
{
	bi__cu_module module;

	(void)objects;
	leave_context();
	return code(cu->ModuleLoadData(&module, ".version 6.0\n.target sm_50\n.address_size 64\n"));
}

static const char *none_for_legacy_stream(struct objects *objects)
{
	leave_context();
	return code(cu->MemsetD8Async(objects->memory, 1, 16, BI__CU_STREAM_LEGACY));
}

static const char *none_for_legacy_synchronize(struct objects *objects)
{
	(void)objects;
	leave_context();
	return code(cu->StreamSynchronize(BI__CU_STREAM_LEGACY));
}

static const char *none_for_memset(struct objects *objects)
{
	leave_context();
	return code(cu->MemsetD8Async(objects->memory, 1, 16, objects->stream));
}

static const char *none_for_copy(struct objects *objects)
{
	leave_context();
	return code(cu->MemcpyAsync(objects->memory, objects->memory + 16, 16, objects->stream));
}

static const char *none_for_record(struct objects *objects)
{
	leave_context();
	return code(cu->EventRecord(objects->event, objects->stream));
}

static const char *none_for_wait(struct objects *objects)
{
	leave_context();
	return code(cu->StreamWaitEvent(objects->stream, objects->event, 0));
}

static const char *none_for_query(struct objects *objects)
{
	leave_context();
	return code(cu->EventQuery(objects->event));
}

static const char *none_for_stream_query(struct objects *objects)
{
	leave_context();
	return code(cu->StreamQuery(objects->stream));
}

static const char *none_for_stream_synchronize(struct objects *objects)
{
	leave_context();
	return code(cu->StreamSynchronize(objects->stream));
}

static const char *none_for_capturing(struct objects *objects)
{
	unsigned status;

	leave_context();
	return code(cu->StreamIsCapturing(objects->stream, &status));
}

static const char *none_for_stream_context(struct objects *objects)
{
	bi__cu_context context = NULL;
	bi__cu_result result;

	leave_context();
	result = cu->StreamGetCtx(objects->stream, &context);
	return say("%s %s", code(result), yes_or_no(context == objects->context));
}

static const char *none_for_legacy_context(struct objects *objects)
{
	bi__cu_context context;

	(void)objects;
	leave_context();
	return code(cu->StreamGetCtx(BI__CU_STREAM_LEGACY, &context));
}

static const char *none_for_attributes(struct objects *objects)
{
	unsigned what = BI__CU_POINTER_MEMORY_TYPE, type = 0;
	void *value = &type;
	bi__cu_result result;

	leave_context();
	result = cu->PointerGetAttributes(1, &what, &value, objects->memory);
	return say("%s %u", code(result), type);
}

/* Queries one attribute, of up to eight bytes, of pinned memory. */
static const char *none_for_attribute(struct objects *objects, unsigned what)
{
	uint64_t answer = 0;
	void *value = &answer;
	bi__cu_result result;

	leave_context();
	result = cu->PointerGetAttributes(1, &what, &value, (uintptr_t)objects->pinned);
	return result ? code(result) : say("SUCCESS %s", answer ? "is set" : "0");
}

static const char *none_for_device_pointer(struct objects *objects)
{
	return none_for_attribute(objects, BI__CU_POINTER_DEVICE_POINTER);
}

static const char *none_for_host_pointer(struct objects *objects)
{
	return none_for_attribute(objects, BI__CU_POINTER_HOST_POINTER);
}

static const char *none_for_range_start(struct objects *objects)
{
	return none_for_attribute(objects, BI__CU_POINTER_RANGE_START);
}

static const char *none_for_range_size(struct objects *objects)
{
	return none_for_attribute(objects, BI__CU_POINTER_RANGE_SIZE);
}

static const char *none_for_is_mapped(struct objects *objects)
{
	return none_for_attribute(objects, BI__CU_POINTER_MAPPED);
}

static const char *none_for_device_pointer_alone(struct objects *objects)
{
	bi__cu_pointer pointer = 0;

	leave_context();
	return code(cu->PointerGetAttribute(&pointer, BI__CU_POINTER_DEVICE_POINTER, (uintptr_t)objects->pinned));
}

static const char *none_for_range(struct objects *objects)
{
	bi__cu_pointer base;
	size_t nbytes;

	leave_context();
	return code(cu->MemGetAddressRange(&base, &nbytes, objects->memory));
}

static const char *none_for_free(struct objects *objects)
{
	bi__cu_pointer memory;
	bi__cu_result result;

	if (cu->MemAlloc(&memory, 16) != BI__CU_SUCCESS)
		return "fails";
	leave_context();
	result = cu->MemFree(memory);
	if (result != BI__CU_SUCCESS) {
		cu->CtxPushCurrent(objects->context);
		cu->MemFree(memory);
	}
	return code(result);
}

static const char *none_for_event_destroy(struct objects *objects)
{
	bi__cu_event event;
	bi__cu_result result;

	if (cu->EventCreate(&event, 0) != BI__CU_SUCCESS)
		return "fails";
	leave_context();
	result = cu->EventDestroy(event);
	if (result != BI__CU_SUCCESS) {
		cu->CtxPushCurrent(objects->context);
		cu->EventDestroy(event);
	}
	return code(result);
}

static const char *none_for_stream_destroy(struct objects *objects)
{
	bi__cu_stream stream;
	bi__cu_result result;

	if (cu->StreamCreate(&stream, 0) != BI__CU_SUCCESS)
		return "fails";
	leave_context();
	result = cu->StreamDestroy(stream);
	if (result != BI__CU_SUCCESS) {
		cu->CtxPushCurrent(objects->context);
		cu->StreamDestroy(stream);
	}
	return code(result);
}

static const char *wrong_for_memset(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->MemsetD8Async(objects->memory, 1, 16, objects->stream));
}

static const char *wrong_for_copy(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->MemcpyAsync(objects->memory, objects->memory + 16, 16, objects->stream));
}

static void do_nothing(void *data)
{
	(void)data;
}

static const char *wrong_for_host_function(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->LaunchHostFunc(objects->stream, do_nothing, NULL));
}

static const char *wrong_for_record(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->EventRecord(objects->event, objects->stream));
}

static const char *wrong_for_wait(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->StreamWaitEvent(objects->stream, objects->event, 0));
}

static const char *wrong_for_synchronize(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->StreamSynchronize(objects->stream));
}

static const char *wrong_for_query(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->EventQuery(objects->event));
}

static const char *wrong_for_range(struct objects *objects)
{
	bi__cu_pointer base;
	size_t nbytes;

	cu->CtxPushCurrent(objects->other);
	return code(cu->MemGetAddressRange(&base, &nbytes, objects->memory));
}

static const char *memory_of_other(struct objects *objects)
{
	return code(cu->MemcpyAsync(objects->memory, objects->other_memory, 16, objects->stream));
}

static const char *event_of_other_recorded(struct objects *objects)
{
	return code(cu->EventRecord(objects->other_event, objects->stream));
}

static const char *event_of_other_on_legacy(struct objects *objects)
{
	return code(cu->EventRecord(objects->other_event, BI__CU_STREAM_LEGACY));
}

static const char *event_of_other_waited(struct objects *objects)
{
	return code(cu->StreamWaitEvent(objects->stream, objects->other_event, 0));
}

static const char *free_of_other(struct objects *objects)
{
	bi__cu_pointer memory;
	bi__cu_result result;

	if (cu->MemAlloc(&memory, 16) != BI__CU_SUCCESS)
		return "fails";
	cu->CtxPushCurrent(objects->other);
	result = cu->MemFree(memory);
	if (result != BI__CU_SUCCESS) {
		cu->CtxPushCurrent(objects->context);
		cu->MemFree(memory);
	}
	return code(result);
}

const struct fact current_facts[] = {
	FACT(none_for_device, documented),
	FACT(none_for_synchronize, documented),
	FACT(none_for_alloc, documented),
	FACT(none_for_host_alloc, documented),
	FACT(none_for_managed, documented),
	FACT(none_for_info, documented),
	FACT(none_for_stream, documented),
	FACT(none_for_event, documented),
	FACT(none_for_module, documented),
	FACT(none_for_legacy_stream, documented),
	FACT(none_for_legacy_synchronize, documented),
	FACT(none_for_memset, assumed),
	FACT(none_for_copy, assumed),
	FACT(none_for_record, assumed),
	FACT(none_for_wait, assumed),
	FACT(none_for_query, assumed),
	FACT(none_for_stream_query, assumed),
	FACT(none_for_stream_synchronize, assumed),
	FACT(none_for_capturing, assumed),
	FACT(none_for_stream_context, assumed),
	FACT(none_for_legacy_context, documented),
	FACT(none_for_attributes, assumed),
	FACT(none_for_device_pointer, assumed),
	FACT(none_for_host_pointer, assumed),
	FACT(none_for_range_start, assumed),
	FACT(none_for_range_size, assumed),
	FACT(none_for_is_mapped, assumed),
	FACT(none_for_device_pointer_alone, documented),
	FACT(none_for_range, assumed),
	FACT(none_for_free, assumed),
	FACT(none_for_event_destroy, assumed),
	FACT(none_for_stream_destroy, assumed),
	FACT(wrong_for_memset, assumed),
	FACT(wrong_for_copy, documented),
	FACT(wrong_for_host_function, assumed),
	FACT(wrong_for_record, assumed),
	FACT(wrong_for_wait, documented),
	FACT(wrong_for_synchronize, assumed),
	FACT(wrong_for_query, assumed),
	FACT(wrong_for_range, assumed),
	FACT(memory_of_other, assumed),
	FACT(event_of_other_recorded, documented),
	FACT(event_of_other_on_legacy, documented),
	FACT(event_of_other_waited, documented),
	FACT(free_of_other, assumed),
	{ NULL, assumed, NULL },
};
