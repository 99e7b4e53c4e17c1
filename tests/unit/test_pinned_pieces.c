/* Pieces of pinned memory: one size, used again, and freed when a context is trimmed. */
#include "unit.h"

#include "common/runtime/pinned_pieces.h"

static struct bi_context *device;

static void pieces_are_used_again(void **state)
{
	struct bi_memory *first, *second, *again;

	(void)state;
	OK(bi__pinned_piece_get(device, &first, &error));
	assert_int_equal(bi_memory_nbytes(first), BI__PINNED_PIECE_BYTES);
	assert_true(bi_memory_is_host(first));
	OK(bi__pinned_piece_get(device, &second, &error));
	assert_ptr_not_equal(first->block.host, second->block.host);
	bi__pinned_piece_give_back(second);
	assert_int_equal(device->pieces.count, 1);
	OK(bi__pinned_piece_get(device, &again, &error));
	assert_int_equal(device->pieces.count, 0);
	bi__pinned_piece_give_back(again);
	bi__pinned_piece_give_back(first);
	bi__pinned_piece_give_back(NULL);
	assert_int_equal(device->pieces.count, 2);
}

static void trimming_frees_them(void **state)
{
	struct bi_memory *piece;

	(void)state;
	OK(bi__pinned_piece_get(device, &piece, &error));
	bi__pinned_piece_give_back(piece);
	assert_true(device->pieces.count > 0);
	bi__pinned_pieces_trim(device);
	assert_int_equal(device->pieces.count, 0);
}

static void the_cpu_can_write_to_them(void **state)
{
	struct bi_memory *piece;

	(void)state;
	OK(bi__pinned_piece_get(device, &piece, &error));
	memset(piece->block.host, 0x5a, BI__PINNED_PIECE_BYTES);
	assert_int_equal(((unsigned char *)piece->block.host)[BI__PINNED_PIECE_BYTES - 1], 0x5a);
	bi__pinned_piece_give_back(piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_used_again),
		cmocka_unit_test(trimming_frees_them),
		cmocka_unit_test(the_cpu_can_write_to_them),
	};
	int failed;

	device = open_device("cuda:0");
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	bi_context_release(device);
	return failed;
}
