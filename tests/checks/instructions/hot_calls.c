/*
 * The calls that others make once for each array that they exchange, as often as main() says, for count.py
 *     hot_calls CALLS
 *
 * Each case is one function: a call and what undoes it. Its name in expected.txt is that of the function. Host cases
 * use a 4 x 6 array of float32.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/cai.h"
#include "buffer_interface/dlpack.h"
#include "buffer_interface/kernel.h"
#include "buffer_interface/launch.h"
#include "marks.h"

#define ROWS 4
#define COLUMNS 6

static float numbers[ROWS][COLUMNS];
static int64_t shape[2] = { ROWS, COLUMNS };
static int64_t element_strides[2] = { COLUMNS, 1 };
static int64_t strides[2] = { COLUMNS * sizeof(float), sizeof(float) };
static struct bi_dtype float32;

static struct bi_context *host, *cuda, *opencl;
static struct bi_view *view; /* of numbers */
static struct bi_view *dense[2], *reversed; /* 64 bytes each, and the second backwards */
static struct bi_program *program; /* on the host */
static struct bi_kernel *scale;
static struct bi_view *on_cuda;
static struct bi_view *on_opencl[2], *shown[2]; /* 64 bytes each; the library's alone, and known to others */

/* A call that fails would be counted as a fast one. */
static void check(int rc, const struct bi_error *err, const char *what)
{
	if (rc == BI_OK)
		return;
	fprintf(stderr, "%s: %s\n", what, err->message);
	exit(1);
}

#define CHECK(call) check(call, &err, #call)

/* Describing and exporting */

static void describe(void)
{
	struct bi_exchange out = BI_EXCHANGE_INIT;
	struct bi_error err;

	CHECK(bi_view_export(view, BI_ACQUIRE_BORROW, &out, &err));
	out.release(&out);
}

static void export(void)
{
	struct bi_exchange out = BI_EXCHANGE_INIT;
	struct bi_error err;

	CHECK(bi_view_export(view, 0, &out, &err));
	out.release(&out);
}

static void dlpack_describe(void)
{
	struct bi_dl_tensor out;
	struct bi_error err;

	CHECK(bi_dlpack_describe(view, &out, &err));
}

static void dlpack_export(void)
{
	struct bi_dl_managed_versioned *out;
	struct bi_error err;

	CHECK(bi_dlpack_export(view, 0, &out, &err));
	out->deleter(out);
}

static void cai_export(void)
{
	struct bi_cai out;
	struct bi_error err;

	CHECK(bi_cai_export(on_cuda, BI_CAI_VERSION, 0, &out, &err));
}

/* Importing */

static void forget(void *data)
{
	(void)data;
}

static void wrap_host(void)
{
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_view_wrap_host(host, numbers, float32, 2, shape, forget, NULL, &out, &err));
	bi_view_release(out);
}

static void release_producer(struct bi_exchange *self)
{
	self->release = NULL;
}

static void exchange_import(void)
{
	struct bi_exchange in = {
		.version = BI_ABI_VERSION,
		.struct_size = sizeof(in),
		.release = release_producer,
		.device_type = BI_EXCHANGE_DEVICE_CPU,
		.handle_kind = BI_HANDLE_HOST,
		.handle = (uintptr_t)numbers,
		.size = sizeof(numbers),
		.type_code = 2,
		.type_bits = 32,
		.type_lanes = 1,
		.item_size = sizeof(float),
		.ndim = 2,
		.shape = shape,
		.strides = strides,
	};
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_view_import(host, &in, 0, &out, &err));
	bi_view_release(out);
}

static void delete_producer(struct bi_dl_managed_versioned *self)
{
	(void)self;
}

static void dlpack_import(void)
{
	static struct bi_dl_managed_versioned in = {
		.version = { BI_DLPACK_MAJOR, BI_DLPACK_MINOR },
		.deleter = delete_producer,
		.tensor = { numbers, { BI_EXCHANGE_DEVICE_CPU, 0 }, 2, { 2, 32, 1 }, shape, element_strides, 0 },
	};
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_dlpack_import(host, &in, NULL, &out, &err));
	bi_view_release(out);
}

static void import_cuda(unsigned flags)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_cai in;
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_cai_export(on_cuda, BI_CAI_VERSION, 0, &in, &err));
	options.flags = flags;
	CHECK(bi_cai_import(cuda, &in, &options, &out, &err));
	bi_view_release(out);
}

/* With the export that it imports. What the driver itself takes is not counted. */
static void cai_import(void)
{
	import_cuda(0);
}

static void cai_import_unchecked(void)
{
	import_cuda(BI_CAI_UNCHECKED);
}

/* Views of views */

static void take_items(const struct bi_index *items, int count)
{
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_view_index(view, items, count, &out, &err));
	bi_view_release(out);
}

static void slice(void)
{
	const struct bi_index rows = { BI_INDEX_SLICE, 1, BI_OMITTED, 2 };

	take_items(&rows, 1);
}

static void index_row(void)
{
	const struct bi_index row = { BI_INDEX_INTEGER, -1, 0, 0 };

	take_items(&row, 1);
}

static void index_element(void)
{
	const struct bi_index both[] = { { BI_INDEX_INTEGER, 1, 0, 0 }, { BI_INDEX_INTEGER, 2, 0, 0 } };

	take_items(both, 2);
}

static void transpose(void)
{
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_view_permute(view, NULL, &out, &err));
	bi_view_release(out);
}

static void reshape(void)
{
	const int64_t flat = -1;
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_view_reshape(view, 1, &flat, &out, &err));
	bi_view_release(out);
}

/* Memory and copies */

static void empty_host(void)
{
	struct bi_view *out;
	struct bi_error err;

	CHECK(bi_view_empty(host, float32, 2, shape, &out, &err));
	bi_view_release(out);
}

static void pool(void)
{
	struct bi_memory *out;
	struct bi_error err;

	CHECK(bi_memory_create(opencl, 4096, BI_MEMORY_DEFAULT, &out, &err));
	bi_memory_release(out);
}

static void open_host(void)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *out;
	struct bi_error err;

	options.device = "host";
	CHECK(bi_context_open(&options, &out, &err));
	bi_context_release(out);
}

static void copy_dense(void)
{
	struct bi_error err;

	CHECK(bi_copy(dense[0], dense[1], NULL, &err));
}

static void copy_reversed(void)
{
	struct bi_error err;

	CHECK(bi_copy(dense[0], reversed, NULL, &err));
}

/* What the driver itself takes is not counted, but for what it has the C library do. */
static void device_copy(void)
{
	struct bi_error err;

	CHECK(bi_copy(on_opencl[0], on_opencl[1], NULL, &err));
}

static void device_fill(void)
{
	struct bi_error err;

	CHECK(bi_fill(on_opencl[0], &numbers[0][0], NULL, &err));
}

static void device_write(void)
{
	struct bi_error err;

	CHECK(bi_view_write(on_opencl[0], numbers, 64, &err));
}

static void device_read(void)
{
	struct bi_error err;

	CHECK(bi_view_read(on_opencl[0], numbers, 64, &err));
}

/* Of memory that others know, which goes to the driver. */
static void enqueued_copy(void)
{
	struct bi_error err;

	CHECK(bi_copy(shown[0], shown[1], NULL, &err));
}

static void enqueued_fill(void)
{
	struct bi_error err;

	CHECK(bi_fill(shown[0], &numbers[0][0], NULL, &err));
}

static void enqueued_write(void)
{
	struct bi_error err;

	CHECK(bi_view_write(shown[0], numbers, 64, &err));
}

static void enqueued_read(void)
{
	struct bi_error err;

	CHECK(bi_view_read(shown[0], numbers, 64, &err));
}

BI_KERNEL(scale, (BI_IN(float, from), BI_OUT(float, to), BI_VALUE(float, factor)))
{
	BI_DATA(to)[BI_GLOBAL_ID(x)] = factor * BI_DATA(from)[BI_GLOBAL_ID(x)];
}

/* The grid has one item, so the count is that of the checks and of the order, and not that of the kernel. */
static void launch(void)
{
	const struct bi_grid grid = { 1, { 1 }, { 0 } };
	const struct bi_argument arguments[] = { BI_READS(dense[1]), BI_WRITES(dense[0]), BI_FLOAT(2) };
	struct bi_error err;

	CHECK(bi_launch(scale, NULL, &grid, arguments, 3, &err));
}

static const struct {
	const char *name;
	void (*call)(void);
} cases[] = {
#define CASE(name) \
	{ \
#name, name \
	}
	CASE(describe),
	CASE(export),
	CASE(dlpack_describe),
	CASE(dlpack_export),
	CASE(cai_export),
	CASE(wrap_host),
	CASE(exchange_import),
	CASE(dlpack_import),
	CASE(cai_import),
	CASE(cai_import_unchecked),
	CASE(slice),
	CASE(index_row),
	CASE(index_element),
	CASE(transpose),
	CASE(reshape),
	CASE(empty_host),
	CASE(pool),
	CASE(open_host),
	CASE(copy_dense),
	CASE(copy_reversed),
	CASE(launch),
	CASE(device_copy),
	CASE(device_fill),
	CASE(device_write),
	CASE(device_read),
	CASE(enqueued_copy),
	CASE(enqueued_fill),
	CASE(enqueued_write),
	CASE(enqueued_read),
#undef CASE
};

static struct bi_context *open_device(const char *device)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *out;
	struct bi_error err;

	options.device = device;
	CHECK(bi_context_open(&options, &out, &err));
	return out;
}

static void open_program(void)
{
	static const struct bi_host_kernel *const functions[] = { &bi_kernel_scale };
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_error err;

	source.functions = functions;
	source.function_count = 1;
	CHECK(bi_program_build(host, &source, &program, &err));
	CHECK(bi_kernel_get(program, "scale", &scale, &err));
}

static void open_all(void)
{
	const int64_t sixteen = 16;
	struct bi_native native;
	struct bi_error err;

	host = open_device("host");
	open_program();
	cuda = open_device("cuda");
	opencl = open_device("opencl");
	CHECK(bi_dtype_make(BI_FLOAT32, 1, 0, &float32, &err));
	CHECK(bi_view_wrap_host(host, numbers, float32, 2, shape, NULL, NULL, &view, &err));
	CHECK(bi_view_empty(host, float32, 1, &sixteen, &dense[0], &err));
	CHECK(bi_view_empty(host, float32, 1, &sixteen, &dense[1], &err));
	CHECK(bi_fill(dense[1], &numbers[0][0], NULL, &err));
	CHECK(bi_view_flip(dense[1], 0, &reversed, &err));
	CHECK(bi_view_empty(cuda, float32, 2, shape, &on_cuda, &err));
	CHECK(bi_view_synchronize(on_cuda, &err));
	CHECK(bi_view_empty(opencl, float32, 1, &sixteen, &on_opencl[0], &err));
	CHECK(bi_view_empty(opencl, float32, 1, &sixteen, &on_opencl[1], &err));
	CHECK(bi_fill(on_opencl[1], &numbers[0][0], NULL, &err));
	for (int i = 0; i < 2; i++) {
		CHECK(bi_view_empty(opencl, float32, 1, &sixteen, &shown[i], &err));
		bi_view_native(shown[i], &native);
	}
	CHECK(bi_fill(shown[1], &numbers[0][0], NULL, &err));
}

static void close_all(void)
{
	bi_view_release(on_opencl[0]);
	bi_view_release(on_opencl[1]);
	bi_view_release(shown[0]);
	bi_view_release(shown[1]);
	bi_view_release(on_cuda);
	bi_view_release(reversed);
	bi_view_release(dense[0]);
	bi_view_release(dense[1]);
	bi_view_release(view);
	bi_kernel_release(scale);
	bi_program_release(program);
	bi_context_release(opencl);
	bi_context_release(cuda);
	bi_context_release(host);
}

/* A few calls first, which find what the allocator and the pool will keep for the others. */
static void count(const char *name, void (*call)(void), long calls)
{
	for (int i = 0; i < 16; i++)
		call();
	bi_marks_begin();
	for (long i = 0; i < calls; i++)
		call();
	bi_marks_end(name, calls);
}

int main(int argc, char **argv)
{
	long calls = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

	if (calls < 1) {
		fprintf(stderr, "usage: %s CALLS\n", argv[0]);
		return 2;
	}
	open_all();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		count(cases[i].name, cases[i].call, calls);
	close_all();
	return 0;
}
