/* Queries in a process, and in a thread, that has no context: the library asks some of them before it enters one. */
#include <stdlib.h>

#include "facts.h"

static const char *capturing(bi__cu_stream stream)
{
	unsigned status = 99;
	bi__cu_result result = cu->StreamIsCapturing(stream, &status);

	return result ? code(result) : say("SUCCESS %u", status);
}

static const char *info(bi__cu_stream stream)
{
	unsigned status = 99;
	uint64_t id = 0;
	bi__cu_result result;

	if (!cu->StreamGetCaptureInfo_v2)
		return "not asked: cuStreamGetCaptureInfo_v2 is missing";
	result = cu->StreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL);
	return result ? code(result) : say("SUCCESS %u", status);
}

static const char *capturing_legacy(struct objects *objects)
{
	(void)objects;
	return capturing(BI__CU_STREAM_LEGACY);
}

static const char *capturing_per_thread(struct objects *objects)
{
	(void)objects;
	return capturing(BI__CU_STREAM_PER_THREAD);
}

static const char *info_of_legacy(struct objects *objects)
{
	(void)objects;
	return info(BI__CU_STREAM_LEGACY);
}

static const char *info_of_per_thread(struct objects *objects)
{
	(void)objects;
	return info(BI__CU_STREAM_PER_THREAD);
}

static const char *exchange_mode(struct objects *objects)
{
	unsigned mode = BI__CU_CAPTURE_MODE_RELAXED;

	(void)objects;
	return code(cu->ThreadExchangeStreamCaptureMode(&mode));
}

static const char *attributes_of_malloced(struct objects *objects)
{
	unsigned what = BI__CU_POINTER_MEMORY_TYPE, type = 99;
	void *value = &type, *memory = malloc(64);
	bi__cu_result result = cu->PointerGetAttributes(1, &what, &value, (uintptr_t)memory);

	(void)objects;
	free(memory);
	return result ? code(result) : say("SUCCESS %u", type);
}

typedef const char *query(bi__cu_stream stream);

/* Asks about a stream of the primary context, which is retained but not current. Frees neither. */
static const char *of_stream_elsewhere(query *ask)
{
	bi__cu_context context;
	bi__cu_stream stream;

	if (cu->DevicePrimaryCtxRetain(&context, 0) || cu->CtxPushCurrent(context))
		return "fails";
	if (cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING))
		return "fails";
	cu->CtxPopCurrent(&context);
	return ask(stream);
}

static const char *capturing_legacy_after_retain(struct objects *objects)
{
	bi__cu_context context;

	(void)objects;
	return cu->DevicePrimaryCtxRetain(&context, 0) ? "fails" : capturing(BI__CU_STREAM_LEGACY);
}

static const char *capturing_stream(struct objects *objects)
{
	(void)objects;
	return of_stream_elsewhere(capturing);
}

static const char *info_of_stream(struct objects *objects)
{
	(void)objects;
	return of_stream_elsewhere(info);
}

const struct fact no_context_facts[] = {
	FACT(capturing_legacy, assumed),
	FACT(capturing_per_thread, assumed),
	FACT(info_of_legacy, assumed),
	FACT(info_of_per_thread, assumed),
	FACT(exchange_mode, assumed),
	FACT(attributes_of_malloced, assumed),
	FACT(capturing_legacy_after_retain, assumed),
	FACT(capturing_stream, assumed),
	FACT(info_of_stream, assumed),
	{ NULL, assumed, NULL },
};
