/* Loading and launching the kernels of src/kernels. */
#include "cuda/cuda.h"

#include <stdlib.h>

#include "kernels/image.h"

/* Loads machine code for the device. Returns BI__CU_ERROR_NO_BINARY_FOR_GPU if there is none, or no memory for it. */
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
static int load_module(const struct bi__cuda *cuda, bi__cu_module *module, struct bi_error *err)
{
	struct bi__cuda_kernels *kernels = &cuda->shared->kernels;
	bi__cu_result refused, code;

	refused = load_code(cuda, module);
	if (refused == BI__CU_SUCCESS) {
		atomic_fetch_add(&kernels->loaded, 1);
		return BI_OK;
	}
	code = bi__cu->ModuleLoadData(module, bi__image_ptx);
	if (code == BI__CU_SUCCESS) {
		atomic_fetch_add(&kernels->built, 1);
		return BI_OK;
	}
	return bi__fail_vendor(err, bi__cu_check(code, "", NULL), (int)code,
			       "no kernel for compute capability %d.%d: machine code: %s (%u), PTX: %s (%u)",
			       cuda->facts.major, cuda->facts.minor, bi__cu_name(refused), refused, bi__cu_name(code),
			       code);
}

/* Looks up every kernel: a driver that loads lazily loads the code of a kernel in this call. */
static int find_functions(struct bi__cuda_kernels *kernels, bi__cu_module module, struct bi_error *err)
{
	bi__cu_result code = BI__CU_SUCCESS;

	for (int i = 0; i < BI__KERNEL_COUNT && code == BI__CU_SUCCESS; i++)
		code = bi__cu->ModuleGetFunction(&kernels->functions[i], module, bi__kernel_name(i));
	return bi__cu_check(code, "cuModuleGetFunction", err);
}

/* Loads the kernels in a relaxed scope, because a thread may be capturing a graph. The context must be current. */
static int load_kernels_locked(const struct bi__cuda *cuda, struct bi_error *err)
{
	struct bi__cuda_kernels *kernels = &cuda->shared->kernels;
	bi__cu_module module = NULL;
	struct bi__cuda_scope scope;
	int rc = bi__cuda_relax(&scope, err);

	if (rc)
		return rc;
	rc = load_module(cuda, &module, err);
	if (!rc) {
		rc = find_functions(kernels, module, err);
		if (!rc)
			atomic_store(&kernels->module, module);
		else
			bi__cu->ModuleUnload(module);
	}
	bi__cuda_leave(&scope);
	return rc;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list `all` and the member `users` of its entries;
							    no driver call is made under it */
static struct bi__cuda_shared *all;

static struct bi__cuda_shared *find_shared_locked(bi__cu_context context, unsigned long long id)
{
	struct bi__cuda_shared *shared = all;

	while (shared && (shared->context != context || shared->context_id != id))
		shared = shared->next;
	return shared;
}

static struct bi__cuda_shared *make_shared_locked(bi__cu_context context, unsigned long long id)
{
	struct bi__cuda_shared *shared = calloc(1, sizeof(*shared));

	if (!shared)
		return NULL;
	shared->context = context;
	shared->context_id = id;
	pthread_mutex_init(&shared->kernels.lock, NULL);
	pthread_mutex_init(&shared->queues_lock, NULL);
	pthread_mutex_init(&shared->pageable.lock, NULL);
	pthread_mutex_init(&shared->lock, NULL);
	shared->next = all;
	all = shared;
	return shared;
}

/*
 * The first opened device of the CUcontext loads the kernels and allocates the chunks; others wait for it. Each of the
 * two is tried twice, because a call may return the failure of earlier work.
 */
static void prepare_shared(struct bi__cuda *cuda)
{
	struct bi__cuda_shared *shared = cuda->shared;

	pthread_mutex_lock(&shared->kernels.lock);
	if (!shared->kernels.is_prepared) {
		shared->kernels.is_prepared = 1;
		if (load_kernels_locked(cuda, NULL))
			load_kernels_locked(cuda, NULL);
		if (bi__cuda_make_chunks(&shared->pageable))
			bi__cuda_make_chunks(&shared->pageable);
	}
	pthread_mutex_unlock(&shared->kernels.lock);
}

int bi__cuda_open_shared(struct bi__cuda *cuda, struct bi_error *err)
{
	unsigned long long id = 0;
	int rc = bi__cu->CtxGetId ? bi__cu_check(bi__cu->CtxGetId(cuda->context, &id), "cuCtxGetId", err) : BI_OK;

	/*
	 * This failure is returned: with id 0 the device would not find the entry of another device of this CUcontext,
	 * and the two would not share events.
	 */
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	cuda->shared = find_shared_locked(cuda->context, id);
	if (!cuda->shared)
		cuda->shared = make_shared_locked(cuda->context, id);
	if (cuda->shared)
		cuda->shared->users++;
	pthread_mutex_unlock(&lock);
	if (!cuda->shared)
		return bi__fail(err, BI_ENOMEM, "no memory for the kernels of a context");
	prepare_shared(cuda);
	return BI_OK;
}

void bi__cuda_close_shared(struct bi__cuda *cuda)
{
	struct bi__cuda_shared *shared = cuda->shared, **link = &all;
	int is_last;

	pthread_mutex_lock(&lock);
	is_last = !--shared->users;
	while (is_last && *link != shared)
		link = &(*link)->next;
	if (is_last)
		*link = shared->next;
	pthread_mutex_unlock(&lock);
	if (!is_last)
		return;
	if (!atomic_load(&shared->is_reset)) {
		bi__cuda_wait_for_uses(shared);
		bi__cuda_free_chunks(&shared->pageable);
		if (shared->kernels.module)
			bi__cu->ModuleUnload(shared->kernels.module);
	}
	bi__cuda_destroy_events(shared);
	pthread_mutex_destroy(&shared->pageable.lock);
	pthread_mutex_destroy(&shared->lock);
	pthread_mutex_destroy(&shared->queues_lock);
	pthread_mutex_destroy(&shared->kernels.lock);
	free(shared);
}

/* Finds a kernel. If the kernels are not loaded, loads them; the driver may wait for the device then. */
static int get_function(const struct bi__cuda *cuda, int number, bi__cu_function *out, struct bi_error *err)
{
	struct bi__cuda_kernels *kernels = &cuda->shared->kernels;
	int rc = BI_OK;

	if (!atomic_load_explicit(&kernels->module, memory_order_acquire)) {
		pthread_mutex_lock(&kernels->lock);
		rc = kernels->module ? BI_OK : load_kernels_locked(cuda, err);
		pthread_mutex_unlock(&kernels->lock);
	}
	if (!rc)
		*out = kernels->functions[number];
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

void bi__cuda_cache_state(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded)
{
	struct bi__cuda_kernels *kernels = &((const struct bi__cuda *)device->state)->shared->kernels;

	*built = atomic_load(&kernels->built);
	*loaded = atomic_load(&kernels->loaded);
}
