/* Scopes: the context is current from the first call that needs it to the end, and captures are asked for once. */
#include "unit.h"

#include "common/backend/dispatch.h"
#include "common/runtime/object.h"
#include "cuda/api.h"

static struct bi_context *device, *host;

static void captures_are_known_until_the_end(void **state)
{
	struct bi__scope outer, inner;
	int queue = 0, other = 0;
	uint64_t id = 0;

	(void)state;
	bi__scope_note(&queue, 7);
	assert_int_equal(bi__scope_recall(&queue, &id), 0);
	bi__dispatch_begin(&outer, &device->device);
	bi__dispatch_begin(&inner, &device->device);
	bi__scope_note(&queue, 7);
	bi__scope_note(&queue, 8);
	bi__dispatch_end(&inner);
	assert_int_equal(bi__scope_recall(&queue, &id), 1);
	assert_int_equal(id, 7);
	assert_int_equal(bi__scope_recall(&other, &id), 0);
	bi__scope_forget();
	assert_int_equal(bi__scope_recall(&queue, &id), 0);
	bi__dispatch_end(&outer);
}

static void code_of_the_caller_runs_in_no_scope(void **state)
{
	struct bi__scope scope, *paused;
	uint64_t id;
	int queue = 0;

	(void)state;
	bi__dispatch_begin(&scope, &device->device);
	bi__scope_note(&queue, 7);
	OK(bi__dispatch_finish(&device->device, &device->stream.queue, &error));
	assert_int_equal(scope.is_entered, 1);
	paused = bi__dispatch_pause();
	assert_ptr_equal(paused, &scope);
	assert_int_equal(scope.is_entered, 0);
	assert_int_equal(bi__scope_recall(&queue, &id), 0);
	bi__dispatch_resume(paused);
	assert_int_equal(bi__scope_recall(&queue, &id), 0); /* that code may have begun or ended a capture */
	bi__dispatch_end(&scope);
	assert_null(bi__dispatch_pause());
}

static bi__cu_context current_context(void)
{
	bi__cu_context context = NULL;

	assert_int_equal(bi__cu->CtxGetCurrent(&context), BI__CU_SUCCESS);
	return context;
}

static void finish(struct bi_context *context)
{
	OK(bi__dispatch_finish(&context->device, &context->stream.queue, &error));
}

static void code_of_the_caller_has_its_own_context(void **state)
{
	struct bi_context *other = open_device("cuda:1");
	bi__cu_context mine = (bi__cu_context)bi_context_handle(device), its = (bi__cu_context)bi_context_handle(other);
	struct bi__scope outer, inner, *paused;

	(void)state;
	bi__dispatch_begin(&outer, &device->device);
	finish(device);
	bi__dispatch_begin(&inner, &other->device);
	finish(other);
	assert_ptr_equal(current_context(), its);
	paused = bi__dispatch_pause();
	assert_null(current_context());
	bi__dispatch_resume(paused);
	finish(other);
	assert_ptr_equal(current_context(), its);
	bi__dispatch_end(&inner);
	assert_null(current_context());
	finish(device);
	assert_ptr_equal(current_context(), mine);
	bi__dispatch_end(&outer);
	assert_null(current_context());
	bi_context_release(other);
}

static int closings, closings_in_a_scope;

static void note_closing(void *data)
{
	(void)data;
	closings++;
	closings_in_a_scope += bi__scope_current() != NULL;
}

static void close_around(void (*close)(struct bi_context *context), struct bi_context *context)
{
	note_closing(NULL);
	close(context);
	note_closing(NULL);
}

static void a_context_that_closes_in_a_scope_calls_the_caller_in_none(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi__scope scope;

	(void)state;
	options.device = "cuda:0";
	options.release = note_closing;
	options.around_close = close_around;
	OK(bi_context_open(&options, &context, &error));
	bi__dispatch_begin(&scope, &device->device);
	OK(bi__dispatch_finish(&device->device, &device->stream.queue, &error));
	bi_context_release(context);
	assert_ptr_equal(bi__scope_current(), &scope);
	bi__dispatch_end(&scope);
	assert_int_equal(closings, 3);
	assert_int_equal(closings_in_a_scope, 0);
}

static void the_host_has_no_scopes(void **state)
{
	struct bi__scope scope;

	(void)state;
	bi__dispatch_begin(&scope, &host->device);
	assert_null(bi__scope_current());
	bi__dispatch_end(&scope);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures_are_known_until_the_end),
		cmocka_unit_test(code_of_the_caller_runs_in_no_scope),
		cmocka_unit_test(code_of_the_caller_has_its_own_context),
		cmocka_unit_test(a_context_that_closes_in_a_scope_calls_the_caller_in_none),
		cmocka_unit_test(the_host_has_no_scopes),
	};
	int failed;

	device = open_device("cuda:0");
	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(device);
	bi_context_release(host);
	return failed;
}
