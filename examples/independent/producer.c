/*
 * A producer of float32 arrays in host or OpenCL memory, written from docs/specification.md and abi.h alone. The
 * elements in C order are 1, 2, 3, ... An array of OpenCL may have pending work, which begins when producer_open is
 * called.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <buffer_interface/abi.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 12 };

static int releases;

int producer_make(const char *name, void **made);
int producer_acquire(void *made, struct bi_exchange *out);
void producer_open(void *made);
double producer_read(void *made);
int producer_releases(void);
void producer_free(void *made);

static const struct kind {
	const char *name;
	int is_cl, is_pending, ndim;
	uint32_t flags;
	int64_t shape[2], strides[2];
	uint64_t first; /* bytes to element [0, ..., 0] */
} kinds[] = {
	{ "host", 0, 0, 2, BI_C_CONTIGUOUS, { 2, 3 }, { 12, 4 }, 0 },
	{ "host, strides", 0, 0, 2, 0, { 2, 3 }, { -24, 8 }, 24 },
	{ "host, no dimension", 0, 0, 0, BI_C_CONTIGUOUS | BI_F_CONTIGUOUS, { 0 }, { 0 }, 8 },
	{ "host, no element", 0, 0, 2, BI_C_CONTIGUOUS | BI_F_CONTIGUOUS, { 0, 3 }, { 12, 4 }, 0 },
	{ "host, read-only", 0, 0, 1, BI_READONLY, { 3 }, { 4 }, 0 },
	{ "opencl", 1, 0, 1, BI_C_CONTIGUOUS | BI_F_CONTIGUOUS, { 5 }, { 4 }, 8 },
	{ "opencl, pending", 1, 1, 1, BI_C_CONTIGUOUS | BI_F_CONTIGUOUS, { 5 }, { 4 }, 8 },
	{ "opencl, pending, strides", 1, 1, 2, 0, { 2, 3 }, { 4, -8 }, 24 },
};

/* A memory with its array, which live until producer_free. */
struct array {
	struct kind kind;
	float host[MOST];
	cl_context context;
	cl_command_queue queue;
	cl_event gate;
	cl_mem memory;
};

static int64_t size_of(const struct kind *kind)
{
	int64_t size = 1;

	for (int i = 0; i < kind->ndim; i++)
		size *= kind->shape[i];
	return size;
}

/* Returns the number of the float in the memory that is element k. */
static size_t place(const struct kind *kind, int64_t k)
{
	int64_t at = (int64_t)kind->first;

	for (int i = kind->ndim - 1; i >= 0; k /= kind->shape[i--])
		at += k % kind->shape[i] * kind->strides[i];
	return (size_t)at / 4;
}

/* Makes the queue and the memory. The write of the elements waits for the gate, or is complete. */
static int open_cl(struct array *array, const float values[MOST])
{
	cl_platform_id platform;
	cl_device_id device;

	if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return -1;
	array->context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	array->queue = clCreateCommandQueue(array->context, device, 0, NULL);
	array->memory = clCreateBuffer(array->context, CL_MEM_READ_WRITE, sizeof(array->host), NULL, NULL);
	if (array->kind.is_pending) {
		array->gate = clCreateUserEvent(array->context, NULL);
		clEnqueueBarrierWithWaitList(array->queue, 1, &array->gate, NULL);
	}
	for (size_t i = 0; i < MOST; i++)
		clEnqueueFillBuffer(array->queue, array->memory, &values[i], 4, 4 * i, 4, 0, NULL, NULL);
	return array->kind.is_pending ? clFlush(array->queue) : clFinish(array->queue);
}

int producer_make(const char *name, void **made)
{
	struct array *array = calloc(1, sizeof(*array));
	const struct kind *kind = kinds, *end = kinds + sizeof(kinds) / sizeof(kinds[0]);

	while (kind != end && strcmp(kind->name, name))
		kind++;
	if (!array || kind == end) {
		free(array);
		return -1;
	}
	array->kind = *kind;
	for (int64_t k = 0; k < size_of(kind); k++)
		array->host[place(kind, k)] = (float)(k + 1);
	if (kind->is_cl && open_cl(array, array->host)) {
		free(array);
		return -1;
	}
	*made = array;
	return 0;
}

static void release(struct bi_exchange *self)
{
	self->release = NULL;
	releases++;
}

/* Makes the queue wait for the work of a consumer [B-36]. */
static int done(struct bi_exchange *self, uint32_t order_kind, uint64_t stream, uint64_t event)
{
	const struct array *array = self->owner;
	cl_event end = (cl_event)(uintptr_t)event;
	cl_int rc;

	if (order_kind != BI_ORDER_OPENCL || (!event && !stream))
		return -1;
	if (!event && clEnqueueMarkerWithWaitList((cl_command_queue)(uintptr_t)stream, 0, NULL, &end))
		return -1;
	if (!event)
		clFlush((cl_command_queue)(uintptr_t)stream);
	rc = clEnqueueBarrierWithWaitList(array->queue, 1, &end, NULL);
	clFlush(array->queue);
	if (!event)
		clReleaseEvent(end);
	return rc ? -1 : 0;
}

int producer_acquire(void *made, struct bi_exchange *out)
{
	const uint32_t size = out->struct_size;
	struct array *array = made;
	struct bi_exchange x = BI_EXCHANGE_INIT;

	out->release = NULL;
	if (out->version != BI_ABI_VERSION || size < sizeof(x) || size > BI_ABI_SIZE_MAX)
		return -1;
	x.struct_size = size;
	x.release = release;
	x.owner = array;
	x.shape = array->kind.shape;
	x.strides = array->kind.strides;
	x.offset = array->kind.first;
	x.size = sizeof(array->host);
	x.flags = array->kind.flags;
	x.item_size = 4;
	x.type_code = 2;
	x.type_bits = 32;
	x.type_lanes = 1;
	x.ndim = (uint8_t)array->kind.ndim;
	x.handle = (uintptr_t)array->host;
	x.device_type = BI_EXCHANGE_DEVICE_CPU;
	x.handle_kind = BI_HANDLE_HOST;
	if (array->kind.is_cl) {
		x.done = done;
		x.handle = (uintptr_t)array->memory;
		x.context = (uintptr_t)array->context;
		x.device_type = BI_EXCHANGE_DEVICE_OPENCL;
		x.handle_kind = BI_HANDLE_CL_MEM;
		x.stream = array->kind.is_pending ? (uintptr_t)array->queue : 0;
		x.order_kind = array->kind.is_pending ? BI_ORDER_OPENCL : BI_ORDER_NONE;
	}
	memset(out, 0, size);
	memcpy(out, &x, sizeof(x));
	return 0;
}

/* Lets the pending work begin. */
void producer_open(void *made)
{
	struct array *array = made;

	if (array->gate)
		clSetUserEventStatus(array->gate, CL_COMPLETE);
}

/* Returns the sum of the elements, after all work of the producer and its consumers. */
double producer_read(void *made)
{
	struct array *array = made;
	double sum = 0;

	if (array->kind.is_cl)
		clEnqueueReadBuffer(array->queue, array->memory, CL_TRUE, 0, sizeof(array->host), array->host, 0, NULL,
				    NULL);
	for (int64_t k = 0; k < size_of(&array->kind); k++)
		sum += (double)array->host[place(&array->kind, k)];
	return sum;
}

int producer_releases(void)
{
	return releases;
}

void producer_free(void *made)
{
	struct array *array = made;

	if (array->kind.is_cl) {
		clReleaseMemObject(array->memory);
		clReleaseCommandQueue(array->queue);
		clReleaseContext(array->context);
	}
	if (array->gate)
		clReleaseEvent(array->gate);
	free(array);
}
