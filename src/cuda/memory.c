/* Memory: allocating, wrapping and freeing. */
#include "cuda/cuda.h"

static int check_allocation(bi__cu_result code, const char *call, size_t nbytes, struct bi_error *err)
{
	if (code != BI__CU_ERROR_OUT_OF_MEMORY)
		return bi__cu_check(code, call, err);
	return bi__fail_vendor(err, BI_ENOMEM, (int)code, "%s failed for %zu bytes: %s (%u)", call, nbytes,
			       bi__cu_name(code), code);
}

static void describe_block(struct bi__block *block, enum bi__cuda_source source, bi__cu_pointer address)
{
	block->kind = BI_HANDLE_CUDA;
	block->handle = (uintptr_t)address;
	block->cookie = source;
	if (source == BI__CUDA_PINNED || source == BI__CUDA_MANAGED)
		block->host = (char *)(uintptr_t)address + block->origin;
	block->alloc_pending = source == BI__CUDA_POOL;
}

/* Sets the bytes of freed memory that the pool may keep at a synchronisation. Called in a relaxed scope. */
static void set_threshold(const struct bi__cuda *cuda, uint64_t nbytes)
{
	bi__cu->MemPoolSetAttribute(cuda->pool, BI__CU_POOL_RELEASE_THRESHOLD, &nbytes);
}

/*
 * Opens a pool of the driver. The pool keeps freed memory at a synchronisation, and gives it back to the system in
 * bi__cuda_empty_pool, and in check_free if managed memory does not fit. With BI_POOL_NONE it gives freed memory back
 * at each synchronisation, as the driver's default pool does. Without a pool, memory is allocated and freed outside of
 * stream order.
 */
void bi__cuda_open_pool(struct bi__cuda *cuda)
{
	const struct bi__cu_pool_properties properties = { .type = BI__CU_ALLOCATION_PINNED,
							   .location = { BI__CU_LOCATION_DEVICE, cuda->device } };
	struct bi__cuda_scope scope;

	if (!cuda->facts.memory_pools || !bi__cu->MemPoolCreate || !bi__cu->MemAllocFromPoolAsync ||
	    !bi__cu->MemFreeAsync)
		return;
	if (bi__cuda_relax(&scope, NULL) != BI_OK || bi__cu->MemPoolCreate(&cuda->pool, &properties) != BI__CU_SUCCESS)
		cuda->pool = NULL;
	else
		set_threshold(cuda, cuda->threshold);
	bi__cuda_leave(&scope);
}

/*
 * cuMemPoolTrimTo does not give back memory whose free is pending. So the threshold is 0 until the next allocation, and
 * the pool gives this memory back at the next synchronisation.
 */
void bi__cuda_empty_pool(struct bi__cuda *cuda)
{
	set_threshold(cuda, 0);
	atomic_store(&cuda->is_trimmed, 1);
	bi__cu->MemPoolTrimTo(cuda->pool, 0);
}

/* A call that fails is not repeated: the handle may already be that of another pool. */
void bi__cuda_close_pool(struct bi__cuda *cuda)
{
	if (cuda->pool)
		bi__cu->MemPoolDestroy(cuda->pool);
}

static int alloc_device(struct bi__cuda *cuda, size_t nbytes, bi__cu_pointer *address, struct bi_error *err)
{
	if (atomic_load(&cuda->is_trimmed) && atomic_exchange(&cuda->is_trimmed, 0))
		set_threshold(cuda, cuda->threshold);
	if (cuda->pool)
		return check_allocation(bi__cu->MemAllocFromPoolAsync(address, nbytes, cuda->pool, cuda->stream),
					"cuMemAllocFromPoolAsync", nbytes, err);
	return check_allocation(bi__cu->MemAlloc(address, nbytes), "cuMemAlloc", nbytes, err);
}

int bi__cuda_alloc_pinned(size_t nbytes, void **out, struct bi_error *err)
{
	return check_allocation(
		bi__cu->MemHostAlloc(out, nbytes, BI__CU_HOST_ALLOC_PORTABLE | BI__CU_HOST_ALLOC_DEVICEMAP),
		"cuMemHostAlloc", nbytes, err);
}

static int query_free(size_t *nbytes, struct bi_error *err)
{
	size_t total;

	return bi__cu_check(bi__cu->MemGetInfo(nbytes, &total), "cuMemGetInfo", err);
}

/*
 * Refuses more managed memory than is free on the device. The driver would allocate it, but move pages between device
 * and host while it is used. If it does not fit, the pool first gives back the freed memory that it keeps.
 */
static int check_free(const struct bi__cuda *cuda, size_t nbytes, struct bi_error *err)
{
	size_t unused;
	int rc = query_free(&unused, err);

	if (!rc && nbytes > unused && cuda->pool) {
		bi__cu->MemPoolTrimTo(cuda->pool, 0);
		rc = query_free(&unused, err);
	}
	if (rc || nbytes <= unused)
		return rc;
	return bi__fail(err, BI_ENOMEM, "%zu bytes of managed memory do not fit into the %zu bytes that are free",
			nbytes, unused);
}

static int alloc_managed(const struct bi__cuda *cuda, size_t nbytes, bi__cu_pointer *address, struct bi_error *err)
{
	int rc = check_free(cuda, nbytes, err);

	return rc ? rc
		  : check_allocation(bi__cu->MemAllocManaged(address, nbytes, BI__CU_MEM_ATTACH_GLOBAL),
				     "cuMemAllocManaged", nbytes, err);
}

static int alloc_kind(struct bi__cuda *cuda, size_t nbytes, struct bi__block *block, struct bi_error *err)
{
	enum bi__cuda_source source = cuda->pool ? BI__CUDA_POOL : BI__CUDA_PLAIN;
	bi__cu_pointer address = 0;
	void *pinned = NULL;
	int rc;

	if (block->memory == BI_MEMORY_PINNED) {
		rc = bi__cuda_alloc_pinned(nbytes, &pinned, err);
		address = (bi__cu_pointer)(uintptr_t)pinned;
		source = BI__CUDA_PINNED;
	} else if (block->memory == BI_MEMORY_UNIFIED) {
		rc = alloc_managed(cuda, nbytes, &address, err);
		source = BI__CUDA_MANAGED;
	} else {
		rc = alloc_device(cuda, nbytes, &address, err);
	}
	if (!rc)
		describe_block(block, source, address);
	return rc;
}

int bi__cuda_alloc(struct bi__device_state *device, struct bi__block *block, struct bi_error *err)
{
	struct bi__cuda *cuda = device->state;
	struct bi__cuda_scope scope;
	int rc = bi__cuda_relax(&scope, err);

	if (!rc)
		rc = alloc_kind(cuda, block->origin + block->nbytes, block, err);
	bi__cuda_leave(&scope);
	return rc;
}

/*
 * A call that fails is not repeated. It may have freed the memory and return the failure of earlier work, and then the
 * address may already be that of another allocation.
 */
void bi__cuda_free(struct bi__device_state *device, struct bi__block *block)
{
	struct bi__cuda *cuda = device->state;
	struct bi__cuda_scope scope;

	if (block->cookie == BI__CUDA_ADOPTED || block->cookie == BI__CUDA_ADOPTED_HOST ||
	    bi__cuda_is_reset(cuda->shared))
		return;
	bi__cuda_enter_to_release(cuda->context, &scope);
	if (block->cookie == BI__CUDA_POOL)
		bi__cu->MemFreeAsync(block->handle, cuda->stream);
	else if (block->cookie == BI__CUDA_PINNED)
		bi__cu->MemFreeHost((void *)block->handle);
	else
		bi__cu->MemFree(block->handle);
	bi__cuda_leave(&scope);
}
