/*
 * Two devices, or two contexts of one: what travels between them in steps, and in which order. The random layouts
 * between them are in copy.c.
 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes of one step where the way leads through pinned memory (src/common/runtime/pinned_pieces.h); no result depends
 * on it. */
#define STEP ((size_t)4 << 20)

static struct bi_context *other_context(void)
{
	return fixture.second ? bi_context_retain(fixture.second) : open_apart();
}

static struct bi_view *new_bytes(struct bi_context *context, size_t nbytes)
{
	const int64_t shape[] = { (int64_t)nbytes };
	struct bi_view *view = STALE(struct bi_view);

	OK(bi_view_empty(context, dtype_of("uint8"), 1, shape, &view, &error));
	return view;
}

static struct bi_view *part_of(const struct bi_view *view, size_t from, size_t to)
{
	const struct bi_index item = { BI_INDEX_SLICE, (int64_t)from, (int64_t)to, 1 };
	struct bi_view *part = STALE(struct bi_view);

	OK(bi_view_index(view, &item, 1, &part, &error));
	return part;
}

/* Quickly made, and unlike itself any number of megabytes further on. */
static void pattern(unsigned char *bytes, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)((i * 2654435761u >> 13) + (i >> 20) * 37);
}

/* nbytes of a somewhat larger array on one device become nbytes of another on the other device. */
static void send(struct bi_context *from, struct bi_context *to, size_t nbytes, int which_stream)
{
	const size_t head = 3, tail = 5, size = head + nbytes + tail;
	struct bi_view *src = new_bytes(from, size), *dst = new_bytes(to, size);
	struct bi_view *sent = part_of(src, tail, tail + nbytes), *received = part_of(dst, head, head + nbytes);
	struct bi_stream *streams[] = { NULL, bi_context_stream(from), bi_context_stream(to) };
	unsigned char *bytes = malloc(size), *back = malloc(size);

	assert_non_null(bytes);
	assert_non_null(back);
	pattern(bytes, size);
	OK(bi_view_write(src, bytes, size, &error));
	OK(bi_fill(dst, "\xee", NULL, &error));
	/* A stream of the source's device does not serve where the destination's executes. */
	if (which_stream == 1 && strcmp(bi_context_device(from)->backend, bi_context_device(to)->backend) == 0)
		which_stream = 0;
	OK(bi_copy(received, sent, streams[which_stream], &error));
	check_order(bi_view_memory(src));
	check_order(bi_view_memory(dst));
	trim_randomly(from);
	trim_randomly(to);
	OK(bi_fill(src, "\x11", NULL, &error));
	OK(bi_view_read(dst, back, size, &error));
	memmove(bytes + head, bytes + tail, nbytes);
	memset(bytes, 0xee, head);
	memset(bytes + head + nbytes, 0xee, tail);
	if (memcmp(bytes, back, size) != 0)
		fail_msg("case %lu: %zu bytes from %s to %s differ", fixture.cases, nbytes,
			 bi_context_device(from)->spec, bi_context_device(to)->spec);
	bi_view_release(received);
	bi_view_release(sent);
	bi_view_release(dst);
	bi_view_release(src);
	free(bytes);
	free(back);
	fixture.cases++;
}

static void skip_on_host(void)
{
	if (!is_device(fixture.context))
		skip();
}

/* As many bytes as steps have, one more, one less. */
static void test_steps(void **state)
{
	static const size_t sizes[] = { 1, STEP - 1, STEP, STEP + 1, 2 * STEP, 2 * STEP + 12345 };
	enum { CASES = 3 * 2 * 6 };
	struct bi_context *other;

	(void)state;
	skip_on_host();
	other = other_context();
	for (int i = 0; i < effort(CASES); i++) {
		int which = chosen(i, CASES), size = which / 6;
		/* Megabytes are for rounds that have the time. */
		size_t nbytes = is_thorough() ? sizes[size] : sizes[size] / 1000 + 1;

		if (which % 2)
			send(fixture.context, other, nbytes, which / 2 % 3);
		else
			send(other, fixture.context, nbytes, which / 2 % 3);
	}
	bi_context_release(other);
}

static int matrix_value(int64_t row, int64_t column)
{
	return (int)(1000 * row + column);
}

/* A transposed matrix of which every other column is meant; neither side is dense. */
static void test_strided(void **state)
{
	enum { ROWS = 40, COLUMNS = 60 };
	static const int64_t shape[] = { ROWS, COLUMNS }, turned[] = { COLUMNS / 2, ROWS };
	static const struct bi_index items[] = { { BI_INDEX_ELLIPSIS, 0, 0, 0 }, { BI_INDEX_SLICE, 1, COLUMNS, 2 } };
	static int32_t values[ROWS][COLUMNS], back[COLUMNS / 2][ROWS];
	struct bi_view *src, *columns, *rows, *dst, *flipped;
	struct bi_context *other;

	(void)state;
	skip_on_host();
	other = other_context();
	for (int64_t i = 0; i < ROWS; i++)
		for (int64_t j = 0; j < COLUMNS; j++)
			values[i][j] = matrix_value(i, j);
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 2, shape, &src, &error));
	OK(bi_view_write(src, values, sizeof(values), &error));
	OK(bi_view_index(src, items, 2, &columns, &error));
	OK(bi_view_permute(columns, NULL, &rows, &error));
	OK(bi_view_empty(other, dtype_of("int32"), 2, turned, &dst, &error));
	OK(bi_view_flip(dst, 0, &flipped, &error));
	OK(bi_copy(flipped, rows, NULL, &error));
	check_order(bi_view_memory(src));
	check_order(bi_view_memory(dst));
	/* What was in between is given back while it is still used. */
	OK(bi_context_trim(other, 1, &error));
	OK(bi_context_trim(fixture.context, 1, &error));
	OK(bi_fill(src, "\0\0\0\0", NULL, &error));
	OK(bi_view_read(dst, back, sizeof(back), &error));
	for (int64_t i = 0; i < COLUMNS / 2; i++)
		for (int64_t j = 0; j < ROWS; j++)
			assert_int_equal(back[COLUMNS / 2 - 1 - i][j], matrix_value(j, 2 * i + 1));
	bi_view_release(flipped);
	bi_view_release(dst);
	bi_view_release(rows);
	bi_view_release(columns);
	bi_view_release(src);
	bi_context_release(other);
	fixture.cases++;
}

/* Work on both sides, on several streams, that must end as if each call had waited for the one before. */
static void test_back_and_forth(void **state)
{
	struct bi_context *other;

	(void)state;
	skip_on_host();
	other = other_context();
	for (int i = 0; i < effort(30); i++) {
		struct bi_view *here = new_bytes(fixture.context, 500), *there = new_bytes(other, 500);
		struct bi_stream *near = random_stream(bi_view_memory(here));
		struct bi_stream *far = random_stream(bi_view_memory(there));
		unsigned char bytes[500];

		OK(bi_fill(here, "a", near, &error));
		OK(bi_fill(there, "b", far, &error));
		OK(bi_copy(there, here, NULL, &error));
		check_order(bi_view_memory(here));
		check_order(bi_view_memory(there));
		OK(bi_fill(here, "c", near, &error));
		OK(bi_copy(here, there, NULL, &error));
		OK(bi_fill(there, "d", far, &error));
		bi_view_release(there);
		bi_stream_release(near);
		bi_stream_release(far);
		OK(bi_view_read(here, bytes, sizeof(bytes), &error));
		for (size_t j = 0; j < sizeof(bytes); j++)
			assert_int_equal(bytes[j], 'a');
		bi_view_release(here);
		fixture.cases++;
	}
	bi_context_release(other);
}

int peers_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_steps),
		TEST(test_strided),
		TEST(test_back_and_forth),
	};

	return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
