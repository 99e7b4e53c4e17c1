/* Loading and launching the kernels of src/kernels. */
#include "cuda/cuda.h"

#include <stdlib.h>

#include "kernels/image.h"

/* Loads machine code for the device. Returns BI__CU_ERROR_NO_BINARY_FOR_GPU if there is none. */
static bi__cu_result load_code(const struct bi__cuda *cuda, bi__cu_module *module)
{
	size_t nbytes;
	void *image = bi__image_load(cuda->facts.major, cuda->facts.minor, &nbytes);
	bi__cu_result code = BI__CU_ERROR_NO_BINARY_FOR_GPU;

	if (image)
		code = bi__cu->ModuleLoadData(module, image);
	free(image);
	return code;
}

/* Loads machine code for the device. If that fails, loads PTX, which the driver compiles. */
static int load_module_locked(struct bi__cuda *cuda, struct bi_error *err)
{
	struct bi__cuda_kernels *kernels = &cuda->kernels;
	bi__cu_result refused, code;

	refused = load_code(cuda, &kernels->module);
	if (refused == BI__CU_SUCCESS) {
		kernels->loaded++;
		return BI_OK;
	}
	code = bi__cu->ModuleLoadData(&kernels->module, bi__image_ptx);
	if (code == BI__CU_SUCCESS) {
		kernels->built++;
		return BI_OK;
	}
	kernels->module = NULL;
	return bi__fail_vendor(err, bi__cu_check(code, "", NULL), (int)code,
			       "no kernel for compute capability %d.%d: machine code: %s (%u), PTX: %s (%u)",
			       cuda->facts.major, cuda->facts.minor, bi__cu_name(refused), refused, bi__cu_name(code),
			       code);
}

/* Looks up a kernel when it is first used. The scope is relaxed, because another thread may be capturing a graph. */
static int find_function_locked(struct bi__cuda *cuda, int number, struct bi_error *err)
{
	struct bi__cuda_kernels *kernels = &cuda->kernels;
	bi__cu_function function = NULL;
	struct bi__cuda_scope scope;
	int rc = bi__cuda_enter_relaxed(cuda->context, &scope, err);

	if (rc)
		return rc;
	if (!kernels->module)
		rc = load_module_locked(cuda, err);
	if (!rc)
		rc = bi__cu_check(bi__cu->ModuleGetFunction(&function, kernels->module, bi__kernel_name(number)),
				  "cuModuleGetFunction", err);
	if (!rc)
		kernels->functions[number] = function;
	bi__cuda_leave(&scope);
	return rc;
}

static int get_function(struct bi__cuda *cuda, int number, bi__cu_function *out, struct bi_error *err)
{
	int rc = BI_OK;

	pthread_mutex_lock(&cuda->lock);
	if (!cuda->kernels.functions[number])
		rc = find_function_locked(cuda, number, err);
	*out = cuda->kernels.functions[number];
	pthread_mutex_unlock(&cuda->lock);
	return rc;
}

/* Enqueues one launch. The driver copies the arguments before cuLaunchKernel returns. */
static int enqueue_launch(const struct bi__cuda_queue *queue, struct bi__launch *launch, bi__cu_pointer dst,
			  bi__cu_pointer src, struct bi_error *err)
{
	void *with_source[] = { &dst, &src, &launch->arguments }, *without[] = { &dst, &launch->arguments };
	bi__cu_function function;
	int rc = get_function(queue->cuda, launch->kernel, &function, err);

	if (rc)
		return rc;
	return bi__cu_check(bi__cu->LaunchKernel(function, launch->groups, 1, 1, launch->threads, 1, 1, 0,
						 queue->stream, launch->has_source ? with_source : without, NULL),
			    "cuLaunchKernel", err);
}

int bi__cuda_launch(struct bi__cuda_queue *queue, struct bi__launches *launches, bi__cu_pointer dst, bi__cu_pointer src,
		    struct bi_error *err)
{
	struct bi__launch next;
	int rc = BI_OK;

	while (!rc && bi__launches_next(launches, &next))
		rc = enqueue_launch(queue, &next, dst, src, err);
	bi__cuda_use(queue);
	return rc;
}

void bi__cuda_unload_kernels(struct bi__cuda *cuda)
{
	if (cuda->kernels.module)
		bi__cu->ModuleUnload(cuda->kernels.module);
	cuda->kernels.module = NULL;
}

void bi__cuda_cache_state(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded)
{
	struct bi__cuda *cuda = device->state;

	pthread_mutex_lock(&cuda->lock);
	*built = cuda->kernels.built;
	*loaded = cuda->kernels.loaded;
	pthread_mutex_unlock(&cuda->lock);
}
