/* Memory of a device, allocated and freed immediately or in the order of a stream. */
#include <stdlib.h>

#include "decisions.h"
#include "memory.h"
#include "scheduler.h"
#include "stream.h"

/* The alignment that the driver promises. */
#define ALIGNMENT ((size_t)256)

/* Bytes that were freed in the order of a stream. The device counts them as used until the pool gives them back. */
struct kept {
	struct kept *next;
	int device;
	size_t nbytes;
	struct clock freed;
};

static struct pool {
	struct pool *next;
	bi__cu_pool handle;
	int device;
	struct place made;
	struct kept *kept;
	uint64_t threshold; /* number of bytes that stay at a synchronisation */
} * pools, usual; /* usual: the default pools of all devices, for cuMemAllocAsync */

static struct pool *pool_after(const struct pool *pool)
{
	return pool == &usual ? pools : pool->next;
}

static void forget_kept(struct kept **place)
{
	struct kept *kept = *place;

	*place = kept->next;
	clock_clear(&kept->freed);
	free(kept);
}

/*
 * Gives back memory until at most `least` bytes are kept, and returns the number of bytes. Without is_forced it keeps
 * memory whose free the host has not seen complete: such memory "can count as outstanding" (documentation of
 * cuMemPoolTrimTo).
 */
static size_t give_back(struct pool *pool, uint64_t least, int is_forced)
{
	size_t total = 0, given = 0;

	for (const struct kept *kept = pool->kept; kept; kept = kept->next)
		total += kept->nbytes;
	for (struct kept **place = &pool->kept; *place && total - given > least;) {
		if (!is_forced && !clock_covers(&host_clock, &(*place)->freed)) {
			place = &(*place)->next;
			continue;
		}
		given += (*place)->nbytes;
		memory_refund((*place)->device, (*place)->nbytes);
		forget_kept(place);
	}
	return given;
}

/* The bytes stay charged to the device. */
static void keep(struct pool *pool, const struct allocation *allocation, const struct stream *stream)
{
	struct kept *kept = must_alloc(1, sizeof(*kept));

	*kept = (struct kept){ pool->kept, allocation->device, memory_rounded(allocation->nbytes), { NULL, 0 } };
	clock_copy(&kept->freed, &stream->clock);
	pool->kept = kept;
	memory_charge(kept->device, kept->nbytes);
}

/* Makes room for an allocation from what the pool keeps. */
static void reuse(struct pool *pool, int device, size_t nbytes)
{
	size_t rest = memory_rounded(nbytes);

	for (struct kept **place = &pool->kept; *place && rest;) {
		size_t part = (*place)->nbytes < rest ? (*place)->nbytes : rest;

		if ((*place)->device != device) {
			place = &(*place)->next;
			continue;
		}
		memory_refund(device, part);
		rest -= part;
		(*place)->nbytes -= part;
		if (!(*place)->nbytes)
			forget_kept(place);
	}
}

/* Assumed: before an allocation fails, the driver takes back what its pools keep. */
static int charge(int device, size_t nbytes)
{
	if (memory_charge(device, nbytes))
		return 1;
	for (struct pool *pool = &usual; pool; pool = pool_after(pool))
		give_back(pool, 0, 1);
	return memory_charge(device, nbytes);
}

/* Returns NULL if the device has too little memory left. Takes ownership of `writer`. */
static struct allocation *allocate(enum memory_kind kind, struct context *context, size_t nbytes, struct stamp *writer)
{
	int device = context->device;
	struct allocation *allocation;
	uint64_t offset = random_next() % (page_size() / ALIGNMENT) * ALIGNMENT;
	struct pages pages;

	if (!charge(device, nbytes)) {
		stamp_release(writer);
		return NULL;
	}
	pages = memory_take(arena_of_device(device), nbytes + offset);
	if (!pages.start) {
		memory_refund(device, nbytes);
		stamp_release(writer);
		return NULL;
	}
	allocation = memory_add(kind, device, kind == MEMORY_POOL ? NULL : context, pages.start + offset, nbytes, pages,
				writer);
	memory_scramble(allocation);
	return allocation;
}

static bi__cu_result get_info(size_t *free_bytes, size_t *total)
{
	if (!free_bytes || !total)
		return BI__CU_ERROR_INVALID_VALUE;
	*total = memory_total();
	*free_bytes = *total - memory_in_use(thread_top()->device);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	bi__cu_result code = ENTER(cuMemGetInfo_v2);

	return leave(code ? code : get_info(free_bytes, total));
}

static bi__cu_result alloc(bi__cu_pointer *out, size_t nbytes)
{
	const struct allocation *allocation;

	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!nbytes)
		return (bi__cu_result)DECIDED_ALLOC_NOTHING;
	allocation = allocate(MEMORY_DEVICE, thread_top(), nbytes, NULL);
	if (!allocation)
		return BI__CU_ERROR_OUT_OF_MEMORY;
	*out = allocation->start;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemAlloc_v2(bi__cu_pointer *pointer, size_t nbytes)
{
	bi__cu_result code = ENTER(cuMemAlloc_v2);

	return leave(code ? code : alloc(pointer, nbytes));
}

static bi__cu_result check_freed_by_call(const struct allocation *allocation)
{
	char text[128];

	if (allocation->kind != MEMORY_DEVICE && allocation->kind != MEMORY_POOL &&
	    allocation->kind != MEMORY_MANAGED) {
		report(REPORT_WRONG_FREE, "%s is not freed by this call", memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (allocation->context && allocation->context != thread_top()) {
		report(REPORT_WRONG_CONTEXT, "%s belongs to another context than the current one",
		       memory_name(allocation, text));
		return (bi__cu_result)DECIDED_FREE_OF_OTHER_CONTEXT;
	}
	return BI__CU_SUCCESS;
}

/*
 * The driver waits for pending work, but does not promise that. So work on the memory that may be pending is reported.
 */
static bi__cu_result free_now(uint64_t pointer)
{
	bi__cu_result code;
	struct allocation *allocation;

	if (!pointer)
		return (bi__cu_result)DECIDED_FREE_NULL;
	allocation = memory_to_free(pointer, &code);
	if (allocation)
		code = check_freed_by_call(allocation);
	if (!code)
		code = context_drain(thread_top());
	if (!code && check_free(allocation))
		code = wait_for_context(NULL);
	if (code)
		return code;
	memory_free(allocation);
	arena_empty(allocation->pages);
	if (allocation->kind == MEMORY_MANAGED)
		arena_close(allocation->pages);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemFree_v2(bi__cu_pointer pointer)
{
	bi__cu_result code = ENTER(cuMemFree_v2);

	return leave(code ? code : free_now(pointer));
}

static struct stream *stream_with_pools(bi__cu_stream handle, bi__cu_result *code)
{
	struct stream *stream = stream_for_work(handle, code);

	if (!stream)
		return NULL;
	if (!sim.options.pools || sim.options.version < 11020)
		*code = (bi__cu_result)DECIDED_NO_POOLS;
	else if (capture_refuses(stream))
		*code = (bi__cu_result)DECIDED_CAPTURE_ALLOCATES;
	return *code ? NULL : stream;
}

static struct pool *pool_of(bi__cu_pool handle)
{
	struct pool *pool = pools;

	while (pool && pool->handle != handle)
		pool = pool->next;
	return pool ? pool : &usual;
}

void pools_shrink(void)
{
	for (struct pool *pool = &usual; pool; pool = pool_after(pool))
		sim.counts.returned += give_back(pool, pool->threshold, 0);
}

static bi__cu_result alloc_async(bi__cu_pointer *out, size_t nbytes, struct pool *pool, bi__cu_stream handle)
{
	bi__cu_result code;
	struct stream *stream = stream_with_pools(handle, &code);
	struct allocation *allocation;

	if (!stream)
		return code;
	if (pool != &usual && pool->device != stream->context->device) {
		report(REPORT_WRONG_CONTEXT, "the pool is of another device than the stream");
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (!out)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!nbytes)
		return (bi__cu_result)DECIDED_ALLOC_NOTHING;
	reuse(pool, stream->context->device, nbytes);
	allocation = allocate(MEMORY_POOL, stream->context, nbytes, stream_stamp(stream));
	if (!allocation)
		return BI__CU_ERROR_OUT_OF_MEMORY;
	allocation->pool = pool->handle;
	*out = allocation->start;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemAllocAsync(bi__cu_pointer *pointer, size_t nbytes, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemAllocAsync);

	return leave(code ? code : alloc_async(pointer, nbytes, &usual, stream));
}

static bi__cu_result alloc_from_pool(bi__cu_pointer *out, size_t nbytes, bi__cu_pool handle, bi__cu_stream stream)
{
	bi__cu_result code;
	struct pool *pool = handle_find(OBJECT_POOL, handle, &code);

	return pool ? alloc_async(out, nbytes, pool, stream) : code;
}

bi__cu_result cuMemAllocFromPoolAsync(bi__cu_pointer *pointer, size_t nbytes, bi__cu_pool pool, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemAllocFromPoolAsync);

	return leave(code ? code : alloc_from_pool(pointer, nbytes, pool, stream));
}

static bi__cu_result create_pool(bi__cu_pool *out, const struct bi__cu_pool_properties *properties)
{
	struct pool *pool;

	if (!out || !properties || properties->type != BI__CU_ALLOCATION_PINNED ||
	    properties->location.type != BI__CU_LOCATION_DEVICE)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(properties->location.id))
		return BI__CU_ERROR_INVALID_DEVICE;
	if (!sim.options.pools || sim.options.version < 11020)
		return (bi__cu_result)DECIDED_NO_POOLS;
	pool = must_alloc(1, sizeof(*pool));
	pool->device = properties->location.id;
	pool->handle = handle_make(OBJECT_POOL, pool);
	pool->made = place_now(PLACE_HOST);
	pool->next = pools;
	pools = pool;
	*out = pool->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemPoolCreate(bi__cu_pool *pool, const struct bi__cu_pool_properties *properties)
{
	bi__cu_result code = ENTER(cuMemPoolCreate);

	return leave(code ? code : create_pool(pool, properties));
}

static bi__cu_result set_attribute(bi__cu_pool handle, unsigned what, const uint64_t *value)
{
	bi__cu_result code;
	struct pool *pool = handle_find(OBJECT_POOL, handle, &code);

	if (!pool)
		return code;
	if (what != BI__CU_POOL_RELEASE_THRESHOLD || !value)
		return BI__CU_ERROR_INVALID_VALUE;
	pool->threshold = *value;
	return BI__CU_SUCCESS;
}

/*
 * On an H100 with driver 580.159.04, setting the threshold and trimming, in this order, invalidated a capture of
 * another thread in the global mode, and one of the same thread. It is not known which of the two does so.
 */
static bi__cu_result admit_change(bi__cu_result code)
{
	return code ? code : capture_admits_unsafe();
}

bi__cu_result cuMemPoolSetAttribute(bi__cu_pool pool, unsigned what, void *value)
{
	bi__cu_result code = admit_change(ENTER(cuMemPoolSetAttribute));

	return leave(code ? code : set_attribute(pool, what, value));
}

bi__cu_result cuMemPoolTrimTo(bi__cu_pool handle, size_t least)
{
	bi__cu_result code = admit_change(ENTER(cuMemPoolTrimTo));
	struct pool *pool = code ? NULL : handle_find(OBJECT_POOL, handle, &code);

	if (pool)
		give_back(pool, least, 0);
	return leave(code);
}

/* Allocations from the pool stay until they are freed. */
static bi__cu_result destroy_pool(bi__cu_pool handle)
{
	bi__cu_result code;
	struct pool *pool = handle_find(OBJECT_POOL, handle, &code), **place = &pools;

	if (!pool)
		return code;
	while (*place != pool)
		place = &(*place)->next;
	*place = pool->next;
	give_back(pool, 0, 1);
	handle_destroy(handle);
	free(pool);
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemPoolDestroy(bi__cu_pool pool)
{
	bi__cu_result code = ENTER(cuMemPoolDestroy);

	return leave(code ? code : destroy_pool(pool));
}

void pools_report_left(void)
{
	char text[128];

	for (const struct pool *pool = pools; pool; pool = pool->next)
		report(REPORT_LEFT, "a memory pool of %s", place_text(pool->made, text));
}

void pools_forget(void)
{
	while (usual.kept)
		forget_kept(&usual.kept);
	while (pools) {
		struct pool *pool = pools;

		pools = pool->next;
		while (pool->kept)
			forget_kept(&pool->kept);
		free(pool);
	}
}

static bi__cu_result check_freed_by_stream(const struct allocation *allocation, const struct stream *stream)
{
	char text[128];

	if (allocation->kind != MEMORY_DEVICE && allocation->kind != MEMORY_POOL) {
		report(REPORT_WRONG_FREE, "%s is not freed by this call", memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (allocation->device != stream->context->device ||
	    (allocation->context && allocation->context != stream->context)) {
		report(REPORT_WRONG_CONTEXT, "%s is not of the stream's device or context",
		       memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	return BI__CU_SUCCESS;
}

static bi__cu_result free_async(uint64_t pointer, bi__cu_stream handle)
{
	bi__cu_result code;
	struct stream *stream = stream_with_pools(handle, &code);
	struct action action = { .kind = ACTION_FREE };
	struct allocation *allocation;

	if (!stream)
		return code;
	if (!pointer)
		return (bi__cu_result)DECIDED_FREE_NULL_ASYNC;
	allocation = memory_to_free(pointer, &code);
	if (allocation)
		code = check_freed_by_stream(allocation, stream);
	if (code)
		return code;
	action.of.freed = allocation;
	code = stream_enqueue(stream, &action, NULL);
	allocation->is_leaving = 1;
	memory_free(allocation);
	if (allocation->kind == MEMORY_POOL)
		keep(pool_of(allocation->pool), allocation, stream);
	return code;
}

bi__cu_result cuMemFreeAsync(bi__cu_pointer pointer, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemFreeAsync);

	return leave(code ? code : free_async(pointer, stream));
}
