/* The context that is current on the calling thread, and the capture mode of that thread. */
#include "cuda/cuda.h"

static int is_current(bi__cu_context context)
{
	bi__cu_context current = NULL;

	return bi__cu->CtxGetCurrent(&current) == BI__CU_SUCCESS && current == context;
}

/*
 * Pops the context. cuCtxPopCurrent may return the failure of earlier work although the context was popped, so the
 * current context is checked.
 */
static void pop_context(bi__cu_context context)
{
	bi__cu_context popped;

	if (bi__cu->CtxPopCurrent(&popped) != BI__CU_SUCCESS && is_current(context))
		bi__cu->CtxPopCurrent(&popped);
}

int bi__cuda_enter(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err)
{
	bi__cu_context current = NULL;
	int rc;

	*scope = (struct bi__cuda_scope){ .pushed = NULL };
	rc = bi__cu_check(bi__cu->CtxGetCurrent(&current), "cuCtxGetCurrent", err);
	if (rc || current == context)
		return rc;
	rc = bi__cu_check(bi__cu->CtxPushCurrent(context), "cuCtxPushCurrent", err);
	if (!rc)
		scope->pushed = context;
	else if (is_current(context))
		pop_context(context);
	return rc;
}

static int relax_capture(struct bi__cuda_scope *scope, struct bi_error *err)
{
	unsigned mode = BI__CU_CAPTURE_MODE_RELAXED;
	int rc = bi__cu_check(bi__cu->ThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode", err);

	if (rc)
		return rc;
	scope->is_relaxed = 1;
	scope->mode = mode;
	return BI_OK;
}

int bi__cuda_relax(struct bi__cuda_scope *scope, struct bi_error *err)
{
	*scope = (struct bi__cuda_scope){ .pushed = NULL };
	return relax_capture(scope, err);
}

int bi__cuda_enter_relaxed(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err)
{
	int rc = bi__cuda_enter(context, scope, err);

	if (rc)
		return rc;
	rc = relax_capture(scope, err);
	if (rc)
		bi__cuda_leave(scope);
	return rc;
}

void bi__cuda_enter_to_release(bi__cu_context context, struct bi__cuda_scope *scope)
{
	if (bi__cuda_enter_relaxed(context, scope, NULL) && bi__cuda_enter_relaxed(context, scope, NULL))
		*scope = (struct bi__cuda_scope){ .pushed = NULL };
}

/* Sets the capture mode of the thread. Tries twice, because a call may return the failure of earlier work. */
static void restore_capture(unsigned wanted)
{
	unsigned mode = wanted;

	if (bi__cu->ThreadExchangeStreamCaptureMode(&mode) == BI__CU_SUCCESS)
		return;
	mode = wanted;
	bi__cu->ThreadExchangeStreamCaptureMode(&mode);
}

void bi__cuda_leave(struct bi__cuda_scope *scope)
{
	if (scope->is_relaxed)
		restore_capture(scope->mode);
	if (scope->pushed)
		pop_context(scope->pushed);
}

int bi__cuda_enter_device(struct bi__device_state *device, int *entered, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_enter((bi__cu_context)device->native, &scope, err);

	*entered = !rc && scope.pushed;
	return rc;
}

void bi__cuda_leave_device(struct bi__device_state *device)
{
	bi__cu_context context = (bi__cu_context)device->native, current = NULL;

	/* If another context is current, the context was not pushed, or the caller has popped it. */
	if (bi__cu->CtxGetCurrent(&current) != BI__CU_SUCCESS || current == context)
		pop_context(context);
}
