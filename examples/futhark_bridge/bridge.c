/*
 * Arrays between this library and a program that Futhark compiled, without a copy in both directions.
 *
 * The library works on Futhark's own queue, so that both see each other's work in order. The backend was chosen when
 * Futhark's compiler ran. Only the functions between the marks know it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "futlib.h"

#include "buffer_interface.h"
#include "buffer_interface/binding.h"

static const struct bi_dtype real = { 4, 1, BI_FLOAT32, 0 };
static struct bi_error error;
static int released;

#define TRY(call) \
	do { \
		if (call) { \
			fprintf(stderr, "futhark_bridge: %s\n", error.message); \
			exit(EXIT_FAILURE); \
		} \
	} while (0)

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "futhark_bridge: not true: %s\n", #condition); \
			exit(EXIT_FAILURE); \
		} \
	} while (0)

/* A Futhark array that has the memory of a view. The memory stays alive until the array is freed. */
struct borrowed {
	struct futhark_f32_1d *array;
	struct bi_view *view;
	futhark_raw data;
};

/* A Futhark array that became a view. */
struct owner {
	struct futhark_context *futhark;
	struct futhark_f32_1d *array;
};

static void free_owner(void *data)
{
	struct owner *owner = data;

	futhark_free_f32_1d(owner->futhark, owner->array);
	free(owner);
	released++;
}

/* Functions that know the backend. */

#if defined(FUTHARK_BACKEND_opencl)
#include "buffer_interface/opencl.h"

/* Opens a context on Futhark's cl_context, with its queue as the context stream. */
static struct bi_context *open_beside(struct futhark_context *futhark)
{
	const uintptr_t queue = (uintptr_t)futhark_context_get_command_queue(futhark);
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_location location;
	struct bi_context *context;

	TRY(bi_locate_queue(BI_ORDER_OPENCL, queue, &location, &error));
	options.device = location.device;
	options.adopt_context = location.context;
	options.adopt_stream = queue;
	TRY(bi_context_open(&options, &context, &error));
	return context;
}

/*
 * Futhark knows no offset, so it gets a sub-buffer that begins with the view. A view that is not aligned is cloned. A
 * view without elements may give NULL, of which Futhark reads nothing.
 */
static futhark_raw take_data(struct bi_view **view)
{
	futhark_raw data = bi_opencl_sub_buffer(*view, NULL);
	struct bi_view *clone;

	if (data)
		return data;
	TRY(bi_view_clone(*view, NULL, &clone, &error));
	bi_view_release(*view);
	*view = clone;
	return bi_opencl_sub_buffer(clone, NULL);
}

static void give_data_back(futhark_raw data)
{
	if (data)
		clReleaseMemObject(data);
}

static void name_data(struct bi_foreign *foreign, futhark_raw data)
{
	foreign->kind = BI_HANDLE_CL_MEM;
	foreign->handle = (uintptr_t)data;
}

#else

static struct bi_context *open_beside(struct futhark_context *futhark)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	(void)futhark;
	options.device = "host";
	TRY(bi_context_open(&options, &context, &error));
	return context;
}

static futhark_raw take_data(struct bi_view **view)
{
	return bi_view_host_pointer(*view);
}

static void give_data_back(futhark_raw data)
{
	(void)data;
}

static void name_data(struct bi_foreign *foreign, futhark_raw data)
{
	foreign->kind = BI_HANDLE_HOST;
	foreign->handle = (uintptr_t)data;
}

#endif
/* Functions that do not know the backend. */

/* Makes a Futhark array of any view of one dimension. A copy is made only of a view with gaps. */
static struct borrowed to_futhark(struct futhark_context *futhark, const struct bi_view *view)
{
	struct borrowed borrowed;

	TRY(bi_view_contiguous(view, &borrowed.view, &error));
	borrowed.data = take_data(&borrowed.view);
	borrowed.array = futhark_new_raw_f32_1d(futhark, borrowed.data, bi_view_shape(view)[0]);
	CHECK(borrowed.array);
	return borrowed;
}

static void free_borrowed(struct futhark_context *futhark, struct borrowed *borrowed)
{
	futhark_free_f32_1d(futhark, borrowed->array);
	give_data_back(borrowed->data);
	bi_view_release(borrowed->view);
}

/* Makes a view of a Futhark array. The last view of the memory frees the array. */
static struct bi_view *from_futhark(struct futhark_context *futhark, struct futhark_f32_1d *array,
				    struct bi_context *context)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct owner *owner = malloc(sizeof(*owner));
	struct bi_layout layout;
	struct bi_view *view;

	CHECK(owner);
	*owner = (struct owner){ futhark, array };
	TRY(bi_layout_init(&layout, real, 1, futhark_shape_f32_1d(futhark, array), NULL, 0, &error));
	name_data(&foreign, futhark_values_raw_f32_1d(futhark, array));
	foreign.nbytes = (size_t)bi_layout_nbytes(&layout);
	foreign.stream = bi_context_stream(context); /* Futhark's work on the array is there */
	foreign.release = free_owner;
	foreign.release_data = owner;
	TRY(bi_view_wrap(context, &foreign, &layout, &view, &error));
	return view;
}

/* Calls the entry point on a view. */
static struct bi_view *scale(struct futhark_context *futhark, const struct bi_view *view, struct bi_context *context)
{
	struct bi_stream *stream = bi_context_stream(context);
	struct borrowed in = to_futhark(futhark, view);
	struct bi_use use = { in.view, BI_ACCESS_READ };
	struct futhark_f32_1d *out;

	TRY(bi_use_begin(stream, &use, 1, &error));
	CHECK(!futhark_entry_scale(futhark, &out, in.array));
	TRY(bi_use_end(stream, &use, 1, &error));
	/* The entry point may still run. The library frees the memory of the view after it. */
	free_borrowed(futhark, &in);
	return from_futhark(futhark, out, context);
}

static void expect(const struct bi_view *view, float first, float step)
{
	float numbers[256];
	const int64_t count = bi_view_shape(view)[0];

	TRY(bi_view_read(view, numbers, (size_t)count * sizeof(*numbers), &error));
	for (int64_t i = 0; i < count; i++)
		CHECK(numbers[i] == first + step * (float)i);
}

static struct bi_view *slice(const struct bi_view *view, int64_t first, int64_t end, int64_t step)
{
	const struct bi_index item = { BI_INDEX_SLICE, first, end, step };
	struct bi_view *part;

	TRY(bi_view_index_axis(view, 0, item, &part, &error));
	return part;
}

static void bridge(struct futhark_context *futhark, struct bi_context *context)
{
	const int64_t shape[] = { 256 };
	struct bi_view *all, *part, *once, *twice;
	float numbers[256];

	for (int i = 0; i < 256; i++)
		numbers[i] = (float)i;
	TRY(bi_view_empty(context, real, 1, shape, &all, &error));
	TRY(bi_view_write(all, numbers, sizeof(numbers), &error));
	for (int i = 0; i < 5; i++) {
		/* From the start, from an aligned element, from one that is not aligned, with gaps, and no element. */
		const int first = (int[]){ 0, 64, 3, 131, 256 }[i], step = i == 3 ? 2 : 1;

		part = slice(all, first, BI_OMITTED, step);
		once = scale(futhark, part, context);
		bi_view_release(part);
		/* The result goes back in. */
		twice = scale(futhark, once, context);
		expect(once, (float)(2 * first + 1), (float)(2 * step));
		expect(twice, (float)(4 * first + 3), (float)(4 * step));
		bi_view_release(once);
		bi_view_release(twice);
	}
	bi_view_release(all);
	CHECK(released == 10);
}

/* A view of a part keeps the whole Futhark array alive. */
static void keep_alive(struct futhark_context *futhark, struct bi_context *context)
{
	const int64_t shape[] = { 8 };
	struct bi_view *zeros, *ones, *part;
	const float zero = 0;

	TRY(bi_view_empty(context, real, 1, shape, &zeros, &error));
	TRY(bi_fill(zeros, &zero, NULL, &error));
	ones = scale(futhark, zeros, context);
	bi_view_release(zeros);
	part = slice(ones, 2, 5, 1);
	bi_view_release(ones);
	CHECK(released == 10);
	expect(part, 1, 0);
	bi_view_release(part);
	CHECK(released == 11);
}

int main(void)
{
	struct futhark_context_config *config = futhark_context_config_new();
	struct futhark_context *futhark = futhark_context_new(config);
	struct bi_context *context;
	char *message = futhark_context_get_error(futhark);

	if (message) {
		fprintf(stderr, "futhark_bridge: %s\n", message);
		return EXIT_FAILURE;
	}
	context = open_beside(futhark);
	bridge(futhark, context);
	keep_alive(futhark, context);
	printf("%s: both directions, %d arrays freed\n", bi_context_device(context)->spec, released);
	bi_context_release(context);
	futhark_context_sync(futhark);
	futhark_context_free(futhark);
	futhark_context_config_free(config);
	return EXIT_SUCCESS;
}
