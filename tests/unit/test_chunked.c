/* Chunked copies through pinned memory: how many chunks, of which size, and that every byte arrives. */
#include "unit.h"

#include "common/runtime/pinned_pieces.h"

static struct log_lines log_lines;
static struct bi_context *device, *host;

/* Copies between a transposed host array and a device array, and returns the number of chunks. */
static int count_chunks(struct bi_view *to, struct bi_view *from)
{
	log_lines.count = 0;
	OK(bi_copy(to, from, NULL, &error));
	return count_lines(&log_lines, "linear");
}

static void chunks_are_as_large_as_a_pinned_piece(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 1500, 2000), *c = NEW_ARRAY(host, "float32", 2000, 1500);
	struct bi_view *turned = transposed(c);
	const size_t nbytes = (size_t)1500 * 2000 * 4;
	const int expected = (int)((nbytes + BI__PINNED_PIECE_BYTES - 1) / BI__PINNED_PIECE_BYTES);

	(void)state;
	number_bytes(c);
	assert_in_range(count_chunks(a, turned), expected, 2 * expected);
	assert_same_elements(a, turned);
	number_bytes(a);
	assert_in_range(count_chunks(turned, a), expected, 2 * expected);
	assert_same_elements(turned, a);
	bi_view_release(turned);
	bi_view_release(c);
	bi_view_release(a);
}

static void few_bytes_are_one_chunk(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 30, 40), *c = NEW_ARRAY(host, "float32", 40, 30);
	struct bi_view *turned = transposed(c);

	(void)state;
	number_bytes(c);
	assert_int_equal(count_chunks(a, turned), 1);
	assert_same_elements(a, turned);
	bi_view_release(turned);
	bi_view_release(c);
	bi_view_release(a);
}

static void pinned_pieces_come_back(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 1500, 2000), *c = NEW_ARRAY(host, "float32", 2000, 1500);
	struct bi_view *turned = transposed(c);

	(void)state;
	OK(bi_copy(a, turned, NULL, &error));
	OK(bi_context_trim(device, 0, &error));
	OK(bi_copy(a, turned, NULL, &error));
	OK(bi_view_synchronize(a, &error));
	OK(bi_context_trim(device, SIZE_MAX, &error));
	assert_in_range(device->pieces.count, 1, 2);
	OK(bi_context_trim(device, 0, &error));
	assert_int_equal(device->pieces.count, 0);
	bi_view_release(turned);
	bi_view_release(c);
	bi_view_release(a);
}

static void a_stream_of_the_host_reaches_neither_side(void **state)
{
	struct bi_view *a = NEW_ARRAY(device, "float32", 30, 40), *c = NEW_ARRAY(host, "float32", 40, 30);
	struct bi_view *turned = transposed(c);

	(void)state;
	REFUSED(BI_EINVAL, bi_copy(a, turned, bi_context_stream(host), &error));
	bi_view_release(turned);
	bi_view_release(c);
	bi_view_release(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_as_large_as_a_pinned_piece),
		cmocka_unit_test(few_bytes_are_one_chunk),
		cmocka_unit_test(pinned_pieces_come_back),
		cmocka_unit_test(a_stream_of_the_host_reaches_neither_side),
	};
	int failed;

	device = open_logging("cuda:0", &log_lines);
	host = open_logging("host", &log_lines);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(host);
	bi_context_release(device);
	return failed;
}
