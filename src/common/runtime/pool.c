#include "common/runtime/pool.h"

#include <stdlib.h>

#include "common/runtime/memory.h"

/* Below this all sizes share one class. */
#define SMALLEST ((size_t)256)

/* Eight classes to each power of two: at most an eighth of a block is waste. The shift that divides by a step. */
static int shift_of(size_t nbytes)
{
	return 63 - __builtin_clzll((unsigned long long)nbytes) - 3;
}

size_t bi__pool_round(size_t nbytes)
{
	size_t step;

	if (nbytes <= SMALLEST)
		return SMALLEST;
	if (nbytes > SIZE_MAX / 4)
		return 0;
	step = (size_t)1 << shift_of(nbytes);
	return (nbytes + step - 1) & ~(step - 1);
}

/* Index of a rounded size, which is 8 to 15 steps. */
static size_t class_of(size_t rounded)
{
	int shift = shift_of(rounded);

	return 8 * (size_t)(shift - shift_of(SMALLEST)) + (rounded >> shift) - 8;
}

void bi__pool_init(struct bi__pool *pool, size_t limit)
{
	pool->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	pool->limit = limit == BI_POOL_NONE ? 0 : limit == BI_POOL_DEFAULT ? (size_t)256 << 20 : limit;
	pool->bytes = 0;
	pool->hits = pool->misses = 0;
	pool->classes = NULL;
	pool->oldest = pool->newest = NULL;
}

void bi__pool_finish(struct bi__pool *pool)
{
	pthread_mutex_destroy(&pool->lock);
	free(pool->classes);
}

static void link_class(struct bi_memory **class, struct bi_memory *memory)
{
	memory->link = class;
	memory->next = *class;
	if (memory->next)
		memory->next->link = &memory->next;
	*class = memory;
}

static void unlink_class(struct bi_memory *memory)
{
	*memory->link = memory->next;
	if (memory->next)
		memory->next->link = memory->link;
	memory->next = NULL;
}

static void unlink_age(struct bi__pool *pool, struct bi_memory *memory)
{
	*(memory->older ? &memory->older->newer : &pool->oldest) = memory->newer;
	*(memory->newer ? &memory->newer->older : &pool->newest) = memory->older;
	memory->older = memory->newer = NULL;
}

/* Locked. */
static void take_out(struct bi__pool *pool, struct bi_memory *memory)
{
	unlink_class(memory);
	unlink_age(pool, memory);
	pool->bytes -= memory->block.nbytes;
}

/*
 * That of a host context is only tried: in a forked child a thread that is not there may have it, and without a pool
 * the host still has memory. Contexts of devices are refused before. 0: not locked.
 */
static int lock(struct bi_context *context)
{
	if (bi__survives_fork(context->device.backend))
		return pthread_mutex_trylock(&context->pool.lock) == 0;
	pthread_mutex_lock(&context->pool.lock);
	return 1;
}

struct bi_memory *bi__pool_take(struct bi_context *context, enum bi_memory_kind kind, size_t rounded)
{
	struct bi__pool *pool = &context->pool;
	struct bi_memory *memory;

	if (!lock(context))
		return NULL;
	memory = pool->classes ? pool->classes[class_of(rounded)] : NULL;
	while (memory && memory->block.memory != kind)
		memory = memory->next;
	if (memory) {
		take_out(pool, memory);
		pool->hits++;
	} else {
		pool->misses++;
	}
	pthread_mutex_unlock(&pool->lock);
	return memory;
}

/* Locked. The oldest one, if more than `keep` bytes are there. */
static struct bi_memory *take_oldest(struct bi__pool *pool, size_t keep)
{
	struct bi_memory *memory = pool->bytes > keep ? pool->oldest : NULL;

	if (memory)
		take_out(pool, memory);
	return memory;
}

/* Locked. 0: no memory for the classes, which most contexts never need. */
static int put_in(struct bi__pool *pool, struct bi_memory *memory)
{
	if (!pool->classes && !(pool->classes = calloc(BI__POOL_CLASSES, sizeof(*pool->classes))))
		return 0;
	link_class(&pool->classes[class_of(memory->block.nbytes)], memory);
	memory->older = pool->newest;
	memory->newer = NULL;
	*(pool->newest ? &pool->newest->newer : &pool->oldest) = memory;
	pool->newest = memory;
	pool->bytes += memory->block.nbytes;
	return 1;
}

void bi__pool_put(struct bi_context *context, struct bi_memory *memory)
{
	struct bi__pool *pool = &context->pool;
	struct bi_memory *oldest;

	if (memory->block.nbytes > pool->limit || !lock(context)) {
		bi__memory_drop(context, memory);
		return;
	}
	oldest = put_in(pool, memory) ? take_oldest(pool, pool->limit) : memory;
	pthread_mutex_unlock(&pool->lock);
	if (!oldest)
		return;
	bi__memory_drop(context, oldest);
	bi__pool_trim(context, pool->limit);
}

void bi__pool_trim(struct bi_context *context, size_t keep)
{
	struct bi__pool *pool = &context->pool;
	struct bi_memory *memory;

	do {
		if (!lock(context))
			return;
		memory = take_oldest(pool, keep);
		pthread_mutex_unlock(&pool->lock);
		if (memory)
			bi__memory_drop(context, memory);
	} while (memory);
}
