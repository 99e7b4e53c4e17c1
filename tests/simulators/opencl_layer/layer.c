/* A loader layer. It counts the calls of OpenCL functions, makes armed calls fail, and disguises devices. */
#include "layer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl_layer.h>

/* Properties of calls. */
enum {
	PLAIN = 0,
	WAITS = 1,
	STRIDED = 2,
	RETAINS = 4,
	RELEASES = 8,
	MAKES_BUFFER = 16,
	NATIVE = 32,
	MAKES_QUEUE = 64,
	KEEPS_CONTEXT = 128,
	DROPS_CONTEXT = 256,
	TOO_LARGE = 512
};

#define EVENTS_DECLARED cl_uint count, const cl_event *list, cl_event *event
#define EVENTS count, list, event
#define RECT_DECLARED \
	const size_t *a, const size_t *b, const size_t *region, size_t a_row, size_t a_slice, size_t b_row, \
		size_t b_slice
#define RECT a, b, region, a_row, a_slice, b_row, b_slice

/* Functions that return a code: name, properties, parameters, arguments. */
#define STATUS_CALLS(X) \
	X(clGetPlatformIDs, PLAIN, (cl_uint n, cl_platform_id * ids, cl_uint * found), (n, ids, found)) \
	X(clGetPlatformInfo, PLAIN, (cl_platform_id p, cl_platform_info what, size_t size, void *out, size_t *needed), \
	  (p, what, size, out, needed)) \
	X(clGetDeviceIDs, PLAIN, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id * ids, cl_uint * found), \
	  (p, t, n, ids, found)) \
	X(clGetDeviceInfo, PLAIN, (cl_device_id d, cl_device_info what, size_t size, void *out, size_t *needed), \
	  (d, what, size, out, needed)) \
	X(clRetainContext, KEEPS_CONTEXT, (cl_context c), (c)) \
	X(clReleaseContext, DROPS_CONTEXT, (cl_context c), (c)) \
	X(clGetContextInfo, PLAIN, (cl_context c, cl_context_info what, size_t size, void *out, size_t *needed), \
	  (c, what, size, out, needed)) \
	X(clRetainCommandQueue, PLAIN, (cl_command_queue q), (q)) \
	X(clReleaseCommandQueue, PLAIN, (cl_command_queue q), (q)) \
	X(clGetCommandQueueInfo, PLAIN, \
	  (cl_command_queue q, cl_command_queue_info what, size_t size, void *out, size_t *needed), \
	  (q, what, size, out, needed)) \
	X(clFlush, PLAIN, (cl_command_queue q), (q)) \
	X(clFinish, WAITS, (cl_command_queue q), (q)) \
	X(clRetainMemObject, RETAINS, (cl_mem m), (m)) \
	X(clReleaseMemObject, RELEASES, (cl_mem m), (m)) \
	X(clGetMemObjectInfo, PLAIN, (cl_mem m, cl_mem_info what, size_t size, void *out, size_t *needed), \
	  (m, what, size, out, needed)) \
	X(clSetMemObjectDestructorCallback, PLAIN, (cl_mem m, void(CL_CALLBACK * f)(cl_mem, void *), void *data), \
	  (m, f, data)) \
	X(clReleaseProgram, PLAIN, (cl_program p), (p)) \
	X(clBuildProgram, PLAIN, \
	  (cl_program p, cl_uint n, const cl_device_id *ids, const char *options, \
	   void(CL_CALLBACK * f)(cl_program, void *), void *data), \
	  (p, n, ids, options, f, data)) \
	X(clGetProgramInfo, PLAIN, (cl_program p, cl_program_info what, size_t size, void *out, size_t *needed), \
	  (p, what, size, out, needed)) \
	X(clGetProgramBuildInfo, PLAIN, \
	  (cl_program p, cl_device_id d, cl_program_build_info what, size_t size, void *out, size_t *needed), \
	  (p, d, what, size, out, needed)) \
	X(clReleaseKernel, PLAIN, (cl_kernel k), (k)) \
	X(clGetKernelWorkGroupInfo, PLAIN, \
	  (cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t size, void *out, size_t *needed), \
	  (k, d, what, size, out, needed)) \
	X(clSetKernelArg, PLAIN, (cl_kernel k, cl_uint i, size_t size, const void *value), (k, i, size, value)) \
	X(clWaitForEvents, WAITS, (cl_uint n, const cl_event *events), (n, events)) \
	X(clGetEventInfo, PLAIN, (cl_event e, cl_event_info what, size_t size, void *out, size_t *needed), \
	  (e, what, size, out, needed)) \
	X(clRetainEvent, PLAIN, (cl_event e), (e)) \
	X(clReleaseEvent, PLAIN, (cl_event e), (e)) \
	X(clSetUserEventStatus, PLAIN, (cl_event e, cl_int status), (e, status)) \
	X(clGetEventProfilingInfo, PLAIN, \
	  (cl_event e, cl_profiling_info what, size_t size, void *out, size_t *needed), (e, what, size, out, needed)) \
	X(clEnqueueReadBuffer, blocking ? WAITS : PLAIN, \
	  (cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, void *host, EVENTS_DECLARED), \
	  (q, m, blocking, offset, size, host, EVENTS)) \
	X(clEnqueueWriteBuffer, blocking ? WAITS : PLAIN, \
	  (cl_command_queue q, cl_mem m, cl_bool blocking, size_t offset, size_t size, const void *host, \
	   EVENTS_DECLARED), \
	  (q, m, blocking, offset, size, host, EVENTS)) \
	X(clEnqueueReadBufferRect, blocking ? WAITS | STRIDED : STRIDED, \
	  (cl_command_queue q, cl_mem m, cl_bool blocking, RECT_DECLARED, void *host, EVENTS_DECLARED), \
	  (q, m, blocking, RECT, host, EVENTS)) \
	X(clEnqueueWriteBufferRect, blocking ? WAITS | STRIDED : STRIDED, \
	  (cl_command_queue q, cl_mem m, cl_bool blocking, RECT_DECLARED, const void *host, EVENTS_DECLARED), \
	  (q, m, blocking, RECT, host, EVENTS)) \
	X(clEnqueueCopyBufferRect, STRIDED, \
	  (cl_command_queue q, cl_mem from, cl_mem to, RECT_DECLARED, EVENTS_DECLARED), (q, from, to, RECT, EVENTS)) \
	X(clEnqueueCopyBuffer, PLAIN, \
	  (cl_command_queue q, cl_mem from, cl_mem to, size_t start, size_t target, size_t size, EVENTS_DECLARED), \
	  (q, from, to, start, target, size, EVENTS)) \
	X(clEnqueueFillBuffer, PLAIN, \
	  (cl_command_queue q, cl_mem m, const void *pattern, size_t unit, size_t offset, size_t size, \
	   EVENTS_DECLARED), \
	  (q, m, pattern, unit, offset, size, EVENTS)) \
	X(clEnqueueUnmapMemObject, PLAIN, (cl_command_queue q, cl_mem m, void *mapped, EVENTS_DECLARED), \
	  (q, m, mapped, EVENTS)) \
	X(clEnqueueNDRangeKernel, is_too_large(n, local) ? STRIDED | TOO_LARGE : STRIDED, \
	  (cl_command_queue q, cl_kernel k, cl_uint n, const size_t *offset, const size_t *global, \
	   const size_t *local, EVENTS_DECLARED), \
	  (q, k, n, offset, global, local, EVENTS)) \
	X(clEnqueueNativeKernel, STRIDED | NATIVE, \
	  (cl_command_queue q, void(CL_CALLBACK * f)(void *), void *arguments, size_t size, cl_uint n, \
	   const cl_mem *mems, const void **places, EVENTS_DECLARED), \
	  (q, f, arguments, size, n, mems, places, EVENTS)) \
	X(clEnqueueMarkerWithWaitList, PLAIN, (cl_command_queue q, EVENTS_DECLARED), (q, EVENTS)) \
	X(clEnqueueBarrierWithWaitList, PLAIN, (cl_command_queue q, EVENTS_DECLARED), (q, EVENTS))

/* Functions that return an object and write the code: result, name, properties, parameters, arguments. */
#define OBJECT_CALLS(X) \
	X(cl_context, clCreateContext, KEEPS_CONTEXT, \
	  (const cl_context_properties *properties, cl_uint n, const cl_device_id *ids, \
	   void(CL_CALLBACK * f)(const char *, const void *, size_t, void *), void *data, cl_int *code), \
	  (properties, n, ids, f, data, code)) \
	X(cl_command_queue, clCreateCommandQueue, MAKES_QUEUE, \
	  (cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int * code), \
	  (c, d, properties, code)) \
	X(cl_command_queue, clCreateCommandQueueWithProperties, MAKES_QUEUE, \
	  (cl_context c, cl_device_id d, const cl_queue_properties *properties, cl_int *code), \
	  (c, d, properties, code)) \
	X(cl_mem, clCreateBuffer, MAKES_BUFFER, \
	  (cl_context c, cl_mem_flags flags, size_t size, void *host, cl_int *code), (c, flags, size, host, code)) \
	X(cl_mem, clCreateImage, MAKES_BUFFER, \
	  (cl_context c, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *shape, void *host, \
	   cl_int *code), \
	  (c, flags, format, shape, host, code)) \
	X(cl_mem, clCreateSubBuffer, MAKES_BUFFER, \
	  (cl_mem m, cl_mem_flags flags, cl_buffer_create_type type, const void *region, cl_int *code), \
	  (m, flags, type, region, code)) \
	X(cl_program, clCreateProgramWithSource, PLAIN, \
	  (cl_context c, cl_uint n, const char **texts, const size_t *sizes, cl_int *code), \
	  (c, n, texts, sizes, code)) \
	X(cl_program, clCreateProgramWithBinary, PLAIN, \
	  (cl_context c, cl_uint n, const cl_device_id *ids, const size_t *sizes, const unsigned char **binaries, \
	   cl_int *codes, cl_int *code), \
	  (c, n, ids, sizes, binaries, codes, code)) \
	X(cl_kernel, clCreateKernel, PLAIN, (cl_program p, const char *name, cl_int *code), (p, name, code)) \
	X(cl_event, clCreateUserEvent, PLAIN, (cl_context c, cl_int * code), (c, code)) \
	X(void *, clEnqueueMapBuffer, blocking ? WAITS : PLAIN, \
	  (cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags, size_t offset, size_t size, \
	   EVENTS_DECLARED, cl_int * code), \
	  (q, m, blocking, flags, offset, size, EVENTS, code))

/* Functions that write no code, wrapped by hand. */
#define OTHER_CALLS(X) X(clSVMAlloc) X(clSVMFree)

enum entry {
#define STATUS_ENTRY(name, is, parameters, arguments) ENTRY_##name,
#define OBJECT_ENTRY(result, name, is, parameters, arguments) ENTRY_##name,
#define OTHER_ENTRY(name) ENTRY_##name,
	STATUS_CALLS(STATUS_ENTRY) OBJECT_CALLS(OBJECT_ENTRY) OTHER_CALLS(OTHER_ENTRY) ENTRY_COUNT
};

static struct {
	const char *name;
	atomic_uint_fast64_t calls;
	atomic_uint_fast64_t left; /* calls until the one that fails; 0: none fails */
	atomic_int code;
	atomic_int stays; /* all later calls fail too */
} entries[ENTRY_COUNT] = {
#define STATUS_NAME(function, is, parameters, arguments) [ENTRY_##function] = { .name = #function },
#define OBJECT_NAME(result, function, is, parameters, arguments) [ENTRY_##function] = { .name = #function },
#define OTHER_NAME(function) [ENTRY_##function] = { .name = #function },
	STATUS_CALLS(STATUS_NAME) OBJECT_CALLS(OBJECT_NAME) OTHER_CALLS(OTHER_NAME)
};

static atomic_uint_fast64_t waits, strided_commands, failures, all_calls;
static atomic_uint_fast64_t gone_from; /* number of the call from which on all fail; 0: none */
static atomic_int gone_code;
static atomic_int_fast64_t buffers, memory_references, context_references, late_frees;
static atomic_int is_loaded;
static int is_gpu, is_first_bare, has_small_groups;
static const cl_icd_dispatch *driver;
static cl_icd_dispatch ours;

/* --------------------------------------------------------------------------------------------------------- counting */

/* Queues that were created while bi_layer_fail_from is armed. Further queues are not stored. */
#define MOST_QUEUES 64
static _Atomic(cl_command_queue) queues[MOST_QUEUES];
static atomic_uint queue_count;

static void remember_queue(void *queue)
{
	unsigned i = queue ? atomic_fetch_add(&queue_count, 1) : MOST_QUEUES;

	if (i >= MOST_QUEUES || driver->clRetainCommandQueue((cl_command_queue)queue) != CL_SUCCESS)
		return;
	atomic_store(&queues[i], (cl_command_queue)queue);
}

/* Enqueued work runs before the driver is gone: afterwards it touches no memory any more. */
static void finish_queues(void)
{
	for (unsigned i = 0; i < MOST_QUEUES; i++) {
		cl_command_queue queue = atomic_exchange(&queues[i], NULL);

		if (!queue)
			continue;
		driver->clFinish(queue);
		driver->clReleaseCommandQueue(queue);
	}
	atomic_store(&queue_count, 0);
}

/* All calls that are not exempt fail when `left` has reached 1. 0: none is armed. */
static struct {
	atomic_uint_fast64_t left;
	atomic_int code;
} all;

/*
 * A driver releases and retains objects even if the device fails. Only the tests set user events, to open their gates.
 */
static int is_exempt(enum entry entry)
{
	return strncmp(entries[entry].name, "clRelease", 9) == 0 || strncmp(entries[entry].name, "clRetain", 8) == 0 ||
	       strcmp(entries[entry].name, "clSetUserEventStatus") == 0;
}

/* Counts the call. Returns 1 if it fails because bi_layer_refuse_from makes all calls fail. */
static int fails_from_now_on(enum entry entry)
{
	uint_fast64_t left = atomic_load(&all.left);

	if (!left || is_exempt(entry))
		return 0;
	while (left > 1 && !atomic_compare_exchange_weak(&all.left, &left, left - 1))
		;
	return left == 1;
}

/* Counts the call, and returns its number among all calls. */
static uint_fast64_t count_call(enum entry entry)
{
	/* A driver may make any of its calls a cancellation point. */
	pthread_testcancel();
	atomic_fetch_add(&entries[entry].calls, 1);
	return atomic_fetch_add(&all_calls, 1) + 1;
}

/* Returns the code that the call must fail with, or CL_SUCCESS. */
static cl_int begin(enum entry entry, int is)
{
	uint_fast64_t left = atomic_load(&entries[entry].left);
	uint_fast64_t number = count_call(entry), gone = atomic_load(&gone_from);

	if (is & WAITS)
		atomic_fetch_add(&waits, 1);
	if (is & STRIDED)
		atomic_fetch_add(&strided_commands, 1);
	if (gone && number >= gone) {
		finish_queues();
		atomic_fetch_add(&failures, 1);
		return atomic_load(&gone_code);
	}
	while (left && !(left == 1 && atomic_load(&entries[entry].stays)) &&
	       !atomic_compare_exchange_weak(&entries[entry].left, &left, left - 1))
		;
	if (left == 1) {
		atomic_fetch_add(&failures, 1);
		return atomic_load(&entries[entry].code);
	}
	if (fails_from_now_on(entry)) {
		atomic_fetch_add(&failures, 1);
		return atomic_load(&all.code);
	}
	if (is & TOO_LARGE)
		return CL_INVALID_WORK_GROUP_SIZE;
	return (is & NATIVE) && is_gpu ? CL_INVALID_OPERATION : CL_SUCCESS;
}

static void CL_CALLBACK buffer_is_gone(cl_mem buffer, void *data)
{
	(void)buffer;
	(void)data;
	atomic_fetch_sub(&buffers, 1);
}

static void end_buffer(cl_mem buffer)
{
	if (!buffer)
		return;
	atomic_fetch_add(&memory_references, 1);
	if (driver->clSetMemObjectDestructorCallback(buffer, buffer_is_gone, NULL) == CL_SUCCESS)
		atomic_fetch_add(&buffers, 1);
}

static void end_status(int is, cl_int code)
{
	if (code == CL_SUCCESS && (is & RETAINS))
		atomic_fetch_add(&memory_references, 1);
	if (code == CL_SUCCESS && (is & RELEASES))
		atomic_fetch_sub(&memory_references, 1);
	if (code == CL_SUCCESS && (is & KEEPS_CONTEXT))
		atomic_fetch_add(&context_references, 1);
	if (code == CL_SUCCESS && (is & DROPS_CONTEXT))
		atomic_fetch_sub(&context_references, 1);
}

/* --------------------------------------------------------------------------------------------------------- disguise */

/* A device with small groups takes 200 items, and each of its kernels 96. Neither divides a usual grid. */
#define SMALL_DEVICE 200
#define SMALL_KERNEL 96

static int is_too_large(cl_uint ndim, const size_t *local)
{
	size_t items = 1;

	for (cl_uint i = 0; local && i < ndim; i++)
		items *= local[i];
	return has_small_groups && items > SMALL_KERNEL;
}

static void shrink(size_t *items, size_t limit)
{
	if (*items > limit)
		*items = limit;
}

/* The name of one extension is the beginning of the name of another. */
static cl_int list_extensions(size_t size, void *out, size_t *needed)
{
	static const char list[] = "cl_khr_external_memory_dma_buf cl_khr_external_memory";

	if (out && size < sizeof(list))
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, list, sizeof(list));
	if (needed)
		*needed = sizeof(list);
	return CL_SUCCESS;
}

static void disguise(cl_device_info what, void *out)
{
	if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES && has_small_groups)
		shrink(out, SMALL_DEVICE);
	if (what == CL_DEVICE_TYPE)
		*(cl_device_type *)out = CL_DEVICE_TYPE_GPU;
	if (what == CL_DEVICE_EXECUTION_CAPABILITIES)
		*(cl_device_exec_capabilities *)out = CL_EXEC_KERNEL;
	if (what == CL_DEVICE_HOST_UNIFIED_MEMORY)
		*(cl_bool *)out = CL_FALSE;
}

/* Returns true for the first device of its platform. */
static int is_first(cl_device_id device)
{
	cl_platform_id platform = NULL;
	cl_device_id first = NULL;

	driver->clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	driver->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &first, NULL);
	return device == first;
}

/* --------------------------------------------------------------------------------------------------------- wrapping */

#define STATUS_CALL(name, is, parameters, arguments) \
	static CL_API_ENTRY cl_int CL_API_CALL wrap_##name parameters \
	{ \
		int what_it_is = is; \
		cl_int result = begin(ENTRY_##name, what_it_is); \
		if (result == CL_SUCCESS) { \
			result = driver->name arguments; \
			end_status(what_it_is, result); \
		} \
		return result; \
	}
STATUS_CALLS(STATUS_CALL)

#define OBJECT_CALL(result, name, is, parameters, arguments) \
	static CL_API_ENTRY result CL_API_CALL wrap_##name parameters \
	{ \
		int what_it_is = is; \
		cl_int failure = begin(ENTRY_##name, what_it_is); \
		result made = failure == CL_SUCCESS ? driver->name arguments : NULL; \
		if (failure != CL_SUCCESS && code) \
			*code = failure; \
		end_status(what_it_is, made ? CL_SUCCESS : CL_INVALID_VALUE); \
		if (what_it_is & MAKES_BUFFER) \
			end_buffer((cl_mem)made); \
		if ((what_it_is & MAKES_QUEUE) && atomic_load(&gone_from)) \
			remember_queue((void *)made); \
		return made; \
	}
OBJECT_CALLS(OBJECT_CALL)

static CL_API_ENTRY void *CL_API_CALL wrap_clSVMAlloc(cl_context c, cl_svm_mem_flags flags, size_t size,
						      cl_uint alignment)
{
	return begin(ENTRY_clSVMAlloc, PLAIN) == CL_SUCCESS ? driver->clSVMAlloc(c, flags, size, alignment) : NULL;
}

/*
 * It has no status, so it cannot fail: an armed clSVMFree does not fire. The library calls it on threads of the driver,
 * at the end of a buffer.
 */
static CL_API_ENTRY void CL_API_CALL wrap_clSVMFree(cl_context c, void *bytes)
{
	count_call(ENTRY_clSVMFree);
	if (!atomic_load(&context_references))
		atomic_fetch_add(&late_frees, 1);
	driver->clSVMFree(c, bytes);
}

static CL_API_ENTRY cl_int CL_API_CALL disguised_clGetPlatformIDs(cl_uint n, cl_platform_id *ids, cl_uint *found)
{
	cl_int result = wrap_clGetPlatformIDs(n, ids, found);

	if (result == CL_SUCCESS && ids && found && n > 1) {
		ids[1] = ids[0];
		*found = 2;
	}
	return result;
}

static CL_API_ENTRY cl_int CL_API_CALL disguised_clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t size,
								 void *out, size_t *needed)
{
	int is_list = has_small_groups && what == CL_DEVICE_EXTENSIONS;
	cl_int result = is_list ? wrap_clGetDeviceInfo(d, what, 0, NULL, needed)
				: wrap_clGetDeviceInfo(d, what, size, out, needed);

	if (result == CL_SUCCESS && out && is_gpu && !(is_first_bare && is_first(d)))
		disguise(what, out);
	return result == CL_SUCCESS && is_list ? list_extensions(size, out, needed) : result;
}

static CL_API_ENTRY cl_int CL_API_CALL disguised_clGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d,
									  cl_kernel_work_group_info what, size_t size,
									  void *out, size_t *needed)
{
	cl_int result = wrap_clGetKernelWorkGroupInfo(k, d, what, size, out, needed);

	if (result == CL_SUCCESS && out && has_small_groups && what == CL_KERNEL_WORK_GROUP_SIZE)
		shrink(out, SMALL_KERNEL);
	if (result == CL_SUCCESS && out && what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE && is_too_large(3, out))
		return CL_INVALID_WORK_GROUP_SIZE;
	return result;
}

/* ---------------------------------------------------------------------------------------------------------- loading */

/* Called at the end of the process. */
static void write_report(void)
{
	const char *path = getenv("BI_TEST_LAYER_REPORT");
	FILE *file = path && *path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	for (int i = 0; i < ENTRY_COUNT; i++)
		if (atomic_load(&entries[i].calls))
			fprintf(file, "%s %ju\n", entries[i].name, (uintmax_t)atomic_load(&entries[i].calls));
	fprintf(file, "host_waits %ju\n", (uintmax_t)bi_layer_host_waits());
	fprintf(file, "strided %ju\n", (uintmax_t)bi_layer_strided());
	fprintf(file, "live_buffers %jd\n", (intmax_t)bi_layer_live_buffers());
	fprintf(file, "references %jd\n", (intmax_t)bi_layer_references());
	fclose(file);
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t size, void *out, size_t *needed)
{
	static const char name[] = "BufferInterface tests";
	const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	const void *value = what == CL_LAYER_NAME ? (const void *)name : &version;
	size_t length = what == CL_LAYER_NAME ? sizeof(name) : sizeof(version);

	if ((what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION) || (out && size < length))
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, value, length);
	if (needed)
		*needed = length;
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
					    const cl_icd_dispatch **dispatch_out)
{
	const char *mask = getenv("BI_TEST_LAYER_MASK");

	if (count < sizeof(ours) / sizeof(ours.clGetPlatformIDs))
		return CL_INVALID_VALUE;
	driver = target;
	ours = *target;
#define STATUS_INSTALL(name, is, parameters, arguments) ours.name = wrap_##name;
#define OBJECT_INSTALL(result, name, is, parameters, arguments) ours.name = wrap_##name;
#define OTHER_INSTALL(name) ours.name = wrap_##name;
	STATUS_CALLS(STATUS_INSTALL)
	OBJECT_CALLS(OBJECT_INSTALL)
	OTHER_CALLS(OTHER_INSTALL)
	ours.clGetDeviceInfo = disguised_clGetDeviceInfo;
	if (mask && strcmp(mask, "twice") == 0)
		ours.clGetPlatformIDs = disguised_clGetPlatformIDs;
	ours.clGetKernelWorkGroupInfo = disguised_clGetKernelWorkGroupInfo;
	has_small_groups = mask && strcmp(mask, "small-gpu") == 0;
	is_first_bare = mask && strcmp(mask, "later-gpu") == 0;
	is_gpu = has_small_groups || is_first_bare || (mask && strcmp(mask, "gpu") == 0);
	*count_out = sizeof(ours) / sizeof(ours.clGetPlatformIDs);
	*dispatch_out = &ours;
	atexit(write_report);
	atomic_store(&is_loaded, 1);
	return CL_SUCCESS;
}

/* ----------------------------------------------------------------------------------------------------------- asking */

static int find(const char *name)
{
	for (int i = 0; i < ENTRY_COUNT; i++)
		if (strcmp(entries[i].name, name) == 0)
			return i;
	fprintf(stderr, "the layer does not know %s\n", name);
	abort();
}

int bi_layer_loaded(void)
{
	return atomic_load(&is_loaded);
}

uint64_t bi_layer_count(const char *name)
{
	return atomic_load(&entries[find(name)].calls);
}

uint64_t bi_layer_host_waits(void)
{
	return atomic_load(&waits);
}

uint64_t bi_layer_strided(void)
{
	return atomic_load(&strided_commands);
}

int64_t bi_layer_live_buffers(void)
{
	return atomic_load(&buffers);
}

int64_t bi_layer_references(void)
{
	return atomic_load(&memory_references);
}

int64_t bi_layer_late_frees(void)
{
	return atomic_load(&late_frees);
}

void bi_layer_reset(void)
{
	for (int i = 0; i < ENTRY_COUNT; i++) {
		atomic_store(&entries[i].left, 0);
		atomic_store(&entries[i].calls, 0);
	}
	if (atomic_exchange(&gone_from, 0))
		finish_queues();
	atomic_store(&all_calls, 0);
	atomic_store(&all.left, 0);
	atomic_store(&waits, 0);
	atomic_store(&strided_commands, 0);
	atomic_store(&failures, 0);
}

void bi_layer_arm(const char *name, uint64_t nth, int code)
{
	int i = find(name);

	atomic_store(&entries[i].code, code);
	atomic_store(&entries[i].stays, 0);
	atomic_store(&entries[i].left, nth);
}

void bi_layer_arm_from(const char *name, uint64_t nth, int code)
{
	bi_layer_arm(name, nth, code);
	atomic_store(&entries[find(name)].stays, 1);
}

void bi_layer_fail_from(uint64_t nth, int code)
{
	atomic_store(&gone_code, code);
	atomic_store(&gone_from, nth ? atomic_load(&all_calls) + nth : 0);
}

uint64_t bi_layer_calls(void)
{
	return atomic_load(&all_calls);
}

void bi_layer_refuse_from(uint64_t nth, int code)
{
	atomic_store(&all.code, code);
	atomic_store(&all.left, nth);
}

uint64_t bi_layer_fired(void)
{
	return atomic_load(&failures);
}

int bi_layer_entries(void)
{
	return ENTRY_COUNT;
}

const char *bi_layer_entry(int index)
{
	return entries[index].name;
}
