#define _POSIX_C_SOURCE 200809L

#include "allocations.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t count, size_t nbytes);
void *__real_realloc(void *block, size_t nbytes);
void *__real_aligned_alloc(size_t alignment, size_t nbytes);
void __real_free(void *block);

void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t count, size_t nbytes);
void *__wrap_realloc(void *block, size_t nbytes);
void *__wrap_aligned_alloc(size_t alignment, size_t nbytes);
void __wrap_free(void *block);

static atomic_ulong made, failed;
static atomic_ulong fails_at;
static atomic_int fails_from;
static atomic_long alive;

void allocations_arm(unsigned long n, enum allocation_mode mode)
{
	atomic_store(&fails_at, 0);
	atomic_store(&made, 0);
	atomic_store(&failed, 0);
	atomic_store(&fails_from, mode == FAIL_FROM);
	atomic_store(&fails_at, n);
}

unsigned long allocations_made(void)
{
	return atomic_load(&made);
}

unsigned long allocations_failed(void)
{
	return atomic_load(&failed);
}

long allocations_alive(void)
{
	return atomic_load(&alive);
}

long allocations_left(long before)
{
	const struct timespec moment = { 0, 1000000 };

	for (int i = 0; i < 2000 && allocations_alive() > before; i++)
		nanosleep(&moment, NULL);
	return allocations_alive() - before;
}

static int must_fail(void)
{
	unsigned long number = atomic_fetch_add(&made, 1) + 1;
	unsigned long first = atomic_load(&fails_at);

	if (!first || (atomic_load(&fails_from) ? number < first : number != first))
		return 0;
	atomic_fetch_add(&failed, 1);
	return 1;
}

static void *note_block(void *block)
{
	if (block)
		atomic_fetch_add(&alive, 1);
	return block;
}

void *__wrap_malloc(size_t nbytes)
{
	return must_fail() ? NULL : note_block(__real_malloc(nbytes));
}

void *__wrap_calloc(size_t count, size_t nbytes)
{
	return must_fail() ? NULL : note_block(__real_calloc(count, nbytes));
}

void *__wrap_aligned_alloc(size_t alignment, size_t nbytes)
{
	return must_fail() ? NULL : note_block(__real_aligned_alloc(alignment, nbytes));
}

void *__wrap_realloc(void *block, size_t nbytes)
{
	if (must_fail())
		return NULL;
	return block ? __real_realloc(block, nbytes) : note_block(__real_realloc(block, nbytes));
}

void __wrap_free(void *block)
{
	if (block)
		atomic_fetch_sub(&alive, 1);
	__real_free(block);
}
