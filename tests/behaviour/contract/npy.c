/* Arrays of the device in NumPy's files. */
#define _POSIX_C_SOURCE 200809L
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buffer_interface/npy.h"

/* A file in memory. */
struct bytes {
	unsigned char *at;
	size_t count, position;
};

static int read_bytes(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	struct bytes *file = data;
	size_t left = file->count - file->position;

	(void)err;
	*got = nbytes < left ? nbytes : left;
	memcpy(bytes, file->at + file->position, *got);
	file->position += *got;
	return BI_OK;
}

static int write_bytes(void *data, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct bytes *file = data;

	(void)err;
	file->at = realloc(file->at, file->count + nbytes);
	assert_non_null(file->at);
	memcpy(file->at + file->count, bytes, nbytes);
	file->count += nbytes;
	return BI_OK;
}

/* NumPy 2.4 wrote these, in C order and in Fortran order: numpy.arange(6, dtype='>i4').reshape(2, 3). */
#define HEADER(order) "\x93NUMPY\1\0v\0{'descr': '>i4', 'fortran_order': " order ", 'shape': (2, 3), }"

static const struct {
	const char *header;
	const char *elements;
} numpy_files[] = {
	{ HEADER("False"), "\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5" },
	{ HEADER("True"), "\0\0\0\0\0\0\0\3\0\0\0\1\0\0\0\4\0\0\0\2\0\0\0\5" },
};

static void test_files_of_numpy(void **state)
{
	unsigned char bytes[128 + 24], elements[24];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct bytes file = { bytes, sizeof(bytes), 0 }, written = { NULL, 0, 0 };
		const struct bi_npy_source source = { read_bytes, NULL, &file, sizeof(bytes) };
		struct bi_view *view = STALE(struct bi_view);

		memset(bytes, ' ', sizeof(bytes));
		memcpy(bytes, numpy_files[i].header, 10 + strlen(numpy_files[i].header + 10));
		bytes[127] = '\n';
		memcpy(bytes + 128, numpy_files[i].elements, sizeof(elements));
		OK(bi_npy_read(fixture.context, &source, &view, &error));
		assert_ptr_equal(bi_memory_context(bi_view_memory(view)), fixture.context);
		check_order(bi_view_memory(view));
		OK(bi_view_read(view, elements, sizeof(elements), &error));
		assert_memory_equal(elements, numpy_files[0].elements, sizeof(elements));
		OK(bi_npy_write(view, write_bytes, &written, &error));
		assert_int_equal(written.count, sizeof(bytes));
		assert_memory_equal(written.at, bytes, sizeof(bytes));
		bi_view_release(view);
		free(written.at);
		fixture.cases++;
	}
}

/* Writes an array to a file, reads it from there, and compares. */
static void check_file(const struct bi_view *view, const unsigned char *expected, size_t nbytes)
{
	char path[] = "/tmp/bi-contract-XXXXXX";
	unsigned char *found = malloc(nbytes + 1);
	struct bi_view *back = STALE(struct bi_view);
	struct bi_layout from, to;

	assert_non_null(found);
	close(mkstemp(path));
	OK(bi_npy_save(view, path, &error));
	OK(bi_npy_load(fixture.context, path, &back, &error));
	assert_int_equal(unlink(path), 0);
	bi_view_layout(view, &from);
	bi_view_layout(back, &to);
	assert_true(bi_dtype_equal(to.dtype, from.dtype));
	assert_int_equal(to.ndim, from.ndim);
	assert_memory_equal(to.shape, from.shape, sizeof(*to.shape) * (size_t)to.ndim);
	assert_int_equal(!to.descr, !from.descr);
	OK(bi_view_read(back, found, nbytes, &error));
	if (memcmp(found, expected, nbytes) != 0)
		fail_msg("case %lu: other elements in the file of %s", fixture.cases, layout_text(&from));
	bi_view_release(back);
	free(found);
}

/* Writes a view of random layout, if the file has a name for its type. */
static void check_random_array(void)
{
	const size_t item = random_item();
	const enum place place = test_between(&fixture.random, 0, 1) ? PLACE_DEVICE : PLACE_HOST;
	struct bi_layout layout;
	struct oracle oracle;
	struct bi_view *view;
	unsigned char *dense;
	char typestr[BI_DTYPE_TEXT];
	int64_t shape[BI_MAX_NDIM];
	int ndim = random_shape(shape);

	random_layout(&layout, item, ndim, shape, random_source_spread());
	oracle_open(&oracle, fixture.context, place, settle_randomly(&layout));
	view = view_of(&oracle, &layout, 0);
	dense = malloc((size_t)bi_layout_nbytes(&layout) + 1);
	assert_non_null(dense);
	naive_gather(oracle.bytes, &layout, dense);
	if (layout.descr || bi_dtype_typestr(layout.dtype, typestr, NULL) == BI_OK)
		check_file(view, dense, (size_t)bi_layout_nbytes(&layout));
	else
		REFUSED(BI_EDTYPE, bi_npy_save(view, "/tmp/bi-contract-no-file", &error));
	fixture.cases++;
	free(dense);
	bi_view_release(view);
	oracle_close(&oracle);
}

static void test_random_arrays(void **state)
{
	int cases = effort(24);

	(void)state;
	for (int i = 0; i < cases; i++)
		check_random_array();
}

/* An array of several parts is read and written whole. */
static void test_large_array(void **state)
{
	const int64_t shape[] = { 18, 1 << 20 };
	const size_t nbytes = (size_t)(shape[0] * shape[1]);
	unsigned char *bytes = malloc(nbytes);
	struct bi_view *view = STALE(struct bi_view);

	(void)state;
	if (!is_thorough()) {
		free(bytes);
		skip();
	}
	assert_non_null(bytes);
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)(i * 7 + (i >> 16));
	OK(bi_view_empty(fixture.context, dtype_of("uint8"), 2, shape, &view, &error));
	OK(bi_view_write(view, bytes, nbytes, &error));
	check_file(view, bytes, nbytes);
	bi_view_release(view);
	free(bytes);
	fixture.cases++;
}

int npy_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_files_of_numpy),
		TEST(test_random_arrays),
		TEST(test_large_array),
	};

	return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
