/*
 * The OpenCL backend through its table, on PoCL and below the counting layer. The environment says on what:
 * POCL_DEVICES chooses the device, BI_TEST_LAYER_MASK=gpu makes it a GPU, BI_TEST_LAYER is the layer that
 * OPENCL_LAYERS has the loader put in.
 */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/engine/simd.h"
#include "kernels/strided.h"
#include "opencl/opencl.h"
#include "opencl_driver.h"
#include "opencl_layer/layer.h"
#include "support/random.h"

extern const struct bi__backend bi__opencl_backend;
static const struct bi__backend *const backend = &bi__opencl_backend;

static struct bi_layer layer;
static struct test_random randomness;
static struct bi_error error;

/* An opened device. */
struct opened {
	struct bi_device device;
	struct bi__device_state state;
	struct bi__queue queue;
};

static int between(int low, int high)
{
	return (int)test_between(&randomness, low, high);
}

/* A call that must succeed. */
#define OK(call) \
	do { \
		int ok_rc = (call); \
		if (ok_rc != BI_OK) \
			fail_msg("%s: %d %s", #call, ok_rc, error.message); \
	} while (0)

/* A call that must fail with the status `expected`; its message contains `part`. */
#define FAILS(expected, part, call) \
	do { \
		memset(&error, 0, sizeof(error)); \
		assert_int_equal(call, expected); \
		assert_int_equal(error.status, expected); \
		if (!strstr(error.message, part)) \
			fail_msg("\"%s\" is not in: %s", part, error.message); \
	} while (0)

static int is_masked(void)
{
	const char *mask = getenv("BI_TEST_LAYER_MASK");

	return mask && strstr(mask, "gpu") != NULL;
}

static int has_small_groups(void)
{
	return is_masked() && !strcmp(getenv("BI_TEST_LAYER_MASK"), "small-gpu");
}

static int is_synchronous(const struct opened *opened)
{
	return works_in_calling_thread(driver_device((cl_context)opened->state.native));
}

static void open_with(struct opened *opened, const struct bi_options *options)
{
	int count = 0;

	memset(opened, 0, sizeof(*opened));
	OK(backend->devices.enumerate(&opened->device, 1, &count, &error));
	assert_true(count >= 1);
	OK(backend->devices.open(options, &opened->device, NULL, &opened->state, &opened->queue, &error));
}

static void open_default(struct opened *opened)
{
	const struct bi_options options = BI_OPTIONS_INIT;

	open_with(opened, &options);
}

static void close_opened(struct opened *opened)
{
	backend->devices.close(&opened->state, &opened->queue);
}

static struct bi__block allocate(struct opened *opened, size_t nbytes, size_t origin, enum bi_memory_kind memory)
{
	struct bi__block block = { .nbytes = nbytes, .origin = origin, .memory = memory };

	OK(backend->memory.alloc(&opened->state, &block, &error));
	return block;
}

/* Waits for all that is on the queue. */
static void drain(struct bi__queue *queue)
{
	uintptr_t event = 0;
	int done = 0;

	OK(backend->order.record(queue, &event, &error));
	OK(backend->order.poll(event, 1, &done, &error));
	assert_int_equal(done, 1);
	backend->order.event_release(event);
}

static cl_uint references(cl_mem buffer)
{
	cl_uint count = 0;

	assert_int_equal(bi__cl->GetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL),
			 CL_SUCCESS);
	return count;
}

/* A driver lets go of a buffer a little after its last command is complete. */
static void assert_references(cl_mem buffer, cl_uint expected)
{
	for (int i = 0; i < 2000 && references(buffer) != expected; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	assert_int_equal(references(buffer), expected);
}

static cl_uint mappings(cl_mem buffer)
{
	cl_uint count = 1;

	assert_int_equal(bi__cl->GetMemObjectInfo(buffer, CL_MEM_MAP_COUNT, sizeof(count), &count, NULL), CL_SUCCESS);
	return count;
}

/* PoCL counts a mapping for some time after the queue has finished the command that undoes it. */
static void assert_unmapped(cl_mem buffer)
{
	for (int i = 0; i < 2000 && mappings(buffer); i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	assert_int_equal(mappings(buffer), 0);
}

/* Not more than that in the end. There may be less: what an earlier test let go of was still counted when it began. */
static int becomes_live(int64_t most)
{
	for (int i = 0; i < 2000 && layer.live_buffers() > most; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	return layer.live_buffers() <= most;
}

static void assert_live_buffers(int64_t expected)
{
	assert_true(becomes_live(expected));
}

static struct bi__place at_block(const struct bi__block *block)
{
	return (struct bi__place){ .block = block };
}

static struct bi__place at_host(const void *host)
{
	return (struct bi__place){ .host = host };
}

static void copy_bytes(struct opened *opened, struct bi__place dst, struct bi__place src, size_t nbytes)
{
	const struct bi__plan plan = { .kind = BI_PLAN_LINEAR, .unit = nbytes, .bytes = nbytes };

	OK(backend->move.copy(&opened->state, &opened->queue, &(struct bi__move){ &plan, dst, src, 0 }, NULL, &error));
	drain(&opened->queue);
}

static void write_block(struct opened *opened, const struct bi__block *block, const void *bytes)
{
	copy_bytes(opened, at_block(block), at_host(bytes), block->nbytes);
}

static void read_block(struct opened *opened, const struct bi__block *block, void *bytes)
{
	copy_bytes(opened, at_host(bytes), at_block(block), block->nbytes);
}

static unsigned char *random_bytes(size_t nbytes)
{
	unsigned char *bytes = malloc(nbytes);

	assert_non_null(bytes);
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)test_next(&randomness);
	return bytes;
}

/* ---------------------------------------------------------------------------------------------------------- devices */

static void check_listed(const struct bi_device *device)
{
	assert_string_equal(device->spec, "opencl:0:0");
	assert_string_equal(device->backend, "opencl");
	assert_true(device->usable && device->memory > 0 && device->name[0] && device->platform_name[0]);
	assert_true(device->name[0] != ' ' && device->name[strlen(device->name) - 1] != ' ');
	assert_int_equal(device->kind, is_masked() ? BI_DEVICE_KIND_GPU : BI_DEVICE_KIND_CPU);
	assert_int_equal(!!(device->capabilities & BI_CAP_NATIVE_COPY), !is_masked());
	assert_int_equal(!!(device->capabilities & BI_CAP_UNIFIED), !is_masked());
	assert_true(device->capabilities & BI_CAP_SVM);
	assert_true(device->capabilities & BI_CAP_ASYNC);
}

static void test_enumerate(void **unused)
{
	struct bi_device devices[4];
	int count = 0, counted = 0;

	(void)unused;
	OK(backend->devices.enumerate(devices, 4, &count, &error));
	assert_true(count >= 1);
	OK(backend->devices.enumerate(NULL, 0, &counted, &error));
	assert_int_equal(count, counted);
	check_listed(&devices[0]);
}

/* The layer's list for a device with small groups has an extension whose name begins with that of another. */
static void test_extensions(void **unused)
{
	struct bi_device device;
	int count;

	(void)unused;
	OK(backend->devices.enumerate(&device, 1, &count, &error));
	assert_true((device.capabilities & BI_CAP_EXTERNAL_MEMORY) || !has_small_groups());
}

static struct bi_context *open_named(const char *spec)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = spec;
	OK(bi_context_open(&options, &context, &error));
	assert_string_equal(bi_context_device(context)->spec, "opencl:0:0");
	return context;
}

/* The driver is asked at each open. What it did not tell once, also in the first list of the process, it tells then. */
static void test_nothing_half_known_is_kept(void **unused)
{
	static const char *const questions[] = { "clGetDeviceInfo", "clGetPlatformInfo", "clGetDeviceIDs",
						 "clGetPlatformIDs" };
	struct bi_device device;
	int count;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LENGTH(questions); i++)
		for (uint64_t nth = 1, calls = 1; nth <= calls; nth++) {
			layer.reset();
			layer.arm(questions[i], nth, CL_OUT_OF_HOST_MEMORY);
			backend->devices.enumerate(&device, 1, &count, &error);
			assert_true(layer.fired() == 1);
			layer.reset();
			OK(backend->devices.enumerate(&device, 1, &count, &error));
			calls = layer.count(questions[i]);
			check_listed(&device);
			bi_context_release(open_named("opencl:0:0"));
		}
	layer.reset();
}

/* The driver says that a device cannot be used now; that is no device to whoever wants it. */
static void test_unavailable_device(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	(void)unused;
	options.device = "opencl:0:0";
	layer.reset();
	layer.arm("clCreateContext", 1, CL_DEVICE_NOT_AVAILABLE);
	FAILS(BI_ENODEVICE, "device opencl:0:0: clCreateContext failed: CL_DEVICE_NOT_AVAILABLE (-2)",
	      bi_context_open(&options, &context, &error));
	assert_null(context);
	layer.reset();
	bi_context_release(open_named("opencl:0:0"));
}

static void test_open_refuses(void **unused)
{
	const struct bi_options options = BI_OPTIONS_INIT;
	struct bi_device device = { .platform = 99 };
	struct bi__device_state state;
	struct bi__queue queue;

	(void)unused;
	FAILS(BI_ENODEVICE, "99", backend->devices.open(&options, &device, NULL, &state, &queue, &error));
	device = (struct bi_device){ .ordinal = 77 };
	FAILS(BI_ENODEVICE, "77", backend->devices.open(&options, &device, NULL, &state, &queue, &error));
}

static void test_adopt_context(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct opened own, other, adopted = { .device.ordinal = -1 };

	(void)unused;
	open_default(&own);
	open_default(&other);
	options.adopt_context = own.state.native;
	options.adopt_stream = own.queue.native;
	OK(backend->devices.open(&options, &adopted.device, &adopted.device, &adopted.state, &adopted.queue, &error));
	assert_true(adopted.state.native == own.state.native);
	assert_true(adopted.queue.native == own.queue.native);
	assert_string_equal(adopted.device.spec, own.device.spec);
	assert_string_equal(adopted.device.name, own.device.name);
	assert_int_equal(adopted.device.capabilities, own.device.capabilities);
	close_opened(&adopted);

	options.adopt_stream = 0;
	adopted.device.ordinal = 0;
	OK(backend->devices.open(&options, &adopted.device, &adopted.device, &adopted.state, &adopted.queue, &error));
	assert_true(adopted.queue.native != own.queue.native);
	close_opened(&own);
	drain(&adopted.queue);

	adopted.device.ordinal = 1;
	FAILS(BI_ENODEVICE, "number 1",
	      backend->devices.open(&options, &adopted.device, &adopted.device, &own.state, &own.queue, &error));
	adopted.device.ordinal = -1;
	options.adopt_stream = other.queue.native;
	FAILS(BI_EINVAL, "another cl_context",
	      backend->devices.open(&options, &adopted.device, &adopted.device, &own.state, &own.queue, &error));
	close_opened(&adopted);
	close_opened(&other);
}

static void test_adopted_queue_is_in_order(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct opened own, adopted = { .device.ordinal = -1 };
	struct bi__queue loose = { .out_of_order = 1 };

	(void)unused;
	open_default(&own);
	OK(backend->order.stream_open(&own.state, &loose, &error));
	options.adopt_context = own.state.native;
	options.adopt_stream = loose.native;
	FAILS(BI_EINVAL, "out-of-order",
	      backend->devices.open(&options, &adopted.device, &adopted.device, &adopted.state, &adopted.queue,
				    &error));
	backend->order.stream_close(&loose);
	close_opened(&own);
}

/* Lists the devices. Writes the reason why there are none into the text: of the backend, or of the first platform. */
static int list_nothing(char *reason, size_t size)
{
	struct bi_device device = { .usable = 1 };
	int count, rc = backend->devices.enumerate(&device, 1, &count, &error);

	if (rc)
		snprintf(reason, size, "%s", error.message);
	else
		snprintf(reason, size, "%s: %s", device.spec, device.reason);
	return rc == BI_ENODEVICE || (rc == BI_OK && count == 1 && !device.usable);
}

/* Runs before OpenCL is opened, in a child: 0 if the list of devices fails with these words, and then does not. */
static int list_fails_once(const char *variable, const char *value, const char *words)
{
	char reason[400];
	int count;

	setenv(variable, value, 1);
	memset(&error, 0, sizeof(error));
	if (!list_nothing(reason, sizeof(reason)) || !strstr(reason, words)) {
		fprintf(stderr, "%s=%s: %s\n", variable, value, reason);
		return 1;
	}
	if (strcmp(variable, "BI_OPENCL_LIBRARY") != 0)
		return 0;
	/* A failed open is forgotten. */
	unsetenv(variable);
	return backend->devices.enumerate(NULL, 0, &count, &error) == BI_OK ? 0 : 2;
}

static void assert_list_fails_once(const char *variable, const char *value, const char *words)
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0)
		_exit(list_fails_once(variable, value, words));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Writes a loader entry into a new folder, and returns the name of the folder. */
static const char *folder_with_entry(const char *text)
{
	static char folder[] = "vendors.XXXXXX";
	char path[64];
	FILE *file;

	strcpy(folder, "vendors.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/broken.icd", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
	return folder;
}

static void remove_folder(const char *folder)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/broken.icd", folder);
	assert_int_equal(unlink(path) + rmdir(folder), 0);
}

/* Files whose names only contain ".icd" are not read. OCL_ICD_VENDORS may be one file. */
static void test_entries_of_the_loader(void)
{
	const char *folder = folder_with_entry("libbi-no-such-driver.so\n");
	char path[64], other[64];

	snprintf(path, sizeof(path), "%s/broken.icd", folder);
	snprintf(other, sizeof(other), "%s/broken.icd.bak", folder);
	assert_list_fails_once("OCL_ICD_VENDORS", path, "/broken.icd: libbi-no-such-driver.so: ");
	assert_int_equal(rename(path, other), 0);
	assert_list_fails_once("OCL_ICD_VENDORS", folder,
			       "install a driver (on Linux it puts a file *.icd into vendors.");
	assert_int_equal(symlink("nowhere", path), 0);
	assert_list_fails_once("OCL_ICD_VENDORS", folder, "/broken.icd: the file cannot be read (No such file");
	assert_int_equal(unlink(other), 0);
	remove_folder(folder);
}

/* The message names the file, the cause and what helps. */
static void test_missing_drivers(void **unused)
{
	static const char *const entries[][2] = {
		{ "libbi-no-such-driver.so\n", "/broken.icd: libbi-no-such-driver.so: " },
		{ "", "/broken.icd: names no library; reinstall" },
		{ "libm.so.6\n", "install a driver (on Linux it puts a file *.icd into vendors." },
	};

	(void)unused;
	assert_list_fails_once("BI_OPENCL_LIBRARY", "/nonexistent/libOpenCL.so", "/nonexistent/libOpenCL.so: ");
	assert_list_fails_once("BI_OPENCL_LIBRARY", "libm.so.6",
			       "libm.so.6 lacks clGetPlatformIDs; BI_OPENCL_LIBRARY names another");
	for (size_t i = 0; i < ARRAY_LENGTH(entries); i++) {
		const char *folder = folder_with_entry(entries[i][0]);

		assert_list_fails_once("OCL_ICD_VENDORS", folder, entries[i][1]);
		remove_folder(folder);
	}
	test_entries_of_the_loader();
	assert_list_fails_once(
		"POCL_CACHE_DIR", "/proc/nothing",
		"opencl:0: platform \"Portable Computing Language\": clGetDeviceIDs failed: CL_DEVICE_NOT_FOUND (-1); "
		"is POCL_CACHE_DIR, or HOME, writable?");
}

static void test_codes(void **unused)
{
	(void)unused;
	assert_int_equal(bi__cl_check(CL_SUCCESS, "clX", NULL), BI_OK);
	FAILS(BI_EDRIVER, "clX failed: CL_INVALID_MEM_OBJECT (-38)", bi__cl_check(-38, "clX", &error));
	assert_int_equal(error.vendor, -38);
	FAILS(BI_ENOMEM, "CL_MEM_OBJECT_ALLOCATION_FAILURE", bi__cl_check(-4, "clX", &error));
	FAILS(BI_ENOMEM, "CL_OUT_OF_RESOURCES", bi__cl_check(-5, "clX", &error));
	FAILS(BI_ENOMEM, "CL_OUT_OF_HOST_MEMORY", bi__cl_check(-6, "clX", &error));
	FAILS(BI_EPRODUCER, "WAIT_LIST", bi__cl_check(-14, "clX", &error));
	FAILS(BI_ENODEVICE, "clX failed: CL_DEVICE_NOT_FOUND (-1)", bi__cl_check(-1, "clX", &error));
	FAILS(BI_ENODEVICE, "clX failed: CL_PLATFORM_NOT_FOUND_KHR (-1001)", bi__cl_check(-1001, "clX", &error));
	FAILS(BI_EDRIVER, "unknown code (-9999)", bi__cl_check(-9999, "clX", &error));
}

/* ----------------------------------------------------------------------------------------------------------- memory */

static void test_alloc_kinds(void **unused)
{
	static const enum bi_memory_kind kinds[] = { BI_MEMORY_DEVICE, BI_MEMORY_PINNED, BI_MEMORY_UNIFIED };
	struct opened opened;
	unsigned char back[1000];
	int64_t live;

	(void)unused;
	open_default(&opened);
	live = layer.live_buffers();
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		struct bi__block block = allocate(&opened, sizeof(back), 64, kinds[i]);
		unsigned char *bytes = random_bytes(sizeof(back));

		write_block(&opened, &block, bytes);
		read_block(&opened, &block, back);
		assert_memory_equal(back, bytes, sizeof(back));
		assert_references((cl_mem)block.cookie, 1);
		assert_int_equal(!!block.host, kinds[i] == BI_MEMORY_UNIFIED);
		if (block.host)
			assert_memory_equal(block.host, bytes, sizeof(back));
		assert_live_buffers(live + 1);
		backend->memory.free(&opened.state, &block);
		assert_live_buffers(live);
		free(bytes);
	}
	close_opened(&opened);
}

static void test_alloc_fails(void **unused)
{
	struct bi__block block = { .nbytes = SIZE_MAX / 2, .origin = 64, .memory = BI_MEMORY_DEVICE };
	cl_ulong most = 0;
	char limit[80];
	struct opened opened;

	(void)unused;
	open_default(&opened);
	bi__cl->GetDeviceInfo(((struct bi__opencl *)opened.state.state)->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE,
			      sizeof(most), &most, NULL);
	snprintf(limit, sizeof(limit), "the largest buffer of the device has %llu bytes", (unsigned long long)most);
	FAILS(BI_ENOMEM, limit, backend->memory.alloc(&opened.state, &block, &error));
	layer.arm("clGetDeviceInfo", 1, CL_OUT_OF_RESOURCES);
	FAILS(BI_ENOMEM, "clCreateBuffer failed: CL_INVALID_BUFFER_SIZE (-61)",
	      backend->memory.alloc(&opened.state, &block, &error));
	block.nbytes = 16;
	layer.arm("clCreateBuffer", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
	FAILS(BI_ENOMEM, "clCreateBuffer", backend->memory.alloc(&opened.state, &block, &error));
	block.memory = BI_MEMORY_UNIFIED;
	layer.reset();
	layer.arm("clCreateBuffer", 1, CL_OUT_OF_RESOURCES);
	FAILS(BI_ENOMEM, "clCreateBuffer", backend->memory.alloc(&opened.state, &block, &error));
	assert_int_equal(layer.count("clSVMAlloc"), layer.count("clSVMFree"));
	layer.arm("clSetMemObjectDestructorCallback", 1, CL_OUT_OF_HOST_MEMORY);
	FAILS(BI_ENOMEM, "DestructorCallback", backend->memory.alloc(&opened.state, &block, &error));
	assert_int_equal(layer.count("clSVMAlloc"), layer.count("clSVMFree"));
	layer.arm("clSVMAlloc", 1, CL_OUT_OF_HOST_MEMORY);
	FAILS(BI_ENOMEM, "clSVMAlloc", backend->memory.alloc(&opened.state, &block, &error));
	layer.reset();
	layer.arm("clRetainContext", 1, CL_OUT_OF_HOST_MEMORY);
	FAILS(BI_ENOMEM, "clSVMAlloc", backend->memory.alloc(&opened.state, &block, &error));
	assert_int_equal(layer.count("clSVMAlloc"), layer.count("clSVMFree"));
	close_opened(&opened);
}

/* Freed while a copy from it is enqueued: the driver keeps it until the copy is done. */
static void test_free_with_pending_work(void **unused)
{
	struct opened opened;
	size_t nbytes = 1 << 20;
	unsigned char *bytes = random_bytes(nbytes), *back = calloc(1, nbytes);
	const struct bi__plan plan = { .kind = BI_PLAN_LINEAR, .unit = nbytes, .bytes = nbytes };

	(void)unused;
	open_default(&opened);
	for (int kind = BI_MEMORY_DEVICE; kind <= BI_MEMORY_UNIFIED; kind++) {
		struct bi__block block = allocate(&opened, nbytes, 0, (enum bi_memory_kind)kind);
		struct bi__place src = at_block(&block), dst = at_host(back);

		memset(back, 0, nbytes);
		write_block(&opened, &block, bytes);
		OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &plan, dst, src, 0 }, NULL,
				      &error));
		backend->memory.free(&opened.state, &block);
		drain(&opened.queue);
		assert_memory_equal(back, bytes, nbytes);
	}
	close_opened(&opened);
	free(bytes);
	free(back);
}

/* Shared memory whose buffer other code keeps after the context is closed. */
static void test_shared_memory_outlives_its_context(void **unused)
{
	struct opened opened;
	struct bi__block block;
	cl_mem buffer;

	(void)unused;
	open_default(&opened);
	block = allocate(&opened, 1000, 0, BI_MEMORY_UNIFIED);
	buffer = (cl_mem)block.cookie;
	assert_int_equal(bi__cl->RetainMemObject(buffer), CL_SUCCESS);
	backend->memory.free(&opened.state, &block);
	close_opened(&opened);
	layer.reset();
	assert_int_equal(bi__cl->ReleaseMemObject(buffer), CL_SUCCESS);
	assert_int_equal(layer.count("clSVMFree"), 1);
	assert_int_equal(layer.count("clReleaseContext"), 1);
	assert_true(layer.late_frees() == 0);
}

static cl_mem make_buffer(struct opened *opened, size_t nbytes)
{
	cl_int code;
	cl_mem buffer = bi__cl->CreateBuffer((cl_context)opened->state.native, CL_MEM_READ_WRITE, nbytes, NULL, &code);

	assert_int_equal(code, CL_SUCCESS);
	return buffer;
}

static cl_mem make_sub_buffer(cl_mem buffer, size_t origin, size_t nbytes)
{
	const cl_buffer_region region = { origin, nbytes };
	cl_int code;
	cl_mem made = driver()->clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);

	assert_int_equal(code, CL_SUCCESS);
	return made;
}

static struct bi_foreign foreign_buffer(cl_mem buffer, size_t nbytes, unsigned flags)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;

	foreign.kind = BI_HANDLE_CL_MEM;
	foreign.handle = (uintptr_t)buffer;
	foreign.nbytes = nbytes;
	foreign.flags = flags;
	return foreign;
}

static void test_adopt_buffer(void **unused)
{
	struct opened opened;
	struct bi__block block = { 0 };
	struct bi_foreign foreign;
	cl_mem buffer;

	(void)unused;
	open_default(&opened);
	buffer = make_buffer(&opened, 1000);
	foreign = foreign_buffer(buffer, 0, 0);
	OK(backend->memory.adopt(&opened.state, &foreign, &block, &error));
	assert_references(buffer, 2);
	assert_true(block.kind == BI_HANDLE_CL_MEM && block.handle == (uintptr_t)buffer);
	assert_int_equal(block.nbytes, 1000);
	assert_int_equal(block.origin, 0);
	assert_null(block.host);
	backend->memory.free(&opened.state, &block);
	assert_references(buffer, 1);

	foreign = foreign_buffer(buffer, 1000, BI_WRAP_STEAL);
	OK(backend->memory.adopt(&opened.state, &foreign, &block, &error));
	assert_references(buffer, 1);
	foreign = foreign_buffer(buffer, 1001, 0);
	FAILS(BI_EBOUNDS, "1000 bytes, not 1001", backend->memory.adopt(&opened.state, &foreign, &block, &error));
	assert_references(buffer, 1);
	backend->memory.free(&opened.state, &block);
	close_opened(&opened);
}

static void test_adopt_sub_buffer(void **unused)
{
	struct opened opened;
	struct bi__block block = { 0 };
	struct bi_foreign foreign;
	unsigned char *bytes = random_bytes(4096), back[512];
	cl_mem root, part;
	cl_uint alone, before;

	(void)unused;
	open_default(&opened);
	root = make_buffer(&opened, 4096);
	alone = references(root);
	part = make_sub_buffer(root, 1024, 512);
	before = references(root);
	foreign = foreign_buffer(root, 0, 0);
	OK(backend->memory.adopt(&opened.state, &foreign, &block, &error));
	write_block(&opened, &block, bytes);
	backend->memory.free(&opened.state, &block);

	foreign = foreign_buffer(part, 0, 0);
	OK(backend->memory.adopt(&opened.state, &foreign, &block, &error));
	assert_true(block.handle == (uintptr_t)root);
	assert_int_equal(block.origin, 1024);
	assert_int_equal(block.nbytes, 512);
	assert_references(root, before + 1);
	assert_references(part, 1);
	read_block(&opened, &block, back);
	assert_memory_equal(back, bytes + 1024, sizeof(back));
	backend->memory.free(&opened.state, &block);
	assert_references(root, before);

	foreign = foreign_buffer(part, 512, BI_WRAP_STEAL);
	OK(backend->memory.adopt(&opened.state, &foreign, &block, &error));
	/* The stolen reference was the last one of the sub-buffer. On PoCL, the sub-buffer held one of the root. */
	assert_references(root, alone + 1);
	backend->memory.free(&opened.state, &block);
	assert_references(root, alone);
	bi__cl->ReleaseMemObject(root);
	close_opened(&opened);
	free(bytes);
}

static cl_mem make_image(struct opened *opened)
{
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc shape = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 4, .image_height = 4 };
	__typeof__(clCreateImage) *create = (__typeof__(clCreateImage) *)bi__cl_symbol("clCreateImage");
	cl_int code;
	cl_mem image = create((cl_context)opened->state.native, CL_MEM_READ_WRITE, &format, &shape, NULL, &code);

	assert_int_equal(code, CL_SUCCESS);
	return image;
}

static void test_adopt_refuses(void **unused)
{
	struct opened opened, other;
	struct bi__block block = { 0 };
	struct bi_foreign foreign;
	struct bi__queue queue;
	uintptr_t event, wrapped;
	cl_mem buffer, image;

	(void)unused;
	open_default(&opened);
	open_default(&other);
	buffer = make_buffer(&other, 16);
	foreign = foreign_buffer(buffer, 0, 0);
	FAILS(BI_EINVAL, "another cl_context", backend->memory.adopt(&opened.state, &foreign, &block, &error));
	assert_references(buffer, 1);
	foreign.kind = BI_HANDLE_CUDA;
	FAILS(BI_EUNSUPPORTED, "kind 2", backend->memory.adopt(&opened.state, &foreign, &block, &error));
	image = make_image(&opened);
	foreign = foreign_buffer(image, 0, 0);
	FAILS(BI_EUNSUPPORTED, "the cl_mem is no buffer (type 0x10f1): copy its contents into a buffer",
	      backend->memory.adopt(&opened.state, &foreign, &block, &error));
	assert_references(image, 1);
	bi__cl->ReleaseMemObject(image);
	queue = (struct bi__queue){ .native = other.queue.native };
	FAILS(BI_EINVAL, "is needed [O6]", backend->order.stream_open(&opened.state, &queue, &error));
	OK(backend->order.record(&other.queue, &event, &error));
	FAILS(BI_EINVAL, "another cl_context", backend->order.event_wrap(&opened.state, event, &wrapped, &error));
	OK(backend->order.event_wrap(&other.state, event, &wrapped, &error));
	assert_true(wrapped == event);
	backend->order.event_release(event);
	backend->order.event_release(event);
	bi__cl->ReleaseMemObject(buffer);
	close_opened(&other);
	close_opened(&opened);
}

static void test_adopt_svm(void **unused)
{
	struct opened opened;
	struct bi__block block = { 0 };
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	unsigned char back[256], *bytes = random_bytes(sizeof(back)), *plain = malloc(sizeof(back));
	cl_context context;
	unsigned char *shared;

	(void)unused;
	open_default(&opened);
	context = (cl_context)opened.state.native;
	shared = bi__cl->SVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, sizeof(back), 0);
	assert_non_null(shared);
	foreign.kind = BI_HANDLE_CL_SVM;
	foreign.handle = (uintptr_t)shared;
	FAILS(BI_EINVAL, "nbytes is 0", backend->memory.adopt(&opened.state, &foreign, &block, &error));
	foreign.nbytes = block.nbytes = sizeof(back);
	OK(backend->memory.adopt(&opened.state, &foreign, &block, &error));
	assert_true(block.kind == BI_HANDLE_CL_SVM && block.handle == (uintptr_t)shared);
	assert_null(block.host);
	write_block(&opened, &block, bytes);
	assert_memory_equal(shared, bytes, sizeof(back));
	read_block(&opened, &block, back);
	assert_memory_equal(back, bytes, sizeof(back));
	backend->memory.free(&opened.state, &block);
	/* A driver before OpenCL 2.0 has no answer to the query. */
	layer.arm("clGetMemObjectInfo", 1, CL_INVALID_VALUE);
	FAILS(BI_EUNSUPPORTED, "the driver has no shared virtual memory",
	      backend->memory.adopt(&opened.state, &foreign, &block, &error));
	layer.arm("clGetMemObjectInfo", 1, CL_OUT_OF_RESOURCES);
	FAILS(BI_ENOMEM, "clGetMemObjectInfo", backend->memory.adopt(&opened.state, &foreign, &block, &error));
	foreign.handle = (uintptr_t)plain;
	FAILS(BI_EINVAL, "no SVM pointer", backend->memory.adopt(&opened.state, &foreign, &block, &error));
	layer.reset();
	layer.arm("clSVMFree", 1, CL_OUT_OF_RESOURCES);
	bi__cl->SVMFree(context, shared);
	assert_true(layer.fired() == 0); /* it has no status, so no fault is counted */
	close_opened(&opened);
	free(plain);
	free(bytes);
}

/* ----------------------------------------------------------------------------------------------------------- copies */

#define MOST_NDIM 20

/* Strides of an array whose axes are nested in any order, with gaps, and run in any direction. */
static void random_strides(int ndim, const int64_t *shape, int64_t item, int64_t *strides)
{
	int axes[MOST_NDIM];
	int64_t step = item;

	for (int i = 0; i < ndim; i++)
		axes[i] = i;
	for (int i = ndim - 1; i > 0; i--) {
		int j = between(0, i), axis = axes[i];

		axes[i] = axes[j];
		axes[j] = axis;
	}
	for (int i = 0; i < ndim; i++) {
		strides[axes[i]] = between(0, 3) ? step : -step;
		step = step * shape[axes[i]] + (ndim < 8 && !between(0, 2) ? between(1, 5) : 0);
	}
}

/* Makes the layout begin at byte `start`; returns how many bytes it needs from there. */
static size_t settle(struct bi_layout *layout, int64_t start)
{
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	layout->offset += start - first;
	return (size_t)(end - first);
}

struct pair {
	struct bi_layout dst, src;
	struct bi__plan plan;
	size_t dst_nbytes, src_nbytes;
};

/* Two random layouts of one shape. With `is_fill` the source is one item. */
static void random_pair(struct pair *pair, int ndim, int is_fill)
{
	static const uint32_t items[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 300 };
	struct bi_dtype dtype = { items[between(0, (int)ARRAY_LENGTH(items) - 1)], 1, BI_VOID, 0 };
	int64_t shape[MOST_NDIM], dst[MOST_NDIM], src[MOST_NDIM];

	for (int i = 0; i < ndim; i++)
		shape[i] = ndim > 6 ? 2 : between(1, 5);
	random_strides(ndim, shape, dtype.item_size, dst);
	random_strides(ndim, shape, dtype.item_size, src);
	if (!between(0, 3))
		memcpy(src, dst, sizeof(src));
	if (ndim && !between(0, 4))
		src[between(0, ndim - 1)] = 0;
	OK(bi_layout_init(&pair->dst, dtype, ndim, shape, dst, 0, &error));
	OK(bi_layout_init(&pair->src, dtype, ndim, shape, src, 0, &error));
	pair->dst_nbytes = settle(&pair->dst, between(0, 9)) + 16;
	pair->src_nbytes = settle(&pair->src, between(0, 9)) + 16;
	if (is_fill) {
		pair->src_nbytes = dtype.item_size;
		bi__plan_make(&pair->plan, &pair->dst, NULL);
	} else {
		bi__plan_make(&pair->plan, &pair->dst, &pair->src);
	}
}

static void naive_copy(const struct pair *pair, int is_fill, unsigned char *dst, const unsigned char *src)
{
	int64_t size = bi_layout_size(&pair->dst);

	for (int64_t n = 0; n < size; n++) {
		int64_t rest = n, to = pair->dst.offset, from = is_fill ? 0 : pair->src.offset;

		for (int i = pair->dst.ndim - 1; i >= 0; i--) {
			int64_t at = rest % pair->dst.shape[i];

			rest /= pair->dst.shape[i];
			to += at * pair->dst.strides[i];
			from += is_fill ? 0 : at * pair->src.strides[i];
		}
		memcpy(dst + to, src + from, pair->dst.dtype.item_size);
	}
}

static size_t random_origin(void)
{
	static const size_t origins[] = { 0, 64, 128, 7 };

	return origins[between(0, (int)ARRAY_LENGTH(origins) - 1)];
}

static enum bi_memory_kind random_kind(void)
{
	return (enum bi_memory_kind)between(BI_MEMORY_DEVICE, BI_MEMORY_UNIFIED);
}

/* Is this more than the device moves between a block and the host as it is? */
static int is_refused(const struct bi__plan *plan, const struct bi__place *dst, const struct bi__place *src)
{
	int takes = 0;

	if (!is_masked() || plan->kind == BI_PLAN_LINEAR || src->immediate || (dst->block && src->block))
		return 0;
	OK(backend->move.takes(&(struct bi__move){ plan, *dst, *src, 0 }, &takes, &error));
	return !takes;
}

enum route { BLOCK_TO_BLOCK, HOST_TO_BLOCK, BLOCK_TO_HOST, FILL, ROUTE_COUNT };

static void check_copy(struct opened *opened, const struct pair *pair, enum route route, int timed)
{
	unsigned char *expected = random_bytes(pair->dst_nbytes), *actual = malloc(pair->dst_nbytes);
	unsigned char *bytes = random_bytes(pair->src_nbytes);
	/* A driver may care about the age of buffers. */
	struct bi__block older = allocate(opened, pair->dst_nbytes, random_origin(), random_kind());
	struct bi__block from = allocate(opened, pair->src_nbytes, random_origin(), random_kind());
	struct bi__block younger = allocate(opened, pair->dst_nbytes, random_origin(), random_kind());
	struct bi__block to = between(0, 1) ? older : younger;
	struct bi__place dst = route == BLOCK_TO_HOST ? at_host(actual) : at_block(&to);
	struct bi__place src = route == HOST_TO_BLOCK ? at_host(bytes) : at_block(&from);
	int refused;
	uintptr_t event = 0;

	if (route == FILL)
		src = (struct bi__place){ .host = bytes, .immediate = pair->src_nbytes };
	refused = is_refused(&pair->plan, &dst, &src);
	memcpy(actual, expected, pair->dst_nbytes);
	write_block(opened, &to, expected);
	write_block(opened, &from, bytes);
	if (refused) {
		FAILS(BI_EUNSUPPORTED, "dense",
		      backend->move.copy(&opened->state, &opened->queue, &(struct bi__move){ &pair->plan, dst, src, 0 },
					 NULL, &error));
	} else {
		uint64_t waits = layer.host_waits();

		OK(backend->move.copy(&opened->state, &opened->queue, &(struct bi__move){ &pair->plan, dst, src, 0 },
				      timed ? &event : NULL, &error));
		assert_true(layer.host_waits() == waits);
		naive_copy(pair, route == FILL, expected, bytes);
		if (route == FILL)
			memset(bytes, 0, pair->src_nbytes);
	}
	drain(&opened->queue);
	if (timed && !refused) {
		assert_true(event != 0);
		assert_true(backend->move.elapsed(event) >= 0);
		backend->order.event_release(event);
	}
	if (route != BLOCK_TO_HOST)
		read_block(opened, &to, actual);
	assert_memory_equal(actual, expected, pair->dst_nbytes);
	backend->memory.free(&opened->state, &older);
	backend->memory.free(&opened->state, &younger);
	backend->memory.free(&opened->state, &from);
	free(expected);
	free(actual);
	free(bytes);
}

static void test_copies(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct opened opened;
	struct pair pair;

	(void)unused;
	options.profile = 1;
	open_with(&opened, &options);
	for (int i = 0; i < 600; i++) {
		enum route route = (enum route)(i % ROUTE_COUNT);

		random_pair(&pair, between(0, 5), route == FILL);
		check_copy(&opened, &pair, route, between(0, 1));
	}
	close_opened(&opened);
}

/* What check_copy asked the driver for since the layer was reset, less what brings the bytes there and back. */
static void check_commands(enum route route, uint64_t rects)
{
	assert_true(layer.count("clEnqueueWriteBufferRect") == (route == HOST_TO_BLOCK ? rects : 0));
	assert_true(layer.count("clEnqueueReadBufferRect") == (route == BLOCK_TO_HOST ? rects : 0));
	if (is_masked())
		assert_true(layer.strided() == rects);
}

/* Boxes of long rows go between the host and a device in one command, and nothing else does that is not dense. */
static void test_boxes(void **unused)
{
	static const struct {
		int ndim;
		int64_t shape[4], dst[4], src[4];
		int is_box;
	} cases[] = {
		{ 2, { 10, 64 }, { 80, 1 }, { 100, 1 }, 1 },
		{ 2, { 10, 64 }, { 64, 1 }, { 65, 1 }, 1 },
		{ 2, { 10, 63 }, { 80, 1 }, { 100, 1 }, 0 }, /* short rows */
		{ 3, { 3, 4, 128 }, { 512, 128, 1 }, { 1000, 200, 1 }, 1 },
		{ 3, { 3, 4, 128 }, { 1000, 200, 1 }, { 512, 128, 1 }, 1 },
		{ 3, { 3, 4, 128 }, { 512, 128, 1 }, { 900, 200, 1 }, 0 }, /* slices of no whole number of rows */
		{ 3, { 3, 4, 128 }, { 900, 200, 1 }, { 512, 128, 1 }, 0 },
		{ 3, { 3, 4, 128 }, { 512, 128, 1 }, { 200, 600, 1 }, 0 }, /* another order */
		{ 2, { 10, 64 }, { 80, 1 }, { -100, 1 }, 0 },
		{ 2, { 10, 64 }, { 80, 1 }, { 0, 1 }, 0 },
		{ 2, { 10, 64 }, { 80, 1 }, { 100, 2 }, 0 },
		{ 4, { 2, 3, 4, 64 }, { 960, 320, 80, 1 }, { 2100, 500, 100, 1 }, 0 }, /* an axis too many */
	};
	const struct bi_dtype dtype = { 1, 1, BI_VOID, 0 };
	struct opened opened;

	(void)unused;
	open_default(&opened);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct pair pair;

		OK(bi_layout_init(&pair.dst, dtype, cases[i].ndim, cases[i].shape, cases[i].dst, 0, &error));
		OK(bi_layout_init(&pair.src, dtype, cases[i].ndim, cases[i].shape, cases[i].src, 0, &error));
		pair.dst_nbytes = settle(&pair.dst, between(0, 300)) + 16;
		pair.dst_nbytes += (size_t)pair.dst.offset;
		pair.src_nbytes = settle(&pair.src, between(0, 300)) + 16;
		pair.src_nbytes += (size_t)pair.src.offset;
		bi__plan_make(&pair.plan, &pair.dst, &pair.src);
		for (enum route route = HOST_TO_BLOCK; route <= BLOCK_TO_HOST; route++) {
			layer.reset();
			check_copy(&opened, &pair, route, 0);
			check_commands(route, is_masked() ? (uint64_t)cases[i].is_box : 0);
		}
	}
	close_opened(&opened);
}

/* Dense bytes by the driver, but by our own engine where threads share the work, or one writes past the caches. */
static void check_dense(struct opened *opened, size_t nbytes, int is_native)
{
	struct pair pair = { .dst_nbytes = nbytes, .src_nbytes = nbytes };
	const struct bi_dtype dtype = { 1, 1, BI_VOID, 0 };
	const int64_t shape = (int64_t)nbytes - 300;

	OK(bi_layout_init(&pair.dst, dtype, 1, &shape, NULL, 100, &error));
	OK(bi_layout_init(&pair.src, dtype, 1, &shape, NULL, 300, &error));
	bi__plan_make(&pair.plan, &pair.dst, &pair.src);
	for (enum route route = BLOCK_TO_BLOCK; route <= BLOCK_TO_HOST; route++) {
		layer.reset();
		check_copy(opened, &pair, route, 1);
		assert_true((layer.count("clEnqueueNativeKernel") > 0) == is_native);
		if (route == BLOCK_TO_BLOCK)
			assert_true(layer.count("clEnqueueCopyBuffer") == !is_native);
	}
}

static void test_dense_copies(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct opened opened;

	(void)unused;
	options.profile = 1;
	open_with(&opened, &options);
	OK(bi_set_threads(2, &error));
	check_dense(&opened, 10000, 0);
	check_dense(&opened, 1 << 20, 0);
	check_dense(&opened, 3 << 20, !is_masked());
	OK(bi_set_threads(1, &error));
	check_dense(&opened, 9 << 20, !is_masked());
	OK(bi_set_threads(0, &error));
	close_opened(&opened);
}

/* A buffer that the host may not map is copied by the device. */
static void test_dense_copy_of_a_closed_buffer(void **unused)
{
	const size_t nbytes = 9 << 20;
	const struct bi__plan plan = { .kind = BI_PLAN_LINEAR, .unit = nbytes, .bytes = nbytes };
	unsigned char *bytes = random_bytes(nbytes), *back = calloc(1, nbytes);
	struct opened opened;
	struct bi__block from = { 0 }, to;
	struct bi__place dst = at_block(&to), src = at_block(&from);
	struct bi_foreign foreign;
	cl_mem closed;
	cl_int code;

	(void)unused;
	open_default(&opened);
	OK(bi_set_threads(2, &error));
	closed = bi__cl->CreateBuffer((cl_context)opened.state.native, CL_MEM_HOST_NO_ACCESS | CL_MEM_COPY_HOST_PTR,
				      nbytes, bytes, &code);
	assert_int_equal(code, CL_SUCCESS);
	foreign = foreign_buffer(closed, 0, BI_WRAP_STEAL);
	OK(backend->memory.adopt(&opened.state, &foreign, &from, &error));
	to = allocate(&opened, nbytes, 0, BI_MEMORY_DEVICE);
	layer.reset();
	/* The code with which Intel's CPU driver refuses. */
	layer.arm("clEnqueueMapBuffer", 1, CL_INVALID_VALUE);
	OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &plan, dst, src, 0 }, NULL, &error));
	assert_int_equal(layer.count("clEnqueueCopyBuffer"), 1);
	layer.reset();
	read_block(&opened, &to, back);
	assert_memory_equal(back, bytes, nbytes);
	backend->memory.free(&opened.state, &from);
	backend->memory.free(&opened.state, &to);
	OK(bi_set_threads(0, &error));
	close_opened(&opened);
	free(bytes);
	free(back);
}

/* A device without a compiler, such as a device of the embedded profile may be, or one that has no memory for it. */
static void test_compiler_fails(void **unused)
{
	static const struct {
		cl_int code;
		int status;
		const char *words;
	} cases[] = {
		{ CL_COMPILER_NOT_AVAILABLE, BI_EUNSUPPORTED, "clBuildProgram failed: CL_COMPILER_NOT_AVAILABLE (-3)" },
		{ CL_OUT_OF_HOST_MEMORY, BI_ENOMEM, "clBuildProgram failed: CL_OUT_OF_HOST_MEMORY (-6)" },
		{ CL_BUILD_PROGRAM_FAILURE, BI_EDRIVER, "clBuildProgram failed: CL_BUILD_PROGRAM_FAILURE (-11)" },
	};
	struct opened opened;
	struct pair pair;
	struct bi__block to, from;

	(void)unused;
	if (!is_masked())
		skip();
	open_default(&opened);
	do
		random_pair(&pair, 3, 0);
	while (pair.plan.kind == BI_PLAN_LINEAR);
	to = allocate(&opened, pair.dst_nbytes, 0, BI_MEMORY_DEVICE);
	from = allocate(&opened, pair.src_nbytes, 0, BI_MEMORY_DEVICE);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		layer.arm("clBuildProgram", 1, cases[i].code);
		FAILS(cases[i].status, cases[i].words,
		      backend->move.copy(&opened.state, &opened.queue,
					 &(struct bi__move){ &pair.plan, at_block(&to), at_block(&from), 0 }, NULL,
					 &error));
	}
	layer.reset();
	backend->memory.free(&opened.state, &to);
	backend->memory.free(&opened.state, &from);
	close_opened(&opened);
}

/* The first strided copy of all compiles nothing on a device that runs on this processor. */
static void test_first_strided_copy(void **unused)
{
	struct opened opened;
	struct pair pair;

	(void)unused;
	open_default(&opened);
	do
		random_pair(&pair, 3, 0);
	while (pair.plan.kind == BI_PLAN_LINEAR);
	layer.reset();
	check_copy(&opened, &pair, BLOCK_TO_BLOCK, 0);
	assert_int_equal(layer.count("clCreateProgramWithSource") + layer.count("clCreateProgramWithBinary"),
			 is_masked());
	assert_int_equal(layer.count("clBuildProgram"), is_masked());
	assert_int_equal(layer.count("clEnqueueNativeKernel"), !is_masked());
	close_opened(&opened);
}

/* More axes than one launch of the kernel takes. */
static void test_many_axes(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct opened opened;
	struct pair pair;

	(void)unused;
	options.profile = 1;
	open_with(&opened, &options);
	for (int i = 0; i < 6; i++) {
		int64_t shape[18], dst[18], src[18];
		struct bi_dtype dtype = { i % 2 ? 1 : 3, 1, BI_VOID, 0 };

		for (int axis = 0; axis < 18; axis++)
			shape[axis] = 2;
		random_strides(18, shape, dtype.item_size, dst);
		random_strides(18, shape, dtype.item_size, src);
		OK(bi_layout_init(&pair.dst, dtype, 18, shape, dst, 0, &error));
		OK(bi_layout_init(&pair.src, dtype, 18, shape, src, 0, &error));
		pair.dst_nbytes = settle(&pair.dst, 3) + 16;
		pair.src_nbytes = settle(&pair.src, 5) + 16;
		bi__plan_make(&pair.plan, &pair.dst, &pair.src);
		check_copy(&opened, &pair, BLOCK_TO_BLOCK, 1);
	}
	close_opened(&opened);
}

/* Source and destination are disjoint parts of one buffer. */
static void test_copy_within_a_buffer(void **unused)
{
	struct opened opened;
	struct pair pair;

	(void)unused;
	open_default(&opened);
	for (int i = 0; i < 40; i++) {
		struct bi__block block;
		struct bi__place place = at_block(&block);
		unsigned char *expected, *actual;
		size_t nbytes;

		random_pair(&pair, between(0, 4), 0);
		nbytes = 16 + pair.dst_nbytes + pair.src_nbytes;
		settle(&pair.src, (int64_t)pair.dst_nbytes + 16);
		bi__plan_make(&pair.plan, &pair.dst, &pair.src);
		block = allocate(&opened, nbytes, random_origin(), BI_MEMORY_DEVICE);
		expected = random_bytes(nbytes);
		actual = malloc(nbytes);
		write_block(&opened, &block, expected);
		OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &pair.plan, place, place, 0 },
				      NULL, &error));
		drain(&opened.queue);
		naive_copy(&pair, 0, expected, expected);
		read_block(&opened, &block, actual);
		assert_memory_equal(actual, expected, nbytes);
		backend->memory.free(&opened.state, &block);
		free(expected);
		free(actual);
	}
	close_opened(&opened);
}

/* Dense destinations are filled by the driver where its fill can do it. */
static void test_fill_commands(void **unused)
{
	static const struct {
		uint32_t item;
		int64_t offset;
		int by_driver;
	} cases[] = {
		{ 1, 3, 1 },     { 2, 4, 1 },   { 4, 0, 1 },   { 8, 64, 1 }, { 16, 16, 1 }, { 32, 0, 1 }, { 64, 64, 1 },
		{ 128, 128, 1 }, { 256, 0, 0 }, { 512, 0, 0 }, { 3, 0, 0 },  { 12, 0, 0 },  { 4, 2, 0 },  { 8, 4, 0 },
	};
	struct opened opened;

	(void)unused;
	open_default(&opened);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct bi_dtype dtype = { cases[i].item, 1, BI_VOID, 0 };
		const int64_t shape = 37;
		struct pair pair;
		struct bi__block block;
		unsigned char *item = random_bytes(dtype.item_size), *expected, *actual;
		const struct bi__place src = { .host = item, .immediate = dtype.item_size };
		struct bi__place dst = at_block(&block);

		OK(bi_layout_init(&pair.dst, dtype, 1, &shape, NULL, cases[i].offset, &error));
		bi__plan_make(&pair.plan, &pair.dst, NULL);
		block = allocate(&opened, (size_t)cases[i].offset + 37 * dtype.item_size + 5, 128, BI_MEMORY_DEVICE);
		expected = random_bytes(block.nbytes);
		actual = malloc(block.nbytes);
		write_block(&opened, &block, expected);
		layer.reset();
		OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &pair.plan, dst, src, 0 }, NULL,
				      &error));
		assert_int_equal(layer.count("clEnqueueFillBuffer"), cases[i].by_driver);
		assert_int_equal(layer.strided(), !cases[i].by_driver);
		drain(&opened.queue);
		naive_copy(&pair, 1, expected, item);
		read_block(&opened, &block, actual);
		assert_memory_equal(actual, expected, block.nbytes);
		backend->memory.free(&opened.state, &block);
		free(item);
		free(expected);
		free(actual);
	}
	close_opened(&opened);
}

/* A CPU device fills little by the driver, much by our own engine. */
static void test_large_fill(void **unused)
{
	static const int64_t shapes[] = { 1000, 300000 };
	const struct bi_dtype dtype = { 4, 1, BI_VOID, 0 };
	struct opened opened;

	(void)unused;
	open_default(&opened);
	for (int i = 0; i < 2; i++) {
		struct pair pair = { .src_nbytes = 4 };
		int is_native = i && !is_masked();

		OK(bi_layout_init(&pair.dst, dtype, 1, &shapes[i], NULL, 64, &error));
		pair.dst_nbytes = 4 * (size_t)shapes[i] + 80;
		bi__plan_make(&pair.plan, &pair.dst, NULL);
		do {
			layer.reset();
			check_copy(&opened, &pair, FILL, 0);
			/* At the odd origin the driver cannot fill. */
		} while (!is_native && !layer.count("clEnqueueFillBuffer"));
		assert_int_equal(layer.count("clEnqueueNativeKernel"), is_native);
		assert_int_equal(layer.count("clEnqueueFillBuffer"), !is_native);
	}
	close_opened(&opened);
}

/* NVIDIA's fill command does not end if it has 2 GiB or more. Neither command is executed here. */
static void test_fill_of_2_gib(void **unused)
{
	const struct bi_dtype dtype = { 4, 1, BI_VOID, 0 };
	struct bi__block block = { 0 };
	struct bi__place dst = at_block(&block), src = { .host = "item", .immediate = 4 };
	struct opened opened;

	(void)unused;
	if (!is_masked())
		skip();
	open_default(&opened);
	block = allocate(&opened, 64, 0, BI_MEMORY_DEVICE);
	for (int64_t less = 0; less < 2; less++) {
		const int64_t shape = (INT64_C(1) << 29) - less;
		struct bi_layout layout;
		struct bi__plan plan;

		OK(bi_layout_init(&layout, dtype, 1, &shape, NULL, 0, &error));
		bi__plan_make(&plan, &layout, NULL);
		layer.reset();
		layer.arm("clEnqueueNDRangeKernel", 1, CL_OUT_OF_RESOURCES);
		layer.arm("clEnqueueFillBuffer", 1, CL_OUT_OF_RESOURCES);
		FAILS(BI_ENOMEM, less ? "clEnqueueFillBuffer" : "clEnqueueNDRangeKernel",
		      backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &plan, dst, src, 0 }, NULL,
					 &error));
	}
	layer.reset();
	backend->memory.free(&opened.state, &block);
	close_opened(&opened);
}

/* What gives something back is not made to fail: the layer would not pass it on, and the object would really stay. */
static int is_release(const char *entry)
{
	return strncmp(entry, "clRelease", 9) == 0 || strcmp(entry, "clEnqueueUnmapMemObject") == 0;
}

/* Every driver call of a copy fails once: the status is the driver's and no buffer or event stays behind. */
static void test_copy_faults(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct opened opened;
	struct pair pair;
	int entries = layer.entries(), fired = 0;

	(void)unused;
	options.profile = 1;
	open_with(&opened, &options);
	for (int route = 0; route < 2; route++) {
		struct bi__block to, from;
		struct bi__place dst = at_block(&to), src = at_block(&from);
		unsigned char item[512] = { 1 };
		int64_t live;

		do
			random_pair(&pair, 3, route);
		while (pair.plan.kind == BI_PLAN_LINEAR);
		to = allocate(&opened, pair.dst_nbytes, 0, BI_MEMORY_DEVICE);
		from = allocate(&opened, pair.src_nbytes, 0, BI_MEMORY_DEVICE);
		if (route)
			src = (struct bi__place){ .host = item, .immediate = pair.src_nbytes };
		live = layer.live_buffers();
		for (int i = 0; i < entries; i++) {
			uintptr_t event = 0;
			int rc;

			if (is_release(layer.entry(i)))
				continue;
			backend->devices.drop_caches(&opened.state);
			layer.reset();
			layer.arm(layer.entry(i), 1, CL_OUT_OF_RESOURCES);
			rc = backend->move.copy(&opened.state, &opened.queue,
						&(struct bi__move){ &pair.plan, dst, src, 0 }, &event, &error);
			if (layer.fired()) {
				fired++;
				assert_int_equal(rc, BI_ENOMEM);
				assert_true(event == 0);
			} else {
				assert_int_equal(rc, BI_OK);
				backend->order.event_release(event);
			}
			layer.reset();
			drain(&opened.queue);
			if (!becomes_live(live))
				fail_msg("a buffer is left after %s failed, by route %d", layer.entry(i), route);
		}
		layer.reset();
		backend->memory.free(&opened.state, &to);
		backend->memory.free(&opened.state, &from);
	}
	assert_true(fired >= (is_masked() ? 8 : 3));
	close_opened(&opened);
}

/* The origins of the copies are random, so they use several kernels. */
static void test_kernels_are_kept(void **unused)
{
	uint64_t built = 0, loaded = 0, created = 0, enqueued = 0;
	struct opened opened;
	struct pair pair;

	(void)unused;
	open_default(&opened);
	backend->devices.cache_state(&opened.state, &built, &loaded);
	assert_int_equal(built, 0);
	do
		random_pair(&pair, 3, 0);
	while (pair.plan.kind == BI_PLAN_LINEAR);
	for (int i = 0; i < 50; i++) {
		layer.reset();
		check_copy(&opened, &pair, BLOCK_TO_BLOCK, 0);
		created += layer.count("clCreateKernel");
		enqueued += layer.count("clEnqueueNDRangeKernel");
	}
	assert_int_equal(enqueued, 50 * is_masked());
	assert_in_range(created, is_masked(), 2 * BI__KERNEL_UNITS * is_masked());
	backend->devices.cache_state(&opened.state, &built, &loaded);
	assert_int_equal(built, is_masked());
	layer.reset();
	backend->devices.drop_caches(&opened.state);
	assert_int_equal(layer.count("clReleaseKernel"), created);
	check_copy(&opened, &pair, BLOCK_TO_BLOCK, 0);
	assert_true(layer.count("clCreateKernel") >= (uint64_t)is_masked());
	backend->devices.cache_state(&opened.state, &built, &loaded);
	assert_int_equal(built, 2 * is_masked());
	assert_int_equal(loaded, 0);
	close_opened(&opened);
}

/* ------------------------------------------------------------------------------------------------ programs in files */

/* The only file of a directory, as a path. */
static void only_file(const char *directory, char *path, size_t capacity)
{
	DIR *files = opendir(directory);
	struct dirent *file;
	int count = 0;

	assert_non_null(files);
	while ((file = readdir(files)))
		if (file->d_name[0] != '.') {
			count++;
			snprintf(path, capacity, "%s/%s", directory, file->d_name);
		}
	closedir(files);
	assert_int_equal(count, 1);
}

static void copy_with_cache(const char *directory, uint64_t built, uint64_t loaded)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct opened opened;
	struct pair pair;
	uint64_t was_built, was_loaded;

	options.cache_directory = directory;
	open_with(&opened, &options);
	do
		random_pair(&pair, 3, 0);
	while (pair.plan.kind == BI_PLAN_LINEAR);
	check_copy(&opened, &pair, BLOCK_TO_BLOCK, 0);
	backend->devices.cache_state(&opened.state, &was_built, &was_loaded);
	assert_int_equal(was_built, built);
	assert_int_equal(was_loaded, loaded);
	close_opened(&opened);
}

static void write_file(const char *path, const unsigned char *bytes, size_t nbytes)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, nbytes, file), nbytes);
	assert_int_equal(fclose(file), 0);
}

static unsigned mode_of(const char *path)
{
	struct stat facts;

	assert_int_equal(stat(path, &facts), 0);
	return facts.st_mode & 07777u;
}

/* A whole program is not believed where somebody else may have put it: it is built, and a file of our own replaces it.
 */
static void check_private(const char *directory, const char *path)
{
	char moved[420];

	snprintf(moved, sizeof(moved), "%s.moved", path);
	assert_int_equal(mode_of(directory), 0700);
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(chmod(path, 0620), 0);
	copy_with_cache(directory, 1, 0);
	assert_int_equal(mode_of(path), 0600);
	copy_with_cache(directory, 0, 1);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink(moved, path), 0);
	copy_with_cache(directory, 1, 0);
	copy_with_cache(directory, 0, 1);
	assert_int_equal(unlink(moved), 0);
}

/*
 * Cut, and with one bit changed, at every 64th byte of the first 4 KiB and about every 4 KiB behind them: the program
 * is built, and the file replaced.
 */
static void check_damaged_files(const char *directory, const char *path)
{
	static unsigned char bytes[2 << 20], changed[2 << 20];
	FILE *file = fopen(path, "rb");
	size_t nbytes = 0, kept;
	uint64_t key;
	void *program;
	char empty[96];

	assert_non_null(file);
	nbytes = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(nbytes, 64, sizeof(bytes) - 1);
	memcpy(&key, bytes + 8, sizeof(key));
	program = bi__opencl_cache_read(directory, key, &kept);
	assert_non_null(program);
	assert_int_equal(kept, nbytes - 32);
	free(program);
	assert_null(bi__opencl_cache_read(directory, key + 1, &kept));
	for (size_t at = 0; at < nbytes; at += at < 4096 ? 64 : 4099) {
		write_file(path, bytes, at);
		assert_null(bi__opencl_cache_read(directory, key, &kept));
		memcpy(changed, bytes, nbytes);
		changed[at + at / 64 % (nbytes - at < 64 ? nbytes - at : 64)] ^= (unsigned char)(1u << at / 64 % 8);
		write_file(path, changed, nbytes);
		assert_null(bi__opencl_cache_read(directory, key, &kept));
	}
	for (size_t at = 0; at < 32; at++) {
		memcpy(changed, bytes, nbytes);
		changed[at] ^= 1;
		write_file(path, changed, nbytes);
		assert_null(bi__opencl_cache_read(directory, key, &kept));
	}
	copy_with_cache(directory, 1, 0);
	copy_with_cache(directory, 0, 1);
	snprintf(empty, sizeof(empty), "%s/none", directory);
	assert_null(bi__opencl_cache_read(empty, key, &kept));
}

/* A directory in which others can put files is not used: nothing is read from it or written to it. */
static void check_directory_of_others(const char *directory, const char *path)
{
	static const mode_t modes[] = { 01777, 0720 };
	char away[420];

	snprintf(away, sizeof(away), "%s.away", path);
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
		assert_int_equal(chmod(directory, modes[i]), 0);
		copy_with_cache(directory, 1, 0);
		assert_int_equal(rename(path, away), 0);
		copy_with_cache(directory, 1, 0);
		assert_int_equal(access(path, F_OK), -1);
		assert_int_equal(rename(away, path), 0);
	}
	assert_int_equal(chmod(directory, 0700), 0);
	copy_with_cache(directory, 0, 1);
	if (geteuid() != 0) {
		print_message("not run, because only root can do it: files of other users\n");
		return;
	}
	assert_int_equal(chown(directory, 65534, 65534), 0);
	copy_with_cache(directory, 1, 0);
	assert_int_equal(chown(directory, 0, 0), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	copy_with_cache(directory, 1, 0);
	copy_with_cache(directory, 0, 1);
}

/* A program that would not be read is not written, and its bytes are not touched. */
static void check_large_program(const char *directory)
{
	const size_t nbytes = (64 << 20) + 1;
	char path[400], *bytes = calloc(1, nbytes);
	size_t kept = 0;
	void *program;

	assert_non_null(bytes);
	snprintf(path, sizeof(path), "%s/opencl-%016x.bin", directory, 1);
	bi__opencl_cache_write(directory, 1, NULL, nbytes);
	assert_int_equal(access(path, F_OK), -1);
	bi__opencl_cache_write(directory, 1, bytes, nbytes - 1);
	program = bi__opencl_cache_read(directory, 1, &kept);
	assert_non_null(program);
	assert_int_equal(kept, nbytes - 1);
	assert_int_equal(unlink(path), 0);
	free(program);
	free(bytes);
}

static struct bi__cl_api real_api;
static cl_uint changed_text;

static void change_text(cl_uint what, size_t size, char *text)
{
	if (text && what == changed_text)
		text[size - 2]++; /* the last character */
}

static cl_int CL_API_CALL platform_with_changed_text(cl_platform_id platform, cl_platform_info what, size_t size,
						     void *out, size_t *needed)
{
	cl_int code = real_api.GetPlatformInfo(platform, what, size, out, needed);

	change_text(what, size, out);
	return code;
}

static cl_int CL_API_CALL device_with_changed_text(cl_device_id device, cl_device_info what, size_t size, void *out,
						   size_t *needed)
{
	cl_int code = real_api.GetDeviceInfo(device, what, size, out, needed);

	change_text(what, size, out);
	return code;
}

/* A program of another platform, device or driver is in another file. */
static void check_texts_in_key(const char *directory)
{
	static const cl_uint texts[] = { CL_PLATFORM_NAME, CL_PLATFORM_VERSION, CL_DEVICE_NAME,
					 CL_DEVICE_VENDOR, CL_DEVICE_VERSION,   CL_DRIVER_VERSION };
	struct bi__cl_api *api = (struct bi__cl_api *)(uintptr_t)bi__cl;
	char path[400];

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		changed_text = texts[i];
		real_api = *api;
		api->GetPlatformInfo = platform_with_changed_text;
		api->GetDeviceInfo = device_with_changed_text;
		copy_with_cache(directory, 1, 0);
		*api = real_api;
		only_file(directory, path, sizeof(path));
		copy_with_cache(directory, 1, 0);
		assert_int_equal(unlink(path), 0);
		only_file(directory, path, sizeof(path));
		assert_int_equal(unlink(path), 0);
	}
}

static void test_program_files(void **unused)
{
	char parent[] = "/tmp/bi-test-XXXXXX", directory[64], path[400];

	(void)unused;
	if (!is_masked())
		skip();
	assert_non_null(mkdtemp(parent));
	snprintf(directory, sizeof(directory), "%s/programs", parent);
	copy_with_cache(directory, 1, 0);
	only_file(directory, path, sizeof(path));
	copy_with_cache(directory, 0, 1);
	check_private(directory, path);
	check_damaged_files(directory, path);
	check_directory_of_others(directory, path);
	check_large_program(directory);
	assert_int_equal(unlink(path), 0);
	check_texts_in_key(directory);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(rmdir(parent), 0);
	copy_with_cache(directory, 1, 0); /* it cannot be made, because `parent` is missing */
}

/* ------------------------------------------------------------------------------------------------------------ order */

static cl_event user_event(struct opened *opened)
{
	cl_int code;
	cl_event event = driver()->clCreateUserEvent((cl_context)opened->state.native, &code);

	assert_int_equal(code, CL_SUCCESS);
	return event;
}

static void test_queues(void **unused)
{
	struct opened opened;
	struct bi__queue loose = { .out_of_order = 1 }, strict = { .native = 0 }, wrapped;

	(void)unused;
	open_default(&opened);
	OK(backend->order.stream_open(&opened.state, &loose, &error));
	OK(backend->order.stream_open(&opened.state, &strict, &error));
	wrapped = (struct bi__queue){ .native = loose.native };
	OK(backend->order.stream_open(&opened.state, &wrapped, &error));
	assert_true(wrapped.native == loose.native && wrapped.out_of_order);
	backend->order.stream_close(&wrapped);
	wrapped = (struct bi__queue){ .native = strict.native, .out_of_order = 1 };
	OK(backend->order.stream_open(&opened.state, &wrapped, &error));
	assert_false(wrapped.out_of_order);
	backend->order.stream_close(&strict);
	layer.reset();
	OK(backend->order.follow(&wrapped, &loose, &error));
	assert_int_equal(layer.count("clFlush"), 1);
	OK(backend->order.follow(&loose, &loose, &error));
	OK(backend->order.wait(&loose, 0, &error));
	drain(&loose);
	drain(&wrapped);
	backend->order.stream_close(&wrapped);
	backend->order.stream_close(&loose);
	close_opened(&opened);
}

/* A command that its caller has not flushed. The queue of a complete event may be gone, so it is not used. */
static void test_wrapped_event_is_flushed(void **unused)
{
	struct opened opened;
	struct bi__queue other = { .native = 0 };
	cl_event gate, marker;
	uintptr_t event;
	int done;

	(void)unused;
	open_default(&opened);
	if (is_synchronous(&opened)) {
		close_opened(&opened);
		skip();
	}
	gate = user_event(&opened);
	OK(backend->order.stream_open(&opened.state, &other, &error));
	assert_int_equal(driver()->clEnqueueMarkerWithWaitList((cl_command_queue)other.native, 1, &gate, &marker),
			 CL_SUCCESS);
	layer.arm("clFlush", 1, CL_OUT_OF_RESOURCES);
	FAILS(BI_ENOMEM, "clFlush", backend->order.event_wrap(&opened.state, (uintptr_t)marker, &event, &error));
	layer.reset();
	OK(backend->order.event_wrap(&opened.state, (uintptr_t)marker, &event, &error));
	assert_int_equal(layer.count("clFlush"), 1);
	backend->order.event_release(event);
	OK(backend->order.event_wrap(&opened.state, (uintptr_t)gate, &event, &error));
	backend->order.event_release(event);
	assert_int_equal(driver()->clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
	OK(backend->order.poll((uintptr_t)marker, 1, &done, &error));
	layer.reset();
	OK(backend->order.event_wrap(&opened.state, (uintptr_t)marker, &event, &error));
	assert_int_equal(layer.count("clFlush"), 0);
	backend->order.event_release(event);
	backend->order.event_release((uintptr_t)marker);
	backend->order.event_release((uintptr_t)gate);
	backend->order.stream_close(&other);
	close_opened(&opened);
}

/* What two queues do to one buffer in turn comes out in the order that follow and wait made. */
static void test_order_across_queues(void **unused)
{
	struct opened opened;
	struct bi__queue other = { .out_of_order = 1 };
	size_t nbytes = 1 << 18;
	unsigned char *first = random_bytes(nbytes), *second = random_bytes(nbytes), *back = calloc(1, nbytes);
	const struct bi__plan plan = { .kind = BI_PLAN_LINEAR, .unit = nbytes, .bytes = nbytes };
	struct bi__block a, b;

	(void)unused;
	open_default(&opened);
	OK(backend->order.stream_open(&opened.state, &other, &error));
	a = allocate(&opened, nbytes, 0, BI_MEMORY_DEVICE);
	b = allocate(&opened, nbytes, 0, BI_MEMORY_DEVICE);
	for (int i = 0; i < 20; i++) {
		struct bi__place at_a = at_block(&a), at_b = at_block(&b), from_first = at_host(first);
		struct bi__place from_second = at_host(second), to_back = at_host(back);
		uintptr_t event = 0;

		OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &plan, at_a, from_second, 0 },
				      NULL, &error));
		OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &plan, at_a, from_first, 0 },
				      NULL, &error));
		OK(backend->order.follow(&other, &opened.queue, &error));
		OK(backend->move.copy(&opened.state, &other, &(struct bi__move){ &plan, at_b, at_a, 0 }, NULL, &error));
		OK(backend->order.record(&other, &event, &error));
		OK(backend->order.wait(&opened.queue, event, &error));
		backend->order.event_release(event);
		OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &plan, at_a, from_second, 0 },
				      NULL, &error));
		OK(backend->move.copy(&opened.state, &opened.queue, &(struct bi__move){ &plan, to_back, at_b, 0 }, NULL,
				      &error));
		drain(&opened.queue);
		assert_memory_equal(back, first, nbytes);
		memset(back, 0, nbytes);
	}
	backend->memory.free(&opened.state, &a);
	backend->memory.free(&opened.state, &b);
	backend->order.stream_close(&other);
	close_opened(&opened);
	free(first);
	free(second);
	free(back);
}

/* The barrier really holds work back, on the same queue and across two, until the event happens. */
static void test_wait_holds_back(void **unused)
{
	struct opened opened;
	struct bi__queue other = { .native = 0 };
	uintptr_t here = 0, there = 0;
	int done = 1;
	cl_event event;

	(void)unused;
	open_default(&opened);
	if (is_synchronous(&opened)) {
		close_opened(&opened);
		skip();
	}
	OK(backend->order.stream_open(&opened.state, &other, &error));
	event = user_event(&opened);
	OK(backend->order.poll((uintptr_t)event, 0, &done, &error));
	assert_int_equal(done, 0);
	OK(backend->order.wait(&opened.queue, (uintptr_t)event, &error));
	OK(backend->order.record(&opened.queue, &here, &error));
	OK(backend->order.follow(&other, &opened.queue, &error));
	OK(backend->order.record(&other, &there, &error));
	nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	OK(backend->order.poll(here, 0, &done, &error));
	assert_int_equal(done, 0);
	OK(backend->order.poll(there, 0, &done, &error));
	assert_int_equal(done, 0);
	assert_int_equal(driver()->clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
	OK(backend->order.poll(there, 1, &done, &error));
	assert_int_equal(done, 1);
	OK(backend->order.poll(here, 0, &done, &error));
	assert_int_equal(done, 1);
	backend->order.event_release(here);
	backend->order.event_release(there);
	backend->order.event_release((uintptr_t)event);
	backend->order.stream_close(&other);
	close_opened(&opened);
}

/* A wait that ends well has said all; one that the driver refuses has not. */
static void test_wait_asks_nothing_more(void **unused)
{
	struct opened opened;
	uintptr_t event = 0;
	int done = 0;

	(void)unused;
	open_default(&opened);
	OK(backend->order.record(&opened.queue, &event, &error));
	layer.reset();
	OK(backend->order.poll(event, 1, &done, &error));
	assert_int_equal(done, 1);
	assert_int_equal(layer.count("clWaitForEvents"), 1);
	assert_int_equal(layer.count("clGetEventInfo"), 0);
	backend->order.event_release(event);
	event = (uintptr_t)user_event(&opened);
	layer.arm("clWaitForEvents", 1, CL_OUT_OF_RESOURCES);
	FAILS(BI_ENOMEM, "clWaitForEvents", backend->order.poll(event, 1, &done, &error));
	assert_int_equal(done, 0);
	assert_int_equal(driver()->clSetUserEventStatus((cl_event)event, CL_COMPLETE), CL_SUCCESS);
	backend->order.event_release(event);
	close_opened(&opened);
}

/*
 * A closed stream leaves its queue to a later stream of the same order once its work has ended. The context releases
 * the queue, and finishes an out-of-order one before.
 */
static void check_kept_queues(int out_of_order)
{
	struct bi__queue first = { .out_of_order = out_of_order }, early = first, second = first, third = first;
	struct bi__queue other = { .out_of_order = !out_of_order };
	struct opened opened;
	cl_event event;
	int is_alone, more;

	open_default(&opened);
	is_alone = is_synchronous(&opened);
	OK(backend->order.stream_open(&opened.state, &first, &error));
	layer.reset();
	backend->order.stream_close(&first);
	assert_int_equal(layer.calls(), 1);
	assert_int_equal(layer.count("clFlush"), 1);
	OK(backend->order.stream_open(&opened.state, &other, &error));
	assert_true(other.native != first.native);
	/* The first time, the end of the work is marked, and may not be complete yet. */
	OK(backend->order.stream_open(&opened.state, &early, &error));
	more = early.native != first.native;
	assert_int_equal(driver()->clFinish((cl_command_queue)first.native), CL_SUCCESS);
	layer.reset();
	if (more)
		OK(backend->order.stream_open(&opened.state, &second, &error));
	else
		second = early;
	assert_true(second.native == first.native);
	if (!is_alone) {
		event = user_event(&opened);
		OK(backend->order.wait(&second, (uintptr_t)event, &error));
		backend->order.stream_close(&second);
		OK(backend->order.stream_open(&opened.state, &third, &error));
		assert_true(third.native != first.native);
		assert_int_equal(driver()->clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
		backend->order.event_release((uintptr_t)event);
		second = third;
	}
	backend->order.stream_close(&second);
	backend->order.stream_close(&other);
	if (more)
		backend->order.stream_close(&early);
	more += !is_alone;
	assert_int_equal(layer.count("clReleaseCommandQueue"), 0);
	assert_int_equal(layer.host_waits(), 0);
	close_opened(&opened);
	assert_int_equal(layer.count("clFinish"), out_of_order ? 1 + more : 1);
	assert_int_equal(layer.count("clReleaseCommandQueue"), 3 + more);
}

static void test_queues_are_kept(void **unused)
{
	(void)unused;
	check_kept_queues(0);
	check_kept_queues(1);
}

/*
 * The queue of a closed stream whose work failed is used again once that work has ended. Events of commands that fail
 * are kept, as in test_failed_event.
 */
static void check_queue_of_failed_work(int out_of_order)
{
	struct bi__queue failed = { .out_of_order = out_of_order }, later = failed;
	cl_event event, after = NULL;
	struct opened opened;
	int is_reused = 0;

	open_default(&opened);
	if (is_synchronous(&opened)) {
		close_opened(&opened);
		return;
	}
	event = user_event(&opened);
	OK(backend->order.stream_open(&opened.state, &failed, &error));
	assert_int_equal(bi__cl->EnqueueBarrierWithWaitList((cl_command_queue)failed.native, 1, &event, &after),
			 CL_SUCCESS);
	backend->order.stream_close(&failed);
	OK(backend->order.stream_open(&opened.state, &later, &error)); /* marks the end of the failed work */
	assert_true(later.native != failed.native);
	backend->order.stream_close(&later);
	assert_int_equal(driver()->clSetUserEventStatus(event, -5), CL_SUCCESS);
	for (int i = 0; i < 1000 && !is_reused; i++) {
		later = (struct bi__queue){ .out_of_order = out_of_order };
		OK(backend->order.stream_open(&opened.state, &later, &error));
		is_reused = later.native == failed.native;
		backend->order.stream_close(&later);
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	assert_true(is_reused);
	backend->order.event_release((uintptr_t)event);
	backend->order.event_release((uintptr_t)after);
	close_opened(&opened);
}

static void test_queues_of_failed_work(void **unused)
{
	(void)unused;
	check_queue_of_failed_work(0);
	check_queue_of_failed_work(1);
}

/* Wraps an out-of-order queue of which the stream has the only reference then. */
static struct bi__queue wrap_last_reference(struct opened *opened)
{
	struct bi__queue queue = { 0 };
	cl_command_queue native = driver()->clCreateCommandQueue((cl_context)opened->state.native,
								 driver_device((cl_context)opened->state.native),
								 CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, NULL);

	queue.native = (uintptr_t)native;
	OK(backend->order.stream_open(&opened->state, &queue, &error));
	assert_int_equal(driver()->clReleaseCommandQueue(native), CL_SUCCESS);
	return queue;
}

/*
 * The library keeps one reference to a caller's out-of-order queue. If many are kept, it releases those whose work has
 * ended and that the caller has released, after clFinish. The driver may count references of its own for some time.
 */
static void test_last_reference_to_an_out_of_order_queue(void **unused)
{
	struct opened opened;
	struct bi__queue first, again = { .out_of_order = 1 }, other;
	int released = 0, waits;

	(void)unused;
	open_default(&opened);
	first = wrap_last_reference(&opened);
	again.native = first.native;
	OK(backend->order.stream_open(&opened.state, &again, &error));
	layer.reset();
	backend->order.stream_close(&first);
	assert_int_equal(layer.count("clReleaseCommandQueue"), 0);
	backend->order.stream_close(&again);
	assert_int_equal(layer.count("clReleaseCommandQueue"), 1);
	for (int i = 0; i < 1000 && !released; i++) {
		other = wrap_last_reference(&opened);
		layer.reset();
		waits = backend->order.stream_close(&other);
		assert_int_equal(waits, layer.host_waits());
		released = (int)layer.count("clReleaseCommandQueue");
		assert_int_equal(layer.count("clFinish"), released);
		assert_true(i > 250 || !released);
		if (i > 250)
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	assert_true(released);
	other = wrap_last_reference(&opened);
	assert_int_equal(driver()->clRetainCommandQueue((cl_command_queue)other.native), CL_SUCCESS);
	backend->order.stream_close(&other);
	close_opened(&opened);
	assert_int_equal(driver()->clReleaseCommandQueue((cl_command_queue)other.native), CL_SUCCESS);
}

/* The close of a device waits for a caller's out-of-order queue if the caller has released it. */
static void test_last_reference_at_the_close(void **unused)
{
	uint64_t finishes[2];

	(void)unused;
	for (int is_released = 0; is_released < 2; is_released++) {
		struct opened opened;
		struct bi__queue queue;
		cl_command_queue native;

		open_default(&opened);
		queue = wrap_last_reference(&opened);
		native = (cl_command_queue)queue.native;
		assert_int_equal(driver()->clRetainCommandQueue(native), CL_SUCCESS);
		backend->order.stream_close(&queue);
		if (is_released)
			assert_int_equal(driver()->clReleaseCommandQueue(native), CL_SUCCESS);
		layer.reset();
		close_opened(&opened);
		finishes[is_released] = layer.count("clFinish");
		if (!is_released)
			assert_int_equal(driver()->clReleaseCommandQueue(native), CL_SUCCESS);
	}
	assert_int_equal(finishes[1], finishes[0] + 1);
}

/*
 * Work that somebody else enqueued has failed: whoever waits for it is told. The event of the command in between is
 * kept, because PoCL 3.1 aborts the process when a command fails whose event nobody holds.
 */
static void test_failed_event(void **unused)
{
	struct opened opened;
	uintptr_t after = 0;
	cl_event event, between_them = NULL;
	int done = 0, is_told;

	(void)unused;
	open_default(&opened);
	event = user_event(&opened);
	if (!is_synchronous(&opened)) {
		assert_int_equal(bi__cl->EnqueueBarrierWithWaitList((cl_command_queue)opened.queue.native, 1, &event,
								    &between_them),
				 CL_SUCCESS);
		OK(backend->order.record(&opened.queue, &after, &error));
	}
	assert_int_equal(driver()->clSetUserEventStatus(event, -5), CL_SUCCESS);
	FAILS(BI_EPRODUCER, "CL_OUT_OF_RESOURCES (-5)", backend->order.poll((uintptr_t)event, 0, &done, &error));
	assert_int_equal(error.vendor, -5);
	FAILS(BI_EPRODUCER, "-5", backend->order.poll((uintptr_t)event, 1, &done, &error));
	if (after) {
		/* On Intel's CPU driver, work on an in-order queue succeeds after failed work (docs/drivers.md). */
		is_told = bi__cl->WaitForEvents(1, (cl_event *)&after) != CL_SUCCESS;
		if (is_told)
			FAILS(BI_EPRODUCER, "failed", backend->order.poll(after, 1, &done, &error));
		else
			OK(backend->order.poll(after, 1, &done, &error));
		backend->order.event_release(after);
		backend->order.event_release((uintptr_t)between_them);
	}
	backend->order.event_release((uintptr_t)event);
	drain(&opened.queue);
	close_opened(&opened);
}

/* ---------------------------------------------------------------------------------------------------------- mapping */

/* The start and the end that answer_times writes. */
static cl_ulong times[2];

static cl_int CL_API_CALL answer_times(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *needed)
{
	(void)event;
	(void)needed;
	memcpy(value, &times[what == CL_PROFILING_COMMAND_END], size);
	return CL_SUCCESS;
}

/* Work may take less time than the clock of a driver can tell. Times that run backwards are none. */
static void test_times_of_a_coarse_clock(void **unused)
{
	struct bi__cl_api *api = (struct bi__cl_api *)(uintptr_t)bi__cl, real = *api;
	int64_t equal, backwards;

	(void)unused;
	api->GetEventProfilingInfo = answer_times;
	times[0] = times[1] = 1000;
	equal = backend->move.elapsed(1);
	times[0] = 1001;
	backwards = backend->move.elapsed(1);
	*api = real;
	assert_true(equal == 0);
	assert_true(backwards == -1);
}

static void *map(struct opened *opened, const struct bi__block *block, size_t offset, size_t nbytes, unsigned mode)
{
	uint64_t waits = layer.host_waits();
	uintptr_t event = 0;
	void *pointer = NULL;
	int done = 0;

	OK(backend->move.map(&opened->queue, &(struct bi__range){ block, offset, nbytes, mode }, &pointer, &event,
			     &error));
	assert_true(layer.host_waits() == waits);
	OK(backend->order.poll(event, 1, &done, &error));
	backend->order.event_release(event);
	assert_non_null(pointer);
	return pointer;
}

/* A mapping that is not flushed is undone. */
static void check_undone_map(struct opened *opened, const struct bi__block *block)
{
	void *pointer = NULL;
	uintptr_t event = 0;

	layer.arm("clFlush", 1, CL_INVALID_CONTEXT);
	FAILS(BI_EDRIVER, "clFlush",
	      backend->move.map(&opened->queue, &(struct bi__range){ block, 0, 10, BI_MAP_READ }, &pointer, &event,
				&error));
	assert_null(pointer);
	OK(backend->order.finish(&opened->queue, &error));
	assert_unmapped((cl_mem)block->cookie);
}

static void test_map(void **unused)
{
	struct opened opened;
	unsigned char back[1000], *bytes = random_bytes(sizeof(back));

	(void)unused;
	open_default(&opened);
	for (int kind = BI_MEMORY_DEVICE; kind <= BI_MEMORY_UNIFIED; kind++) {
		struct bi__block block = allocate(&opened, sizeof(back), 64, (enum bi_memory_kind)kind);
		unsigned char *mapped;

		write_block(&opened, &block, bytes);
		mapped = map(&opened, &block, 100, 300, BI_MAP_READ);
		assert_memory_equal(mapped, bytes + 100, 300);
		OK(backend->move.unmap(&opened.queue, &block, mapped, &error));
		mapped = map(&opened, &block, 10, 50, BI_MAP_READ | BI_MAP_WRITE);
		assert_memory_equal(mapped, bytes + 10, 50);
		memset(mapped, 0x5a, 20);
		OK(backend->move.unmap(&opened.queue, &block, mapped, &error));
		mapped = map(&opened, &block, 900, 100, BI_MAP_WRITE | BI_MAP_DISCARD);
		memset(mapped, 0xa5, 100);
		OK(backend->move.unmap(&opened.queue, &block, mapped, &error));
		memset(bytes + 10, 0x5a, 20);
		memset(bytes + 900, 0xa5, 100);
		read_block(&opened, &block, back);
		assert_memory_equal(back, bytes, sizeof(back));
		if (block.cookie)
			check_undone_map(&opened, &block);
		backend->memory.free(&opened.state, &block);
	}
	close_opened(&opened);
	free(bytes);
}

static int read_closed(struct opened *opened, const struct bi__block *block, int writes)
{
	unsigned char bytes[16] = { 0 };
	const struct bi__plan plan = { .kind = BI_PLAN_LINEAR, .unit = sizeof(bytes), .bytes = sizeof(bytes) };
	struct bi__place buffer = at_block(block), host = at_host(bytes);

	return backend->move.copy(&opened->state, &opened->queue,
				  &(struct bi__move){ &plan, writes ? buffer : host, writes ? host : buffer, 0 }, NULL,
				  &error);
}

static int map_closed(struct opened *opened, const struct bi__block *block, unsigned mode)
{
	uintptr_t event;
	void *pointer;

	return backend->move.map(&opened->queue, &(struct bi__range){ block, 0, 16, mode }, &pointer, &event, &error);
}

/* The message says which flag of the buffer is the reason. A failure for another reason is not blamed on a flag. */
static void test_buffers_closed_to_the_host(void **unused)
{
	static const char words[] = "the flags 0x%x of the cl_mem forbid the host this access";
	static const struct {
		cl_mem_flags flags;
		int reads, writes; /* allowed */
	} cases[] = {
		{ CL_MEM_HOST_NO_ACCESS, 0, 0 },
		{ CL_MEM_HOST_READ_ONLY, 1, 0 },
		{ CL_MEM_HOST_WRITE_ONLY, 0, 1 },
		{ CL_MEM_READ_WRITE, 1, 1 },
	};
	struct opened opened;

	(void)unused;
	open_default(&opened);
	layer.reset();
	layer.arm_from("clEnqueueReadBuffer", 1, CL_INVALID_OPERATION);
	layer.arm_from("clEnqueueWriteBuffer", 1, CL_INVALID_OPERATION);
	layer.arm_from("clEnqueueMapBuffer", 1, CL_INVALID_VALUE);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const int both = cases[i].reads && cases[i].writes;
		cl_int code;
		cl_mem buffer = bi__cl->CreateBuffer((cl_context)opened.state.native, cases[i].flags, 16, NULL, &code);
		struct bi_foreign foreign = foreign_buffer(buffer, 0, BI_WRAP_STEAL);
		struct bi__block block = { 0 };
		cl_mem_flags flags = 0;
		char expected[80];

		assert_int_equal(code, CL_SUCCESS);
		bi__cl->GetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
		snprintf(expected, sizeof(expected), words, (unsigned)flags);
		OK(backend->memory.adopt(&opened.state, &foreign, &block, &error));
		FAILS(cases[i].reads ? BI_EDRIVER : BI_EUNSUPPORTED, cases[i].reads ? "(-59)" : expected,
		      read_closed(&opened, &block, 0));
		FAILS(cases[i].writes ? BI_EDRIVER : BI_EUNSUPPORTED, cases[i].writes ? "(-59)" : expected,
		      read_closed(&opened, &block, 1));
		FAILS(cases[i].reads ? BI_EDRIVER : BI_EUNSUPPORTED, cases[i].reads ? "(-30)" : expected,
		      map_closed(&opened, &block, BI_MAP_READ));
		FAILS(cases[i].writes ? BI_EDRIVER : BI_EUNSUPPORTED, cases[i].writes ? "(-30)" : expected,
		      map_closed(&opened, &block, BI_MAP_WRITE | BI_MAP_DISCARD));
		FAILS(both ? BI_EDRIVER : BI_EUNSUPPORTED, both ? "(-30)" : expected,
		      map_closed(&opened, &block, BI_MAP_READ | BI_MAP_WRITE));
		backend->memory.free(&opened.state, &block);
	}
	layer.reset();
	close_opened(&opened);
}

/* ---------------------------------------------------------------------------------------------- everything together */

/* An open that fails at any call leaves nothing behind, and the next one works. */
static void test_open_faults(void **unused)
{
	int entries = layer.entries(), fired = 0, count;

	(void)unused;
	for (int i = 0; i < entries; i++) {
		const struct bi_options options = BI_OPTIONS_INIT;
		struct opened opened;
		int rc;

		if (is_release(layer.entry(i)))
			continue;
		OK(backend->devices.enumerate(&opened.device, 1, &count, &error));
		layer.reset();
		layer.arm(layer.entry(i), 1, CL_OUT_OF_HOST_MEMORY);
		rc = backend->devices.open(&options, &opened.device, NULL, &opened.state, &opened.queue, &error);
		fired += rc != BI_OK;
		if (rc == BI_OK)
			close_opened(&opened);
		else if (layer.count("clCreateContext") && strcmp(layer.entry(i), "clCreateContext") != 0)
			assert_int_equal(layer.count("clReleaseContext"), 1);
		layer.reset();
	}
	/* Platforms, devices, the version of the device, the context and its queue. */
	assert_int_equal(fired, 5);
}

/* What failed work waited for besides may still use its memory, which so is nobody's again. */
static void test_failed_work_keeps_memory_from_the_pool(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	const int64_t count = 1000;
	struct bi_context *context;
	struct bi_dtype byte;
	struct bi_view *view;

	(void)state;
	options.device = "opencl";
	OK(bi_context_open(&options, &context, &error));
	OK(bi_dtype_make(BI_UINT8, 1, 0, &byte, &error));
	for (int fails = 0; fails < 2; fails++) {
		OK(bi_view_empty(context, byte, 1, &count, &view, &error));
		OK(bi_fill(view, "f", NULL, &error));
		layer.reset();
		if (fails) {
			layer.arm("clWaitForEvents", 1, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
			FAILS(BI_EPRODUCER, "clWaitForEvents", bi_view_synchronize(view, &error));
			OK(bi_stream_synchronize(bi_context_stream(context), &error));
		} else {
			OK(bi_view_synchronize(view, &error));
		}
		bi_view_release(view);
		OK(bi_view_empty(context, byte, 1, &count, &view, &error));
		assert_int_equal(layer.count("clCreateBuffer"), fails);
		bi_view_release(view);
	}
	layer.reset();
	bi_context_release(context);
}

static size_t size_of(struct bi_memory *memory)
{
	const struct bi_dtype byte = { 1, 1, BI_UINT8, 0 };
	const int64_t count = 1;
	struct bi_layout layout;
	struct bi_native native;
	struct bi_view *view;
	size_t nbytes = 0;

	OK(bi_layout_init(&layout, byte, 1, &count, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_view_native(view, &native);
	bi__cl->GetMemObjectInfo((cl_mem)native.handle, CL_MEM_SIZE, sizeof(nbytes), &nbytes, NULL);
	bi_view_release(view);
	return nbytes;
}

/* A driver that has nothing left is asked again after the pool was emptied; one that fails otherwise is not. */
static void test_second_try(void **unused)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_error untouched = { 77, 0, "untouched" };
	struct bi_context *context;
	struct bi_memory *memory;

	(void)unused;
	options.device = "opencl";
	OK(bi_context_open(&options, &context, &error));
	OK(bi_memory_create(context, 1000, BI_MEMORY_DEVICE, &memory, &error));
	bi_memory_release(memory);
	layer.reset();
	layer.arm("clCreateBuffer", 1, CL_INVALID_CONTEXT);
	FAILS(BI_EDRIVER, "CL_INVALID_CONTEXT", bi_memory_create(context, 9000, BI_MEMORY_DEVICE, &memory, &error));
	assert_null(memory);
	assert_true(layer.count("clReleaseMemObject") == 0);
	layer.reset();
	layer.arm("clCreateBuffer", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
	assert_int_equal(bi_memory_create(context, 9000, BI_MEMORY_DEVICE, &memory, &untouched), BI_OK);
	assert_int_equal(untouched.status, 77);
	assert_true(layer.count("clReleaseMemObject") == 1);
	bi_memory_release(memory);
	OK(bi_memory_create(context, 9000, BI_MEMORY_DEVICE, &memory, &error));
	bi_memory_release(memory);
	layer.reset();
	layer.arm_from("clCreateBuffer", 1, CL_INVALID_BUFFER_SIZE);
	FAILS(BI_ENOMEM, "no memory for 19000 bytes",
	      bi_memory_create(context, 19000, BI_MEMORY_DEVICE, &memory, &error));
	assert_true(layer.count("clReleaseMemObject") == 0);
	/* The pool rounds the size up. The size that the caller wants may be the largest that the device takes. */
	layer.reset();
	layer.arm("clCreateBuffer", 1, CL_INVALID_BUFFER_SIZE);
	OK(bi_memory_create(context, 19000, BI_MEMORY_DEVICE, &memory, &error));
	assert_int_equal(size_of(memory), 19000);
	bi_memory_release(memory);
	/* Its size is none of a class, so it does not enter the pool. */
	layer.reset();
	layer.arm("clCreateBuffer", 1, CL_INVALID_BUFFER_SIZE);
	OK(bi_memory_create(context, 19000, BI_MEMORY_DEVICE, &memory, &error));
	bi_memory_release(memory);
	assert_true(layer.count("clReleaseMemObject") == 1);
	/* The second try is below the limit, but there is no memory for it. So the pool is emptied before the third. */
	layer.reset();
	layer.arm("clCreateBuffer", 1, CL_INVALID_BUFFER_SIZE);
	layer.refuse_from(2, CL_MEM_OBJECT_ALLOCATION_FAILURE);
	FAILS(BI_ENOMEM, "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	      bi_memory_create(context, 19000, BI_MEMORY_DEVICE, &memory, &error));
	assert_true(layer.count("clCreateBuffer") == 3);
	assert_true(layer.count("clReleaseMemObject") == 1);
	layer.reset();
	bi_context_release(context);
}

/* Columns of a host array, which a GPU takes in pieces through pinned memory. */
static int upload_columns(struct bi_view *dst, unsigned char *bytes)
{
	const int64_t shape[] = { 64, 64 };
	struct bi_context *context = bi_memory_context(bi_view_memory(dst));
	struct bi_view *rows, *columns;
	int rc;

	OK(bi_view_wrap_host(context, bytes, bi_view_dtype(dst), 2, shape, NULL, NULL, &rows, &error));
	OK(bi_view_permute(rows, NULL, &columns, &error));
	bi_view_release(rows);
	rc = bi_copy(dst, columns, NULL, &error);
	bi_view_release(columns);
	return rc;
}

/* Pinned memory whose mapping cannot be waited for is unmapped before it is let go, and nothing of it is kept. */
static void test_lend_fault(void **unused)
{
	const int64_t shape[] = { 64, 64 };
	const struct bi_dtype dtype = { 1, 1, BI_UINT8, 0 };
	unsigned char *bytes = random_bytes(64 * 64), back[64 * 64];
	struct bi_context *context = open_named("opencl:0:0");
	struct bi_view *dst;
	int64_t references;

	(void)unused;
	OK(bi_view_empty(context, dtype, 2, shape, &dst, &error));
	references = layer.references();
	layer.reset();
	layer.arm("clWaitForEvents", 1, CL_INVALID_CONTEXT);
	if (is_masked()) {
		FAILS(BI_EDRIVER, "clWaitForEvents", upload_columns(dst, bytes));
		assert_int_equal(layer.count("clEnqueueMapBuffer"), 1);
		assert_int_equal(layer.count("clEnqueueUnmapMemObject"), 1);
		assert_int_equal(layer.references(), references);
	}
	layer.reset();
	OK(upload_columns(dst, bytes));
	OK(bi_view_read(dst, back, sizeof(back), &error));
	for (size_t i = 0; i < sizeof(back); i++)
		assert_int_equal(back[i], bytes[i % 64 * 64 + i / 64]);
	bi_view_release(dst);
	bi_context_release(context);
	free(bytes);
}

/* "auto" goes on after a device that does not open, with nothing of it. */
static void test_auto_goes_on(void **unused)
{
	int entries = layer.entries(), passed_over = 0;

	(void)unused;
	for (int i = 0; i < entries; i++) {
		struct bi_options options = BI_OPTIONS_INIT;
		struct bi_context *context;

		if (is_release(layer.entry(i)))
			continue;
		options.device = "auto";
		layer.reset();
		layer.arm(layer.entry(i), 1, CL_OUT_OF_HOST_MEMORY);
		OK(bi_context_open(&options, &context, &error));
		layer.reset();
		if (strcmp(bi_context_device(context)->spec, "host") == 0) {
			passed_over++;
			assert_true(bi_context_notes(context)[0]);
			assert_int_equal(bi_context_handle(context), 0);
			assert_int_equal(bi_stream_handle(bi_context_stream(context)), 0);
		}
		bi_context_release(context);
	}
	assert_true(passed_over >= 4);
}

static void test_nothing_is_left(void **unused)
{
	(void)unused;
	assert_live_buffers(0);
	assert_true(layer.references() == 0);
	assert_true(layer.late_frees() == 0);
}

static int setup(void **unused)
{
	cl_uint count;

	(void)unused;
	randomness.state = test_seed();
	if (bi__cl_open(&error) != BI_OK ||
	    bi__cl_check(bi__cl->GetPlatformIDs(0, NULL, &count), "clGetPlatformIDs", &error) != BI_OK) {
		fprintf(stderr, "%s\n", error.message);
		return -1;
	}
	if (!bi_layer_open(getenv("BI_TEST_LAYER"), &layer)) {
		fprintf(stderr, "the layer BI_TEST_LAYER is not in (OPENCL_LAYERS)\n");
		return -1;
	}
	return 0;
}

int main(void)
{
	/* Before OpenCL is opened, because each case has a child of its own. */
	const struct CMUnitTest unopened[] = {
		cmocka_unit_test(test_missing_drivers),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_half_known_is_kept), /* before any other list of the process */
		cmocka_unit_test(test_enumerate),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_unavailable_device),
		cmocka_unit_test(test_open_refuses),
		cmocka_unit_test(test_adopt_context),
		cmocka_unit_test(test_adopted_queue_is_in_order),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_alloc_kinds),
		cmocka_unit_test(test_alloc_fails),
		cmocka_unit_test(test_free_with_pending_work),
		cmocka_unit_test(test_shared_memory_outlives_its_context),
		cmocka_unit_test(test_adopt_buffer),
		cmocka_unit_test(test_adopt_sub_buffer),
		cmocka_unit_test(test_adopt_refuses),
		cmocka_unit_test(test_adopt_svm),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_first_strided_copy),
		cmocka_unit_test(test_compiler_fails),
		cmocka_unit_test(test_boxes),
		cmocka_unit_test(test_dense_copies),
		cmocka_unit_test(test_dense_copy_of_a_closed_buffer),
		cmocka_unit_test(test_many_axes),
		cmocka_unit_test(test_copy_within_a_buffer),
		cmocka_unit_test(test_fill_commands),
		cmocka_unit_test(test_large_fill),
		cmocka_unit_test(test_fill_of_2_gib),
		cmocka_unit_test(test_copy_faults),
		cmocka_unit_test(test_kernels_are_kept),
		cmocka_unit_test(test_program_files),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_queues_are_kept),
		cmocka_unit_test(test_queues_of_failed_work),
		cmocka_unit_test(test_last_reference_to_an_out_of_order_queue),
		cmocka_unit_test(test_wrapped_event_is_flushed),
		cmocka_unit_test(test_last_reference_at_the_close),
		cmocka_unit_test(test_order_across_queues),
		cmocka_unit_test(test_wait_holds_back),
		cmocka_unit_test(test_wait_asks_nothing_more),
		cmocka_unit_test(test_failed_event),
		cmocka_unit_test(test_times_of_a_coarse_clock),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_buffers_closed_to_the_host),
		cmocka_unit_test(test_open_faults),
		cmocka_unit_test(test_auto_goes_on),
		cmocka_unit_test(test_failed_work_keeps_memory_from_the_pool),
		cmocka_unit_test(test_second_try),
		cmocka_unit_test(test_lend_fault),
		cmocka_unit_test(test_nothing_is_left),
	};

	if (cmocka_run_group_tests_name("opencl library", unopened, NULL, NULL))
		return 1;
	return cmocka_run_group_tests_name("opencl backend", tests, setup, NULL);
}
