/* The results of kernels, with each kind of parameter and grid. */
#include "programs.h"

#include <stdlib.h>

#include "buffer_interface/kernel.h"
#include "opencl_layer/layer.h"

static void test_dense_arrays_and_values(void **state)
{
	static const int64_t shape[] = { 1000 };
	struct bi_kernel *kernel = get_kernel(fixture.context, "scale");
	struct bi_view *from, *to;
	float values[1000];

	(void)state;
	for (int i = 0; i < 1000; i++)
		values[i] = (float)i;
	OK(bi_view_empty(fixture.context, dtype_of("float32"), 1, shape, &from, &error));
	OK(bi_view_empty(fixture.context, dtype_of("float32"), 1, shape, &to, &error));
	OK(bi_view_write(from, values, sizeof(values), &error));
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 1000 }, { 0 } },
		     (struct bi_argument[]){ BI_READS(from), BI_WRITES(to), BI_FLOAT(1.5f) }, 3, &error));
	OK(bi_view_read(to, values, sizeof(values), &error));
	for (int i = 0; i < 1000; i++)
		assert_true(values[i] == 1.5f * (float)i);
	bi_view_release(from);
	bi_view_release(to);
	bi_kernel_release(kernel);
}

/* The kernel begins at the offset of the view, in a memory of any origin. */
static void test_offset_of_a_view(void **state)
{
	static const struct bi_index part = { BI_INDEX_SLICE, 10, 90, 1 };
	struct bi_kernel *kernel = get_kernel(fixture.context, "step");
	struct bi_view *all = make_numbers(fixture.context, 1, (int64_t[]){ 100 }), *view;
	int32_t values[100];

	(void)state;
	OK(bi_view_index(all, &part, 1, &view, &error));
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 80 }, { 16 } },
		     (struct bi_argument[]){ BI_READS(view), BI_WRITES(view), BI_INT64(1000) }, 3, &error));
	OK(bi_view_read(all, values, sizeof(values), &error));
	for (int i = 0; i < 100; i++)
		assert_int_equal(values[i], i >= 10 && i < 90 ? i + 1000 : i);
	bi_view_release(view);
	bi_view_release(all);
	bi_kernel_release(kernel);
}

/* Returns the number of arguments that were set so far, or -1 if nothing counts them. */
static int64_t count_set_arguments(void)
{
	static struct bi_layer layer;

	if (!is_opencl(fixture.context) || (!layer.count && !bi_layer_open(getenv("OPENCL_LAYERS"), &layer)))
		return -1;
	return (int64_t)layer.count("clSetKernelArg");
}

/* Adds to the first two numbers. On OpenCL, `set` of the five arguments are set for it. */
static void step_by(struct bi_kernel *kernel, const struct bi_view *from, const struct bi_view *to, int64_t by, int set)
{
	int64_t before = count_set_arguments();

	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 2 }, { 0 } },
		     (struct bi_argument[]){ BI_READS(from), BI_WRITES(to), BI_INT64(by) }, 3, &error));
	if (before >= 0)
		assert_int_equal(count_set_arguments() - before, set);
}

static void expect_numbers(const struct bi_view *view, int32_t a, int32_t b, int32_t c, int32_t d)
{
	const int32_t expected[] = { a, b, c, d };
	int32_t values[4];

	OK(bi_view_read(view, values, sizeof(values), &error));
	assert_memory_equal(values, expected, sizeof(values));
}

/* A launch sets the arguments that differ from those of the launch before, and all once a buffer was released. */
static void test_arguments_of_the_next_launch(void **state)
{
	static const struct bi_index half = { BI_INDEX_SLICE, 2, 4, 1 };
	struct bi_kernel *kernel = get_kernel(fixture.context, "step");
	struct bi_view *a = make_numbers(fixture.context, 1, (int64_t[]){ 4 });
	struct bi_view *b = make_numbers(fixture.context, 1, (int64_t[]){ 4 }), *end;
	struct bi_native native;

	(void)state;
	OK(bi_view_index(b, &half, 1, &end, &error));
	step_by(kernel, a, b, 10, 5);
	step_by(kernel, a, b, 10, 0);
	expect_numbers(b, 10, 11, 2, 3);
	step_by(kernel, a, b, 20, 1);
	expect_numbers(b, 20, 21, 2, 3);
	step_by(kernel, a, end, 20, 1);
	expect_numbers(b, 20, 21, 20, 21);
	step_by(kernel, b, a, 20, 3);
	expect_numbers(a, 40, 41, 2, 3);
	bi_view_native(a, &native);
	bi_view_release(a);
	a = make_numbers(fixture.context, 1, (int64_t[]){ 4 });
	step_by(kernel, b, a, 20, 5);
	expect_numbers(a, 40, 41, 2, 3);
	bi_view_release(end);
	bi_view_release(a);
	bi_view_release(b);
	bi_kernel_release(kernel);
}

/* The grid is in the order of a shape: the last extent is x. Each item runs once. */
static void number_grid(int ndim, const int64_t *size, const int64_t *group)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "number");
	struct bi_grid grid = { ndim, { 1, 1, 1 }, { 0, 0, 0 } };
	int64_t whole[3] = { 1, 1, 1 }, count = 1, *values;
	struct bi_view *view;

	for (int i = 0; i < ndim; i++) {
		grid.size[i] = whole[3 - ndim + i] = size[i];
		grid.group[i] = group ? group[i] : 0;
		count *= size[i];
	}
	values = malloc((size_t)count * sizeof(*values));
	assert_non_null(values);
	OK(bi_view_empty(fixture.context, dtype_of("int64"), ndim, size, &view, &error));
	OK(bi_fill(view, &(int64_t){ -1 }, NULL, &error));
	OK(bi_launch(kernel, NULL, &grid, (struct bi_argument[]){ BI_WRITES(view) }, 1, &error));
	OK(bi_view_read(view, values, (size_t)count * sizeof(*values), &error));
	for (int64_t z = 0, i = 0; z < whole[0]; z++)
		for (int64_t y = 0; y < whole[1]; y++)
			for (int64_t x = 0; x < whole[2]; x++, i++)
				assert_int_equal(values[i], z * 1000000 + y * 1000 + x);
	free(values);
	bi_view_release(view);
	bi_kernel_release(kernel);
}

static void test_grids_of_any_shape(void **state)
{
	(void)state;
	number_grid(1, (int64_t[]){ 1 }, NULL);
	number_grid(1, (int64_t[]){ 10007 }, NULL);
	number_grid(2, (int64_t[]){ 3, 5 }, NULL);
	number_grid(2, (int64_t[]){ 127, 131 }, NULL);
	number_grid(2, (int64_t[]){ 64, 96 }, (int64_t[]){ 4, 16 });
	number_grid(3, (int64_t[]){ 5, 7, 11 }, NULL);
	number_grid(3, (int64_t[]){ 33, 17, 29 }, NULL);
	number_grid(3, (int64_t[]){ 4, 6, 8 }, (int64_t[]){ 2, 3, 4 });
	number_grid(3, (int64_t[]){ 1, 1, 5000 }, NULL);
}

static void test_strided_arrays(void **state)
{
	static const struct bi_index rows[] = { { BI_INDEX_SLICE, 1, 40, 3 }, { BI_INDEX_SLICE, 29, BI_OMITTED, -2 } };
	struct bi_kernel *kernel = get_kernel(fixture.context, "transpose");
	struct bi_view *all = make_numbers(fixture.context, 2, (int64_t[]){ 40, 30 }), *from, *to;
	int32_t values[15][13];

	(void)state;
	OK(bi_view_index(all, rows, 2, &from, &error));
	assert_int_equal(bi_view_shape(from)[0], 13);
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 2, (int64_t[]){ 15, 13 }, &to, &error));
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 2, { 15, 13 }, { 0, 0 } },
		     (struct bi_argument[]){ BI_READS(from), BI_WRITES(to) }, 2, &error));
	OK(bi_view_read(to, values, sizeof(values), &error));
	for (int y = 0; y < 15; y++)
		for (int x = 0; x < 13; x++)
			assert_int_equal(values[y][x], (1 + 3 * x) * 30 + 29 - 2 * y);
	bi_view_release(from);
	bi_view_release(to);
	bi_view_release(all);
	bi_kernel_release(kernel);
}

struct pair {
	float low;
	int high;
};

static void test_structs_by_value(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "add_pair");
	const struct pair pair = { 0.25f, 7 };
	unsigned char unaligned[sizeof(pair) + 1];
	struct bi_view *view;
	float values[20];

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("float32"), 1, (int64_t[]){ 20 }, &view, &error));
	OK(bi_fill(view, &(float){ 1 }, NULL, &error));
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 20 }, { 0 } },
		     (struct bi_argument[]){ BI_UPDATES(view), BI_STRUCT(&pair) }, 2, &error));
	OK(bi_view_read(view, values, sizeof(values), &error));
	for (int i = 0; i < 20; i++)
		assert_true(values[i] == 8.25f);
	memcpy(unaligned + 1, &pair, sizeof(pair));
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 20 }, { 0 } },
		     (struct bi_argument[]){ BI_UPDATES(view), bi_argument_bytes(unaligned + 1, sizeof(pair)) }, 2,
		     &error));
	OK(bi_view_read(view, values, sizeof(values), &error));
	for (int i = 0; i < 20; i++)
		assert_true(values[i] == 15.5f);
	bi_view_release(view);
	bi_kernel_release(kernel);
}

static void test_large_structs_by_value(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "look_up");
	struct bi_view *view = make_numbers(fixture.context, 1, (int64_t[]){ 75 });
	int32_t table[75], values[75];

	(void)state;
	for (int i = 0; i < 75; i++)
		table[i] = 1000 - i;
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 75 }, { 0 } },
		     (struct bi_argument[]){ BI_UPDATES(view), BI_STRUCT(&table) }, 2, &error));
	OK(bi_view_read(view, values, sizeof(values), &error));
	assert_memory_equal(values, table, sizeof(values));
	bi_view_release(view);
	bi_kernel_release(kernel);
}

static void test_groups_and_barriers(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "reduce");
	struct bi_view *from = make_numbers(fixture.context, 1, (int64_t[]){ 16 * 500 }), *sums;
	int32_t values[500];

	(void)state;
	OK(bi_view_empty(fixture.context, dtype_of("int32"), 1, (int64_t[]){ 500 }, &sums, &error));
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 16 * 500 }, { 16 } },
		     (struct bi_argument[]){ BI_READS(from), BI_WRITES(sums) }, 2, &error));
	OK(bi_view_read(sums, values, sizeof(values), &error));
	for (int i = 0; i < 500; i++)
		assert_int_equal(values[i], 16 * 16 * i + 120);
	bi_view_release(from);
	bi_view_release(sums);
	bi_kernel_release(kernel);
}

static void test_local_memory_of_a_launch(void **state)
{
	struct bi_kernel *kernel = get_kernel(fixture.context, "reverse");

	(void)state;
	for (int width = 8; width <= 64; width *= 8) {
		const int64_t count = width * 200;
		struct bi_view *data = make_numbers(fixture.context, 1, &count);
		int32_t values[64 * 200];

		OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { count }, { width } },
			     (struct bi_argument[]){ BI_UPDATES(data), BI_LOCAL_BYTES(4u * (unsigned)width),
						     BI_LOCAL_BYTES(8u * (unsigned)width) },
			     3, &error));
		OK(bi_view_read(data, values, (size_t)count * 4, &error));
		for (int i = 0; i < count; i++)
			assert_int_equal(values[i], i / width * width + width - 1 - i % width);
		bi_view_release(data);
	}
	bi_kernel_release(kernel);
}

static void test_options_reach_the_compiler(void **state)
{
	struct bi_program_source source = suite_source();
	struct bi_program *program;
	struct bi_kernel *kernel;
	struct bi_view *view;
	float value = 2;

	(void)state;
	source.options = "-DFACTOR=10";
	OK(bi_program_build(fixture.context, &source, &program, &error));
	OK(bi_kernel_get(program, "scale", &kernel, &error));
	OK(bi_view_empty(fixture.context, dtype_of("float32"), 1, (int64_t[]){ 1 }, &view, &error));
	OK(bi_fill(view, &value, NULL, &error));
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 1 }, { 0 } },
		     (struct bi_argument[]){ BI_READS(view), BI_WRITES(view), BI_FLOAT(3) }, 3, &error));
	OK(bi_view_read(view, &value, sizeof(value), &error));
	/* Functions and images are compiled already. */
	assert_true(value == (runs_text(fixture.context) ? 60 : 6));
	bi_view_release(view);
	bi_kernel_release(kernel);
	bi_program_release(program);
}

/* A context with the option debug puts each memory at an odd origin, and waits for each launch. */
static void test_debug_option(void **state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_kernel *kernel;
	struct bi_view *view;
	int32_t values[100];

	(void)state;
	options.debug = 1;
	context = fixture_open(fixture.spec, &options);
	kernel = get_kernel(context, "step");
	view = make_numbers(context, 1, (int64_t[]){ 100 });
	OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 100 }, { 0 } },
		     (struct bi_argument[]){ BI_READS(view), BI_WRITES(view), BI_INT64(-5) }, 3, &error));
	OK(bi_view_read(view, values, sizeof(values), &error));
	for (int i = 0; i < 100; i++)
		assert_int_equal(values[i], i - 5);
	bi_view_release(view);
	bi_kernel_release(kernel);
	bi_context_release(context);
}

/* A file written by nvcc -fatbin begins with the byte 'P', like text. Its parameters are those of source.functions. */
static void test_fatbin(void **state)
{
	static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry bi_kernel_spin(\n)\n";
	struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t rest;
		char text[sizeof(ptx)];
	} image = { 0xba55ed50u, 1, 16, sizeof(ptx), { 0 } };
	struct bi_program_source source = suite_source();
	struct bi_view *in = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_view *out = make_numbers(fixture.context, 1, (int64_t[]){ 8 });
	struct bi_program *program;
	struct bi_kernel *kernel;
	int32_t values[8];

	(void)state;
	if (takes_simulated_images(fixture.context)) {
		memcpy(image.text, ptx, sizeof(ptx));
		source.image = &image;
		OK(bi_program_build(fixture.context, &source, &program, &error));
		OK(bi_kernel_get(program, "spin", &kernel, &error));
		bi_program_release(program);
		OK(bi_launch(kernel, NULL, &(struct bi_grid){ 1, { 8 }, { 0 } },
			     (struct bi_argument[]){ BI_READS(in), BI_WRITES(out), BI_INT(3) }, 3, &error));
		OK(bi_view_read(out, values, sizeof(values), &error));
		assert_int_equal(values[7], 8);
		bi_kernel_release(kernel);
	}
	bi_view_release(in);
	bi_view_release(out);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_open_contexts, fixture_close_contexts)

int results_group(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_dense_arrays_and_values),
		TEST(test_offset_of_a_view),
		TEST(test_arguments_of_the_next_launch),
		TEST(test_grids_of_any_shape),
		TEST(test_strided_arrays),
		TEST(test_structs_by_value),
		TEST(test_large_structs_by_value),
		TEST(test_groups_and_barriers),
		TEST(test_local_memory_of_a_launch),
		TEST(test_options_reach_the_compiler),
		TEST(test_debug_option),
		TEST(test_fatbin),
	};

	return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
