/*
 * Scopes: steps of an operation during which the native context of a device stays current on the calling thread, and
 * the captures of up to BI__SCOPE_QUEUES queues are noted, so that they need not be queried again. dispatch.h begins
 * and ends scopes.
 */
#ifndef BI_COMMON_BACKEND_SCOPE_H
#define BI_COMMON_BACKEND_SCOPE_H

#include "common/backend/backend.h"

#define BI__SCOPE_QUEUES 3

struct bi__scope {
	struct bi__scope *outer;
	const struct bi__device *device; /* NULL: the scope does nothing (bi__dispatch_begin) */
	int is_entered; /* the context is current */
	int has_pushed; /* the context was not current before, so the end of the scope pops it */
	unsigned count;
	struct {
		const void *queue;
		uint64_t id;
	} captures[BI__SCOPE_QUEUES]; /* noted by bi__scope_note */
};

/* Returns, or sets, the innermost scope of the calling thread, or NULL. */
struct bi__scope *bi__scope_current(void);
void bi__scope_set_current(struct bi__scope *scope);

/*
 * bi__scope_note notes the capture of a queue in the innermost scope, if there is a scope and it has space.
 * bi__scope_recall returns 1 and sets *id if the capture was noted there, else 0. `queue` is the member `state` of the
 * queue.
 */
void bi__scope_note(const void *queue, uint64_t id);
int bi__scope_recall(const void *queue, uint64_t *id);
/* Forgets the captures of the innermost scope. Called if a queue may have joined or left a capture. */
void bi__scope_forget(void);

#endif
