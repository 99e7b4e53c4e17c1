/*
 * The pool: its limit, memory that is released while an allocation empties it, and a lock that a forked child inherits
 * from a thread that does not exist there.
 */
#define _POSIX_C_SOURCE 200809L
#include "unit.h"

#include "common/backend/dispatch.h"
#include "common/base/status.h"
#include "common/runtime/object.h"
#include "common/runtime/retire.h"

#define LARGE ((size_t)1 << 20)

static struct bi_memory *create(struct bi_context *context)
{
	struct bi_memory *memory;

	OK(bi_memory_create(context, LARGE, BI_MEMORY_DEFAULT, &memory, &error));
	return memory;
}

/* A child that waits for the lock is killed. It empties the pool, so that a search for leaks finds none. */
static int use_locked_pool(void *data)
{
	struct bi_context *context = data;
	struct bi_memory *first, *second;
	int rc;

	alarm(30);
	if (bi_memory_create(context, LARGE, BI_MEMORY_DEFAULT, &first, NULL) ||
	    bi_memory_create(context, LARGE, BI_MEMORY_DEFAULT, &second, NULL))
		return 1;
	bi_memory_release(second);
	bi_memory_release(first);
	rc = bi_context_trim(context, 0, NULL) || context->pool.bytes < LARGE ? 2 : 0;
	pthread_mutex_unlock(&context->pool.lock); /* by the thread that forked */
	bi__memory_trim_pool(context, 0);
	return rc;
}

static void a_child_does_not_wait_for_a_locked_pool(void **state)
{
	struct bi_context *context = open_device("host");

	(void)state;
	bi_memory_release(create(context));
	assert_true(context->pool.bytes >= LARGE);
	pthread_mutex_lock(&context->pool.lock);
	assert_int_equal(status_of_child(use_locked_pool, context), 0);
	pthread_mutex_unlock(&context->pool.lock);
	OK(bi_context_trim(context, 0, &error));
	assert_true(context->pool.bytes == 0);
	bi_context_release(context);
}

static void a_pool_keeps_as_much_as_its_limit(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_memory *memories[2];

	(void)state;
	options.pool_limit = LARGE;
	context = fixture_open("host", &options);
	for (int i = 0; i < 2; i++)
		memories[i] = create(context);
	for (int i = 0; i < 2; i++) {
		bi_memory_release(memories[i]);
		assert_true(context->pool.bytes == LARGE);
	}
	OK(bi_context_trim(context, LARGE, &error));
	assert_true(context->pool.bytes == LARGE);
	OK(bi_context_trim(context, LARGE - 1, &error));
	assert_true(context->pool.bytes == 0);
	bi_context_release(context);
}

int __real_bi__dispatch_alloc(const struct bi__backend *backend, struct bi__device *device, struct bi__block *block,
			      struct bi_error *err);
int __wrap_bi__dispatch_alloc(const struct bi__backend *backend, struct bi__device *device, struct bi__block *block,
			      struct bi_error *err);

/* Number of the allocation from now on before which `other` is released. 0: the device has no limit. */
static int release_before;
static struct bi_memory *other;
static struct bi_context *full;

/* The device has memory if `other` is released and the pool is empty. */
int __wrap_bi__dispatch_alloc(const struct bi__backend *backend, struct bi__device *device, struct bi__block *block,
			      struct bi_error *err)
{
	if (release_before && !--release_before) {
		bi_memory_release(other);
		other = NULL;
	}
	if (full && (other || full->pool.bytes))
		return bi__fail(err, BI_ENOMEM, "the device is full");
	return __real_bi__dispatch_alloc(backend, device, block, err);
}

/* The last try gets memory that another thread releases after the pool has been emptied. */
static void memory_released_after_the_trim_is_found(void **state)
{
	struct bi_context *context = open_device("host");
	struct bi_memory *kept = create(context), *memory;

	(void)state;
	other = create(context);
	bi_memory_release(kept);
	full = context;
	release_before = 2;
	OK(bi_memory_create(context, 2 * LARGE, BI_MEMORY_DEFAULT, &memory, &error));
	full = NULL;
	bi_memory_release(memory);
	assert_true(context->pool.bytes == 2 * LARGE);
	bi_context_release(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_does_not_wait_for_a_locked_pool),
		cmocka_unit_test(a_pool_keeps_as_much_as_its_limit),
		cmocka_unit_test(memory_released_after_the_trim_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
