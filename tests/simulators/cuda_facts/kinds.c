#include "kinds.h"

#include <stdlib.h>

const struct segment_properties segment_properties = { .type = 1, .location_type = 1 };
const struct segment_access segment_access = { .location_type = 1, .flags = 3 };

size_t segment_granularity(void)
{
	size_t nbytes = 0;

	if (!cu->MemGetAllocationGranularity ||
	    cu->MemGetAllocationGranularity(&nbytes, &segment_properties, 0) != BI__CU_SUCCESS)
		return 0;
	return nbytes;
}

/* If a step fails, the results of the steps before are released. */
static bi__cu_result make_segment(struct piece *piece)
{
	bi__cu_result result;

	piece->nbytes = segment_granularity();
	if (!piece->nbytes || !cu->MemCreate)
		return BI__CU_ERROR_NOT_SUPPORTED;
	result = cu->MemAddressReserve(&piece->pointer, piece->nbytes, 0, 0, 0);
	if (result)
		return result;
	result = cu->MemCreate(&piece->handle, piece->nbytes, &segment_properties, 0);
	if (result)
		goto release_address;
	result = cu->MemMap(piece->pointer, piece->nbytes, 0, piece->handle, 0);
	if (result)
		goto release_memory;
	result = cu->MemSetAccess(piece->pointer, piece->nbytes, &segment_access, 1);
	if (!result)
		return result;
	cu->MemUnmap(piece->pointer, piece->nbytes);
release_memory:
	cu->MemRelease(piece->handle);
release_address:
	cu->MemAddressFree(piece->pointer, piece->nbytes);
	return result;
}

bi__cu_result make_pool(const struct objects *objects, bi__cu_pool *pool)
{
	const struct bi__cu_pool_properties properties = { .type = BI__CU_ALLOCATION_PINNED,
							   .location = { BI__CU_LOCATION_DEVICE, objects->device } };

	return cu->MemPoolCreate(pool, &properties);
}

static bi__cu_result make_pooled(const struct objects *objects, struct piece *piece)
{
	bi__cu_result result = make_pool(objects, &piece->pool);

	if (result)
		return result;
	result = cu->MemAllocFromPoolAsync(&piece->pointer, KIND_BYTES, piece->pool, objects->stream);
	if (result)
		cu->MemPoolDestroy(piece->pool);
	return result;
}

static bi__cu_result make_host(enum kind kind, bi__cu_pointer *pointer)
{
	void *memory = NULL;
	bi__cu_result result = BI__CU_SUCCESS;

	if (kind == KIND_pinned)
		result = cu->MemHostAlloc(&memory, KIND_BYTES, 0);
	else
		memory = aligned_alloc(4096, 4096);
	if (kind == KIND_registered)
		result = cu->MemHostRegister(memory, KIND_BYTES, 0);
	*pointer = (uintptr_t)memory;
	return result;
}

const char *piece_make(struct objects *objects, enum kind kind, struct piece *piece)
{
	bi__cu_result result;

	*piece = (struct piece){ .kind = kind, .nbytes = KIND_BYTES };
	switch (kind) {
	case KIND_device:
		result = cu->MemAlloc(&piece->pointer, KIND_BYTES);
		break;
	case KIND_pool:
		if (!cu->MemAllocAsync)
			return "not asked: no pools";
		result = cu->MemAllocAsync(&piece->pointer, KIND_BYTES, objects->stream);
		break;
	case KIND_own_pool:
		if (!cu->MemPoolCreate)
			return "not asked: no pools";
		result = make_pooled(objects, piece);
		break;
	case KIND_managed:
		result = cu->MemAllocManaged(&piece->pointer, KIND_BYTES, BI__CU_MEM_ATTACH_GLOBAL);
		break;
	case KIND_mapped:
		result = make_segment(piece);
		break;
	default:
		result = make_host(kind, &piece->pointer);
	}
	return result ? say("not asked: %s", code(result)) : NULL;
}

void piece_free(struct objects *objects, struct piece *piece)
{
	void *host = (void *)(uintptr_t)piece->pointer;

	switch (piece->kind) {
	case KIND_device:
	case KIND_managed:
		cu->MemFree(piece->pointer);
		break;
	case KIND_pool:
		cu->MemFreeAsync(piece->pointer, objects->stream);
		break;
	case KIND_own_pool:
		cu->MemFreeAsync(piece->pointer, objects->stream);
		cu->MemPoolDestroy(piece->pool);
		break;
	case KIND_mapped:
		cu->MemUnmap(piece->pointer, piece->nbytes);
		cu->MemRelease(piece->handle);
		cu->MemAddressFree(piece->pointer, piece->nbytes);
		break;
	case KIND_pinned:
		cu->MemFreeHost(host);
		break;
	case KIND_registered:
		cu->MemHostUnregister(host);
		free(host);
		break;
	case KIND_foreign:
		free(host);
		break;
	}
}
