/* Primary contexts, contexts that are created, and the stack of a thread. */
#include "facts.h"

static const char *name_of(const struct kit *kit, bi__cu_context context)
{
	if (!context)
		return "NULL";
	if (context == kit->context)
		return "primary";
	return context == kit->other ? "other" : "unknown";
}

static const char *name_of_current(const struct kit *kit)
{
	bi__cu_context context = kit->other;
	bi__cu_result result = cu->CtxGetCurrent(&context);

	return result == BI__CU_SUCCESS ? name_of(kit, context) : code(result);
}

static const char *primary_again(struct kit *kit)
{
	bi__cu_context context = NULL;
	bi__cu_result result = cu->DevicePrimaryCtxRetain(&context, kit->device);

	if (result == BI__CU_SUCCESS)
		cu->DevicePrimaryCtxRelease(kit->device);
	return say("%s %s", code(result), name_of(kit, context));
}

static const char *primary_not_current(struct kit *kit)
{
	bi__cu_context context;
	const char *answer;

	cu->CtxPopCurrent(&context);
	if (cu->DevicePrimaryCtxRetain(&context, kit->device) != BI__CU_SUCCESS)
		return "fails";
	answer = name_of_current(kit);
	cu->DevicePrimaryCtxRelease(kit->device);
	return answer;
}

static const char *primary_of_wrong_device(struct kit *kit)
{
	bi__cu_context context;

	(void)kit;
	return code(cu->DevicePrimaryCtxRetain(&context, 1000));
}

static const char *primary_to_null(struct kit *kit)
{
	return code(cu->DevicePrimaryCtxRetain(NULL, kit->device));
}

static const char *release_of_wrong_device(struct kit *kit)
{
	(void)kit;
	return code(cu->DevicePrimaryCtxRelease(1000));
}

static const char *primary_is_active(struct kit *kit)
{
	unsigned flags;
	int active = -1;
	bi__cu_result result = cu->DevicePrimaryCtxGetState(kit->device, &flags, &active);

	return say("%s %d", code(result), active);
}

static const char *state_of_wrong_device(struct kit *kit)
{
	unsigned flags;
	int active;

	(void)kit;
	return code(cu->DevicePrimaryCtxGetState(1000, &flags, &active));
}

static const char *current_at_start(struct kit *kit)
{
	return name_of_current(kit);
}

static void name_current(struct kit *kit, void *data)
{
	const char **answer = data;
	bi__cu_context context;

	cu->CtxPopCurrent(&context);
	*answer = name_of_current(kit);
}

static const char *current_of_new_thread(struct kit *kit)
{
	const char *answer = "?";

	in_another_thread(kit, name_current, &answer);
	return answer;
}

static const char *current_to_null(struct kit *kit)
{
	(void)kit;
	return code(cu->CtxGetCurrent(NULL));
}

static const char *push_null(struct kit *kit)
{
	(void)kit;
	return code(cu->CtxPushCurrent(NULL));
}

static const char *push_other(struct kit *kit)
{
	const char *pushed, *popped;
	bi__cu_context context = NULL;

	cu->CtxPushCurrent(kit->other);
	pushed = name_of_current(kit);
	cu->CtxPopCurrent(&context);
	popped = name_of(kit, context);
	return say("current %s, popped %s, then %s", pushed, popped, name_of_current(kit));
}

static const char *push_twice(struct kit *kit)
{
	bi__cu_context context;
	bi__cu_result result = cu->CtxPushCurrent(kit->context);

	cu->CtxPopCurrent(&context);
	return say("%s, then %s", code(result), name_of_current(kit));
}

static const char *pop_to_null(struct kit *kit)
{
	bi__cu_result result = cu->CtxPopCurrent(NULL);

	return say("%s, then %s", code(result), name_of_current(kit));
}

static const char *pop_empty(struct kit *kit)
{
	bi__cu_context context;

	(void)kit;
	cu->CtxPopCurrent(&context);
	return code(cu->CtxPopCurrent(&context));
}

static const char *set_null(struct kit *kit)
{
	bi__cu_result result;

	cu->CtxPushCurrent(kit->other);
	result = cu->CtxSetCurrent(NULL);
	return say("%s, then %s", code(result), name_of_current(kit));
}

static const char *set_null_on_empty(struct kit *kit)
{
	bi__cu_context context;

	(void)kit;
	cu->CtxPopCurrent(&context);
	return code(cu->CtxSetCurrent(NULL));
}

static const char *set_replaces(struct kit *kit)
{
	bi__cu_context context;
	const char *current;

	cu->CtxSetCurrent(kit->other);
	current = name_of_current(kit);
	cu->CtxPopCurrent(&context);
	return say("%s, below it %s", current, name_of_current(kit));
}

static const char *set_on_empty(struct kit *kit)
{
	bi__cu_context context;
	bi__cu_result result;

	cu->CtxPopCurrent(&context);
	result = cu->CtxSetCurrent(kit->other);
	return say("%s, then %s", code(result), name_of_current(kit));
}

static const char *device_of_current(struct kit *kit)
{
	bi__cu_device device = -1;
	bi__cu_result result;

	cu->CtxPushCurrent(kit->other);
	result = cu->CtxGetDevice(&device);
	return say("%s %s", code(result), yes_or_no(device == kit->device));
}

static const char *device_to_null(struct kit *kit)
{
	(void)kit;
	return code(cu->CtxGetDevice(NULL));
}

static const char *other_is_not_primary(struct kit *kit)
{
	return yes_or_no(kit->other != kit->context);
}

static const char *create_to_null(struct kit *kit)
{
	return code(cu->CtxCreate(NULL, 0, kit->device));
}

static const char *create_on_wrong_device(struct kit *kit)
{
	bi__cu_context context;

	(void)kit;
	return code(cu->CtxCreate(&context, 0, 1000));
}

static const char *create_with_unknown_flags(struct kit *kit)
{
	bi__cu_context context;
	bi__cu_result result = cu->CtxCreate(&context, 0x80000000u, kit->device);

	if (result == BI__CU_SUCCESS)
		cu->CtxDestroy(context);
	return code(result);
}

static const char *create_makes_current(struct kit *kit)
{
	bi__cu_context context = NULL, current = NULL;
	const char *answer;

	(void)kit;
	if (cu->CtxCreate(&context, 0, kit->device) != BI__CU_SUCCESS)
		return "fails";
	cu->CtxGetCurrent(&current);
	answer = yes_or_no(current == context);
	cu->CtxDestroy(context);
	return answer;
}

static const char *destroy_pops(struct kit *kit)
{
	bi__cu_context context;
	bi__cu_result result;

	if (cu->CtxCreate(&context, 0, kit->device) != BI__CU_SUCCESS)
		return "fails";
	result = cu->CtxDestroy(context);
	return say("%s, then %s", code(result), name_of_current(kit));
}

static const char *destroy_null(struct kit *kit)
{
	(void)kit;
	return code(cu->CtxDestroy(NULL));
}

static void destroy(struct kit *kit, void *data)
{
	bi__cu_context *context = data;

	(void)kit;
	cu->CtxDestroy(*context);
}

/* A context that another thread destroys stays current here, and says what it is. */
static const char *destroyed_elsewhere(struct kit *kit)
{
	bi__cu_context context, popped;
	bi__cu_pointer memory;
	const char *answer;

	if (cu->CtxCreate(&context, 0, kit->device) != BI__CU_SUCCESS)
		return "fails";
	in_another_thread(kit, destroy, &context);
	answer = code(cu->MemAlloc(&memory, 16));
	cu->CtxPopCurrent(&popped);
	return answer;
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
