/* Handles whose object is gone: a destroyed stream, a primary context that was reset. Each may end the process. */
#include "newer.h"
#include "facts.h"

static bi__cu_stream destroyed_stream(void)
{
	bi__cu_stream stream = NULL;

	if (cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING) == BI__CU_SUCCESS)
		cu->StreamDestroy(stream);
	return stream;
}

static const char *handle_comes_back(struct objects *objects)
{
	bi__cu_stream gone = destroyed_stream(), stream = NULL;
	int is_same;

	(void)objects;
	cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING);
	is_same = stream == gone;
	cu->StreamDestroy(stream);
	return yes_or_no(is_same);
}

static const char *id_comes_back(struct objects *objects)
{
	bi__cu_stream stream = NULL;
	unsigned long long ids[2] = { 0, 0 };

	(void)objects;
	NEEDS(StreamGetId);
	for (int i = 0; i < 2; i++) {
		cu->StreamCreate(&stream, BI__CU_STREAM_NON_BLOCKING);
		newer()->StreamGetId(stream, &ids[i]);
		cu->StreamDestroy(stream);
	}
	return yes_or_no(ids[0] == ids[1]);
}

static const char *capturing(struct objects *objects)
{
	unsigned status;

	(void)objects;
	return code(cu->StreamIsCapturing(destroyed_stream(), &status));
}

static const char *stream_context(struct objects *objects)
{
	bi__cu_context context;

	(void)objects;
	return code(cu->StreamGetCtx(destroyed_stream(), &context));
}

static const char *id(struct objects *objects)
{
	unsigned long long number;

	(void)objects;
	NEEDS(StreamGetId);
	return code(newer()->StreamGetId(destroyed_stream(), &number));
}

static const char *recorded(struct objects *objects)
{
	return code(cu->EventRecord(objects->event, destroyed_stream()));
}

static const char *waits(struct objects *objects)
{
	cu->EventRecord(objects->event, objects->stream);
	return code(cu->StreamWaitEvent(destroyed_stream(), objects->event, 0));
}

const struct fact destroyed_facts[] = {
	FACT(handle_comes_back, assumed),
	FACT(id_comes_back, documented),
	FACT(capturing, assumed),
	FACT(stream_context, assumed),
	FACT(id, assumed),
	FACT(recorded, assumed),
	FACT(waits, assumed),
	{ NULL, assumed, NULL },
};

/* The objects made before the reset. */
struct before_reset {
	bi__cu_context context;
	bi__cu_stream stream;
	bi__cu_pointer memory;
	unsigned long long id;
};

typedef const char *reset_question(struct before_reset *old);

/* Asks after a reset of the primary context, which stays retained. */
static const char *after_reset(reset_question *ask)
{
	struct before_reset old = { 0 };
	bi__cu_result result;
	const char *answer;

	if (cu->DevicePrimaryCtxRetain(&old.context, 0) || cu->CtxPushCurrent(old.context))
		return "fails";
	cu->StreamCreate(&old.stream, BI__CU_STREAM_NON_BLOCKING);
	cu->MemAlloc(&old.memory, OBJECT_BYTES);
	if (cu->CtxGetId)
		cu->CtxGetId(old.context, &old.id);
	cu->CtxPopCurrent(&(bi__cu_context){ NULL });
	result = cu->DevicePrimaryCtxReset(0);
	if (result)
		return say("not asked: %s", code(result));
	answer = ask(&old);
	cu->DevicePrimaryCtxRelease(0);
	return answer;
}

static const char *ask_active(struct before_reset *old)
{
	unsigned flags;
	int active = 99;
	bi__cu_result result = cu->DevicePrimaryCtxGetState(0, &flags, &active);

	(void)old;
	return say("%s %d", code(result), active);
}

static const char *ask_id(struct before_reset *old)
{
	unsigned long long now = 0;
	bi__cu_result result;

	if (!cu->CtxGetId)
		return "not asked: cuCtxGetId is missing";
	result = cu->CtxGetId(old->context, &now);
	return say("%s %s", code(result), now == old->id ? "same" : "different");
}

/* Asks for the number of the current context, which is the old one. */
static const char *ask_id_of_current(struct before_reset *old)
{
	unsigned long long now = 0;
	bi__cu_result result;

	if (!cu->CtxGetId)
		return "not asked: cuCtxGetId is missing";
	cu->CtxPushCurrent(old->context);
	result = cu->CtxGetId(NULL, &now);
	cu->CtxPopCurrent(&(bi__cu_context){ NULL });
	return say("%s %s", code(result), now == old->id ? "same" : "different");
}

/* Asks the same after other code has retained the primary context again. */
static const char *ask_id_of_current_again(struct before_reset *old)
{
	bi__cu_context context = NULL;
	const char *answer;

	cu->DevicePrimaryCtxRetain(&context, 0);
	answer = ask_id_of_current(old);
	cu->DevicePrimaryCtxRelease(0);
	return answer;
}

static const char *ask_context_again(struct before_reset *old)
{
	bi__cu_context context = NULL;
	unsigned long long now = 0;
	bi__cu_result result = cu->DevicePrimaryCtxRetain(&context, 0);

	if (cu->CtxGetId)
		cu->CtxGetId(context, &now);
	cu->DevicePrimaryCtxRelease(0);
	return say("%s, %s handle, %s id", code(result), context == old->context ? "same" : "another",
		   now == old->id ? "same" : "another");
}

static const char *ask_push(struct before_reset *old)
{
	bi__cu_pointer memory;
	bi__cu_result push = cu->CtxPushCurrent(old->context), alloc = cu->MemAlloc(&memory, 16);

	cu->CtxPopCurrent(&(bi__cu_context){ NULL });
	return say("%s, alloc %s", code(push), code(alloc));
}

static const char *ask_pointer(struct before_reset *old)
{
	unsigned type = 0;

	return code(cu->PointerGetAttribute(&type, BI__CU_POINTER_MEMORY_TYPE, old->memory));
}

static const char *ask_stream(struct before_reset *old)
{
	return code(cu->StreamQuery(old->stream));
}

#define RESET_QUESTIONS(X) \
	X(active) \
	X(id) X(id_of_current) X(id_of_current_again) X(context_again) X(push) X(pointer) X(stream)
#define RESET_QUESTION(name) \
	static const char *reset_##name(struct objects *objects) \
	{ \
		(void)objects; \
		return after_reset(ask_##name); \
	}
RESET_QUESTIONS(RESET_QUESTION)
#undef RESET_QUESTION

#define RESET_FACT(name) { #name, assumed, reset_##name },

const struct fact reset_facts[] = { RESET_QUESTIONS(RESET_FACT){ NULL, assumed, NULL } };
