/* Primary contexts, contexts that are created, and the stack of a thread. */
#include "facts.h"

static const char *name_of(const struct objects *objects, bi__cu_context context)
{
	if (!context)
		return "NULL";
	if (context == objects->context)
		return "primary";
	return context == objects->other ? "other" : "unknown";
}

static const char *name_of_current(const struct objects *objects)
{
	bi__cu_context context = objects->other;
	bi__cu_result result = cu->CtxGetCurrent(&context);

	return result == BI__CU_SUCCESS ? name_of(objects, context) : code(result);
}

static const char *primary_again(struct objects *objects)
{
	bi__cu_context context = NULL;
	bi__cu_result result = cu->DevicePrimaryCtxRetain(&context, objects->device);

	if (result == BI__CU_SUCCESS)
		cu->DevicePrimaryCtxRelease(objects->device);
	return say("%s %s", code(result), name_of(objects, context));
}

static const char *primary_not_current(struct objects *objects)
{
	bi__cu_context context;
	const char *answer;

	cu->CtxPopCurrent(&context);
	if (cu->DevicePrimaryCtxRetain(&context, objects->device) != BI__CU_SUCCESS)
		return "fails";
	answer = name_of_current(objects);
	cu->DevicePrimaryCtxRelease(objects->device);
	return answer;
}

static const char *primary_of_wrong_device(struct objects *objects)
{
	bi__cu_context context;

	(void)objects;
	return code(cu->DevicePrimaryCtxRetain(&context, 1000));
}

static const char *primary_to_null(struct objects *objects)
{
	return code(cu->DevicePrimaryCtxRetain(NULL, objects->device));
}

static const char *release_of_wrong_device(struct objects *objects)
{
	(void)objects;
	return code(cu->DevicePrimaryCtxRelease(1000));
}

static const char *primary_is_active(struct objects *objects)
{
	unsigned flags;
	int active = -1;
	bi__cu_result result = cu->DevicePrimaryCtxGetState(objects->device, &flags, &active);

	return say("%s %d", code(result), active);
}

static const char *state_of_wrong_device(struct objects *objects)
{
	unsigned flags;
	int active;

	(void)objects;
	return code(cu->DevicePrimaryCtxGetState(1000, &flags, &active));
}

static const char *current_at_start(struct objects *objects)
{
	return name_of_current(objects);
}

static void name_current(struct objects *objects, void *data)
{
	const char **answer = data;
	bi__cu_context context;

	cu->CtxPopCurrent(&context);
	*answer = name_of_current(objects);
}

static const char *current_of_new_thread(struct objects *objects)
{
	const char *answer = "?";

	in_another_thread(objects, name_current, &answer);
	return answer;
}

static const char *current_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->CtxGetCurrent(NULL));
}

static const char *push_null(struct objects *objects)
{
	(void)objects;
	return code(cu->CtxPushCurrent(NULL));
}

static const char *push_other(struct objects *objects)
{
	const char *pushed, *popped;
	bi__cu_context context = NULL;

	cu->CtxPushCurrent(objects->other);
	pushed = name_of_current(objects);
	cu->CtxPopCurrent(&context);
	popped = name_of(objects, context);
	return say("current %s, popped %s, then %s", pushed, popped, name_of_current(objects));
}

static const char *push_twice(struct objects *objects)
{
	bi__cu_context context;
	bi__cu_result result = cu->CtxPushCurrent(objects->context);

	cu->CtxPopCurrent(&context);
	return say("%s, then %s", code(result), name_of_current(objects));
}

static const char *pop_to_null(struct objects *objects)
{
	bi__cu_result result = cu->CtxPopCurrent(NULL);

	return say("%s, then %s", code(result), name_of_current(objects));
}

static const char *pop_empty(struct objects *objects)
{
	bi__cu_context context;

	(void)objects;
	cu->CtxPopCurrent(&context);
	return code(cu->CtxPopCurrent(&context));
}

static const char *set_null(struct objects *objects)
{
	bi__cu_result result;

	cu->CtxPushCurrent(objects->other);
	result = cu->CtxSetCurrent(NULL);
	return say("%s, then %s", code(result), name_of_current(objects));
}

static const char *set_null_on_empty(struct objects *objects)
{
	bi__cu_context context;

	(void)objects;
	cu->CtxPopCurrent(&context);
	return code(cu->CtxSetCurrent(NULL));
}

static const char *set_replaces(struct objects *objects)
{
	bi__cu_context context;
	const char *current;

	cu->CtxSetCurrent(objects->other);
	current = name_of_current(objects);
	cu->CtxPopCurrent(&context);
	return say("%s, below it %s", current, name_of_current(objects));
}

static const char *set_on_empty(struct objects *objects)
{
	bi__cu_context context;
	bi__cu_result result;

	cu->CtxPopCurrent(&context);
	result = cu->CtxSetCurrent(objects->other);
	return say("%s, then %s", code(result), name_of_current(objects));
}

static const char *device_of_current(struct objects *objects)
{
	bi__cu_device device = -1;
	bi__cu_result result;

	cu->CtxPushCurrent(objects->other);
	result = cu->CtxGetDevice(&device);
	return say("%s %s", code(result), yes_or_no(device == objects->device));
}

static const char *device_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->CtxGetDevice(NULL));
}

static const char *other_is_not_primary(struct objects *objects)
{
	return yes_or_no(objects->other != objects->context);
}

static const char *create_to_null(struct objects *objects)
{
	return code(cu->CtxCreate(NULL, 0, objects->device));
}

static const char *create_on_wrong_device(struct objects *objects)
{
	bi__cu_context context;

	(void)objects;
	return code(cu->CtxCreate(&context, 0, 1000));
}

static const char *create_with_unknown_flags(struct objects *objects)
{
	bi__cu_context context;
	bi__cu_result result = cu->CtxCreate(&context, 0x80000000u, objects->device);

	if (result == BI__CU_SUCCESS)
		cu->CtxDestroy(context);
	return code(result);
}

static const char *create_makes_current(struct objects *objects)
{
	bi__cu_context context = NULL, current = NULL;
	const char *answer;

	(void)objects;
	if (cu->CtxCreate(&context, 0, objects->device) != BI__CU_SUCCESS)
		return "fails";
	cu->CtxGetCurrent(&current);
	answer = yes_or_no(current == context);
	cu->CtxDestroy(context);
	return answer;
}

static const char *destroy_pops(struct objects *objects)
{
	bi__cu_context context;
	bi__cu_result result;

	if (cu->CtxCreate(&context, 0, objects->device) != BI__CU_SUCCESS)
		return "fails";
	result = cu->CtxDestroy(context);
	return say("%s, then %s", code(result), name_of_current(objects));
}

static const char *destroy_null(struct objects *objects)
{
	(void)objects;
	return code(cu->CtxDestroy(NULL));
}

static void destroy(struct objects *objects, void *data)
{
	bi__cu_context *context = data;

	(void)objects;
	cu->CtxDestroy(*context);
}

/* A context that another thread destroys stays current here. Calls in it report that it is destroyed. */
static const char *destroyed_elsewhere(struct objects *objects)
{
	bi__cu_context context, popped;
	bi__cu_pointer memory;
	const char *answer;

	if (cu->CtxCreate(&context, 0, objects->device) != BI__CU_SUCCESS)
		return "fails";
	in_another_thread(objects, destroy, &context);
	answer = code(cu->MemAlloc(&memory, 16));
	cu->CtxPopCurrent(&popped);
	return answer;
}

static const char *id_of_current(struct objects *objects)
{
	unsigned long long id = 0, current = 1;
	bi__cu_result result;

	if (!cu->CtxGetId)
		return "not asked: cuCtxGetId is missing";
	cu->CtxGetId(objects->context, &id);
	result = cu->CtxGetId(NULL, &current);
	return say("%s %s", code(result), id == current ? "same" : "different");
}

static const char *id_of_none(struct objects *objects)
{
	unsigned long long id = 0;
	bi__cu_context context;

	(void)objects;
	if (!cu->CtxGetId)
		return "not asked: cuCtxGetId is missing";
	cu->CtxPopCurrent(&context);
	return code(cu->CtxGetId(NULL, &id));
}

const struct fact contexts_facts[] = {
	FACT(primary_again, documented),
	FACT(primary_not_current, documented),
	FACT(primary_of_wrong_device, documented),
	FACT(primary_to_null, documented),
	FACT(release_of_wrong_device, documented),
	FACT(primary_is_active, documented),
	FACT(state_of_wrong_device, documented),
	FACT(current_at_start, documented),
	FACT(current_of_new_thread, documented),
	FACT(current_to_null, assumed),
	FACT(push_null, assumed),
	FACT(push_other, documented),
	FACT(push_twice, assumed),
	FACT(pop_to_null, assumed),
	FACT(pop_empty, documented),
	FACT(set_null, documented),
	FACT(set_null_on_empty, documented),
	FACT(set_replaces, documented),
	FACT(set_on_empty, documented),
	FACT(device_of_current, documented),
	FACT(device_to_null, assumed),
	FACT(id_of_current, documented),
	FACT(id_of_none, assumed),
	FACT(other_is_not_primary, documented),
	FACT(create_to_null, documented),
	FACT(create_on_wrong_device, documented),
	FACT(create_with_unknown_flags, assumed),
	FACT(create_makes_current, documented),
	FACT(destroy_pops, documented),
	FACT(destroy_null, assumed),
	FACT(destroyed_elsewhere, documented),
	{ NULL, assumed, NULL },
};
