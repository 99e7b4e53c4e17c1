#include "common/runtime/pool.h"

#include <stdlib.h>

/* All sizes up to SMALLEST bytes share one class. */
#define SMALLEST ((size_t)256)

/* Memory of a host context with fewer bytes is not pooled: malloc reuses it without touching new pages. */
#define HOST_SMALLEST ((size_t)1 << 20)

int bi__pool_serves(const struct bi_context *context, enum bi_memory_kind kind, size_t nbytes)
{
	return context->device.backend->cpu_addressable ? nbytes >= HOST_SMALLEST : nbytes && kind != BI_MEMORY_HOST;
}

/* Returns log2 of the distance between classes at this size: there are eight classes in each power of two. */
static int step_shift(size_t nbytes)
{
	return 63 - __builtin_clzll((unsigned long long)nbytes) - 3;
}

size_t bi__pool_round(size_t nbytes)
{
	size_t step;

	if (nbytes <= SMALLEST)
		return SMALLEST;
	step = (size_t)1 << step_shift(nbytes);
	return (nbytes + step - 1) & ~(step - 1);
}

/* A rounded size is 8 to 15 times the distance between classes at this size. */
static size_t class_of(size_t rounded)
{
	int shift = step_shift(rounded);

	return 8 * (size_t)(shift - step_shift(SMALLEST)) + (rounded >> shift) - 8;
}

void bi__pool_init(struct bi__pool *pool, size_t limit)
{
	pool->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	pool->limit = limit == BI_POOL_NONE ? 0 : limit == BI_POOL_DEFAULT ? (size_t)256 << 20 : limit;
}

void bi__pool_finish(struct bi__pool *pool)
{
	pthread_mutex_destroy(&pool->lock);
	free(pool->classes);
}

static void link_into_class(struct bi_memory **class, struct bi_memory *memory)
{
	memory->pooled.link = class;
	memory->pooled.next = *class;
	if (memory->pooled.next)
		memory->pooled.next->pooled.link = &memory->pooled.next;
	*class = memory;
}

static void unlink_from_class(struct bi_memory *memory)
{
	*memory->pooled.link = memory->pooled.next;
	if (memory->pooled.next)
		memory->pooled.next->pooled.link = memory->pooled.link;
}

static void unlink_from_ages(struct bi__pool *pool, struct bi_memory *memory)
{
	*(memory->pooled.older ? &memory->pooled.older->pooled.newer : &pool->oldest) = memory->pooled.newer;
	*(memory->pooled.newer ? &memory->pooled.newer->pooled.older : &pool->newest) = memory->pooled.older;
}

static void take_out_locked(struct bi__pool *pool, struct bi_memory *memory)
{
	unlink_from_class(memory);
	unlink_from_ages(pool, memory);
	pool->bytes -= memory->block.nbytes;
}

/*
 * In a forked child, returns 0 if the lock of a host context of the parent is held (fork.h): the host can allocate
 * without a pool. Other contexts of the parent are refused before the pool is used.
 */
static int lock_pool(struct bi_context *context)
{
	return bi__fork_lock(&context->pool.lock, context->device.fork_generation);
}

struct bi_memory *bi__pool_take(struct bi_context *context, enum bi_memory_kind kind, size_t rounded)
{
	struct bi__pool *pool = &context->pool;
	struct bi_memory *memory;

	if (!lock_pool(context))
		return NULL;
	memory = pool->classes ? pool->classes[class_of(rounded)] : NULL;
	while (memory && memory->block.memory != kind)
		memory = memory->pooled.next;
	if (memory) {
		take_out_locked(pool, memory);
		pool->hits++;
	} else {
		pool->misses++;
	}
	pthread_mutex_unlock(&pool->lock);
	return memory;
}

/* Returns 0 if there is no memory for the array of classes, which the first call allocates. */
static int put_locked(struct bi__pool *pool, struct bi_memory *memory)
{
	if (!pool->classes && !(pool->classes = calloc(BI__POOL_CLASSES, sizeof(*pool->classes))))
		return 0;
	link_into_class(&pool->classes[class_of(memory->block.nbytes)], memory);
	memory->pooled.older = pool->newest;
	memory->pooled.newer = NULL;
	*(pool->newest ? &pool->newest->pooled.newer : &pool->oldest) = memory;
	pool->newest = memory;
	pool->bytes += memory->block.nbytes;
	return 1;
}

size_t bi__pool_put(struct bi_context *context, struct bi_memory *memory)
{
	struct bi__pool *pool = &context->pool;
	size_t bytes;

	if (!lock_pool(context))
		return 0;
	bytes = !atomic_load(&pool->emptying) && put_locked(pool, memory) ? pool->bytes : 0;
	pthread_mutex_unlock(&pool->lock);
	return bytes;
}

struct bi_memory *bi__pool_take_oldest(struct bi_context *context, size_t keep)
{
	struct bi__pool *pool = &context->pool;
	struct bi_memory *memory;

	if (!lock_pool(context))
		return NULL;
	memory = pool->bytes > keep ? pool->oldest : NULL;
	if (memory)
		take_out_locked(pool, memory);
	pthread_mutex_unlock(&pool->lock);
	return memory;
}
