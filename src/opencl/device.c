/* Platforms and devices; opening and closing a context. */
#include "opencl/opencl.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/dl.h"
#include "common/base/environment.h"
#include "common/base/inline_limit.h"
#include "kernels/strided.h"

static void copy_text(char *out, size_t capacity, cl_platform_id platform, cl_device_id device, cl_uint what)
{
	char *text = bi__cl_text(platform, device, what);

	snprintf(out, capacity, "%s", text ? text : "");
	free(text);
}

/* Returns a flag, a bit field or a 64-bit number of the device, or 0 if the driver does not report it. */
static uint64_t get_bits(cl_device_id device, cl_device_info what)
{
	cl_ulong bits = 0;

	return bi__cl->GetDeviceInfo(device, what, sizeof(bits), &bits, NULL) == CL_SUCCESS ? bits : 0;
}

/* Returns the OpenCL version of the device: 102 for "OpenCL 1.2 something", 0 if it cannot be read. */
static int get_version(cl_device_id device)
{
	static const char prefix[] = "OpenCL "; /* no sscanf: see bi__cl_trim */
	char *text = bi__cl_text(NULL, device, CL_DEVICE_VERSION), *end;
	unsigned long version = 0;

	if (text && strncmp(text, prefix, strlen(prefix)) == 0) {
		version = 100 * strtoul(text + strlen(prefix), &end, 10);
		version = *end == '.' ? version + strtoul(end + 1, NULL, 10) : 0;
	}
	free(text);
	return (int)version;
}

/* Returns an enum bi_device_kind. Of several types, CPU takes precedence over GPU, and GPU over the others. */
static int get_kind(cl_device_id device)
{
	uint64_t type = get_bits(device, CL_DEVICE_TYPE);

	if (type & CL_DEVICE_TYPE_CPU)
		return BI_DEVICE_KIND_CPU;
	if (type & CL_DEVICE_TYPE_GPU)
		return BI_DEVICE_KIND_GPU;
	return type & CL_DEVICE_TYPE_ACCELERATOR ? BI_DEVICE_KIND_ACCELERATOR : BI_DEVICE_KIND_OTHER;
}

static uint32_t get_capabilities(cl_device_id device, int version)
{
	uint64_t queues = get_bits(device, CL_DEVICE_QUEUE_PROPERTIES);
	char *extensions = bi__cl_text(NULL, device, CL_DEVICE_EXTENSIONS);
	uint32_t found = BI_CAP_ASYNC;

	if (get_bits(device, CL_DEVICE_HOST_UNIFIED_MEMORY))
		found |= BI_CAP_UNIFIED;
	if (queues & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		found |= BI_CAP_OUT_OF_ORDER;
	if (queues & CL_QUEUE_PROFILING_ENABLE)
		found |= BI_CAP_PROFILING;
	if (version >= 200 && bi__cl->SVMAlloc && bi__cl->SVMFree &&
	    (get_bits(device, CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_FINE_GRAIN_BUFFER))
		found |= BI_CAP_SVM;
	if (get_bits(device, CL_DEVICE_EXECUTION_CAPABILITIES) & CL_EXEC_NATIVE_KERNEL)
		found |= BI_CAP_NATIVE_COPY;
	/* A prefix is enough: extensions with longer names require cl_khr_external_memory. */
	if (extensions && strstr(extensions, "cl_khr_external_memory"))
		found |= BI_CAP_EXTERNAL_MEMORY;
	free(extensions);
	return found;
}

static size_t get_group(cl_device_id device)
{
	size_t most = BI__NEST_GROUP, along[16] = { BI__NEST_GROUP };

	bi__cl->GetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(most), &most, NULL);
	bi__cl->GetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(along), along, NULL);
	if (along[0] < most)
		most = along[0];
	return most < BI__NEST_GROUP ? most : BI__NEST_GROUP;
}

static void describe_device(cl_platform_id platform, int number, cl_device_id device, int ordinal, int version,
			    struct bi_device *out)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->spec, sizeof(out->spec), "opencl:%d:%d", number, ordinal);
	snprintf(out->backend, sizeof(out->backend), "opencl");
	out->platform = number;
	out->ordinal = ordinal;
	out->kind = get_kind(device);
	out->usable = 1;
	out->capabilities = get_capabilities(device, version);
	out->memory = get_bits(device, CL_DEVICE_GLOBAL_MEM_SIZE);
	copy_text(out->name, sizeof(out->name), NULL, device, CL_DEVICE_NAME);
	copy_text(out->platform_name, sizeof(out->platform_name), platform, NULL, CL_PLATFORM_NAME);
	copy_text(out->platform_version, sizeof(out->platform_version), platform, NULL, CL_PLATFORM_VERSION);
}

#define LEAST_VERSION 102

/*
 * Sets *usable to 1 if the device is available and its version is supported, else to 0. Fails if the device cannot be
 * queried, for example because it has disappeared.
 */
static int query_usable(cl_device_id device, int version, int *usable, struct bi_error *err)
{
	cl_bool available = CL_FALSE;
	int rc = bi__cl_check(bi__cl->GetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL),
			      "clGetDeviceInfo", err);

	*usable = !rc && available && version >= LEAST_VERSION;
	return rc;
}

/*
 * The largest number of platforms, and of devices of a platform, that the library finds. A context with more devices
 * cannot be adopted.
 */
#define MOST_LISTED 256

struct platforms {
	cl_platform_id ids[MOST_LISTED];
	cl_uint count;
};

struct devices {
	cl_device_id ids[MOST_LISTED];
	cl_uint count;
};

static void limit_count(cl_uint *count)
{
	if (*count > MOST_LISTED)
		*count = MOST_LISTED;
}

/* Returns 1, with the reason in *err, if the file is one of the loader (*.icd) and names no library that loads. */
static int is_broken(const char *path, struct bi_error *err)
{
	char library[256] = "", reason[256] = "names no library";
	const char *ending = strrchr(path, '.');
	FILE *file;

	if (!ending || strcmp(ending, ".icd") != 0)
		return 0;
	file = fopen(path, "r");
	if (!file) {
		bi__fail(err, BI_ENODEVICE,
			 "no OpenCL platform: %s: the file cannot be read (%s); make it readable, or reinstall that "
			 "driver",
			 path, strerror(errno));
		return 1;
	}
	if (fgets(library, sizeof(library), file))
		bi__cl_trim(library);
	fclose(file);
	if (*library && bi__dl_loads(library, reason, sizeof(reason)))
		return 0;
	bi__fail(err, BI_ENODEVICE, "no OpenCL platform: %s: %s; reinstall that driver", path, reason);
	return 1;
}

/*
 * Fails because the loader has no platform. The message names a broken file of the loader if there is one. The variable
 * OCL_ICD_VENDORS names the folder of these files, or one file.
 */
static int fail_without_platform(struct bi_error *err)
{
	const char *named = bi__environment("OCL_ICD_VENDORS");
	const char *folder = named && *named ? named : "/etc/OpenCL/vendors";
	DIR *entries = opendir(folder);
	int found = !entries && is_broken(folder, err);
	char path[512];

	for (struct dirent *entry; entries && !found && (entry = readdir(entries));)
		found = (size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < sizeof(path) &&
			is_broken(path, err);
	if (entries)
		closedir(entries);
	if (found)
		return BI_ENODEVICE;
	return bi__fail(err, BI_ENODEVICE,
			"no OpenCL platform; install a driver (on Linux it puts a file *.icd into %s)", folder);
}

static int get_platforms(struct platforms *out, struct bi_error *err)
{
	cl_int code;
	int rc = bi__cl_open(err);

	if (rc)
		return rc;
	out->count = 0;
	code = bi__cl->GetPlatformIDs(MOST_LISTED, out->ids, &out->count);
	if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && out->count == 0))
		return fail_without_platform(err);
	limit_count(&out->count);
	return bi__cl_check(code, "clGetPlatformIDs", err);
}

/* Returns the usual remedy if a platform has no device, or "" if none is known. */
static const char *hint_for_platform(const char *name)
{
	if (strcmp(name, "rusticl") == 0)
		return "; set RUSTICL_ENABLE to the names of its drivers, such as llvmpipe";
	return strcmp(name, "Portable Computing Language") == 0 ? "; is POCL_CACHE_DIR, or HOME, writable?" : "";
}

/* Fails because a platform has no device, or does not list them. */
static int fail_without_device(cl_platform_id platform, cl_int code, struct bi_error *err)
{
	char name[128];

	copy_text(name, sizeof(name), platform, NULL, CL_PLATFORM_NAME);
	return bi__fail_vendor(err, bi__cl_fail(code, "", NULL), code,
			       "platform \"%s\": clGetDeviceIDs failed: %s (%d)%s", name, bi__cl_name(code), code,
			       code == CL_DEVICE_NOT_FOUND ? hint_for_platform(name) : "");
}

/*
 * The lock is for PoCL: if several threads make the first clGetDeviceIDs of a process at the same time, the call can
 * fail. No forked child finds the lock held: check_driver (dispatch.c) lets a child get here only if the parent had
 * called no driver before the fork.
 */
static int get_devices(cl_platform_id platform, struct devices *out, struct bi_error *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	cl_int code;

	out->count = 0;
	pthread_mutex_lock(&lock);
	code = bi__cl->GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_LISTED, out->ids, &out->count);
	pthread_mutex_unlock(&lock);
	if (code != CL_SUCCESS || out->count == 0)
		return fail_without_device(platform, code ? code : CL_DEVICE_NOT_FOUND, err);
	limit_count(&out->count);
	return BI_OK;
}

struct listing {
	struct bi_device *devices; /* array of `capacity` devices */
	int capacity, count;
};

static void append_device(struct listing *out, const struct bi_device *device)
{
	if (out->count < out->capacity)
		out->devices[out->count] = *device;
	out->count++;
}

/* Appends the usable devices of a platform. If it has none, appends one entry with the reason. */
static void append_platform(cl_platform_id platform, int number, struct listing *out)
{
	struct bi_error reason = { BI_ENODEVICE, 0, "no device is available and supports OpenCL 1.2" };
	struct bi_device device;
	struct devices found;
	int before = out->count;

	get_devices(platform, &found, &reason);
	for (cl_uint i = 0; i < found.count; i++) {
		int version = get_version(found.ids[i]), usable;

		if (query_usable(found.ids[i], version, &usable, &reason) || !usable)
			continue;
		describe_device(platform, number, found.ids[i], (int)i, version, &device);
		append_device(out, &device);
	}
	if (out->count > before)
		return;
	device = (struct bi_device){ .backend = "opencl", .platform = number };
	snprintf(device.spec, sizeof(device.spec), "opencl:%d", number);
	snprintf(device.reason, sizeof(device.reason), "%.250s", reason.message);
	append_device(out, &device);
}

int bi__opencl_enumerate(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	struct listing listing = { devices, capacity, 0 };
	struct platforms platforms;
	int rc = get_platforms(&platforms, err);

	for (cl_uint i = 0; !rc && i < platforms.count; i++)
		append_platform(platforms.ids[i], (int)i, &listing);
	*count = listing.count;
	return rc;
}

static int choose_device(const struct devices *devices, int ordinal, cl_device_id *out, struct bi_error *err)
{
	if (ordinal < 0 || (cl_uint)ordinal >= devices->count)
		return bi__fail(err, BI_ENODEVICE, "device number %d is not below %u", ordinal, devices->count);
	*out = devices->ids[ordinal];
	return BI_OK;
}

/* Finds the device with the platform number and the ordinal of `device`. */
static int find_native_device(const struct bi_device *device, cl_device_id *out, struct bi_error *err)
{
	struct platforms platforms;
	struct devices found;
	int rc = get_platforms(&platforms, err);

	if (rc)
		return rc;
	if (device->platform < 0 || (cl_uint)device->platform >= platforms.count)
		rc = bi__fail(err, BI_ENODEVICE, "platform number %d is not below %u", device->platform,
			      platforms.count);
	else
		rc = get_devices(platforms.ids[device->platform], &found, err);
	return rc ? rc : choose_device(&found, device->ordinal, out, err);
}

static int set_device(struct bi__opencl *opencl, cl_device_id device, int ordinal, struct bi_error *err)
{
	int version = get_version(device), usable, rc;

	opencl->device = device;
	opencl->capabilities = get_capabilities(device, version);
	opencl->group = get_group(device);
	rc = query_usable(device, version, &usable, err);
	if (!rc && !usable)
		return bi__fail(err, BI_ENODEVICE, "device number %d is not available or below OpenCL 1.2", ordinal);
	return rc;
}

/* Opens a context for a device. The call names no platform: the driver takes the platform of the device. */
static int open_context(struct bi__opencl *opencl, const struct bi_device *device, struct bi_error *err)
{
	cl_device_id id = NULL;
	cl_int code;
	int rc = find_native_device(device, &id, err);

	if (!rc)
		rc = set_device(opencl, id, device->ordinal, err);
	if (rc)
		return rc;
	opencl->shares_memory = !(~opencl->capabilities & (BI_CAP_NATIVE_COPY | BI_CAP_SVM)) && bi__inline_limit();
	opencl->context = bi__cl->CreateContext(NULL, 1, &id, NULL, NULL, &code);
	return bi__cl_check(code, "clCreateContext", err);
}

static int get_context_devices(cl_context context, struct devices *out, struct bi_error *err)
{
	size_t size = 0;
	int rc = bi__cl_check(bi__cl->GetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(out->ids), out->ids, &size),
			      "clGetContextInfo", err);

	out->count = (cl_uint)(size / sizeof(*out->ids));
	return rc;
}

/*
 * Writes the position in `devices` of the device of `queue` to *ordinal. If `queue` is NULL, the position is 0.
 * BI_EINVAL: the list does not contain the device.
 */
static int find_adopted_device(const struct devices *devices, cl_command_queue queue, int *ordinal,
			       struct bi_error *err)
{
	cl_device_id device;
	int rc;

	*ordinal = 0;
	if (!queue)
		return BI_OK;
	rc = bi__cl_check(bi__cl->GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL),
			  "clGetCommandQueueInfo", err);
	for (cl_uint i = 0; i < devices->count && !rc; i++) {
		*ordinal = (int)i;
		if (devices->ids[i] == device)
			return BI_OK;
	}
	return rc ? rc : bi__fail(err, BI_EINVAL, "adopt_stream belongs to another cl_context than adopt_context");
}

int bi__opencl_locate_queue(uintptr_t queue, struct bi__origin *out, struct bi_error *err)
{
	cl_command_queue native = (cl_command_queue)queue;
	cl_context context = NULL;
	struct devices devices;
	int ordinal, rc = bi__cl_open(err);

	if (!rc)
		rc = bi__cl_check(
			bi__cl->GetCommandQueueInfo(native, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL),
			"clGetCommandQueueInfo", err);
	if (!rc)
		rc = get_context_devices(context, &devices, err);
	if (rc)
		return rc;
	rc = find_adopted_device(&devices, native, &ordinal, err);
	if (!rc)
		*out = (struct bi__origin){ ordinal, (uintptr_t)context };
	return rc;
}

/*
 * Describes a device as bi_devices lists it. The device string of a device that is not listed, such as a sub-device, is
 * "opencl".
 */
static void describe_adopted_device(cl_device_id device, struct bi_device *out)
{
	struct platforms platforms;
	struct devices devices;
	cl_platform_id own = NULL;

	bi__cl->GetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(own), &own, NULL);
	describe_device(own, 0, device, 0, get_version(device), out);
	snprintf(out->spec, sizeof(out->spec), "opencl");
	if (get_platforms(&platforms, NULL) != BI_OK)
		return;
	for (cl_uint p = 0; p < platforms.count; p++) {
		if (platforms.ids[p] != own)
			continue;
		out->platform = (int)p;
		if (get_devices(own, &devices, NULL) != BI_OK)
			return;
		for (cl_uint d = 0; d < devices.count; d++)
			if (devices.ids[d] == device)
				describe_device(own, (int)p, device, (int)d, get_version(device), out);
	}
}

/* *ordinal is the wanted position of the device in the context; -1 is replaced by the position that was chosen. */
static int open_adopted(struct bi__opencl *opencl, const struct bi_options *options, int *ordinal,
			struct bi_device *adopted, struct bi_error *err)
{
	cl_context context = (cl_context)options->adopt_context;
	struct devices devices;
	cl_device_id id = NULL;
	int rc = bi__cl_open(err);

	if (!rc)
		rc = get_context_devices(context, &devices, err);
	if (!rc && *ordinal < 0)
		rc = find_adopted_device(&devices, (cl_command_queue)options->adopt_stream, ordinal, err);
	if (!rc)
		rc = choose_device(&devices, *ordinal, &id, err);
	if (!rc)
		rc = set_device(opencl, id, *ordinal, err);
	if (!rc)
		rc = bi__cl_check(bi__cl->RetainContext(context), "clRetainContext", err);
	if (rc)
		return rc;
	opencl->context = context;
	describe_adopted_device(opencl->device, adopted);
	return BI_OK;
}

static int open_stream(struct bi__device_state *device, uintptr_t adopted, struct bi__queue *stream,
		       struct bi_error *err)
{
	int rc;

	*stream = (struct bi__queue){ .native = adopted };
	rc = bi__opencl_stream_open(device, stream, err);
	if (rc || !stream->out_of_order)
		return rc;
	bi__opencl_stream_close(stream);
	return bi__fail(err, BI_EINVAL, "adopt_stream is an out-of-order cl_command_queue; adopt an in-order one");
}

static int apply_options(struct bi__opencl *opencl, const struct bi_options *options, struct bi_error *err)
{
	opencl->profile = options->profile && (opencl->capabilities & BI_CAP_PROFILING);
	if (!options->cache_directory)
		return BI_OK;
	opencl->cache_directory = malloc(strlen(options->cache_directory) + 1);
	if (!opencl->cache_directory)
		return bi__fail(err, BI_ENOMEM, "no memory for the name of the cache directory");
	strcpy(opencl->cache_directory, options->cache_directory);
	return BI_OK;
}

static void destroy_state(struct bi__opencl *opencl)
{
	bi__opencl_release_spares(opencl);
	bi__opencl_release_program(opencl);
	if (opencl->context)
		bi__cl->ReleaseContext(opencl->context);
	pthread_mutex_destroy(&opencl->program_lock);
	pthread_mutex_destroy(&opencl->lock);
	free(opencl->cache_directory);
	free(opencl);
}

int bi__opencl_open(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
		    struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err)
{
	struct bi__opencl *opencl = malloc(sizeof(*opencl));
	int rc;

	if (!opencl)
		return bi__fail(err, BI_ENOMEM, "no memory for the state of an OpenCL context");
	*opencl = (struct bi__opencl){ .program_lock = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER };
	out->device_id = options->adopt_context ? device->ordinal : 0;
	rc = options->adopt_context ? open_adopted(opencl, options, &out->device_id, adopted, err)
				    : open_context(opencl, device, err);
	if (!rc)
		rc = apply_options(opencl, options, err);
	if (!rc) {
		out->device = (uintptr_t)opencl->device;
		out->native = (uintptr_t)opencl->context;
		out->state = opencl;
		rc = open_stream(out, options->adopt_stream, stream, err);
	}
	if (rc)
		destroy_state(opencl);
	return rc;
}

void bi__opencl_close(struct bi__device_state *device, struct bi__queue *stream)
{
	bi__opencl_stream_close(stream);
	destroy_state(device->state);
}
