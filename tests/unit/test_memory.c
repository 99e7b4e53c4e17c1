/* Memories on the host: what creating and wrapping refuse, references, and the release callback. */
#include "unit.h"

#include <stdatomic.h>

static struct bi_context *host;

static void creating_checks_its_arguments(void **state)
{
	struct bi_memory *memory = STALE(struct bi_memory);

	(void)state;
	REFUSED(BI_EINVAL, bi_memory_create(NULL, 16, BI_MEMORY_DEFAULT, &memory, &error));
	assert_null(memory);
	REFUSED(BI_EINVAL, bi_memory_create(host, 16, BI_MEMORY_DEFAULT, NULL, &error));
	FAILS(bi_memory_create(host, 16, (enum bi_memory_kind)77, &memory, &error));
	REFUSED_FOR(BI_ENOMEM, "do not fit into the address space",
		    bi_memory_create(host, PTRDIFF_MAX - 4095, BI_MEMORY_DEFAULT, &memory, &error));
	assert_null(memory);
	OK(bi_memory_create(host, 0, BI_MEMORY_DEFAULT, &memory, &error));
	assert_int_equal(bi_memory_nbytes(memory), 0);
	bi_memory_release(memory);
	bi_memory_release(NULL);
}

static void memories_know_where_they_belong(void **state)
{
	struct bi_memory *memory;

	(void)state;
	OK(bi_memory_create(host, 100, BI_MEMORY_DEFAULT, &memory, &error));
	assert_int_equal(bi_memory_nbytes(memory), 100);
	assert_ptr_equal(bi_memory_context(memory), host);
	assert_true(bi_memory_is_host(memory));
	bi_memory_release(memory);
}

static void the_last_reference_calls_the_producer(void **state)
{
	static unsigned char bytes[64];
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;
	atomic_int released = 0;

	(void)state;
	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = sizeof(bytes);
	foreign.release = count_release;
	foreign.release_data = &released;
	OK(bi_memory_wrap(host, &foreign, &memory, &error));
	assert_ptr_equal(bi_memory_retain(memory), memory);
	bi_memory_release(memory);
	assert_int_equal(released, 0);
	bi_memory_release(memory);
	assert_int_equal(released, 1);
}

static void a_refused_wrap_leaves_the_memory_to_its_owner(void **state)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = STALE(struct bi_memory);
	atomic_int released = 0;

	(void)state;
	foreign.nbytes = 64;
	foreign.release = count_release;
	foreign.release_data = &released;
	FAILS(bi_memory_wrap(host, &foreign, &memory, &error));
	assert_null(memory);
	assert_int_equal(released, 0);
	foreign.handle = 4096;
	foreign.nbytes = SIZE_MAX - 4095;
	REFUSED_FOR(BI_EBOUNDS, "address space", bi_memory_wrap(host, &foreign, &memory, &error));
	assert_int_equal(released, 0);
	REFUSED_FOR(BI_EINVAL, "foreign is NULL", bi_memory_wrap(host, NULL, &memory, &error));
	REFUSED_FOR(BI_EINVAL, "context is NULL", bi_memory_wrap(NULL, &foreign, &memory, &error));
	REFUSED(BI_EINVAL, bi_memory_wrap(host, &foreign, NULL, &error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creating_checks_its_arguments),
		cmocka_unit_test(memories_know_where_they_belong),
		cmocka_unit_test(the_last_reference_calls_the_producer),
		cmocka_unit_test(a_refused_wrap_leaves_the_memory_to_its_owner),
	};
	int failed;

	host = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	return failed;
}
