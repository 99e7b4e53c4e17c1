#include "common/backend/scope.h"

static _Thread_local struct bi__scope *innermost;

struct bi__scope *bi__scope_current(void)
{
	return innermost;
}

void bi__scope_set_current(struct bi__scope *scope)
{
	innermost = scope;
}

int bi__scope_recall(const void *queue, uint64_t *id)
{
	for (unsigned i = 0; innermost && i < innermost->count; i++)
		if (innermost->captures[i].queue == queue) {
			*id = innermost->captures[i].id;
			return 1;
		}
	return 0;
}

void bi__scope_note(const void *queue, uint64_t id)
{
	struct bi__scope *scope = innermost;
	uint64_t noted;

	if (!scope || scope->count == BI__SCOPE_QUEUES || bi__scope_recall(queue, &noted))
		return;
	scope->captures[scope->count].queue = queue;
	scope->captures[scope->count++].id = id;
}

void bi__scope_forget(void)
{
	if (innermost)
		innermost->count = 0;
}
