/*
 * Which driver calls an operation makes once it has been done before: what it costs beside them is the library's.
 *
 *	cuda_calls EXPECTED    compares with a list, one operation a line; a difference is an error
 *	cuda_calls             prints the list
 *
 * Each operation runs twice: while the device's context is current, as in programs that use the CUDA runtime, and while
 * none is. docs/cuda.md has the least number of calls that each operation needs. The test sets CUDA_SIM_EAGER: the
 * simulated device then completes work when it is enqueued, and the calls are the same in each run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"
#include "buffer_interface/cai.h"
#include "cuda_driver.h"
#include "support/use.h"

#define BYTES ((size_t)4096)
#define LARGE ((size_t)5 << 20)
#define WIDTH 64

static struct bi_error error;

/* Everything that the operations are done on. */
static struct {
	struct bi_context *context;
	struct bi_stream *stream;
	struct bi_view *a, *b, *pageable, *pinned;
	struct bi_view *a_part, *pinned_part, *pageable_part, *turned;
	struct bi_view *large, *large_pageable;
	bi__cu_pointer foreign, pooled;
	unsigned char *pinned_bytes;
	unsigned char pageable_bytes[BYTES], large_bytes[LARGE];
} on;

#define OK(call) require((call) == BI_OK, #call, error.message)
#define DID(call) require((call) == BI__CU_SUCCESS, #call, "")

static void require(int holds, const char *what, const char *why)
{
	if (holds)
		return;
	fprintf(stderr, "cuda_calls: %s: %s\n", what, why);
	exit(1);
}

static const struct bi_index even_columns[] = { { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 1 },
						{ BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 2 } };

/* Operations. */

static void copy_d2d(void)
{
	OK(bi_copy(on.a, on.b, NULL, &error));
}

static void copy_d2d_on_a_stream(void)
{
	OK(bi_copy(on.a, on.b, on.stream, &error));
}

static void copy_d2d_strided(void)
{
	OK(bi_copy(on.turned, on.b, NULL, &error));
}

static void copy_h2d_pinned(void)
{
	OK(bi_copy(on.a, on.pinned, NULL, &error));
}

static void copy_d2h_pinned(void)
{
	OK(bi_copy(on.pinned, on.a, NULL, &error));
}

static void copy_h2d_pinned_strided(void)
{
	OK(bi_copy(on.a_part, on.pinned_part, NULL, &error));
}

static void copy_h2d_pageable(void)
{
	OK(bi_copy(on.a, on.pageable, NULL, &error));
}

static void copy_d2h_pageable(void)
{
	OK(bi_copy(on.pageable, on.a, NULL, &error));
}

static void copy_h2d_pageable_large(void)
{
	OK(bi_copy(on.large, on.large_pageable, NULL, &error));
}

static void copy_d2h_pageable_large(void)
{
	OK(bi_copy(on.large_pageable, on.large, NULL, &error));
}

static void copy_h2d_pageable_strided(void)
{
	OK(bi_copy(on.a_part, on.pageable_part, NULL, &error));
}

static void fill_dense(void)
{
	const unsigned char zero = 0;

	OK(bi_fill(on.a, &zero, NULL, &error));
}

static void read_8_bytes(void)
{
	const int64_t index[2] = { 1, 2 };
	unsigned char item[1];

	OK(bi_view_get_element(on.a, index, item, &error));
}

static void slice_and_release(void)
{
	struct bi_view *view;

	OK(bi_view_index(on.a, even_columns, 2, &view, &error));
	bi_view_release(view);
}

static void allocate_and_release(void)
{
	const int64_t shape[1] = { (int64_t)BYTES };
	struct bi_view *view;
	struct bi_dtype byte;

	OK(bi_dtype_make(BI_UINT8, 1, 0, &byte, &error));
	OK(bi_view_empty(on.context, byte, 1, shape, &view, &error));
	bi_view_release(view);
}

static void import_cai(bi__cu_pointer data, int stream_kind, unsigned flags)
{
	const int64_t shape[1] = { (int64_t)BYTES };
	struct bi_cai cai = { .version = 3, .ndim = 1, .shape = shape, .typestr = "|u1", .data = data };
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *view;

	cai.stream_kind = stream_kind;
	cai.stream = bi_stream_handle(on.stream);
	options.flags = flags;
	OK(bi_cai_import(on.context, &cai, &options, &view, &error));
	bi_view_release(view);
}

static void import_cai_without_stream(void)
{
	import_cai(on.foreign, BI_CAI_STREAM_NONE, 0);
}

static void import_cai_with_stream(void)
{
	import_cai(on.foreign, BI_CAI_STREAM_GIVEN, 0);
}

static void import_cai_of_pool(void)
{
	import_cai(on.pooled, BI_CAI_STREAM_NONE, 0);
}

static void import_cai_unchecked(void)
{
	import_cai(on.foreign, BI_CAI_STREAM_NONE, BI_CAI_UNCHECKED);
}

static void locate_cai(void)
{
	const int64_t shape[1] = { (int64_t)BYTES };
	struct bi_cai cai = { .version = 3, .ndim = 1, .shape = shape, .typestr = "|u1", .data = on.pooled };
	int ordinal;

	OK(bi_cai_device(&cai, &ordinal, &error));
}

static void export_cai(void)
{
	struct bi_cai cai;

	OK(bi_cai_export(on.a, 3, 0, &cai, &error));
}

static void acquire_and_hand_back(void)
{
	OK(begin_use(on.b, on.stream, &error));
	OK(end_use(on.b, on.stream, &error));
}

static void acquire_and_hand_back_exported(void)
{
	OK(begin_use(on.a, on.stream, &error));
	OK(end_use(on.a, on.stream, &error));
}

static void synchronize(void)
{
	OK(bi_view_synchronize(on.a, &error));
}

#define OPERATIONS(X) \
	X(copy_d2d) \
	X(copy_d2d_on_a_stream) \
	X(copy_d2d_strided) \
	X(copy_h2d_pinned) \
	X(copy_d2h_pinned) \
	X(copy_h2d_pinned_strided) \
	X(copy_h2d_pageable) \
	X(copy_d2h_pageable) \
	X(copy_h2d_pageable_large) \
	X(copy_d2h_pageable_large) \
	X(copy_h2d_pageable_strided) \
	X(fill_dense) X(read_8_bytes) X(slice_and_release) X(allocate_and_release) X(import_cai_without_stream) \
		X(import_cai_with_stream) X(import_cai_of_pool) X(import_cai_unchecked) X(locate_cai) X(export_cai) \
			X(acquire_and_hand_back) X(acquire_and_hand_back_exported) X(synchronize)

static const struct operation {
	const char *name;
	void (*run)(void);
} operations[] = {
#define OPERATION(name) { #name, name },
	OPERATIONS(OPERATION)
#undef OPERATION
};
#define OPERATION_COUNT (sizeof(operations) / sizeof(*operations))

/* What they are done on. */

static struct bi_dtype byte_type(void)
{
	struct bi_dtype byte;

	OK(bi_dtype_make(BI_UINT8, 1, 0, &byte, &error));
	return byte;
}

static struct bi_view *matrix_of(struct bi_memory *memory)
{
	const int64_t shape[2] = { WIDTH, BYTES / WIDTH };
	struct bi_layout layout;
	struct bi_view *view;

	OK(bi_layout_init(&layout, byte_type(), 2, shape, NULL, 0, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_memory_release(memory);
	return view;
}

static struct bi_view *device_matrix(void)
{
	struct bi_memory *memory;

	OK(bi_memory_create(on.context, BYTES, BI_MEMORY_DEVICE, &memory, &error));
	return matrix_of(memory);
}

static struct bi_view *host_matrix(void *bytes)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory;

	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = BYTES;
	OK(bi_memory_wrap(on.context, &foreign, &memory, &error));
	return matrix_of(memory);
}

static struct bi_view *part_of(const struct bi_view *view)
{
	struct bi_view *part;

	OK(bi_view_index(view, even_columns, 2, &part, &error));
	return part;
}

static void set_up(void)
{
	const struct cuda_driver *driver = cuda_driver();
	struct bi_options options = BI_OPTIONS_INIT;
	const int turn[2] = { 1, 0 };
	const int64_t large[1] = { (int64_t)LARGE };
	bi__cu_context context;

	options.device = "cuda:0";
	OK(bi_context_open(&options, &on.context, &error));
	DID(driver->DevicePrimaryCtxRetain(&context, 0));
	DID(driver->CtxPushCurrent(context));
	DID(driver->MemAlloc(&on.foreign, BYTES));
	DID(driver->MemAllocAsync(&on.pooled, BYTES, BI__CU_STREAM_LEGACY));
	DID(driver->MemHostAlloc((void **)&on.pinned_bytes, BYTES, 0));
	OK(bi_stream_create(on.context, 0, &on.stream, &error));
	on.a = device_matrix();
	on.b = device_matrix();
	on.pageable = host_matrix(on.pageable_bytes);
	on.pinned = host_matrix(on.pinned_bytes);
	on.a_part = part_of(on.a);
	on.pinned_part = part_of(on.pinned);
	on.pageable_part = part_of(on.pageable);
	OK(bi_view_permute(on.a, turn, &on.turned, &error));
	OK(bi_view_empty(on.context, byte_type(), 1, large, &on.large, &error));
	OK(bi_view_wrap_host(on.context, on.large_bytes, byte_type(), 1, large, NULL, NULL, &on.large_pageable,
			     &error));
}

static void tear_down(void)
{
	struct bi_view *views[] = {
		on.a,      on.b,     on.pageable,      on.pinned, on.a_part, on.pinned_part, on.pageable_part,
		on.turned, on.large, on.large_pageable
	};
	const struct cuda_driver *driver = cuda_driver();
	bi__cu_context context;

	for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
		bi_view_release(views[i]);
	bi_stream_release(on.stream);
	bi_context_release(on.context);
	DID(driver->MemFree(on.foreign));
	DID(driver->MemFreeAsync(on.pooled, BI__CU_STREAM_LEGACY));
	DID(driver->MemFreeHost(on.pinned_bytes));
	DID(driver->CtxPopCurrent(&context));
	DID(driver->DevicePrimaryCtxRelease(0));
}

static uint64_t calls_so_far(void)
{
	struct cuda_sim_counts counts;

	cuda_sim()->count(&counts);
	return counts.calls;
}

/* "name: n call call ...", the calls of the third time. */
static void describe(const struct operation *operation, int has_context, char *line, size_t size)
{
	bi__cu_context context = NULL;
	uint64_t before, after;
	int length;

	operation->run();
	operation->run();
	DID(cuda_driver()->CtxSynchronize());
	if (!has_context)
		DID(cuda_driver()->CtxPopCurrent(&context));
	before = calls_so_far();
	operation->run();
	after = calls_so_far();
	if (!has_context)
		DID(cuda_driver()->CtxPushCurrent(context));
	length = snprintf(line, size, "%s%s: %llu", operation->name, has_context ? "" : ", no current context",
			  (unsigned long long)(after - before));
	for (uint64_t i = before + 1; i <= after; i++)
		length += snprintf(line + length, size - (size_t)length, " %s", cuda_sim()->call_name(i));
}

static int compare(FILE *file, const char *line)
{
	char expected[1000] = "";

	if (fgets(expected, sizeof(expected), file))
		expected[strcspn(expected, "\n")] = 0;
	if (!strcmp(expected, line))
		return 0;
	fprintf(stderr, "expected: %s\nfound:    %s\n", expected, line);
	return 1;
}

int main(int argc, char **argv)
{
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	char line[1000];
	int wrong = 0;

	require(argc < 2 || file, "the list", "cannot be read");
	require(cuda_sim() != NULL, "the driver", "is not the simulated one");
	for (int has_context = 1; has_context >= 0; has_context--) {
		set_up();
		for (size_t i = 0; i < OPERATION_COUNT; i++) {
			describe(&operations[i], has_context, line, sizeof(line));
			if (file)
				wrong += compare(file, line);
			else
				puts(line);
		}
		tear_down();
	}
	if (file)
		fclose(file);
	return wrong != 0;
}
