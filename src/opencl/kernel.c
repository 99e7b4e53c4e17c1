/*
 * Strided copies and fills by kernels in OpenCL C: the program, and its launches. Devices that run native kernels
 * rarely need them (move.c).
 */
#include "opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

/* The types and macros that src/kernels/strided.h expects. */
#define WORDS \
	"typedef uchar bi__u8;\n" \
	"typedef ushort bi__u16;\n" \
	"typedef uint bi__u32;\n" \
	"typedef ulong bi__u64;\n" \
	"typedef uint4 bi__u128;\n" \
	"typedef int bi__i32;\n" \
	"typedef long bi__i64;\n" \
	"#define bi__kernel kernel\n" \
	"#define bi__device static inline\n" \
	"#define bi__global global\n" \
	"#define bi__shared local\n" \
	"#define bi__shared_array local\n" \
	"#define bi__once\n" \
	"#define bi__group_id (uint)get_group_id(0)\n" \
	"#define bi__group_size (uint)get_local_size(0)\n" \
	"#define bi__thread_x (uint)get_local_id(0)\n" \
	"#define bi__word(a, b, c, d) (uint4)(a, b, c, d)\n" \
	"#define bi__barrier barrier(CLK_LOCAL_MEM_FENCE)\n"

/*
 * The source text of the program. It is split, because a compiler need not accept string literals above 4095
 * characters.
 */
#define QUOTE(...) #__VA_ARGS__ "\n"
#define TEXT(...) QUOTE(__VA_ARGS__)
#define PHASES(size, width) \
	TEXT(BI__KERNEL_PHASES(size, width)), TEXT(BI__TILE_LOAD(size, width)), TEXT(BI__TILE_PHASES(size, width)),
#define ENTRIES(size, width) TEXT(BI__KERNEL_ENTRIES(size, width)),
static const char *const source[] = { WORDS, TEXT(BI__KERNEL_TYPES), TEXT(BI__KERNEL_FUNCTIONS),
				      BI__UNITS(PHASES) BI__UNITS(ENTRIES) };
#define PIECES (sizeof(source) / sizeof(*source))

static uint64_t hash_text(uint64_t hash, cl_platform_id platform, cl_device_id device, cl_uint what)
{
	char *text = bi__cl_text(platform, device, what);

	if (text)
		hash = bi__opencl_hash(hash, text, strlen(text) + 1);
	free(text);
	return hash;
}

/* Returns a hash of the source text, and of the names and versions of the platform, the device and the driver. */
static uint64_t cache_key(cl_device_id device)
{
	static const cl_uint of_platform[] = { CL_PLATFORM_NAME, CL_PLATFORM_VERSION };
	static const cl_uint of_device[] = { CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION };
	uint64_t hash = BI__OPENCL_HASH;
	cl_platform_id platform = NULL;
	cl_uint bits = 0; /* a driver for 32 bits and one for 64 bits can have the same texts */

	bi__cl->GetDeviceInfo(device, CL_DEVICE_ADDRESS_BITS, sizeof(bits), &bits, NULL);
	hash = bi__opencl_hash(hash, &bits, sizeof(bits));
	for (size_t i = 0; i < PIECES; i++)
		hash = bi__opencl_hash(hash, source[i], strlen(source[i]));
	bi__cl->GetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	for (size_t i = 0; i < sizeof(of_platform) / sizeof(*of_platform); i++)
		hash = hash_text(hash, platform, NULL, of_platform[i]);
	for (size_t i = 0; i < sizeof(of_device) / sizeof(*of_device); i++)
		hash = hash_text(hash, NULL, device, of_device[i]);
	return hash;
}

/* The message of a failure quotes the beginning of the compiler's log. */
static int build_program(cl_program program, cl_device_id device, struct bi_error *err)
{
	cl_int code = bi__cl->BuildProgram(program, 1, &device, "", NULL, NULL);
	char *log;
	int rc;

	if (code == CL_SUCCESS)
		return BI_OK;
	log = bi__opencl_build_log(program, device);
	for (char *c = log; c && (c = strchr(c, '\n'));)
		*c = ' ';
	rc = bi__fail_vendor(err, bi__cl_fail(code, "", NULL), code, "clBuildProgram failed: %s (%d)%s%s",
			     bi__cl_name(code), code, log && *log ? ": " : "", log ? log : "");
	free(log);
	return rc;
}

static int build_from_source(struct bi__opencl *opencl, cl_program *out, struct bi_error *err)
{
	const char *texts[PIECES];
	cl_int code;
	int rc;

	memcpy(texts, source, sizeof(texts));
	*out = bi__cl->CreateProgramWithSource(opencl->context, PIECES, texts, NULL, &code);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clCreateProgramWithSource", err);
	rc = build_program(*out, opencl->device, err);
	if (rc)
		bi__cl->ReleaseProgram(*out);
	return rc;
}

/* Returns 1 and the program that the cache file contains, or 0 if there is no usable file. */
static int build_from_file(struct bi__opencl *opencl, uint64_t key, cl_program *out)
{
	size_t nbytes = 0;
	void *bytes = bi__opencl_cache_read(opencl->cache_directory, key, &nbytes);
	const unsigned char *binary = bytes;
	cl_int code;

	if (!bytes)
		return 0;
	*out = bi__cl->CreateProgramWithBinary(opencl->context, 1, &opencl->device, &nbytes, &binary, NULL, &code);
	free(bytes);
	if (code != CL_SUCCESS)
		return 0;
	if (build_program(*out, opencl->device, NULL) == BI_OK)
		return 1;
	bi__cl->ReleaseProgram(*out);
	return 0;
}

/* The program of a context with more devices is not kept in a file. */
#define MOST_DEVICES 256

/*
 * Returns the binary of the device, which the caller frees, or NULL. The driver is given one pointer for each device of
 * the program. It writes the binaries to which the pointers point, and skips NULL pointers. PoCL 3.1 writes only the
 * sizes of the devices for which the program was built.
 */
static void *get_device_binary(cl_program program, cl_device_id device, size_t *nbytes)
{
	cl_device_id devices[MOST_DEVICES];
	unsigned char *binaries[MOST_DEVICES] = { NULL };
	size_t sizes[MOST_DEVICES] = { 0 }, size = 0, index = 0;

	if (bi__cl->GetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof(devices), devices, &size) ||
	    bi__cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL))
		return NULL;
	while (index < size / sizeof(*devices) && devices[index] != device)
		index++;
	if (index == size / sizeof(*devices) || !sizes[index] || !(binaries[index] = malloc(sizes[index])))
		return NULL;
	*nbytes = sizes[index];
	if (bi__cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binaries), binaries, NULL) == CL_SUCCESS)
		return binaries[index];
	free(binaries[index]);
	return NULL;
}

static void keep_in_file(const struct bi__opencl *opencl, uint64_t key)
{
	size_t nbytes = 0;
	void *binary = get_device_binary(opencl->program, opencl->device, &nbytes);

	if (binary)
		bi__opencl_cache_write(opencl->cache_directory, key, binary, nbytes);
	free(binary);
}

/* Loads the program from the cache file or compiles it, unless it is there already. */
static int need_program_locked(struct bi__opencl *opencl, struct bi_error *err)
{
	uint64_t key = 0;
	int rc;

	if (opencl->program)
		return BI_OK;
	if (opencl->cache_directory) {
		key = cache_key(opencl->device);
		if (build_from_file(opencl, key, &opencl->program)) {
			atomic_fetch_add(&opencl->loaded, 1);
			return BI_OK;
		}
	}
	rc = build_from_source(opencl, &opencl->program, err);
	if (rc) {
		opencl->program = NULL;
		return rc;
	}
	atomic_fetch_add(&opencl->built, 1);
	if (opencl->cache_directory)
		keep_in_file(opencl, key);
	return BI_OK;
}

static void release_kernel(cl_kernel kernel)
{
	if (kernel)
		bi__cl->ReleaseKernel(kernel);
}

void bi__opencl_release_program(struct bi__opencl *opencl)
{
	for (size_t i = 0; i < BI__KERNEL_COUNT; i++)
		release_kernel(atomic_exchange(&opencl->kernels[i], NULL));
	if (opencl->program)
		bi__cl->ReleaseProgram(opencl->program);
	opencl->program = NULL;
}

void bi__opencl_drop_caches(struct bi__device_state *device)
{
	struct bi__opencl *opencl = device->state;

	pthread_mutex_lock(&opencl->program_lock);
	bi__opencl_release_program(opencl);
	pthread_mutex_unlock(&opencl->program_lock);
}

void bi__opencl_cache_state(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded)
{
	struct bi__opencl *opencl = device->state;

	*built = atomic_load(&opencl->built);
	*loaded = atomic_load(&opencl->loaded);
}

/*
 * Takes the kernel that is kept, or creates one. Only one launch has a kernel at a time, because threads must not set
 * its arguments concurrently. The launch gives the kernel back, because some drivers compile in clCreateKernel.
 */
static int take_kernel(struct bi__opencl *opencl, int number, cl_kernel *out, struct bi_error *err)
{
	cl_int code;
	int rc;

	*out = atomic_exchange(&opencl->kernels[number], NULL);
	if (*out)
		return BI_OK;
	pthread_mutex_lock(&opencl->program_lock);
	rc = need_program_locked(opencl, err);
	if (!rc) {
		*out = bi__cl->CreateKernel(opencl->program, bi__kernel_name(number), &code);
		rc = bi__cl_check(code, "clCreateKernel", err);
	}
	pthread_mutex_unlock(&opencl->program_lock);
	return rc;
}

static int set_kernel_arguments(cl_kernel kernel, const struct bi__launch *launch, const struct bi__opencl_job *job,
				struct bi_error *err)
{
	cl_mem dst = bi__opencl_buffer(job->dst->block), src;
	cl_uint index = 0;
	cl_int code = bi__cl->SetKernelArg(kernel, index++, sizeof(dst), &dst);

	if (code == CL_SUCCESS && launch->has_source) {
		src = bi__opencl_buffer(job->src->block);
		code = bi__cl->SetKernelArg(kernel, index++, sizeof(src), &src);
	}
	if (code == CL_SUCCESS)
		code = bi__cl->SetKernelArg(kernel, index, launch->nbytes, &launch->arguments);
	return bi__cl_check(code, "clSetKernelArg", err);
}

/* A status besides those of bi_status: the driver does not allow the groups of a tile kernel. Nothing was enqueued. */
#define NO_TILES 1

/*
 * Writes the threads of a group to *local. The limit of a kernel may be lower than that of the device. Strided kernels
 * and fills work in groups of any size; for a tile kernel, a lower limit returns NO_TILES.
 */
static int choose_local(const struct bi__opencl *opencl, cl_kernel kernel, const struct bi__launch *launch,
			size_t *local, struct bi_error *err)
{
	size_t most = launch->threads;
	int rc = bi__cl_check(bi__cl->GetKernelWorkGroupInfo(kernel, opencl->device, CL_KERNEL_WORK_GROUP_SIZE,
							     sizeof(most), &most, NULL),
			      "clGetKernelWorkGroupInfo", err);

	*local = most && most < launch->threads ? most : launch->threads;
	if (!rc && *local < launch->threads && launch->kernel >= BI__KERNEL_tile * BI__KERNEL_UNITS)
		return NO_TILES;
	return rc;
}

static int enqueue_kernel(const struct bi__opencl_job *job, cl_kernel kernel, const struct bi__launch *launch,
			  size_t local, struct bi_error *err)
{
	const size_t threads = (size_t)launch->groups * launch->threads, global = (threads - 1) / local * local + local;
	/* job->event receives the event of the last launch. */
	cl_event *event = launch->is_last ? job->event : NULL;

	return bi__cl_check(bi__cl->EnqueueNDRangeKernel(job->queue, kernel, 1, NULL, &global, &local, 0, NULL, event),
			    "clEnqueueNDRangeKernel", err);
}

static int run_launch(const struct bi__opencl_job *job, const struct bi__launch *launch, struct bi_error *err)
{
	cl_kernel kernel = NULL;
	size_t local;
	int rc = take_kernel(job->opencl, launch->kernel, &kernel, err);

	if (rc)
		return rc;
	rc = choose_local(job->opencl, kernel, launch, &local, err);
	if (!rc)
		rc = set_kernel_arguments(kernel, launch, job, err);
	if (!rc)
		rc = enqueue_kernel(job, kernel, launch, local, err);
	release_kernel(atomic_exchange(&job->opencl->kernels[launch->kernel], kernel));
	return rc;
}

static int run_launches(const struct bi__opencl_job *job, const struct bi__launch_limits *limits, struct bi_error *err)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;
	struct bi__launches launches;
	struct bi__launch launch;
	int rc = BI_OK;

	if (src)
		bi__launches_copy(&launches, job->plan, dst->origin, src->origin, limits);
	else
		bi__launches_fill(&launches, job->plan, dst->origin, job->src->host, limits);
	while (!rc && bi__launches_next(&launches, &launch))
		rc = run_launch(job, &launch, err);
	return rc;
}

/*
 * Merges the address of the application's memory that a buffer uses into *bits by OR. Such a buffer has the alignment
 * of that memory. Any other buffer adds nothing: its address is NULL, and its alignment is enough.
 */
static int add_misalignment(uintptr_t *bits, cl_mem buffer, struct bi_error *err)
{
	void *host = NULL;
	cl_int code = bi__cl->GetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof(host), &host, NULL);

	*bits |= (uintptr_t)host;
	return bi__cl_check(code, "clGetMemObjectInfo", err);
}

/*
 * Writes the limits for launches. A device with native kernels is a CPU and gets no tiles: its local memory is ordinary
 * memory, and its cache does what tiles do on a GPU.
 */
static int get_limits(const struct bi__opencl_job *job, struct bi__launch_limits *limits, struct bi_error *err)
{
	const struct bi__opencl *opencl = job->opencl;
	int rc;

	*limits = (struct bi__launch_limits){
		.group = (uint32_t)opencl->group,
		.tiles = opencl->group >= BI__TILE_GROUP && !(opencl->capabilities & BI_CAP_NATIVE_COPY),
	};
	rc = add_misalignment(&limits->misalignment, bi__opencl_buffer(job->dst->block), err);
	if (!rc && job->src->block)
		rc = add_misalignment(&limits->misalignment, bi__opencl_buffer(job->src->block), err);
	return rc;
}

int bi__opencl_launch(const struct bi__opencl_job *job, struct bi_error *err)
{
	struct bi__launch_limits limits;
	int rc = get_limits(job, &limits, err);

	if (!rc)
		rc = run_launches(job, &limits, err);
	if (rc != NO_TILES)
		return rc;
	/* All launches of a copy have the same kernel, so the driver has refused the first. */
	limits.tiles = 0;
	return run_launches(job, &limits, err);
}
