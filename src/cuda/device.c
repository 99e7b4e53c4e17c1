/* Devices; opening and closing a context. */
#include "cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int query_attribute(bi__cu_device device, struct bi__cuda_facts *facts, struct bi_error *err)
{
	const struct {
		unsigned what;
		int *out;
	} questions[] = {
#define QUESTION(member, what) { BI__CU_DEVICE_##what, &facts->member },
		BI__CUDA_FACTS(QUESTION)
#undef QUESTION
	};
	bi__cu_result code = BI__CU_SUCCESS;

	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions) && code == BI__CU_SUCCESS; i++)
		code = bi__cu->DeviceGetAttribute(questions[i].out, questions[i].what, device);
	return bi__cu_check(code, "cuDeviceGetAttribute", err);
}

/* Reads the handle and the attributes of a device. Returns BI_ENODEVICE for a device that cannot be used. */
static int find_device(int ordinal, bi__cu_device *device, struct bi__cuda_facts *facts, struct bi_error *err)
{
	int rc = bi__cu_check(bi__cu->DeviceGet(device, ordinal), "cuDeviceGet", err);

	if (!rc)
		rc = query_attribute(*device, facts, err);
	if (!rc && !facts->unified_addressing)
		rc = bi__fail(err, BI_ENODEVICE, "cuda:%d does not share its addresses with the host", ordinal);
	if (!rc && facts->compute_mode == BI__CU_COMPUTE_PROHIBITED)
		rc = bi__fail(
			err, BI_ENODEVICE,
			"the compute mode of cuda:%d is \"prohibited\", so no context can be opened: nvidia-smi -c 0 "
			"permits contexts",
			ordinal);
	return rc;
}

static uint32_t get_capabilities(const struct bi__cuda_facts *facts)
{
	uint32_t found = BI_CAP_ASYNC | BI_CAP_PROFILING;

	if (facts->integrated)
		found |= BI_CAP_UNIFIED;
	if (facts->managed_memory && facts->concurrent_managed_access)
		found |= BI_CAP_SVM;
	return found;
}

static void describe_name(int ordinal, struct bi_device *out)
{
	snprintf(out->spec, sizeof(out->spec), "cuda:%d", ordinal);
	snprintf(out->backend, sizeof(out->backend), "cuda");
}

static int describe_device(int ordinal, struct bi_device *out, struct bi_error *err)
{
	struct bi__cuda_facts facts;
	bi__cu_device device;
	size_t memory = 0;
	int version = bi__cu_version(), rc;

	memset(out, 0, sizeof(*out));
	rc = find_device(ordinal, &device, &facts, err);
	if (!rc)
		rc = bi__cu_check(bi__cu->DeviceGetName(out->name, (int)sizeof(out->name), device), "cuDeviceGetName",
				  err);
	if (!rc)
		rc = bi__cu_check(bi__cu->DeviceTotalMem(&memory, device), "cuDeviceTotalMem", err);
	if (rc)
		return rc;
	describe_name(ordinal, out);
	snprintf(out->platform_name, sizeof(out->platform_name), "NVIDIA CUDA");
	snprintf(out->platform_version, sizeof(out->platform_version), "CUDA %d.%d", version / 1000,
		 version % 1000 / 10);
	out->ordinal = ordinal;
	out->kind = BI_DEVICE_KIND_GPU;
	out->usable = 1;
	out->capabilities = get_capabilities(&facts);
	out->memory = memory;
	return BI_OK;
}

/* Describes one device. An unusable device is listed too, with the reason. */
static void enumerate_one(int ordinal, struct bi_device *out)
{
	struct bi_error reason;

	if (describe_device(ordinal, out, &reason) == BI_OK)
		return;
	memset(out, 0, sizeof(*out));
	describe_name(ordinal, out);
	snprintf(out->reason, sizeof(out->reason), "%s", reason.message);
}

int bi__cuda_enumerate(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	struct bi_device found;
	int present = 0, rc = bi__cu_open(err);

	*count = 0;
	if (!rc)
		rc = bi__cu_check(bi__cu->DeviceGetCount(&present), "cuDeviceGetCount", err);
	if (rc)
		return rc;
	if (!present)
		return bi__fail(err, BI_ENODEVICE, "the CUDA driver lists no device");
	for (*count = 0; *count < present; ++*count) {
		enumerate_one(*count, &found);
		if (*count < capacity)
			devices[*count] = found;
	}
	return BI_OK;
}

static int open_own(struct bi__cuda *cuda, const struct bi_device *device, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cu_open(err);

	if (!rc)
		rc = find_device(device->ordinal, &cuda->device, &cuda->facts, err);
	if (rc)
		return rc;
	rc = bi__cuda_relax(&scope, err);
	if (!rc)
		rc = bi__cu_check(bi__cu->DevicePrimaryCtxRetain(&cuda->context, cuda->device),
				  "cuDevicePrimaryCtxRetain", err);
	bi__cuda_leave(&scope);
	if (rc)
		return rc;
	cuda->is_primary = 1;
	cuda->ordinal = device->ordinal;
	return BI_OK;
}

static int find_ordinal(bi__cu_device device, int *ordinal, struct bi_error *err)
{
	bi__cu_device found;
	int count, rc = bi__cu_check(bi__cu->DeviceGetCount(&count), "cuDeviceGetCount", err);

	for (int i = 0; i < count && !rc; i++) {
		rc = bi__cu_check(bi__cu->DeviceGet(&found, i), "cuDeviceGet", err);
		*ordinal = i;
		if (!rc && found == device)
			return BI_OK;
	}
	return rc ? rc
		  : bi__fail(err, BI_ENODEVICE, "the device of adopt_context is not among the %d CUDA devices", count);
}

static int get_context_device(bi__cu_context context, bi__cu_device *device, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_enter(context, &scope, err);

	if (!rc)
		rc = bi__cu_check(bi__cu->CtxGetDevice(device), "cuCtxGetDevice", err);
	bi__cuda_leave(&scope);
	return rc;
}

static int open_adopted(struct bi__cuda *cuda, bi__cu_context context, int wanted, struct bi_device *adopted,
			struct bi_error *err)
{
	int rc = bi__cu_open(err);

	if (!rc)
		rc = get_context_device(context, &cuda->device, err);
	if (!rc)
		rc = find_ordinal(cuda->device, &cuda->ordinal, err);
	if (!rc && wanted >= 0 && wanted != cuda->ordinal)
		rc = bi__fail(err, BI_EINVAL, "adopt_context is a context of cuda:%d, not of cuda:%d", cuda->ordinal,
			      wanted);
	if (!rc)
		rc = find_device(cuda->ordinal, &cuda->device, &cuda->facts, err);
	if (!rc)
		rc = describe_device(cuda->ordinal, adopted, err);
	if (!rc)
		cuda->context = context;
	return rc;
}

/*
 * Adopts the context stream, or creates it as a blocking stream. The driver orders a blocking stream with the legacy
 * default stream, and so with work of producers that named no stream.
 */
static int open_stream(struct bi__cuda *cuda, uintptr_t adopted, struct bi__queue *stream, struct bi_error *err)
{
	bi__cu_green_context green;
	int rc;

	if (adopted == (uintptr_t)BI__CU_STREAM_PER_THREAD)
		return bi__fail(
			err, BI_EINVAL,
			"adopt_stream is 2, CUDA's per-thread default stream, which is a different stream on each "
			"thread; adopt a stream that all threads share");
	*stream = (struct bi__queue){ .native = adopted };
	rc = bi__cuda_queue_open(cuda, stream, BI__CU_STREAM_BLOCKING, err);
	if (rc)
		return rc;
	cuda->stream = bi__cuda_queue_of(stream)->stream;
	cuda->owner = cuda->context;
	if (!cuda->is_primary && bi__cu->StreamGetCtx_v2)
		bi__cu->StreamGetCtx_v2(cuda->stream, &cuda->owner, &green);
	return BI_OK;
}

/* The last release of a primary context frees its memory, which may invalidate captures of other threads. */
static void destroy_state(struct bi__cuda *cuda)
{
	struct bi__cuda_scope scope;

	if (cuda->is_primary) {
		bi__cuda_relax(&scope, NULL);
		bi__cu->DevicePrimaryCtxRelease(cuda->device);
		bi__cuda_leave(&scope);
	}
	free(cuda);
}

static int open_handles(struct bi__cuda *cuda, uintptr_t adopted, struct bi__queue *stream, struct bi_error *err)
{
	struct bi__cuda_scope scope, release;
	int rc = bi__cuda_enter(cuda->context, &scope, err);

	if (rc)
		return rc;
	rc = bi__cuda_open_shared(cuda, err);
	if (!rc) {
		rc = open_stream(cuda, adopted, stream, err);
		if (rc) {
			bi__cuda_enter_to_release(cuda->context, &release);
			bi__cuda_close_shared(cuda);
			bi__cuda_leave(&release);
		} else {
			bi__cuda_open_pool(cuda);
		}
	}
	bi__cuda_leave(&scope);
	return rc;
}

int bi__cuda_open(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
		  struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err)
{
	struct bi__cuda *cuda = calloc(1, sizeof(*cuda));
	int rc;

	if (!cuda)
		return bi__fail(err, BI_ENOMEM, "no memory for a context");
	cuda->threshold = options->pool_limit == BI_POOL_NONE ? 0 : UINT64_MAX;
	if (options->adopt_context)
		rc = open_adopted(cuda, (bi__cu_context)options->adopt_context, device->ordinal, adopted, err);
	else
		rc = open_own(cuda, device, err);
	if (!rc)
		rc = open_handles(cuda, options->adopt_stream, stream, err);
	if (rc) {
		destroy_state(cuda);
		return rc;
	}
	out->device = (uintptr_t)cuda->device;
	out->native = (uintptr_t)cuda->context;
	out->context_id = cuda->shared->context_id;
	out->device_id = cuda->ordinal;
	out->state = cuda;
	return BI_OK;
}

/*
 * Blocks the calling thread until the context stream is empty, unless it was adopted or is captured (docs/ordering.md,
 * 16.2). The close may destroy the CUcontext, and no document says what becomes of pending work then. All work on the
 * library's own memory of the context, on any stream, comes before the end of this stream. The context must be current,
 * in a relaxed scope.
 */
static void wait_for_stream(const struct bi__cuda_queue *queue)
{
	uint64_t capture;

	if (!queue->is_own)
		return;
	/* The first call may return the failure of earlier work. */
	if (bi__cuda_find_capture(queue, &capture, NULL) && bi__cuda_find_capture(queue, &capture, NULL))
		return;
	if (!capture && bi__cu->StreamQuery(queue->stream) != BI__CU_SUCCESS)
		bi__cuda_drain(queue->stream);
}

/*
 * If the context was reset, its streams, events and modules are not used. The pool is destroyed nevertheless, because
 * it belongs to the device.
 */
void bi__cuda_close(struct bi__device_state *device, struct bi__queue *stream)
{
	struct bi__cuda *cuda = device->state;
	struct bi__cuda_scope scope;

	if (bi__cuda_is_reset(cuda->shared)) {
		bi__cuda_relax(&scope, NULL);
	} else {
		bi__cuda_enter_to_release(cuda->context, &scope);
		wait_for_stream(bi__cuda_queue_of(stream));
	}
	bi__cuda_stream_close(stream);
	bi__cuda_close_shared(cuda);
	bi__cuda_close_pool(cuda);
	bi__cuda_leave(&scope);
	destroy_state(cuda);
}

void bi__cuda_drop_caches(struct bi__device_state *device)
{
	struct bi__cuda *cuda = device->state;
	struct bi__cuda_scope scope;

	if (bi__cuda_is_reset(cuda->shared))
		return;
	bi__cuda_enter_to_release(cuda->context, &scope);
	if (scope.pushed)
		bi__cuda_drop_events(cuda->shared);
	if (cuda->pool && scope.is_relaxed)
		bi__cuda_empty_pool(cuda);
	bi__cuda_leave(&scope);
}
