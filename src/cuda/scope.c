/* The context that is current on the calling thread, and the capture mode of that thread. */
#include "cuda/cuda.h"

static int is_current(bi__cu_context context)
{
	bi__cu_context current = NULL;

	return bi__cu->CtxGetCurrent(&current) == BI__CU_SUCCESS && current == context;
}

/*
 * Pops the context. cuCtxPopCurrent may return the failure of earlier work although the context was popped. So it is
 * called again only if it has named no popped context and the context is current. Being current is no proof alone: the
 * caller may have had the same context current before.
 */
static void pop_context(bi__cu_context context)
{
	bi__cu_context popped = NULL;

	if (bi__cu->CtxPopCurrent(&popped) != BI__CU_SUCCESS && !popped && is_current(context))
		bi__cu->CtxPopCurrent(&popped);
}

static int push_context(bi__cu_context context, struct bi_error *err)
{
	return bi__cu_check(bi__cu->CtxPushCurrent(context), "cuCtxPushCurrent", err);
}

/* A context that was reset can be made current, but a call with a stream of it may end the process (docs/cuda.md). */
int bi__cuda_begin(const struct bi__device_state *device, int *pushed, struct bi_error *err)
{
	struct bi__cuda *cuda = device->state;
	int rc = bi__cuda_refuse_reset(cuda, err);

	*pushed = 0;
	if (rc || is_current(cuda->context))
		return rc;
	rc = push_context(cuda->context, err);
	*pushed = !rc;
	return rc;
}

void bi__cuda_end(const struct bi__device_state *device)
{
	pop_context((bi__cu_context)device->native);
}

int bi__cuda_relax(struct bi__cuda_scope *scope, struct bi_error *err)
{
	unsigned mode = BI__CU_CAPTURE_MODE_RELAXED;
	int rc = bi__cu_check(bi__cu->ThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode", err);

	*scope = (struct bi__cuda_scope){ .is_relaxed = !rc, .mode = mode };
	return rc;
}

int bi__cuda_enter(bi__cu_context context, struct bi__cuda_scope *scope, struct bi_error *err)
{
	int rc = push_context(context, err);

	*scope = (struct bi__cuda_scope){ .pushed = rc ? NULL : context };
	return rc;
}

void bi__cuda_enter_to_release(bi__cu_context context, struct bi__cuda_scope *scope)
{
	int rc = push_context(context, NULL) ? push_context(context, NULL) : BI_OK;

	if (bi__cuda_relax(scope, NULL))
		bi__cuda_relax(scope, NULL);
	scope->pushed = rc ? NULL : context;
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

int bi__cuda_is_reset(struct bi__cuda_shared *shared)
{
	unsigned long long id = 0, expected = shared->context_id;
	bi__cu_result code = expected ? bi__cu->CtxGetId(shared->context, &id) : BI__CU_ERROR_UNKNOWN;

	if (code == BI__CU_ERROR_CONTEXT_IS_DESTROYED || code == BI__CU_ERROR_INVALID_CONTEXT ||
	    (code == BI__CU_SUCCESS && id != expected))
		atomic_store(&shared->is_reset, 1);
	return atomic_load(&shared->is_reset);
}

int bi__cuda_is_lost(const struct bi__device_state *device)
{
	return bi__cuda_is_reset(((const struct bi__cuda *)device->state)->shared);
}

int bi__cuda_refuse_reset(struct bi__cuda *cuda, struct bi_error *err)
{
	if (!bi__cuda_is_reset(cuda->shared))
		return BI_OK;
	return bi__fail_vendor(
		err, BI_EDRIVER, BI__CU_ERROR_CONTEXT_IS_DESTROYED,
		"other code has destroyed the CUcontext of this context, as a reset of cuda:%d does: release "
		"the context, and open or adopt one again",
		cuda->ordinal);
}

/* Pops nothing if the caller's code has popped the context, or has made another one current. */
void bi__cuda_leave_device(const struct bi__device_state *device)
{
	if (is_current((bi__cu_context)device->native))
		bi__cuda_end(device);
}
