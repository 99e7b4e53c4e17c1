/* The pool of a host context: found locked by a thread that is not there, as in a forked child. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "buffer_interface.h"
#include "common/runtime/object.h"

#define LARGE ((size_t)1 << 20)

static struct bi_error error;

static struct bi_memory *create(struct bi_context *context)
{
	struct bi_memory *memory;

	assert_int_equal(bi_memory_create(context, LARGE, BI_MEMORY_DEFAULT, &memory, &error), BI_OK);
	return memory;
}

/* Waiting would be for ever, and ends the test by its time limit. */
static void test_locked_pool_is_not_waited_for(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_memory *first, *second;
	struct bi_context *context;

	(void)state;
	options.device = "host";
	assert_int_equal(bi_context_open(&options, &context, &error), BI_OK);
	first = create(context);
	bi_memory_release(create(context));
	assert_true(context->pool.bytes >= LARGE);
	pthread_mutex_lock(&context->pool.lock);
	second = create(context);
	bi_memory_release(second);
	bi_memory_release(first);
	assert_int_equal(bi_context_trim(context, 0, &error), BI_OK);
	assert_true(context->pool.bytes >= LARGE);
	pthread_mutex_unlock(&context->pool.lock);
	assert_int_equal(bi_context_trim(context, 0, &error), BI_OK);
	assert_true(context->pool.bytes == 0);
	bi_context_release(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_locked_pool_is_not_waited_for) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
