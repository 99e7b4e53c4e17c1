#define _POSIX_C_SOURCE 200809L
#include "scenarios.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer_interface/binding.h"
#include "buffer_interface/cai.h"
#include "buffer_interface/dlpack.h"
#include "buffer_interface/kernel.h"
#include "buffer_interface/launch.h"
#include "buffer_interface/npy.h"

#include "cuda_sim/cuda_sim.h"
#include "opencl_driver.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define ROWS 6
#define COLUMNS 10
#define SMALL ((size_t)ROWS * COLUMNS * 4)

/* What every scenario does. */

/* Notes the status of a call; true if the scenario can go on. Only the first failure is kept. */
static int went_well(struct scenario_state *state, int rc)
{
	if (rc && !state->rc)
		state->rc = rc;
	return !rc;
}

/* True once a call has failed: a scenario ends then. */
static int has_failed(const struct scenario_state *state)
{
	return state->rc != BI_OK;
}

static void expect(struct scenario_state *state, int holds, const char *text)
{
	if (!holds && !*state->wrong)
		snprintf(state->wrong, sizeof(state->wrong), "not so: %s", text);
}

#define EXPECT(state, condition) expect(state, condition, #condition)

static void keep_object(struct scenario_state *state, void (*release)(void *), void *object)
{
	if (!object)
		return;
	if (state->count == MOST_OBJECTS)
		abort();
	state->objects[state->count].release = release;
	state->objects[state->count++].object = object;
}

static void release_view(void *view)
{
	bi_view_release(view);
}

static void release_memory(void *memory)
{
	bi_memory_release(memory);
}

static void release_stream(void *stream)
{
	bi_stream_release(stream);
}

static void release_event(void *event)
{
	bi_event_release(event);
}

static void release_context(void *context)
{
	bi_context_release(context);
}

static void note_release(void *data)
{
	((struct scenario_state *)data)->released++;
}

static void open_device(struct scenario_state *state)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = state->device;
	went_well(state, bi_context_open(&options, &state->context, state->err));
}

static struct bi_dtype type_of(struct scenario_state *state, const char *text)
{
	struct bi_dtype dtype;

	memset(&dtype, 0, sizeof(dtype));
	if (!has_failed(state))
		went_well(state, bi_dtype_parse(text, &dtype, state->err));
	return dtype;
}

/* A new array of int32 on the device; NULL after a failure. */
static struct bi_view *new_array(struct scenario_state *state, struct bi_context *context, int64_t rows,
				 int64_t columns)
{
	const int64_t shape[2] = { rows, columns };
	struct bi_dtype dtype = type_of(state, "int32");
	struct bi_view *view = NULL;

	if (!has_failed(state))
		went_well(state, bi_view_empty(context, dtype, 2, shape, &view, state->err));
	keep_object(state, release_view, view);
	return view;
}

static struct bi_view *transposed(struct scenario_state *state, const struct bi_view *view)
{
	struct bi_view *out = NULL;

	if (!has_failed(state))
		went_well(state, bi_view_permute(view, NULL, &out, state->err));
	keep_object(state, release_view, out);
	return out;
}

static void fill_bytes(int32_t *numbers, size_t count, int32_t first)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = first + (int32_t)i;
}

static void write_numbers(struct scenario_state *state, const struct bi_view *view, int32_t first)
{
	int32_t numbers[ROWS * COLUMNS];

	fill_bytes(numbers, ARRAY_LENGTH(numbers), first);
	if (!has_failed(state))
		went_well(state, bi_view_write(view, numbers, sizeof(numbers), state->err));
}

/* The array holds first, first + 1, …; or its transpose does. */
static void expect_numbers(struct scenario_state *state, const struct bi_view *view, int32_t first, int is_transposed)
{
	int32_t numbers[ROWS * COLUMNS];

	if (has_failed(state) || !went_well(state, bi_view_read(view, numbers, sizeof(numbers), state->err)))
		return;
	for (int i = 0; i < ROWS * COLUMNS; i++)
		EXPECT(state, numbers[i] == first + (is_transposed ? i % ROWS * COLUMNS + i / ROWS : i));
}

/* Values. */

void scenario_values(struct scenario_state *state)
{
	struct bi_dtype dtype = type_of(state, "float32"), other = dtype;
	char text[BI_DTYPE_TEXT];
	uint8_t code, bits;
	uint16_t lanes;

	EXPECT(state, *bi_version() && *bi_status_name(BI_ENOMEM) && *bi_status_text(BI_ENOMEM));
	if (has_failed(state))
		return;
	went_well(state, bi_dtype_typestr(dtype, text, state->err));
	EXPECT(state, strcmp(text, "<f4") == 0);
	bi_dtype_name(dtype, text);
	EXPECT(state, strcmp(text, "float32") == 0 && bi_dtype_kind(dtype) == 'f');
	if (went_well(state, bi_dtype_to_dlpack(dtype, &code, &bits, &lanes, state->err)))
		went_well(state, bi_dtype_from_dlpack(code, bits, lanes, &other, state->err));
	EXPECT(state, bi_dtype_equal(dtype, other));
	went_well(state, bi_dtype_make(BI_FLOAT32, 1, 4, &other, state->err));
	EXPECT(state, bi_dtype_equal(dtype, other));
	went_well(state, bi_dtype_parse_descr("[('x', '<f4'), ('y', '<i2', (3,))]", &other, state->err));
	EXPECT(state, bi_set_threads(0, state->err) == BI_OK && bi_threads() >= 1);
}

static void check_derived_layouts(struct scenario_state *state, struct bi_layout *layout)
{
	const struct bi_index item = { BI_INDEX_SLICE, 1, 5, 2 };
	const int64_t shape[3] = { 2, 5, 2 }, wide[3] = { 2, 2, COLUMNS }, index[2] = { 1, 1 };
	struct bi_layout other = *layout;
	struct bi_plan plan;
	int64_t first, end, offset;

	EXPECT(state, bi_layout_size(layout) == ROWS * COLUMNS && bi_layout_nbytes(layout) == (int64_t)SMALL);
	EXPECT(state, bi_layout_is_contiguous(layout, 'C') && !bi_layout_self_overlap(layout));
	bi_layout_extent(layout, &first, &end);
	EXPECT(state, first == 0 && end == (int64_t)SMALL);
	went_well(state, bi_layout_element(layout, index, &offset, state->err));
	went_well(state, bi_layout_index(&other, &item, 1, state->err));
	EXPECT(state, bi_layout_overlap(layout, &other) && !bi_layout_equal(layout, &other));
	went_well(state, bi_layout_flip(&other, 0, state->err));
	went_well(state, bi_layout_reshape(&other, 3, shape, state->err));
	went_well(state, bi_layout_permute(&other, NULL, state->err));
	other = *layout;
	went_well(state, bi_layout_index(&other, &(struct bi_index){ BI_INDEX_SLICE, 0, 2, 1 }, 1, state->err));
	went_well(state, bi_layout_broadcast(&other, 3, wide, state->err));
	went_well(state, bi_plan_make(layout, layout, &plan, state->err));
	EXPECT(state, plan.kind == BI_PLAN_LINEAR);
}

void scenario_layouts(struct scenario_state *state)
{
	const int64_t shape[2] = { ROWS, COLUMNS };
	struct bi_dtype dtype = type_of(state, "int32"), pair;
	struct bi_layout layout;
	const char *descr = "[('x', '<i2'), ('y', '<i2')]";

	if (has_failed(state) || !went_well(state, bi_layout_init(&layout, dtype, 2, shape, NULL, 0, state->err)))
		return;
	check_derived_layouts(state, &layout);
	if (!went_well(state, bi_dtype_parse_descr(descr, &pair, state->err)))
		return;
	if (went_well(state, bi_layout_reinterpret(&layout, pair, descr, state->err)))
		went_well(state, bi_layout_field(&layout, "y", state->err));
}

/* Devices and contexts. */

void scenario_devices(struct scenario_state *state)
{
	struct bi_device devices[16];
	struct bi_backend backend;
	int count = 0, found = 0;

	while (bi_backend_at(count, &backend))
		count++;
	EXPECT(state, count > 0 && strcmp(backend.name, "host") == 0);
	if (!went_well(state, bi_devices(devices, ARRAY_LENGTH(devices), &count, state->err)))
		return;
	for (int i = 0; i < count && i < (int)ARRAY_LENGTH(devices); i++)
		found |= devices[i].usable;
	EXPECT(state, found);
	for (count = 0; bi_backend_at(count, &backend); count++)
		EXPECT(state, *backend.name);
	EXPECT(state, count > 0);
}

void scenario_open_context(struct scenario_state *state)
{
	int entered = 0;

	open_device(state);
	if (has_failed(state))
		return;
	EXPECT(state, *bi_context_device(state->context)->spec && bi_context_notes(state->context));
	EXPECT(state, bi_stream_context(bi_context_stream(state->context)) == state->context);
	(void)bi_context_handle(state->context);
	bi_context_release(bi_context_retain(state->context));
	if (went_well(state, bi_context_push_current(state->context, &entered, state->err)))
		bi_context_pop_current(state->context, entered);
	went_well(state, bi_context_trim(state->context, 0, state->err));
}

void scenario_profiled_context(struct scenario_state *state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_view *array, *other;
	char *report = NULL;

	options.device = state->device;
	options.profile = options.debug = 1;
	if (!went_well(state, bi_context_open(&options, &state->context, state->err)))
		return;
	array = new_array(state, state->context, ROWS, COLUMNS);
	other = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 7);
	if (has_failed(state))
		return;
	bi_context_profile_pause(state->context);
	bi_context_profile_resume(state->context);
	went_well(state, bi_copy(other, array, NULL, state->err));
	expect_numbers(state, other, 7, 0);
	if (!has_failed(state) && went_well(state, bi_context_report(state->context, &report, state->err)))
		EXPECT(state, strchr(report, '{') != NULL);
	bi_report_free(report);
}

static struct bi_stream *new_stream(struct scenario_state *state)
{
	struct bi_stream *stream = NULL;

	if (!has_failed(state))
		went_well(state, bi_stream_create(state->context, 0, &stream, state->err));
	keep_object(state, release_stream, stream);
	return stream;
}

static void wrap_handles(struct scenario_state *state, struct bi_stream *stream, struct bi_event *event)
{
	struct bi_stream *wrapped = NULL;
	struct bi_event *same = NULL;

	if (!bi_stream_handle(stream))
		return;
	if (went_well(state, bi_stream_wrap(state->context, bi_stream_handle(stream), note_release, state, &wrapped,
					    state->err)))
		state->taken++;
	keep_object(state, release_stream, wrapped);
	if (bi_event_handle(event))
		went_well(state, bi_event_wrap(state->context, bi_event_handle(event), &same, state->err));
	keep_object(state, release_event, same);
}

void scenario_streams_and_events(struct scenario_state *state)
{
	struct bi_stream *first, *second;
	struct bi_event *event = NULL;
	int done = 0;

	open_device(state);
	first = new_stream(state);
	second = new_stream(state);
	if (has_failed(state) || !went_well(state, bi_event_record(first, &event, state->err)))
		return;
	keep_object(state, release_event, event);
	bi_event_release(bi_event_retain(event));
	bi_stream_release(bi_stream_retain(first));
	went_well(state, bi_stream_wait(second, event, state->err));
	went_well(state, bi_stream_join(second, &first, 1, state->err));
	went_well(state, bi_event_query(event, &done, state->err));
	went_well(state, bi_event_synchronize(event, state->err));
	went_well(state, bi_stream_synchronize(second, state->err));
	if (!has_failed(state))
		wrap_handles(state, first, event);
}

/* Memories. */

void scenario_memories(struct scenario_state *state)
{
	static const enum bi_memory_kind kinds[] = { BI_MEMORY_DEFAULT, BI_MEMORY_DEVICE, BI_MEMORY_PINNED,
						     BI_MEMORY_HOST };

	open_device(state);
	for (size_t i = 0; i < ARRAY_LENGTH(kinds) && !has_failed(state); i++) {
		struct bi_memory *memory = NULL;

		if (!went_well(state, bi_memory_create(state->context, 1000, kinds[i], &memory, state->err)))
			return;
		keep_object(state, release_memory, memory);
		EXPECT(state, bi_memory_nbytes(memory) == 1000 && bi_memory_context(memory) == state->context);
		EXPECT(state, kinds[i] != BI_MEMORY_HOST || bi_memory_is_host(memory));
		bi_memory_release(bi_memory_retain(memory));
	}
}

void scenario_pooled_memories(struct scenario_state *state)
{
	static const size_t sizes[] = { 1, 255, 256, 257, 5000, (size_t)2 << 20 };

	open_device(state);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_LENGTH(sizes) && !has_failed(state); i++) {
			struct bi_memory *memory = NULL;

			went_well(state,
				  bi_memory_create(state->context, sizes[i], BI_MEMORY_DEFAULT, &memory, state->err));
			bi_memory_release(memory);
		}
	if (!has_failed(state))
		went_well(state, bi_context_trim(state->context, 4096, state->err));
}

static struct bi_view *wrap_bytes(struct scenario_state *state, void *bytes, size_t nbytes)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	const int64_t shape[2] = { ROWS, COLUMNS };
	struct bi_dtype dtype = type_of(state, "int32");
	struct bi_layout layout;
	struct bi_view *view = NULL;

	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = nbytes;
	foreign.release = note_release;
	foreign.release_data = state;
	if (has_failed(state) || !went_well(state, bi_layout_init(&layout, dtype, 2, shape, NULL, 0, state->err)))
		return NULL;
	if (went_well(state, bi_view_wrap(state->context, &foreign, &layout, &view, state->err)))
		state->taken++;
	keep_object(state, release_view, view);
	return view;
}

/* The handle of a device array, wrapped again with an event of its producer. */
static void wrap_device_memory(struct scenario_state *state, const struct bi_view *array)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = NULL;
	struct bi_location location;
	struct bi_event *event = NULL;
	struct bi_native native;

	bi_view_native(array, &native);
	if (native.kind == BI_HANDLE_HOST ||
	    !went_well(state, bi_event_record(bi_context_stream(state->context), &event, state->err)))
		return;
	keep_object(state, release_event, event);
	foreign.kind = native.kind;
	foreign.handle = native.handle;
	foreign.nbytes = native.nbytes;
	foreign.events = &event;
	foreign.event_count = 1;
	foreign.release = note_release;
	foreign.release_data = state;
	if (went_well(state, bi_memory_wrap(state->context, &foreign, &memory, state->err)))
		state->taken++;
	keep_object(state, release_memory, memory);
	if (!has_failed(state))
		went_well(state, bi_locate_memory(native.kind, native.handle, &location, state->err));
	/* Streams of other kinds say nothing of their device. */
	if (!has_failed(state) && native.kind == BI_HANDLE_CL_MEM)
		went_well(state, bi_locate_queue(BI_ORDER_OPENCL, bi_stream_handle(bi_context_stream(state->context)),
						 &location, state->err));
}

void scenario_wrapped_memories(struct scenario_state *state)
{
	static int32_t numbers[ROWS * COLUMNS];
	struct bi_view *array, *wrapped;

	open_device(state);
	fill_bytes(numbers, ARRAY_LENGTH(numbers), 40);
	wrapped = wrap_bytes(state, numbers, sizeof(numbers));
	array = new_array(state, state->context, ROWS, COLUMNS);
	if (has_failed(state) || !went_well(state, bi_copy(array, wrapped, NULL, state->err)))
		return;
	expect_numbers(state, array, 40, 0);
	if (!has_failed(state))
		wrap_device_memory(state, array);
}

static cl_uint references_of(cl_mem buffer)
{
	cl_uint count = 0;

	driver()->clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof(count), &count, NULL);
	return count;
}

/* A wrap with an event takes the caller's reference if it succeeds, and leaves it alone if it fails. */
static void steal_buffer(struct scenario_state *state, cl_mem buffer)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	cl_uint before = references_of(buffer), after;
	struct bi_memory *memory = NULL;
	struct bi_event *event = NULL;

	if (!went_well(state, bi_event_record(bi_context_stream(state->context), &event, state->err)))
		return;
	foreign.kind = BI_HANDLE_CL_MEM;
	foreign.handle = (uintptr_t)buffer;
	foreign.flags = BI_WRAP_STEAL;
	foreign.events = &event;
	foreign.event_count = 1;
	/* The call may be the one that is made to fail. */
	if (driver()->clRetainMemObject(buffer) && driver()->clRetainMemObject(buffer))
		goto out;
	if (!went_well(state, bi_memory_wrap(state->context, &foreign, &memory, state->err))) {
		after = references_of(buffer);
		EXPECT(state, !before || !after || after == before + 1);
		driver()->clReleaseMemObject(buffer);
	}
	bi_memory_release(memory);
out:
	bi_event_release(event);
}

void scenario_stolen_buffers(struct scenario_state *state)
{
	struct bi_native native;
	struct bi_view *array;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	if (has_failed(state))
		return;
	bi_view_native(array, &native);
	if (native.kind == BI_HANDLE_CL_MEM)
		steal_buffer(state, (cl_mem)native.handle);
}

/* Views. */

void scenario_views(struct scenario_state *state)
{
	const struct bi_index row = { BI_INDEX_INTEGER, 1, 0, 0 };
	const int64_t flat[1] = { ROWS * COLUMNS }, wide[3] = { 2, ROWS, COLUMNS };
	struct bi_view *array, *made[7] = { NULL };
	struct bi_layout layout;
	struct bi_dtype bytes;
	int rc = BI_OK;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	bytes = type_of(state, "uint8");
	if (has_failed(state))
		return;
	EXPECT(state, bi_view_ndim(array) == 2 && bi_view_shape(array)[1] == COLUMNS);
	EXPECT(state, bi_view_strides(array)[1] == 4 && bi_view_dtype(array).item_size == 4 && !bi_view_flags(array));
	bi_view_layout(array, &layout);
	(void)bi_view_host_pointer(array);
	bi_view_release(bi_view_retain(array));
	rc = bi_view_index(array, &row, 1, &made[0], state->err);
	rc = rc ? rc : bi_view_flip(array, 0, &made[1], state->err);
	rc = rc ? rc : bi_view_reshape(array, 1, flat, &made[2], state->err);
	rc = rc ? rc : bi_view_broadcast(array, 3, wide, &made[3], state->err);
	rc = rc ? rc : bi_view_reinterpret(array, bytes, NULL, &made[4], state->err);
	rc = rc ? rc : bi_view_with_layout(array, &layout, &made[5], state->err);
	rc = rc ? rc : bi_view_create(bi_view_memory(array), &layout, BI_VIEW_READONLY, &made[6], state->err);
	for (size_t i = 0; i < ARRAY_LENGTH(made); i++)
		keep_object(state, release_view, made[i]);
	went_well(state, rc);
}

void scenario_structured_views(struct scenario_state *state)
{
	const int64_t shape[1] = { 8 };
	const char *descr = "[('x', '<i4'), ('y', '<i4')]";
	struct bi_view *raw = NULL, *pairs = NULL, *field = NULL;
	struct bi_exchange description = BI_EXCHANGE_INIT;
	struct bi_dtype dtype;

	open_device(state);
	if (has_failed(state) || !went_well(state, bi_dtype_parse_descr(descr, &dtype, state->err)))
		return;
	went_well(state, bi_view_empty(state->context, dtype, 1, shape, &raw, state->err));
	keep_object(state, release_view, raw);
	if (has_failed(state))
		return;
	went_well(state, bi_view_reinterpret(raw, dtype, descr, &pairs, state->err));
	keep_object(state, release_view, pairs);
	if (has_failed(state))
		return;
	went_well(state, bi_view_field(pairs, "y", &field, state->err));
	keep_object(state, release_view, field);
	if (went_well(state, bi_view_export(pairs, BI_ACQUIRE_BORROW, &description, state->err)))
		description.release(&description);
}

/* Operations. */

void scenario_elements(struct scenario_state *state)
{
	const int64_t index[2] = { 2, -1 };
	struct bi_view *array;
	int32_t five = 5, number = 0;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 0);
	if (has_failed(state) || !went_well(state, bi_view_set_element(array, index, &five, state->err)))
		return;
	if (went_well(state, bi_view_get_element(array, index, &number, state->err)))
		EXPECT(state, number == 5);
}

void scenario_copies(struct scenario_state *state)
{
	struct bi_view *array, *dense, *other;
	struct bi_stream *stream;
	int32_t nine = 9;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	dense = new_array(state, state->context, COLUMNS, ROWS);
	other = transposed(state, array);
	stream = new_stream(state);
	write_numbers(state, array, 100);
	if (has_failed(state) || !went_well(state, bi_copy(dense, other, stream, state->err)))
		return;
	expect_numbers(state, dense, 100, 1);
	if (!has_failed(state))
		went_well(state, bi_fill(array, &nine, stream, state->err));
	if (!has_failed(state))
		went_well(state, bi_view_synchronize(array, state->err));
	EXPECT(state, has_failed(state) || bi_view_is_idle(array));
}

void scenario_overlapping_copy(struct scenario_state *state)
{
	const struct bi_index first = { BI_INDEX_SLICE, 0, ROWS - 1, 1 }, last = { BI_INDEX_SLICE, 1, ROWS, 1 };
	struct bi_view *array, *to = NULL, *from = NULL;
	int32_t numbers[ROWS * COLUMNS];

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 0);
	if (has_failed(state))
		return;
	went_well(state, bi_view_index(array, &last, 1, &to, state->err));
	keep_object(state, release_view, to);
	went_well(state, bi_view_index(array, &first, 1, &from, state->err));
	keep_object(state, release_view, from);
	if (has_failed(state) || !went_well(state, bi_copy(to, from, NULL, state->err)) ||
	    !went_well(state, bi_view_read(array, numbers, sizeof(numbers), state->err)))
		return;
	for (int i = COLUMNS; i < ROWS * COLUMNS; i++)
		EXPECT(state, numbers[i] == i - COLUMNS);
}

#define LARGE 1100

static void check_large(struct scenario_state *state, const struct bi_view *dense, const int32_t *numbers)
{
	int32_t *found = malloc(sizeof(int32_t) * LARGE * LARGE);

	if (!found) {
		went_well(state, BI_ENOMEM);
		snprintf(state->err->message, sizeof(state->err->message), "the test has no memory");
		state->err->status = BI_ENOMEM;
		return;
	}
	if (went_well(state, bi_view_read(dense, found, sizeof(int32_t) * LARGE * LARGE, state->err)))
		for (int i = 0; i < LARGE * LARGE; i++)
			EXPECT(state, found[i] == numbers[i % LARGE * LARGE + i / LARGE]);
	free(found);
}

void scenario_large_copies(struct scenario_state *state)
{
	static int32_t numbers[LARGE * LARGE];
	struct bi_view *array, *dense, *other;

	open_device(state);
	fill_bytes(numbers, ARRAY_LENGTH(numbers), 3);
	array = new_array(state, state->context, LARGE, LARGE);
	dense = new_array(state, state->context, LARGE, LARGE);
	other = transposed(state, array);
	if (has_failed(state) || !went_well(state, bi_view_write(array, numbers, sizeof(numbers), state->err)) ||
	    !went_well(state, bi_copy(dense, other, NULL, state->err)))
		return;
	check_large(state, dense, numbers);
}

void scenario_copies_between_contexts(struct scenario_state *state)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *second = NULL;
	struct bi_view *array, *other, *there;

	open_device(state);
	options.device = state->device;
	if (has_failed(state) || !went_well(state, bi_context_open(&options, &second, state->err)))
		return;
	keep_object(state, release_context, second);
	array = new_array(state, state->context, ROWS, COLUMNS);
	other = transposed(state, array);
	there = new_array(state, second, COLUMNS, ROWS);
	write_numbers(state, array, 11);
	if (has_failed(state) || !went_well(state, bi_copy(there, other, NULL, state->err)))
		return;
	expect_numbers(state, there, 11, 1);
}

void scenario_maps(struct scenario_state *state)
{
	struct bi_view *array;
	struct bi_map *map = NULL;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	if (has_failed(state) || !went_well(state, bi_view_map(array, BI_MAP_WRITE | BI_MAP_DISCARD, &map, state->err)))
		return;
	fill_bytes(bi_map_data(map), (size_t)ROWS * COLUMNS, 21);
	if (!went_well(state, bi_unmap(map, state->err)))
		return;
	expect_numbers(state, array, 21, 0);
	map = NULL;
	if (has_failed(state) || !went_well(state, bi_view_map(array, BI_MAP_READ, &map, state->err)))
		return;
	EXPECT(state, *(const int32_t *)bi_map_data(map) == 21);
	bi_map_abandon(map);
	went_well(state, bi_unmap(map, state->err));
}

void scenario_uses(struct scenario_state *state)
{
	struct bi_use uses[2];
	struct bi_native native;
	struct bi_view *array, *other;
	struct bi_stream *stream;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	other = new_array(state, state->context, ROWS, COLUMNS);
	stream = new_stream(state);
	write_numbers(state, array, 31);
	if (has_failed(state))
		return;
	uses[0] = (struct bi_use){ array, BI_ACCESS_READ };
	uses[1] = (struct bi_use){ other, BI_ACCESS_WRITE };
	if (went_well(state, bi_use_begin(stream, uses, 2, state->err))) {
		bi_use_native(other, &native);
		EXPECT(state, native.handle != 0);
		went_well(state, bi_use_end(stream, uses, 2, state->err));
	}
	expect_numbers(state, array, 31, 0);
}

/* Launches. */

/* Kernels as C, and their text. */
#define KERNELS(...) \
	static const char kernel_text[] = #__VA_ARGS__; \
	__VA_ARGS__

KERNELS(BI_KERNEL(add, (BI_STRIDED_INOUT(int, 2, data), BI_VALUE(int, amount))) {
	BI_AT2(data, BI_GLOBAL_ID(y), BI_GLOBAL_ID(x)) += amount;
})

static void release_program(void *program)
{
	bi_program_release(program);
}

static void release_kernel(void *kernel)
{
	bi_kernel_release(kernel);
}

/* Returns PTX with the entry and the parameters of the kernel. The simulated driver runs the C function for it. */
static const char *simulated_image(void)
{
	static char image[4096];
	const unsigned char *bytes = (const unsigned char *)bi_kernel_add.parameters;
	const size_t nbytes = 3 * sizeof(*bi_kernel_add.parameters);
	void *library = dlopen(getenv("BI_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), *address;
	size_t used = (size_t)sprintf(image,
				      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 "
				      ".b8 bi_parameters_add[%zu] = {",
				      nbytes);
	cuda_sim_kernel_fn *announce;

	for (size_t i = 0; i < nbytes; i++)
		used += (size_t)sprintf(image + used, i ? ", %u" : "%u", bytes[i]);
	sprintf(image + used, "};\n.visible .entry bi_kernel_add(\n)\n");
	address = dlsym(library, "cuda_sim_kernel");
	memcpy(&announce, &address, sizeof(address));
	announce(&bi_kernel_add);
	return image;
}

static struct bi_kernel *build_kernel(struct scenario_state *state)
{
	static const struct bi_host_kernel *const functions[] = { &bi_kernel_add };
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program = NULL;
	struct bi_kernel *kernel = NULL;
	char log[100];

	source.text = kernel_text;
	source.functions = functions;
	source.function_count = 1;
	source.log = log;
	source.log_capacity = sizeof(log);
	if (!strncmp(state->device, "cuda", 4)) { /* the simulated driver has no compiler */
		source.image = simulated_image();
		source.functions = NULL;
	}
	if (!went_well(state, bi_program_build(state->context, &source, &program, state->err)))
		return NULL;
	bi_program_release(bi_program_retain(program));
	keep_object(state, release_program, program);
	if (!went_well(state, bi_kernel_get(program, "add", &kernel, state->err)))
		return NULL;
	bi_kernel_release(bi_kernel_retain(kernel));
	keep_object(state, release_kernel, kernel);
	return kernel;
}

void scenario_launches(struct scenario_state *state)
{
	const struct bi_grid grid = { 2, { ROWS, COLUMNS }, { 0, 0 } };
	struct bi_kernel *kernel;
	struct bi_stream *stream;
	struct bi_view *array;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 31);
	stream = new_stream(state);
	kernel = has_failed(state) ? NULL : build_kernel(state);
	if (!kernel)
		return;
	if (went_well(state, bi_launch(kernel, stream, &grid, (struct bi_argument[]){ BI_UPDATES(array), BI_INT(7) }, 2,
				       state->err)))
		expect_numbers(state, array, 38, 0);
}

/* Exchange. */

void scenario_exchange(struct scenario_state *state)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_view *array, *back = NULL;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 51);
	if (has_failed(state) || !went_well(state, bi_view_export(array, 0, &exchange, state->err)))
		return;
	if (!went_well(state, bi_view_import(state->context, &exchange, 0, &back, state->err))) {
		exchange.release(&exchange);
		return;
	}
	keep_object(state, release_view, back);
	expect_numbers(state, back, 51, 0);
}

/* A tensor that this library did not make. */
struct foreign_tensor {
	struct bi_dl_managed_versioned managed;
	int64_t shape[2];
	int32_t numbers[ROWS * COLUMNS];
	struct scenario_state *state;
};

static void delete_tensor(struct bi_dl_managed_versioned *tensor)
{
	((struct foreign_tensor *)tensor->manager_ctx)->state->released++;
}

static void import_foreign_tensor(struct scenario_state *state)
{
	static struct foreign_tensor tensor;
	struct bi_view *view = NULL;

	memset(&tensor, 0, sizeof(tensor));
	tensor.state = state;
	tensor.shape[0] = ROWS;
	tensor.shape[1] = COLUMNS;
	fill_bytes(tensor.numbers, ARRAY_LENGTH(tensor.numbers), 61);
	tensor.managed.version.major = 1;
	tensor.managed.manager_ctx = &tensor;
	tensor.managed.deleter = delete_tensor;
	tensor.managed.tensor.data = tensor.numbers;
	tensor.managed.tensor.device.device_type = BI_EXCHANGE_DEVICE_CPU;
	tensor.managed.tensor.ndim = 2;
	tensor.managed.tensor.shape = tensor.shape;
	tensor.managed.tensor.dtype.code = 0;
	tensor.managed.tensor.dtype.bits = 32;
	tensor.managed.tensor.dtype.lanes = 1;
	if (went_well(state, bi_dlpack_import(state->context, &tensor.managed, NULL, &view, state->err)))
		state->taken++;
	keep_object(state, release_view, view);
	expect_numbers(state, view, 61, 0);
}

static void export_tensors(struct scenario_state *state, struct bi_view *array)
{
	struct bi_dl_managed_versioned *tensor = NULL;
	struct bi_dl_managed *unversioned = NULL;
	struct bi_view *back = NULL;
	struct bi_dl_tensor description;

	went_well(state, bi_dlpack_describe(array, &description, state->err));
	(void)bi_dlpack_device(array);
	if (has_failed(state) || !went_well(state, bi_dlpack_export(array, 0, &tensor, state->err)))
		return;
	EXPECT(state, bi_dlpack_view(tensor) == array);
	if (!went_well(state, bi_dlpack_import(state->context, tensor, NULL, &back, state->err)))
		tensor->deleter(tensor);
	keep_object(state, release_view, back);
	if (has_failed(state) || !went_well(state, bi_dlpack_export_unversioned(array, 0, &unversioned, state->err)))
		return;
	EXPECT(state, bi_dlpack_view_unversioned(unversioned) == array);
	back = NULL;
	if (!went_well(state, bi_dlpack_import_unversioned(state->context, unversioned, NULL, &back, state->err)))
		unversioned->deleter(unversioned);
	keep_object(state, release_view, back);
}

void scenario_dlpack(struct scenario_state *state)
{
	struct bi_view *array;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	if (has_failed(state))
		return;
	export_tensors(state, array);
	if (!has_failed(state))
		import_foreign_tensor(state);
}

void scenario_cuda_array_interface(struct scenario_state *state)
{
	struct bi_cai_import_options options = BI_CAI_IMPORT_INIT;
	struct bi_view *array, *back = NULL;
	struct bi_native native;
	struct bi_cai cai;
	int ordinal;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 71);
	if (has_failed(state))
		return;
	bi_view_native(array, &native);
	if (native.kind != BI_HANDLE_CUDA)
		return;
	if (has_failed(state) || !went_well(state, bi_cai_export(array, 3, 0, &cai, state->err)) ||
	    !went_well(state, bi_cai_device(&cai, &ordinal, state->err)))
		return;
	options.release = note_release;
	options.release_data = state;
	if (went_well(state, bi_cai_import(state->context, &cai, &options, &back, state->err)))
		state->taken++;
	keep_object(state, release_view, back);
	expect_numbers(state, back, 71, 0);
}

void scenario_bindings(struct scenario_state *state)
{
	static int32_t numbers[ROWS * COLUMNS];
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	const int64_t shape[2] = { ROWS, COLUMNS };
	struct bi_dtype dtype;
	struct bi_layout layout;
	struct bi_view *array, *wrapped = NULL, *host = NULL;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	uintptr_t stream;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	dtype = type_of(state, "int32");
	if (has_failed(state) || !went_well(state, bi_layout_init(&layout, dtype, 2, shape, NULL, 0, state->err)))
		return;
	(void)bi_view_release_is_immediate(array);
	went_well(state, bi_view_home_stream(array, &stream, state->err));
	if (went_well(state, bi_view_export_nonblocking(array, 0, &exchange, state->err)))
		exchange.release(&exchange);
	went_well(state, bi_view_switch_to_context_stream(array, state->err));
	foreign.release = note_release;
	foreign.release_data = state;
	if (went_well(state,
		      bi_view_wrap_at(state->context, (uintptr_t)numbers, &foreign, &layout, &wrapped, state->err)))
		state->taken++;
	keep_object(state, release_view, wrapped);
	went_well(state, bi_view_wrap_host(state->context, numbers, dtype, 2, shape, NULL, NULL, &host, state->err));
	keep_object(state, release_view, host);
}

/* Writes and reads two arrays in one call each. */
void scenario_several_arrays(struct scenario_state *state)
{
	int32_t numbers[2][ROWS * COLUMNS], back[2][ROWS * COLUMNS];
	struct bi_transfer to[2], from[2];

	open_device(state);
	for (int i = 0; i < 2; i++) {
		const struct bi_view *array = new_array(state, state->context, ROWS, COLUMNS);

		fill_bytes(numbers[i], ROWS * COLUMNS, 81 + i);
		to[i] = (struct bi_transfer){ array, numbers[i], SMALL };
		from[i] = (struct bi_transfer){ array, back[i], SMALL };
	}
	if (has_failed(state) || !went_well(state, bi_views_write(to, 2, state->err)) ||
	    !went_well(state, bi_views_read(from, 2, state->err)))
		return;
	EXPECT(state, memcmp(numbers, back, sizeof(back)) == 0);
}

static int keep_view(struct scenario_state *state, int rc, struct bi_view *const *view)
{
	if (!went_well(state, rc))
		return 0;
	keep_object(state, release_view, *view);
	return !has_failed(state);
}

/* Arrays that are made of another one, here and in the shared context of the device. */
void scenario_other_arrays(struct scenario_state *state)
{
	const struct bi_index whole = { BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 1 };
	struct bi_context *shared = NULL;
	struct bi_view *array, *across, *made = NULL;
	struct bi_layout layout;
	int64_t index[BI_MAX_NDIM] = { 0 };

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 91);
	across = transposed(state, array);
	if (has_failed(state) || !went_well(state, bi_context_shared(state->device, &shared, state->err)))
		return;
	keep_object(state, release_context, shared);
	bi_view_layout(array, &layout);
	EXPECT(state, bi_layout_step(&layout, index) == 4 && !bi_context_symbol(shared, "bi_no_such_function"));
	(void)bi_context_device_handle(shared);
	if (keep_view(state, bi_view_clone(array, NULL, &made, state->err), &made))
		expect_numbers(state, made, 91, 0);
	if (keep_view(state, bi_view_contiguous(across, &made, state->err), &made))
		expect_numbers(state, made, 91, 1);
	if (keep_view(state, bi_view_to_device(array, shared, &made, state->err), &made))
		expect_numbers(state, made, 91, 0);
	keep_view(state, bi_view_index_axis(array, 1, whole, &made, state->err), &made);
	keep_view(state, bi_view_squeeze(array, &made, state->err), &made);
}

/* A file in memory, which is larger than what is read and written. */
struct file {
	unsigned char bytes[SMALL + 256];
	size_t position;
};

static int read_file(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	struct file *file = data;

	(void)err;
	*got = nbytes;
	memcpy(bytes, file->bytes + file->position, nbytes);
	file->position += nbytes;
	return BI_OK;
}

static int write_file(void *data, const void *bytes, size_t nbytes, struct bi_error *err)
{
	struct file *file = data;

	(void)err;
	memcpy(file->bytes + file->position, bytes, nbytes);
	file->position += nbytes;
	return BI_OK;
}

/* The file is there after a success only, and no other file is left. */
static void save_and_load(struct scenario_state *state, const struct bi_view *array)
{
	char folder[] = "/tmp/bi-fault-XXXXXX", path[64];
	struct bi_view *back = NULL;
	int is_saved, is_there;

	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/a.npy", folder);
	is_saved = went_well(state, bi_npy_save(array, path, state->err));
	if (is_saved && keep_view(state, bi_npy_load(state->context, path, &back, state->err), &back))
		expect_numbers(state, back, 101, 1);
	is_there = unlink(path) == 0;
	EXPECT(state, is_there == is_saved);
	EXPECT(state, rmdir(folder) == 0);
}

/* An array that is contiguous in Fortran order, and one that is not contiguous. */
void scenario_numpy_files(struct scenario_state *state)
{
	struct file file = { .position = 0 };
	const struct bi_npy_source source = { read_file, NULL, &file, -1 };
	struct bi_view *array, *across, *back = NULL;

	open_device(state);
	array = new_array(state, state->context, ROWS, COLUMNS);
	write_numbers(state, array, 101);
	across = transposed(state, array);
	if (has_failed(state))
		return;
	save_and_load(state, across);
	if (has_failed(state) || !went_well(state, bi_npy_write(across, write_file, &file, state->err)))
		return;
	file.position = 0;
	if (keep_view(state, bi_npy_read(state->context, &source, &back, state->err), &back))
		expect_numbers(state, back, 101, 1);
}
