/*
 * Asks an OpenCL driver questions that drivers answer differently, by plain OpenCL, and prints one line for each. Each
 * question has a process of its own, because an answer may be that the driver hangs or ends the process.
 *
 * With an argument it asks one question, whose answer varies from run to run:
 *     first      whether threads may make the first call of a process at the same time
 *     barriers   whether barriers hold in an out-of-order queue in which several threads enqueue at the same time
 */
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opencl/api.h"
#include "opencl_driver.h"

/* After this time a call hangs. */
#define SECONDS 10

/* The question `first` starts so many processes. In each of them so many threads make the first call. */
#define THREADS 8
#define PROCESSES 100

/* The question `barriers` starts so many threads, each of which fills a buffer so often. */
#define FILLING_THREADS 3
#define FILLS 3000

static cl_context context;
static cl_device_id device;

static void open_device(void)
{
	struct bi_error error;
	cl_platform_id platform;

	if (bi__cl_open(&error) || driver()->clGetPlatformIDs(1, &platform, NULL) ||
	    driver()->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
		fprintf(stderr, "opencl_facts: no device; does OCL_ICD_VENDORS name a folder with a driver?\n");
		exit(2);
	}
	context = driver()->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
}

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
	return driver()->clCreateCommandQueue(context, device, properties, NULL);
}

static cl_mem new_buffer(cl_mem_flags flags, void *host)
{
	return driver()->clCreateBuffer(context, CL_MEM_READ_WRITE | flags, 4096, host, NULL);
}

static void fill(cl_command_queue queue, const cl_event *after, cl_event *event)
{
	static cl_mem buffer;
	const char zero = 0;

	if (!buffer)
		buffer = new_buffer(0, NULL);
	driver()->clEnqueueFillBuffer(queue, buffer, &zero, 1, 0, 4096, after != NULL, after, event);
}

static int status_of(cl_event event)
{
	cl_int status = CL_COMPLETE;

	driver()->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	return status;
}

static void say_code(cl_int code)
{
	printf("%s (%d)\n", code == CL_SUCCESS ? "CL_SUCCESS" : bi__cl_name(code), code);
}

static void parent_over_shared_memory(void)
{
	cl_device_svm_capabilities can = 0;
	cl_mem parent = NULL;
	cl_mem_object_type type;
	void *bytes;

	driver()->clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can), &can, NULL);
	bytes = can & CL_DEVICE_SVM_FINE_GRAIN_BUFFER
			? bi__cl->SVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 4096, 0)
			: NULL;
	if (!bytes) {
		puts("no such memory");
		return;
	}
	driver()->clGetMemObjectInfo(new_buffer(CL_MEM_USE_HOST_PTR, bytes), CL_MEM_ASSOCIATED_MEMOBJECT,
				     sizeof(parent), &parent, NULL);
	if (!parent)
		puts("NULL");
	else
		puts(driver()->clGetMemObjectInfo(parent, CL_MEM_TYPE, sizeof(type), &type, NULL) ? "no `cl_mem`"
												  : "a buffer");
}

/* If a thread of the driver hangs, a later wait does. */
static void release_out_of_order(void)
{
	cl_command_queue in_order = new_queue(0);

	for (int i = 0; i < 1000; i++) {
		cl_command_queue queue = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
		cl_event end;

		fill(queue, NULL, NULL);
		driver()->clEnqueueMarkerWithWaitList(queue, 0, NULL, &end);
		driver()->clFlush(queue);
		driver()->clEnqueueBarrierWithWaitList(in_order, 1, &end, NULL);
		driver()->clReleaseEvent(end);
		driver()->clReleaseCommandQueue(queue);
		driver()->clFinish(in_order);
	}
	puts("works");
}

static void forbidden_mapping(void)
{
	cl_int code;

	driver()->clEnqueueMapBuffer(new_queue(0), new_buffer(CL_MEM_HOST_NO_ACCESS, NULL), CL_FALSE, CL_MAP_READ, 0,
				     4096, 0, NULL, NULL, &code);
	say_code(code);
}

/* A command that waits for an event that fails, and a marker behind it. */
struct failed {
	cl_command_queue queue;
	cl_event command, behind;
};

static struct failed fail_command(void)
{
	struct failed failed = { .queue = new_queue(0) };
	cl_event gate = driver()->clCreateUserEvent(context, NULL);

	fill(failed.queue, &gate, &failed.command);
	driver()->clEnqueueMarkerWithWaitList(failed.queue, 0, NULL, &failed.behind);
	if (works_in_calling_thread(device)) {
		driver()->clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES);
		driver()->clFlush(failed.queue);
	} else {
		driver()->clFlush(failed.queue);
		driver()->clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES);
	}
	return failed;
}

static void failed_command(void)
{
	struct failed failed = fail_command();
	cl_int code = driver()->clWaitForEvents(1, &failed.command);

	printf("status %d, wait %d\n", status_of(failed.command), code);
}

static void behind_failed_command(void)
{
	struct failed failed = fail_command();

	driver()->clWaitForEvents(1, &failed.behind);
	puts(status_of(failed.behind) < 0 ? "fails" : "succeeds");
}

static void after_failed_command(void)
{
	struct failed failed = fail_command();
	cl_event later = NULL;

	driver()->clWaitForEvents(1, &failed.behind);
	fill(failed.queue, NULL, &later);
	driver()->clWaitForEvents(1, &later);
	puts(status_of(later) < 0 ? "fails" : "succeeds");
}

/* By the specification, the list of pointers belongs to the caller again after the call. */
static void free_by_command(void)
{
	cl_int (*enqueue_free)(cl_command_queue, cl_uint, void **, void (*)(cl_command_queue, cl_uint, void **, void *),
			       void *, cl_uint, const cl_event *, cl_event *);
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW), *symbol = dlsym(library, "clEnqueueSVMFree");
	void *bytes = bi__cl->SVMAlloc(context, CL_MEM_READ_WRITE, 4096, 0);
	void **list = malloc(sizeof(*list));
	cl_command_queue queue = new_queue(0);
	cl_event gate = driver()->clCreateUserEvent(context, NULL);

	if (!bytes || !symbol) {
		puts("no such memory");
		return;
	}
	memcpy(&enqueue_free, &symbol, sizeof(symbol));
	*list = bytes;
	enqueue_free(queue, 1, list, NULL, NULL, 1, &gate, NULL);
	free(list);
	if (!works_in_calling_thread(device))
		driver()->clFlush(queue);
	driver()->clSetUserEventStatus(gate, CL_COMPLETE);
	driver()->clFinish(queue);
	puts("works");
}

/* By the specification, a context lives until the objects in it are released. */
static void say_whether_context_lives(void)
{
	cl_device_id found;
	cl_int code;

	driver()->clReleaseContext(context);
	code = driver()->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(found), &found, NULL);
	if (code == CL_SUCCESS)
		puts("lives");
	else
		say_code(code);
}

static void context_of_a_queue(void)
{
	new_queue(0);
	say_whether_context_lives();
}

static void context_of_a_buffer(void)
{
	new_buffer(0, NULL);
	say_whether_context_lives();
}

static pthread_barrier_t all_started;

static void *list_devices(void *platform)
{
	cl_device_id found;

	pthread_barrier_wait(&all_started);
	if (driver()->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &found, NULL))
		_exit(1);
	return NULL;
}

static void list_devices_in_threads(void)
{
	pthread_t threads[THREADS];
	cl_platform_id platform = NULL;

	driver()->clGetPlatformIDs(1, &platform, NULL);
	pthread_barrier_init(&all_started, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, list_devices, platform);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void first_call(void)
{
	int status = 0;

	for (int i = 0; i < PROCESSES && !status; i++) {
		pid_t child = fork();

		if (!child) {
			list_devices_in_threads();
			_exit(0);
		}
		waitpid(child, &status, 0);
	}
	puts(status ? "fails" : "no failure in 100 processes");
}

static cl_command_queue shared_queue;

static void put_barrier(void)
{
	driver()->clEnqueueBarrierWithWaitList(shared_queue, 0, NULL, NULL);
}

/* Fills a buffer of its own twice and reads it, with a barrier before each command. Counts the wrong results. */
static void *fill_and_read(void *wrong)
{
	cl_mem buffer = new_buffer(0, NULL);

	for (int i = 0; i < FILLS; i++) {
		const unsigned char old = 0, new = (unsigned char)(i % 255 + 1);
		unsigned char found = 0;
		cl_event end;

		put_barrier();
		driver()->clEnqueueFillBuffer(shared_queue, buffer, &old, 1, 0, 4096, 0, NULL, NULL);
		driver()->clFlush(shared_queue);
		put_barrier();
		driver()->clEnqueueFillBuffer(shared_queue, buffer, &new, 1, 0, 1, 0, NULL, NULL);
		driver()->clFlush(shared_queue);
		put_barrier();
		driver()->clEnqueueReadBuffer(shared_queue, buffer, CL_FALSE, 0, 1, &found, 0, NULL, NULL);
		driver()->clEnqueueMarkerWithWaitList(shared_queue, 0, NULL, &end);
		driver()->clFlush(shared_queue);
		driver()->clWaitForEvents(1, &end);
		driver()->clReleaseEvent(end);
		*(int *)wrong += found != new;
	}
	return NULL;
}

static void barriers_of_threads(void)
{
	pthread_t threads[FILLING_THREADS];
	int wrong[FILLING_THREADS] = { 0 }, sum = 0;

	shared_queue = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	if (!shared_queue) {
		puts("no such queue");
		return;
	}
	for (int i = 0; i < FILLING_THREADS; i++)
		pthread_create(&threads[i], NULL, fill_and_read, &wrong[i]);
	for (int i = 0; i < FILLING_THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += wrong[i];
	}
	printf("%d of %d results wrong\n", sum, FILLING_THREADS * FILLS);
}

static void where_commands_run(void)
{
	puts(works_in_calling_thread(device) ? "inside clFlush" : "in threads of the driver");
}

static const struct question {
	const char *words;
	void (*answer)(void);
} questions[] = {
	{ "commands run", where_commands_run },
	{ "parent of a buffer over shared memory", parent_over_shared_memory },
	{ "release of an out-of-order queue whose last command is not complete", release_out_of_order },
	{ "code of a mapping that CL_MEM_HOST_NO_ACCESS forbids", forbidden_mapping },
	{ "clEnqueueSVMFree, after which the list of pointers is freed", free_by_command },
	{ "a released context that a queue uses", context_of_a_queue },
	{ "a released context that a buffer uses", context_of_a_buffer },
	{ "a command whose wait failed", failed_command },
	{ "a marker behind it, enqueued before the failure", behind_failed_command },
	{ "a command on its queue, enqueued after the failure", after_failed_command },
}, first_question = { "the first clGetDeviceIDs of a process, by eight threads at the same time", first_call },
  barrier_question = { "barriers in an out-of-order queue, by three threads at the same time", barriers_of_threads };

/* Answers in a child. If `opens` is set, the child opens a device before, and ends if the answer takes too long. */
static void ask_question(const struct question *question, int opens)
{
	pid_t child;
	int status = 0;

	printf("%s: ", question->words);
	fflush(stdout);
	child = fork();
	if (!child) {
		if (opens) {
			open_device();
			alarm(SECONDS);
		}
		question->answer();
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		puts(WTERMSIG(status) == SIGALRM ? "hangs" : "ends the process");
	else if (WEXITSTATUS(status))
		exit(WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "first") == 0) {
		ask_question(&first_question, 0);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "barriers") == 0) {
		ask_question(&barrier_question, 1);
		return 0;
	}
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		ask_question(&questions[i], 1);
	return 0;
}
