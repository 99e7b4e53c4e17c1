/*
 * A consumer of float32 arrays in host or OpenCL memory, written from docs/specification.md and abi.h alone. It adds
 * the elements up and replaces them. On OpenCL it works on a queue of its own, and waits for no device.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <buffer_interface/abi.h>
#include <string.h>

enum { LIMIT = 4096 }; /* elements; the memory has at most 2^40 bytes */

static float values[LIMIT];
static int64_t count;
static cl_command_queue work;

const char *consumer_start(struct bi_exchange *array, float value);
double consumer_finish(void);

/* Returns the bytes from the start of the memory to element k in C order. */
static uint64_t place(const struct bi_exchange *x, int64_t k)
{
	uint64_t at = x->offset;

	for (int i = x->ndim - 1; i >= 0; k /= x->shape[i--])
		at += (uint64_t)(k % x->shape[i] * x->strides[i]);
	return at;
}

/* Returns 1 if the elements follow each other without gaps. `first` is the innermost axis, `step` leads to the next. */
static int is_dense(const struct bi_exchange *x, int first, int step)
{
	int64_t stride = 4;

	for (int n = 0; n < x->ndim; n++, first += step) {
		if (x->shape[first] != 1 && x->strides[first] != stride)
			return 0;
		stride *= x->shape[first];
	}
	return 1;
}

/* Returns NULL, or the reason why the array is not used. Sets the number of elements. */
static const char *check(const struct bi_exchange *x)
{
	const int is_cl = x->handle_kind == BI_HANDLE_CL_MEM, is_host = x->handle_kind == BI_HANDLE_HOST;

	if (x->version != BI_ABI_VERSION || x->struct_size < sizeof(*x) || x->struct_size > BI_ABI_SIZE_MAX)
		return "version or size [B-9]";
	if (!x->release)
		return "released [B-39]";
	if (x->flags & 0xffff || x->reserved)
		return "read-only, or an unknown flag [B-11]";
	if (x->type_code != 2 || x->type_bits != 32 || x->type_lanes != 1 || x->item_size != 4 || x->descr || x->ndim > 64)
		return "not of type float32";
	if (is_host ? (x->device_type != 1 && x->device_type != 3) || x->context || x->device_id
		    : !is_cl || x->device_type != 4 || !x->context)
		return "not in host memory or in a cl_mem [B-21, B-23]";
	if (x->order_kind != (x->stream || x->event ? BI_ORDER_OPENCL : BI_ORDER_NONE) || (is_host && x->order_kind))
		return "order [B-32]";
	if (x->ndim && (!x->shape || !x->strides))
		return "shape or strides is NULL [B-14]";
	count = 1;
	for (int i = 0; i < x->ndim; i++) {
		if (x->shape[i] < 0 || x->shape[i] > LIMIT || (count *= x->shape[i]) > LIMIT)
			return "too many elements";
		if (x->shape[i] > 1 && (x->strides[i] > INT64_C(1) << 40 || x->strides[i] < -(INT64_C(1) << 40)))
			return "stride [B-17]";
	}
	for (int64_t k = 0; k < count; k++)
		if (!x->handle || x->size > UINT64_C(1) << 40 || x->size < 4 || place(x, k) > x->size - 4)
			return "an element lies outside of the memory [B-17]";
	if (count && ((x->flags & BI_C_CONTIGUOUS && !is_dense(x, x->ndim - 1, -1)) ||
		      (x->flags & BI_F_CONTIGUOUS && !is_dense(x, 0, 1))))
		return "a flag of contiguity is not true [B-18]";
	return NULL;
}

/*
 * Makes a queue of the array's device that waits for the array's order [B-30, B-33, B-34]. Returns NULL on success,
 * else an error message.
 */
static const char *begin(const struct bi_exchange *x)
{
	const cl_context context = (cl_context)(uintptr_t)x->context;
	const cl_command_queue stream = (cl_command_queue)(uintptr_t)x->stream;
	cl_event event = (cl_event)(uintptr_t)x->event;
	cl_device_id devices[64];
	size_t size;

	if (clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, &size))
		return "the context has no list of devices, or more than 64";
	if (x->device_id < 0 || (size_t)x->device_id >= size / sizeof(*devices))
		return "device_id is not a position in the context's list of devices [B-23]";
	work = clCreateCommandQueue(context, devices[x->device_id], 0, NULL);
	if (!work)
		return "clCreateCommandQueue failed";
	if (event)
		clEnqueueBarrierWithWaitList(work, 1, &event, NULL);
	else if (stream) {
		clEnqueueMarkerWithWaitList(stream, 0, NULL, &event);
		clFlush(stream);
		clEnqueueBarrierWithWaitList(work, 1, &event, NULL);
		clReleaseEvent(event);
	}
	return NULL;
}

/* Hands the memory back [B-35]. */
static void hand_back(struct bi_exchange *x)
{
	const cl_command_queue stream = (cl_command_queue)(uintptr_t)x->stream;
	cl_event end;

	clFlush(work);
	if (x->done && x->done(x, BI_ORDER_OPENCL, (uintptr_t)work, 0) == 0)
		return;
	if (!stream) {
		clFinish(work);
		return;
	}
	clEnqueueMarkerWithWaitList(work, 0, NULL, &end);
	clFlush(work);
	clEnqueueBarrierWithWaitList(stream, 1, &end, NULL);
	clFlush(stream);
	clReleaseEvent(end);
}

/* Reads all elements and replaces them by the value. Returns NULL, or the reason of a failure. */
static const char *use_cl(struct bi_exchange *array, float value)
{
	const cl_mem memory = (cl_mem)(uintptr_t)array->handle;
	const char *why = begin(array);

	if (why)
		return why;
	for (int64_t k = 0; k < count; k++)
		clEnqueueReadBuffer(work, memory, CL_FALSE, place(array, k), 4, &values[k], 0, NULL, NULL);
	for (int64_t k = 0; k < count; k++)
		clEnqueueFillBuffer(work, memory, &value, 4, place(array, k), 4, 0, NULL, NULL);
	hand_back(array);
	return NULL;
}

/* Does the same in host memory. Elements may share bytes, so all are read before the first is replaced. */
static void use_host(const struct bi_exchange *array, float value)
{
	char *memory = (char *)(uintptr_t)array->handle;

	for (int64_t k = 0; k < count; k++)
		memcpy(&values[k], memory + place(array, k), sizeof(value));
	for (int64_t k = 0; k < count; k++)
		memcpy(memory + place(array, k), &value, sizeof(value));
}

/* Reads all elements and replaces them by the value. Takes the structure. Returns NULL, or the reason of a refusal. */
const char *consumer_start(struct bi_exchange *array, float value)
{
	const char *why = check(array);

	if (why)
		count = 0; /* consumer_finish adds up nothing */
	if (!why && array->handle_kind == BI_HANDLE_HOST)
		use_host(array, value);
	else if (!why && count)
		why = use_cl(array, value);
	if (array->release)
		array->release(array);
	return why;
}

/* Waits for the work, and returns the sum of the elements. */
double consumer_finish(void)
{
	double sum = 0;

	if (work) {
		clFinish(work);
		clReleaseCommandQueue(work);
		work = NULL;
	}
	for (int64_t k = 0; k < count; k++)
		sum += (double)values[k];
	return sum;
}
