/*
 * The host backend: memory of this process, and work that is done when the call returns. It is the smallest backend of
 * the library, and the example for a new one.
 */
#include <stdlib.h>

#include "common/backend/backend.h"
#include "common/base/large_pages.h"
#include "common/engine/engine.h"
#include "host/program.h"

/* Bytes of the alignment of every allocation: OpenCL's largest built-in types require it. */
#define ALIGNMENT 128

static const struct bi_device this_process = {
	.spec = "host",
	.backend = "host",
	.name = "this process",
	.kind = BI_DEVICE_KIND_HOST,
	.usable = 1,
	.capabilities = BI_CAP_UNIFIED | BI_CAP_PROFILING | BI_CAP_NATIVE_COPY | BI_CAP_OUT_OF_ORDER | BI_CAP_SVM,
};

static int host_enumerate(struct bi_device *devices, int capacity, int *count, struct bi_error *err)
{
	(void)err;
	if (capacity > 0)
		*devices = this_process;
	*count = 1;
	return BI_OK;
}

/*
 * Returns the place in front of the first aligned byte, where the pointer of malloc is stored. malloc is used because
 * it is faster than aligned_alloc.
 */
static void **allocation_of(char *bytes)
{
	return (void **)(void *)bytes - 1;
}

static char *allocate_aligned(size_t nbytes)
{
	char *start = malloc(nbytes + sizeof(void *) + ALIGNMENT - 1), *bytes;

	if (!start)
		return NULL;
	bytes = start + sizeof(void *);
	bytes += -(uintptr_t)bytes % ALIGNMENT;
	*allocation_of(bytes) = start;
	bi__request_large_pages(bytes, nbytes);
	return bytes;
}

static int host_alloc(struct bi__device_state *device, struct bi__block *block, struct bi_error *err)
{
	char *bytes = allocate_aligned(block->origin + block->nbytes);

	(void)device;
	if (!bytes)
		return bi__fail(err, BI_ENOMEM, "the host has no %zu bytes", block->nbytes);
	block->kind = BI_HANDLE_HOST;
	block->handle = (uintptr_t)bytes;
	block->host = bytes + block->origin;
	return BI_OK;
}

static int host_adopt(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		      struct bi_error *err)
{
	(void)device;
	(void)err;
	block->kind = BI_HANDLE_HOST;
	block->handle = foreign->handle;
	block->host = (void *)foreign->handle;
	block->cookie = 1;
	return BI_OK;
}

/* Frees memory of malloc. A cookie marks adopted memory, which its producer frees. */
static void host_free(struct bi__device_state *device, struct bi__block *block)
{
	(void)device;
	if (!block->cookie)
		free(*allocation_of((char *)block->handle));
}

static int host_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__move *move,
		     uintptr_t *event, struct bi_error *err)
{
	(void)device;
	(void)queue;
	(void)event;
	(void)err;
	bi__engine_copy(move->plan, (void *)(uintptr_t)move->dst.host, move->src.host);
	return BI_OK;
}

/* The name of host memory in the exchange structure and in DLPack is the same for every enum bi_memory_kind. */
#define EXPORTED \
	{ \
		.device = BI_EXCHANGE_DEVICE_CPU, .handle = BI_HANDLE_HOST, .form = BI__FORM_BASE \
	}

const struct bi__backend bi__host_backend = {
	.name = "host",
	.synchronous = 1,
	.cpu_addressable = 1,
	.handle = BI_HANDLE_HOST,
	.exported = { EXPORTED, EXPORTED, EXPORTED, EXPORTED, EXPORTED },
	.devices = {
		.enumerate = host_enumerate,
	},
	.memory = {
		.alloc = host_alloc,
		.adopt = host_adopt,
		.free = host_free,
	},
	.move = {
		.copy = host_copy,
	},
	.launch = {
		.build = bi__host_build,
		.unload = bi__host_unload,
		.get = bi__host_get_kernel,
		.enqueue = bi__host_launch,
	},
};
