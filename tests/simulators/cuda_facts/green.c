/* A stream of a green context: its context, and work on it while the primary context is current. */
#include "newer.h"
#include "facts.h"

enum { RESOURCE_SM = 1, GREEN_DEFAULT_STREAM = 1 };

struct green {
	bi__cu_green_context green;
	bi__cu_stream stream;
};

static bi__cu_result make_green(struct objects *objects, struct green *made)
{
	_Alignas(16) unsigned char resource[1024] = { 0 }; /* CUdevResource; larger than any version of it */
	struct CUdevResource_st *sms = (void *)resource;
	struct CUdevResourceDesc_st *description;
	bi__cu_result result = newer()->DeviceGetDevResource(objects->device, sms, RESOURCE_SM);

	if (!result)
		result = newer()->DevResourceGenerateDesc(&description, sms, 1);
	if (!result)
		result = newer()->GreenCtxCreate(&made->green, description, objects->device, GREEN_DEFAULT_STREAM);
	if (!result)
		result = newer()->GreenCtxStreamCreate(&made->stream, made->green, BI__CU_STREAM_NON_BLOCKING, 0);
	return result;
}

typedef const char *green_question(struct objects *objects, struct green *made);

static const char *with_green(struct objects *objects, green_question *ask)
{
	struct green made = { 0 };
	bi__cu_result result;
	const char *answer;

	NEEDS(DeviceGetDevResource);
	NEEDS(DevResourceGenerateDesc);
	NEEDS(GreenCtxCreate);
	NEEDS(GreenCtxStreamCreate);
	result = make_green(objects, &made);
	if (result)
		return say("not asked: %s", code(result));
	answer = ask(objects, &made);
	cu->StreamSynchronize(made.stream);
	cu->StreamDestroy(made.stream);
	newer()->GreenCtxDestroy(made.green);
	return answer;
}

static const char *name_of_context(struct objects *objects, struct green *made, bi__cu_context context)
{
	bi__cu_context of_green = NULL;

	if (newer()->CtxFromGreenCtx)
		newer()->CtxFromGreenCtx(&of_green, made->green);
	return context == objects->context ? "primary"
	       : !context                  ? "NULL"
	       : context == of_green       ? "the green one's"
					   : "another";
}

static const char *ask_context(struct objects *objects, struct green *made)
{
	bi__cu_context context = NULL;
	bi__cu_result result = cu->StreamGetCtx(made->stream, &context);

	return say("%s %s", code(result), name_of_context(objects, made, context));
}

static const char *ask_context_v2(struct objects *objects, struct green *made)
{
	bi__cu_context context = NULL;
	bi__cu_green_context green = NULL;
	bi__cu_result result;

	if (!cu->StreamGetCtx_v2)
		return "not asked: cuStreamGetCtx_v2 is missing";
	result = cu->StreamGetCtx_v2(made->stream, &context, &green);
	return say("%s %s, %s", code(result), name_of_context(objects, made, context),
		   green == made->green ? "the green context" : "no green context");
}

static const char *ask_record(struct objects *objects, struct green *made)
{
	return code(cu->EventRecord(objects->event, made->stream));
}

static const char *ask_wait(struct objects *objects, struct green *made)
{
	cu->EventRecord(objects->event, objects->stream);
	return code(cu->StreamWaitEvent(made->stream, objects->event, 0));
}

static const char *ask_set(struct objects *objects, struct green *made)
{
	return code(cu->MemsetD8Async(objects->memory, 1, 16, made->stream));
}

static const char *ask_capturing(struct objects *objects, struct green *made)
{
	unsigned status;

	(void)objects;
	return code(cu->StreamIsCapturing(made->stream, &status));
}

static const char *ask_query(struct objects *objects, struct green *made)
{
	(void)objects;
	return code(cu->StreamQuery(made->stream));
}

/* Queries the context of memory that is allocated while the green context is current. */
static const char *ask_memory(struct objects *objects, struct green *made)
{
	bi__cu_context current = NULL, context = NULL;
	bi__cu_pointer memory;
	bi__cu_result result;

	NEEDS(CtxFromGreenCtx);
	newer()->CtxFromGreenCtx(&current, made->green);
	cu->CtxPushCurrent(current);
	result = cu->MemAlloc(&memory, 16);
	if (result)
		return code(result);
	result = cu->PointerGetAttribute(&context, BI__CU_POINTER_CONTEXT, memory);
	cu->MemFree(memory);
	cu->CtxPopCurrent(&current);
	return say("%s %s", code(result), name_of_context(objects, made, context));
}

/* Compares the number of a green context that is current with the number of the primary context. */
static const char *ask_id_of_current(struct objects *objects, struct green *made)
{
	unsigned long long id = 0, current_id = 0;
	bi__cu_context current = NULL;
	bi__cu_result result;

	NEEDS(CtxFromGreenCtx);
	if (!cu->CtxGetId)
		return "not asked: cuCtxGetId is missing";
	cu->CtxGetId(objects->context, &id);
	newer()->CtxFromGreenCtx(&current, made->green);
	cu->CtxPushCurrent(current);
	result = cu->CtxGetId(NULL, &current_id);
	cu->CtxPopCurrent(&current);
	return say("%s %s", code(result), id == current_id ? "same" : "different");
}

#define GREEN_QUESTIONS(X) \
	X(context) X(context_v2) X(record) X(wait) X(set) X(capturing) X(query) X(memory) X(id_of_current)
#define GREEN_QUESTION(name) \
	static const char *green_##name(struct objects *objects) \
	{ \
		return with_green(objects, ask_##name); \
	}
GREEN_QUESTIONS(GREEN_QUESTION)
#undef GREEN_QUESTION

#define GREEN_FACT(name) { #name, assumed, green_##name },

const struct fact green_facts[] = { GREEN_QUESTIONS(GREEN_FACT){ NULL, assumed, NULL } };
