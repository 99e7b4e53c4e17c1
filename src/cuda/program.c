/* Kernels of the caller: modules from source text or images, their signatures, and launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda.h"
#include "cuda/nvrtc.h"

/* Limits of every compute capability; the step of shared memory; threads of a group if the caller names no size. */
#define MOST_THREADS_XY 1024
#define MOST_THREADS_Z 64
#define MOST_GROUPS_X INT32_MAX
#define MOST_GROUPS_YZ 65535
#define MOST_SHARED 49152
#define SHARED_STEP 16
#define THREADS 256

struct program {
	bi__cu_module module;
	char *ptx; /* PTX, which may have tables of parameters; NULL: the image is machine code */
	const struct bi_host_kernel *const *functions; /* parameters of the kernels for which `ptx` has no table */
	size_t function_count;
};

/* Loads an image in a relaxed scope, because a thread may be capturing a graph. The context must be current. */
static int load_module(const void *image, bi__cu_module *module, struct bi_error *err)
{
	struct bi__cuda_scope scope;
	int rc = bi__cuda_relax(&scope, err);

	if (rc)
		return rc;
	rc = bi__cu_check(bi__cu->ModuleLoadData(module, image), "cuModuleLoadData", err);
	bi__cuda_leave(&scope);
	return rc;
}

static char *copy_text(const char *text)
{
	size_t nbytes = strlen(text) + 1;
	char *copy = malloc(nbytes);

	return copy ? memcpy(copy, text, nbytes) : NULL;
}

/* Returns true for PTX: it begins with a directive or a comment. A fatbin begins with the byte 'P'. */
static int is_text(const char *image)
{
	image += strspn(image, " \t\r\n");
	return *image == '.' || *image == '/';
}

/* Compiles the text, or copies an image that is PTX. The caller frees out->ptx and out->code, also after a failure. */
static int prepare_image(const struct bi__cuda *cuda, struct bi__source *source, struct bi__nvrtc_image *out,
			 struct bi_error *err)
{
	*out = (struct bi__nvrtc_image){ NULL, NULL };
	if (!source->image && !source->text)
		return bi__fail(err, BI_EINVAL,
				"a CUDA device compiles source text, or loads PTX: set source.text or source.image");
	if (!source->image)
		return bi__nvrtc_compile(source, cuda->facts.major * 10 + cuda->facts.minor, out, err);
	if (!is_text(source->image))
		return BI_OK;
	out->ptx = copy_text(source->image);
	return out->ptx ? BI_OK : bi__fail(err, BI_ENOMEM, "no memory for a program");
}

int bi__cuda_build(struct bi__device_state *device, struct bi__source *source, uintptr_t *program, struct bi_error *err)
{
	const struct bi__cuda *cuda = device->state;
	struct program *made = calloc(1, sizeof(*made));
	struct bi__nvrtc_image image = { NULL, NULL };
	int rc;

	if (!made)
		return bi__fail(err, BI_ENOMEM, "no memory for a program");
	rc = prepare_image(cuda, source, &image, err);
	if (!rc)
		rc = load_module(source->image ? source->image
				 : image.code  ? image.code
					       : image.ptx,
				 &made->module, err);
	free(image.code);
	if (rc) {
		free(image.ptx);
		free(made);
		return rc;
	}
	made->ptx = image.ptx;
	made->functions = source->functions;
	made->function_count = source->function_count;
	*program = (uintptr_t)made;
	return BI_OK;
}

/* Waits for the kernels before it unloads their code. If the wait fails twice, the module stays loaded. */
void bi__cuda_unload(struct bi__device_state *device, uintptr_t program)
{
	struct bi__cuda *cuda = device->state;
	struct program *unloaded = (struct program *)program;
	struct bi__cuda_scope scope;

	if (!bi__cuda_is_reset(cuda->shared)) {
		bi__cuda_enter_to_release(cuda->context, &scope);
		if (!bi__cuda_wait_for_kernels(cuda->shared) || !bi__cuda_wait_for_kernels(cuda->shared))
			bi__cu->ModuleUnload(unloaded->module);
		bi__cuda_leave(&scope);
	}
	free(unloaded->ptx);
	free(unloaded);
}

/* Finds a label, which begins with a space, outside of comments and strings. Returns NULL if there is none. */
static const char *find_label(const char *ptx, const char *label, size_t length)
{
	while (*ptx && strncmp(ptx, label, length) != 0) {
		if (!strncmp(ptx, "//", 2)) {
			ptx += strcspn(ptx, "\n");
		} else if (!strncmp(ptx, "/*", 2)) {
			ptx = strstr(ptx + 2, "*/");
			if (!ptx)
				return NULL;
			ptx += 2;
		} else if (*ptx == '"') {
			ptx += 1 + strcspn(ptx + 1, "\"\n");
			ptx += *ptx == '"';
		} else {
			ptx += 1 + strcspn(ptx + 1, " /\"");
		}
	}
	return *ptx ? ptx : NULL;
}

/* Reads "{1, 2, ...}". Bytes without a number are unchanged. Returns true for a list of at most `nbytes` bytes. */
static int read_bytes(const char *at, unsigned char *bytes, size_t nbytes)
{
	char *end;

	for (size_t i = 0; i < nbytes && (*at == '{' || *at == ','); i++) {
		unsigned long value = strtoul(at + 1, &end, 10);

		if (end == at + 1 || value > UINT8_MAX)
			return 0;
		bytes[i] = (unsigned char)value;
		at = end;
	}
	return *at == '}';
}

#define COMPILE_AGAIN "compile the kernel with the kernel.h of this version"

/*
 * Takes the parameters from ".b8 bi_parameters_NAME[BYTES] = {1, 2, ...}". Without it, out->parameters stays NULL. The
 * text is not trusted: the last entry of the table, and no other one, must be an end. bi_kernel_get checks the other
 * entries.
 */
static int read_table(const char *ptx, const char *name, struct bi__kernel *out, struct bi_error *err)
{
	char label[BI__KERNEL_NAME_MAX + 32];
	size_t nbytes, length = (size_t)snprintf(label, sizeof(label), " bi_parameters_%s[", name);
	const char *found = find_label(ptx, label, length);
	struct bi_parameter *table;
	unsigned count;
	char *at;

	if (!found)
		return BI_OK;
	nbytes = strtoul(found + length, &at, 10);
	at += strcspn(at, "{;");
	if (*at != '{')
		return BI_OK;
	if (nbytes < 2 * sizeof(*table) || nbytes % sizeof(*table) || nbytes > (BI_MAX_ARGUMENTS + 1) * sizeof(*table))
		return bi__fail(err, BI_EINVAL,
				"the table of parameters of kernel '%s' has %zu bytes, and must have %zu for each of "
				"1 to %d parameters and %zu for its end: " COMPILE_AGAIN,
				name, nbytes, sizeof(*table), BI_MAX_ARGUMENTS, sizeof(*table));
	table = calloc(1, nbytes);
	if (!table)
		return bi__fail(err, BI_ENOMEM, "no memory for a kernel");
	count = (unsigned)(nbytes / sizeof(*table)) - 1;
	if (!read_bytes(at, (unsigned char *)table, nbytes) || table[count].kind || table[count].size > 1 ||
	    bi__kernel_parameters(table) != count) {
		free(table);
		return bi__fail(err, BI_EINVAL,
				"the table of parameters of kernel '%s' in the PTX is malformed: " COMPILE_AGAIN, name);
	}
	out->parameters = table;
	out->count = count;
	return BI_OK;
}

/* Takes the parameters from the functions of the source. */
static int copy_table(const struct program *program, const char *name, struct bi__kernel *out, struct bi_error *err)
{
	const struct bi_host_kernel *function = bi__kernel_function(program->functions, program->function_count, name);

	if (!function)
		return bi__fail(
			err, BI_EINVAL,
			"the parameters of kernel '%s' are not known: give PTX made of BI_KERNEL, or source.functions",
			name);
	return bi__kernel_copy_parameters(out, function, err);
}

static int query_function(bi__cu_function function, unsigned what, int *value, struct bi_error *err)
{
	return bi__cu_check(bi__cu->FuncGetAttribute(value, what, function), "cuFuncGetAttribute", err);
}

/*
 * Finds the function, the most threads of a group (limited by its registers), and the bytes of dynamic shared memory
 * that remain beside its static shared memory.
 */
static int find_function(bi__cu_module module, const char *name, struct bi__kernel *out, struct bi_error *err)
{
	char symbol[BI__KERNEL_NAME_MAX + 32];
	bi__cu_function function = NULL;
	bi__cu_result code;
	int threads = 0, shared = 0, rc;

	snprintf(symbol, sizeof(symbol), "bi_kernel_%s", name);
	code = bi__cu->ModuleGetFunction(&function, module, symbol);
	if (code == BI__CU_ERROR_NOT_FOUND)
		return bi__fail_vendor(err, BI_EINVAL, (int)code, "the program has no kernel '%s'", name);
	rc = bi__cu_check(code, "cuModuleGetFunction", err);
	if (!rc)
		rc = query_function(function, BI__CU_FUNCTION_MAX_THREADS, &threads, err);
	if (!rc)
		rc = query_function(function, BI__CU_FUNCTION_SHARED, &shared, err);
	out->state = function;
	out->most_items = (size_t)threads;
	out->most_local = shared < MOST_SHARED ? (size_t)(MOST_SHARED - shared) : 0;
	out->local_step = SHARED_STEP;
	return rc;
}

int bi__cuda_get_kernel(struct bi__device_state *device, uintptr_t program, const char *name, struct bi__kernel *out,
			struct bi_error *err)
{
	const struct program *from = (const struct program *)program;
	struct bi__cuda_scope scope;
	int rc = bi__cuda_relax(&scope, err);

	(void)device;
	if (rc)
		return rc;
	rc = find_function(from->module, name, out, err);
	bi__cuda_leave(&scope);
	if (!rc && from->ptx)
		rc = read_table(from->ptx, name, out, err);
	if (!rc && !out->parameters)
		rc = copy_table(from, name, out, err);
	if (rc)
		return rc;
	out->most_along[0] = out->most_along[1] = MOST_THREADS_XY;
	out->most_along[2] = MOST_THREADS_Z;
	out->most_groups[0] = MOST_GROUPS_X;
	out->most_groups[1] = out->most_groups[2] = MOST_GROUPS_YZ;
	out->has_groups = out->parameters[out->count].size == 1;
	out->threads = out->has_groups ? 0 : out->most_items < THREADS ? (int)out->most_items : THREADS;
	return BI_OK;
}

/* The arguments of cuLaunchKernel. A strided array has two. The last argument is the extent of the grid. */
struct arguments {
	void *pointers[2 * BI_MAX_ARGUMENTS + 1];
	size_t count;
	bi__cu_pointer data[BI_MAX_ARGUMENTS];
	unsigned local[BI_MAX_ARGUMENTS]; /* offset in the dynamic shared memory */
	unsigned shared; /* bytes of dynamic shared memory */
};

static void set_arguments(struct arguments *out, const struct bi__kernel_launch *launch)
{
	out->count = out->shared = 0;
	for (unsigned i = 0; i < launch->kernel->count; i++) {
		const struct bi__kernel_value *value = &launch->values[i];
		const struct bi__block *block = value->block;

		if (block) {
			out->data[i] = block->handle ? block->handle + block->origin + value->offset : 0;
			out->pointers[out->count++] = &out->data[i];
		} else if (value->bytes) {
			out->pointers[out->count++] = (void *)(uintptr_t)value->bytes;
		} else {
			out->local[i] = out->shared;
			out->shared += (unsigned)((value->nbytes + SHARED_STEP - 1) / SHARED_STEP * SHARED_STEP);
			out->pointers[out->count++] = &out->local[i];
		}
		if (launch->kernel->parameters[i].kind == BI_PARAMETER_STRIDED)
			out->pointers[out->count++] = (void *)(uintptr_t)value->strides;
	}
	out->pointers[out->count] = (void *)(uintptr_t)launch->size;
}

int bi__cuda_launch_kernel(struct bi__queue *queue, const struct bi__kernel_launch *launch, struct bi_error *err)
{
	struct arguments arguments;
	unsigned block[3], groups[3];
	int rc;

	for (int i = 0; i < 3; i++) {
		block[i] = (unsigned)launch->group[i];
		groups[i] = (unsigned)((launch->size[i] - 1) / block[i] + 1);
	}
	set_arguments(&arguments, launch);
	rc = bi__cu_check(bi__cu->LaunchKernel(launch->kernel->state, groups[0], groups[1], groups[2], block[0],
					       block[1], block[2], arguments.shared, bi__cuda_queue_of(queue)->stream,
					       arguments.pointers, NULL),
			  "cuLaunchKernel", err);
	bi__cuda_use(bi__cuda_queue_of(queue)); /* also after a failure: the launch may be enqueued then */
	return rc;
}
