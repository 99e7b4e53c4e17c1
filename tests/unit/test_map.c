/* Mappings on the host and, through a copy in pinned memory, of device memory. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>

static struct bi_context *contexts[2];

#define DEVICE contexts[0]
#define HOST contexts[1]

static void modes_are_checked(void **state)
{
	const unsigned bad[] = { 0, BI_MAP_DISCARD, BI_MAP_READ | BI_MAP_DISCARD,
				 BI_MAP_READ | BI_MAP_WRITE | BI_MAP_DISCARD, 64 };
	struct bi_view *a = NEW_ARRAY(HOST, "uint8", 8), *wide;
	struct bi_map *map = STALE(struct bi_map);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		REFUSED(BI_EINVAL, bi_view_map(a, bad[i], &map, &error));
		assert_null(map);
	}
	REFUSED(BI_EINVAL, bi_view_map(a, BI_MAP_READ, NULL, &error));
	REFUSED(BI_EINVAL, bi_view_map(NULL, BI_MAP_READ, &map, &error));
	OK(bi_view_broadcast(a, 2, (int64_t[]){ 2, 8 }, &wide, &error));
	REFUSED(BI_EREADONLY, bi_view_map(wide, BI_MAP_WRITE, &map, &error));
	OK(bi_view_map(wide, BI_MAP_READ, &map, &error));
	OK(bi_unmap(map, &error));
	OK(bi_unmap(NULL, &error));
	bi_view_release(wide);
	bi_view_release(a);
}

static void bytes_go_in_and_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
		struct bi_view *a = NEW_ARRAY(contexts[i], "uint8", 5000);
		unsigned char back[5000];
		struct bi_map *map;
		unsigned char *bytes;

		number_bytes(a);
		OK(bi_view_map(a, BI_MAP_READ | BI_MAP_WRITE, &map, &error));
		bytes = bi_map_data(map);
		for (size_t j = 0; j < sizeof(back); j++)
			assert_int_equal(bytes[j], number_at(j));
		bytes[4999] = 0x77;
		OK(bi_unmap(map, &error));
		OK(bi_view_read(a, back, sizeof(back), &error));
		assert_int_equal(back[4998], number_at(4998));
		assert_int_equal(back[4999], 0x77);
		bi_view_release(a);
	}
}

static void a_writer_is_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
		struct bi_view *a = NEW_ARRAY(contexts[i], "uint8", 64), *b = NEW_ARRAY(contexts[i], "uint8", 64);
		struct bi_map *first, *second;

		OK(bi_view_map(a, BI_MAP_READ, &first, &error));
		OK(bi_view_map(a, BI_MAP_READ, &second, &error));
		OK(bi_copy(b, a, NULL, &error));
		REFUSED(BI_EBUSY, bi_copy(a, b, NULL, &error));
		OK(bi_unmap(second, &error));
		REFUSED(BI_EBUSY, bi_view_map(a, BI_MAP_WRITE, &second, &error));
		OK(bi_unmap(first, &error));
		OK(bi_view_map(a, BI_MAP_WRITE, &first, &error));
		REFUSED(BI_EBUSY, bi_view_map(a, BI_MAP_READ, &second, &error));
		REFUSED(BI_EBUSY, bi_copy(b, a, NULL, &error));
		OK(bi_unmap(first, &error));
		OK(bi_copy(a, b, NULL, &error));
		bi_view_release(b);
		bi_view_release(a);
	}
}

/* With DISCARD alone the bytes between the elements must not be lost. */
static void discard_keeps_what_is_between_the_elements(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
		struct bi_view *a = NEW_ARRAY(contexts[i], "uint8", 100), *even = every(a, 2);
		unsigned char back[100], *bytes;
		struct bi_map *map;

		number_bytes(a);
		OK(bi_view_map(even, BI_MAP_WRITE | BI_MAP_DISCARD, &map, &error));
		bytes = bi_map_data(map);
		for (size_t j = 0; j < 100; j += 2)
			bytes[j] = 0xee;
		OK(bi_unmap(map, &error));
		OK(bi_view_read(a, back, sizeof(back), &error));
		for (size_t j = 0; j < 100; j++)
			assert_int_equal(back[j], j % 2 ? number_at(j) : 0xee);
		bi_view_release(even);
		bi_view_release(a);
	}
}

/* As many bytes as the view reaches, but two are written twice, and the two between them never. */
static void discard_keeps_what_overlapping_elements_leave_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(contexts); i++) {
		struct bi_view *a = NEW_ARRAY(contexts[i], "uint8", 4), *twice;
		unsigned char back[4], *bytes;
		struct bi_layout layout;
		struct bi_map *map;

		number_bytes(a);
		OK(bi_layout_init(&layout, dtype_of("uint8"), 2, (int64_t[]){ 2, 2 }, (int64_t[]){ 0, 3 }, 0, &error));
		OK(bi_view_create(bi_view_memory(a), &layout, 0, &twice, &error));
		OK(bi_view_map(twice, BI_MAP_WRITE | BI_MAP_DISCARD, &map, &error));
		bytes = bi_map_data(map);
		bytes[0] = bytes[3] = 0xee;
		OK(bi_unmap(map, &error));
		OK(bi_view_read(a, back, sizeof(back), &error));
		for (size_t j = 0; j < sizeof(back); j++)
			assert_int_equal(back[j], j % 3 ? number_at(j) : 0xee);
		bi_view_release(twice);
		bi_view_release(a);
	}
}

static void host_memory_is_mapped_where_it_is(void **state)
{
	struct bi_view *a = NEW_ARRAY(HOST, "int32", 4, 4), *row = every(a, 3);
	struct bi_map *map;

	(void)state;
	OK(bi_view_map(row, BI_MAP_READ, &map, &error));
	assert_ptr_equal(bi_map_data(map), bi_view_host_pointer(row));
	OK(bi_unmap(map, &error));
	bi_view_release(row);
	bi_view_release(a);
}

int __real_pthread_mutex_trylock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *lock);

/* Not NULL: the next attempt to take a lock begins a mapping of this view, and fails. */
static struct bi_view *mapped_meanwhile;
static struct bi_map *meanwhile;

int __wrap_pthread_mutex_trylock(pthread_mutex_t *lock)
{
	struct bi_view *view = mapped_meanwhile;

	if (!view)
		return __real_pthread_mutex_trylock(lock);
	mapped_meanwhile = NULL;
	assert_int_equal(bi_view_map(view, BI_MAP_WRITE, &meanwhile, NULL), BI_OK);
	return EBUSY;
}

/* While another thread has the lock, an export marks idle memory without it. That thread may begin a mapping then. */
static void an_export_without_the_lock_sees_a_mapping_that_begins(void **state)
{
	struct bi_view *a = NEW_ARRAY(DEVICE, "uint8", 64);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;

	(void)state;
	OK(bi_view_synchronize(a, &error));
	mapped_meanwhile = a;
	REFUSED_FOR(BI_EBUSY, "mapped for writing", bi_view_export(a, 0, &exchange, &error));
	assert_null(mapped_meanwhile);
	OK(bi_unmap(meanwhile, &error));
	OK(bi_view_export(a, 0, &exchange, &error));
	exchange.release(&exchange);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_checked),
		cmocka_unit_test(bytes_go_in_and_out),
		cmocka_unit_test(a_writer_is_alone),
		cmocka_unit_test(discard_keeps_what_is_between_the_elements),
		cmocka_unit_test(discard_keeps_what_overlapping_elements_leave_out),
		cmocka_unit_test(host_memory_is_mapped_where_it_is),
		cmocka_unit_test(an_export_without_the_lock_sees_a_mapping_that_begins),
	};
	int failed;

	DEVICE = open_device("cuda:0");
	HOST = open_device("host");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(HOST);
	bi_context_release(DEVICE);
	return failed;
}
