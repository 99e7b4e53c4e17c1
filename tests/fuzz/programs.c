#include "programs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/dlpack.h"

#ifdef BI_FUZZ_ALLOCATIONS
#include "behaviour/fault/allocations.h"
#endif

#define MOST_MEMORIES 6
#define MOST_VIEWS 12
#define MOST_STREAMS 3
#define MOST_BYTES 3000
#define MOST_STEPS 60
/* So many programs share a context; then another one is opened, with other options. */
#define PROGRAMS_PER_CONTEXT 64

struct model {
	struct bi_memory *memory; /* NULL: the slot is free */
	unsigned char bytes[MOST_BYTES]; /* what the memory should hold */
	unsigned char host[MOST_BYTES]; /* of the caller */
	int is_wrapped; /* the memory wraps `host` */
	size_t nbytes;
	struct bi_map *map; /* one mapping at a time */
	int is_written; /* mapped for writing */
	int is_unknown; /* a failed operation left undefined contents */
	int is_used_elsewhere; /* work on another stream than the context's may be pending on it */
};

struct array {
	struct bi_view *view; /* NULL: the slot is free */
	int memory; /* index of the model */
};

static struct {
	const char *device;
	struct bi_context *context;
	struct bi_stream *streams[MOST_STREAMS]; /* the first is the context stream */
	unsigned long programs;
} kept;

struct program {
	const uint8_t *data;
	size_t size;
	int trace;
	struct model memories[MOST_MEMORIES];
	struct array arrays[MOST_VIEWS];
	int taken, released; /* release callbacks */
	int may_fail; /* an allocation is armed */
	char wrong[300];
};

static void wrong(struct program *program, const char *format, ...)
{
	va_list arguments;

	if (*program->wrong)
		return;
	va_start(arguments, format);
	vsnprintf(program->wrong, sizeof(program->wrong), format, arguments);
	va_end(arguments);
}

static unsigned take(struct program *program, unsigned below)
{
	unsigned number = 0;

	if (below < 2)
		return 0;
	for (unsigned bytes = below > 256 ? 2 : 1; bytes; bytes--) {
		number = number << 8 | (program->size ? *program->data : 0u);
		if (program->size) {
			program->data++;
			program->size--;
		}
	}
	return number % below;
}

/*
 * The status of a call that should succeed. Returns 1 if it did; 0 if an armed allocation failed it, which is right;
 * else notes what is wrong. A driver may refuse what a device cannot do.
 */
static int succeeded(struct program *program, int rc, const struct bi_error *err, const char *call)
{
	if (program->trace)
		printf("  %s -> %d\n", call, rc);
	if (!rc)
		return 1;
	if (!(program->may_fail && rc == BI_ENOMEM))
		wrong(program, "%s: %s: %s", call, bi_status_name(rc), err->message);
	return 0;
}

/* The model. */

static size_t count_of(const struct bi_layout *layout)
{
	return (size_t)bi_layout_size(layout);
}

/* Offset of the n-th element in C order. */
static int64_t offset_of(const struct bi_layout *layout, size_t n)
{
	int64_t offset = layout->offset;

	for (int i = layout->ndim - 1; i >= 0; i--) {
		offset += (int64_t)(n % (size_t)layout->shape[i]) * layout->strides[i];
		n /= (size_t)layout->shape[i];
	}
	return offset;
}

static void gather(const struct model *model, const struct bi_layout *layout, unsigned char *dense)
{
	size_t item = layout->dtype.item_size;

	for (size_t n = 0; n < count_of(layout); n++)
		memcpy(dense + n * item, model->bytes + offset_of(layout, n), item);
}

static void scatter(struct model *model, const struct bi_layout *layout, const unsigned char *dense)
{
	size_t item = layout->dtype.item_size;

	for (size_t n = 0; n < count_of(layout); n++)
		memcpy(model->bytes + offset_of(layout, n), dense + n * item, item);
}

/* What a failed operation may have left anywhere in the memory. */
static void note_result(struct program *program, struct model *model, int went_well)
{
	if (!went_well && program->may_fail)
		model->is_unknown = 1;
}

/* Work was enqueued on the stream, NULL: on the memory's home stream. */
static void note_stream(struct model *model, const struct bi_stream *stream)
{
	model->is_used_elsewhere |= stream && stream != kept.streams[0];
}

/* Choices. */

static int free_memory_slot(const struct program *program)
{
	for (int i = 0; i < MOST_MEMORIES; i++)
		if (!program->memories[i].memory)
			return i;
	return -1;
}

static int free_array_slot(const struct program *program)
{
	for (int i = 0; i < MOST_VIEWS; i++)
		if (!program->arrays[i].view)
			return i;
	return -1;
}

/* An array that is there, or NULL. */
static struct array *choose_array(struct program *program)
{
	unsigned first = take(program, MOST_VIEWS);

	for (unsigned i = 0; i < MOST_VIEWS; i++) {
		struct array *array = &program->arrays[(first + i) % MOST_VIEWS];

		if (array->view)
			return array;
	}
	return NULL;
}

static struct model *model_of(struct program *program, const struct array *array)
{
	return &program->memories[array->memory];
}

/* A stream for work on these memories (b may be NULL), or NULL. Streams of a device do not reach work of the host. */
static struct bi_stream *choose_stream(struct program *program, const struct model *a, const struct model *b)
{
	unsigned choice = take(program, MOST_STREAMS + 2);
	int is_on_host = bi_memory_is_host(a->memory) && (!b || bi_memory_is_host(b->memory));

	return choice < MOST_STREAMS && !is_on_host ? kept.streams[choice] : NULL;
}

/* A view of all bytes of a memory. */
static int view_bytes(const struct model *model, struct bi_view **view, struct bi_error *err)
{
	int64_t size = (int64_t)model->nbytes;
	struct bi_dtype dtype;
	struct bi_layout layout;
	int rc = bi_dtype_parse("uint8", &dtype, err);

	*view = NULL;
	rc = rc ? rc : bi_layout_init(&layout, dtype, 1, &size, NULL, 0, err);
	return rc ? rc : bi_view_create(model->memory, &layout, 0, view, err);
}

/* Makes everything in the memory known again by writing all of it. */
static void write_all(struct program *program, int slot)
{
	struct model *model = &program->memories[slot];
	unsigned char first = (unsigned char)take(program, 256);
	struct bi_view *view;
	struct bi_error err;
	int rc;

	if (model->map)
		return;
	for (size_t i = 0; i < model->nbytes; i++)
		model->bytes[i] = (unsigned char)(first + i * 7);
	rc = view_bytes(model, &view, &err);
	rc = rc ? rc : bi_view_write(view, model->bytes, model->nbytes, &err);
	model->is_unknown = !succeeded(program, rc, &err, "write all");
	bi_view_release(view);
}

static void read_all(struct program *program, int slot, const char *when)
{
	static unsigned char found[MOST_BYTES];
	struct model *model = &program->memories[slot];
	struct bi_view *view;
	struct bi_error err;
	int rc;

	if (model->is_unknown || model->is_written)
		return;
	rc = view_bytes(model, &view, &err);
	rc = rc ? rc : bi_view_read(view, found, model->nbytes, &err);
	if (succeeded(program, rc, &err, "read all"))
		for (size_t i = 0; i < model->nbytes; i++)
			if (found[i] != model->bytes[i]) {
				wrong(program, "%s: byte %zu of memory %d is %u, not %u", when, i, slot, found[i],
				      model->bytes[i]);
				break;
			}
	bi_view_release(view);
}

/* Steps. */

static void count_release(void *data)
{
	((struct program *)data)->released++;
}

static void step_create_memory(struct program *program)
{
	static const enum bi_memory_kind kinds[] = { BI_MEMORY_DEFAULT, BI_MEMORY_DEVICE, BI_MEMORY_PINNED,
						     BI_MEMORY_HOST };
	int slot = free_memory_slot(program);
	struct model *model;
	struct bi_error err;
	int rc;

	if (slot < 0)
		return;
	model = &program->memories[slot];
	memset(model, 0, sizeof(*model));
	model->nbytes = 1 + take(program, MOST_BYTES);
	rc = bi_memory_create(kept.context, model->nbytes, kinds[take(program, 4)], &model->memory, &err);
	if (!succeeded(program, rc, &err, "bi_memory_create"))
		return;
	write_all(program, slot);
}

static void step_wrap_host(struct program *program)
{
	int slot = free_memory_slot(program);
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct model *model;
	struct bi_error err;
	int rc;

	if (slot < 0)
		return;
	model = &program->memories[slot];
	memset(model, 0, sizeof(*model));
	model->nbytes = 1 + take(program, MOST_BYTES);
	foreign.handle = (uintptr_t)model->host;
	foreign.nbytes = model->nbytes;
	foreign.release = count_release;
	foreign.release_data = program;
	rc = bi_memory_wrap(kept.context, &foreign, &model->memory, &err);
	if (!succeeded(program, rc, &err, "bi_memory_wrap"))
		return;
	program->taken++;
	model->is_wrapped = 1;
	write_all(program, slot);
}

static void add_array(struct program *program, int slot, struct bi_view *view, int memory)
{
	program->arrays[slot].view = view;
	program->arrays[slot].memory = memory;
}

/* A layout inside the memory: extents and strides from the input, the offset where it fits. */
static int choose_layout(struct program *program, const struct model *model, struct bi_layout *layout)
{
	static const uint32_t items[] = { 1, 2, 4, 8, 3, 16, 24, 1 };
	int64_t shape[4], strides[4], first, end;
	uint32_t item = items[take(program, 8)];
	int ndim = (int)take(program, 5);
	struct bi_dtype dtype;

	if (bi_dtype_make(BI_VOID, 1, item, &dtype, NULL))
		return 0;
	for (int i = 0; i < ndim; i++) {
		shape[i] = (int64_t)take(program, 9);
		strides[i] = ((int64_t)take(program, 41) - 20) * (take(program, 4) ? (int64_t)item : 1);
	}
	if (bi_layout_init(layout, dtype, ndim, shape, take(program, 3) ? strides : NULL, 0, NULL))
		return 0;
	bi_layout_extent(layout, &first, &end);
	if (end - first > (int64_t)model->nbytes)
		return 0;
	layout->offset = -first + (int64_t)take(program, (unsigned)((int64_t)model->nbytes - (end - first)) + 1);
	return 1;
}

static void step_create_view(struct program *program)
{
	int memory = (int)take(program, MOST_MEMORIES), slot = free_array_slot(program);
	struct model *model = &program->memories[memory];
	struct bi_view *view = NULL;
	struct bi_layout layout;
	struct bi_error err;

	if (slot < 0 || !model->memory || !choose_layout(program, model, &layout))
		return;
	if (succeeded(program, bi_view_create(model->memory, &layout, 0, &view, &err), &err, "bi_view_create"))
		add_array(program, slot, view, memory);
}

static void step_derive_view(struct program *program)
{
	struct array *array = choose_array(program);
	struct bi_index item = { BI_INDEX_SLICE, 0, BI_OMITTED, 1 };
	int slot = free_array_slot(program), rc;
	struct bi_view *view = NULL;
	struct bi_error err;

	if (!array || slot < 0)
		return;
	item.start = (int64_t)take(program, 9) - 4;
	item.step = take(program, 2) ? 2 : -1;
	switch (take(program, 3)) {
	case 0:
		rc = bi_view_permute(array->view, NULL, &view, &err);
		break;
	case 1:
		rc = bi_view_index(array->view, &item, bi_view_ndim(array->view) > 0, &view, &err);
		break;
	default:
		if (!bi_view_ndim(array->view))
			return;
		rc = bi_view_flip(array->view, -1, &view, &err);
	}
	if (succeeded(program, rc, &err, "derive"))
		add_array(program, slot, view, array->memory);
}

/* BI_EBUSY is right where the memory is mapped; true if that explains the status. */
static int is_busy(const struct model *model, int rc, int writes)
{
	return rc == BI_EBUSY && model->map && (model->is_written || writes);
}

static void step_write(struct program *program)
{
	static unsigned char dense[8 * 8 * 8 * 8 * 24];
	struct array *array = choose_array(program);
	struct bi_layout layout;
	struct bi_error err;
	size_t nbytes;
	int rc;

	if (!array)
		return;
	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	for (size_t i = 0; i < nbytes; i++)
		dense[i] = (unsigned char)(take(program, 2) ? take(program, 256) : i * 3);
	rc = bi_view_write(array->view, dense, nbytes, &err);
	if (rc == BI_EOVERLAP && bi_layout_self_overlap(&layout))
		return;
	if (is_busy(model_of(program, array), rc, 1))
		return;
	if (succeeded(program, rc, &err, "bi_view_write"))
		scatter(model_of(program, array), &layout, dense);
	note_result(program, model_of(program, array), !rc);
}

static void step_read(struct program *program)
{
	static unsigned char dense[8 * 8 * 8 * 8 * 24], expected[8 * 8 * 8 * 8 * 24];
	struct array *array = choose_array(program);
	struct bi_layout layout;
	struct bi_error err;
	size_t nbytes;
	int rc;

	if (!array)
		return;
	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	rc = bi_view_read(array->view, dense, nbytes, &err);
	if (is_busy(model_of(program, array), rc, 0) || !succeeded(program, rc, &err, "bi_view_read"))
		return;
	gather(model_of(program, array), &layout, expected);
	if (!model_of(program, array)->is_unknown && memcmp(dense, expected, nbytes) != 0)
		wrong(program, "bi_view_read gives other bytes than the model");
}

static void step_fill(struct program *program)
{
	struct array *array = choose_array(program);
	struct bi_stream *stream;
	unsigned char item[24];
	struct bi_layout layout;
	struct bi_error err;
	int rc;

	if (!array)
		return;
	stream = choose_stream(program, model_of(program, array), NULL);
	bi_view_layout(array->view, &layout);
	for (size_t i = 0; i < layout.dtype.item_size; i++)
		item[i] = (unsigned char)take(program, 256);
	rc = bi_fill(array->view, item, stream, &err);
	if (is_busy(model_of(program, array), rc, 1))
		return;
	if (rc == BI_EOVERLAP && bi_layout_self_overlap(&layout))
		return;
	if (succeeded(program, rc, &err, "bi_fill"))
		for (size_t n = 0; n < count_of(&layout); n++)
			memcpy(model_of(program, array)->bytes + offset_of(&layout, n), item, layout.dtype.item_size);
	note_result(program, model_of(program, array), !rc);
}

static int fits(const struct bi_layout *a, const struct bi_layout *b)
{
	return a->ndim == b->ndim && a->dtype.item_size == b->dtype.item_size &&
	       memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof(*a->shape)) == 0;
}

/* An array of the same shape and item size in another memory: dense or transposed, made for the copy. */
static struct array *destination_for(struct program *program, const struct bi_layout *from)
{
	int memory = (int)take(program, MOST_MEMORIES), slot = free_array_slot(program);
	struct model *model = &program->memories[memory];
	struct bi_layout layout;
	struct bi_view *view = NULL;
	struct bi_error err;
	int64_t nbytes;

	for (int i = 0; i < MOST_VIEWS && take(program, 2); i++) {
		struct array *array = &program->arrays[i];

		if (!array->view)
			continue;
		bi_view_layout(array->view, &layout);
		if (fits(&layout, from))
			return array;
	}
	if (slot < 0 || !model->memory)
		return NULL;
	if (bi_layout_init(&layout, from->dtype, from->ndim, from->shape, NULL, 0, NULL))
		return NULL;
	nbytes = bi_layout_nbytes(&layout);
	if (nbytes > (int64_t)model->nbytes)
		return NULL;
	layout.offset = (int64_t)take(program, (unsigned)((int64_t)model->nbytes - nbytes) + 1);
	if (!succeeded(program, bi_view_create(model->memory, &layout, 0, &view, &err), &err, "bi_view_create"))
		return NULL;
	add_array(program, slot, view, memory);
	return &program->arrays[slot];
}

static void step_copy(struct program *program)
{
	static unsigned char dense[8 * 8 * 8 * 8 * 24];
	struct array *from = choose_array(program), *to;
	struct bi_layout source, destination;
	struct bi_stream *stream;
	struct bi_error err;
	int rc;

	if (!from)
		return;
	bi_view_layout(from->view, &source);
	to = destination_for(program, &source);
	if (!to)
		return;
	bi_view_layout(to->view, &destination);
	stream = choose_stream(program, model_of(program, from), model_of(program, to));
	rc = bi_copy(to->view, from->view, stream, &err);
	if (is_busy(model_of(program, to), rc, 1) || is_busy(model_of(program, from), rc, 0))
		return;
	if (rc == BI_EOVERLAP && bi_layout_self_overlap(&destination))
		return;
	if (succeeded(program, rc, &err, "bi_copy")) {
		gather(model_of(program, from), &source, dense);
		scatter(model_of(program, to), &destination, dense);
	}
	note_stream(model_of(program, from), stream);
	note_stream(model_of(program, to), stream);
	if (model_of(program, from)->is_unknown)
		model_of(program, to)->is_unknown = 1;
	note_result(program, model_of(program, to), !rc);
}

/*
 * Writes into an array from the bytes that a wrapped memory has. Work that was enqueued on the context stream comes
 * first, however small the write is.
 */
static void step_write_from_wrapped(struct program *program)
{
	struct array *array = choose_array(program);
	struct model *from = &program->memories[take(program, MOST_MEMORIES)], *to;
	struct bi_layout layout;
	struct bi_error err;
	size_t nbytes;
	int rc;

	if (!array || !from->memory || !from->is_wrapped || from->is_written || from->is_unknown ||
	    from->is_used_elsewhere)
		return;
	to = model_of(program, array);
	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	if (nbytes > from->nbytes || to == from)
		return;
	rc = bi_view_write(array->view, from->host, nbytes, &err);
	if (is_busy(to, rc, 1) || (rc == BI_EOVERLAP && bi_layout_self_overlap(&layout)))
		return;
	if (succeeded(program, rc, &err, "bi_view_write from wrapped bytes"))
		scatter(to, &layout, from->bytes);
	note_result(program, to, !rc);
}

static void step_element(struct program *program)
{
	struct array *array = choose_array(program);
	unsigned char item[24], found[24];
	int64_t index[BI_MAX_NDIM], offset;
	struct bi_layout layout;
	struct bi_error err;
	struct model *model;
	int rc;

	if (!array)
		return;
	model = model_of(program, array);
	bi_view_layout(array->view, &layout);
	if (!count_of(&layout))
		return;
	for (int i = 0; i < layout.ndim; i++)
		index[i] = (int64_t)take(program, (unsigned)layout.shape[i]);
	bi_layout_element(&layout, index, &offset, NULL);
	for (size_t i = 0; i < layout.dtype.item_size; i++)
		item[i] = (unsigned char)take(program, 256);
	rc = bi_view_set_element(array->view, index, item, &err);
	if (is_busy(model, rc, 1))
		return;
	note_result(program, model, !rc);
	if (!succeeded(program, rc, &err, "bi_view_set_element"))
		return;
	memcpy(model->bytes + offset, item, layout.dtype.item_size);
	rc = bi_view_get_element(array->view, index, found, &err);
	if (succeeded(program, rc, &err, "bi_view_get_element") && memcmp(found, item, layout.dtype.item_size) != 0)
		wrong(program, "an element that was set reads as something else");
}

static void step_map(struct program *program)
{
	struct array *array = choose_array(program);
	struct bi_layout layout;
	struct bi_error err;
	struct model *model;
	unsigned mode = take(program, 2) ? BI_MAP_READ | BI_MAP_WRITE : BI_MAP_READ;
	unsigned char *data;
	int rc;

	if (!array || model_of(program, array)->map)
		return;
	model = model_of(program, array);
	bi_view_layout(array->view, &layout);
	rc = bi_view_map(array->view, mode, &model->map, &err);
	if (rc == BI_EOVERLAP && bi_layout_self_overlap(&layout))
		return;
	if (!succeeded(program, rc, &err, "bi_view_map"))
		return;
	model->is_written = (mode & BI_MAP_WRITE) != 0;
	data = bi_map_data(model->map);
	for (size_t n = 0; n < count_of(&layout); n++) {
		unsigned char *item = data + (offset_of(&layout, n) - layout.offset);
		unsigned char *expected = model->bytes + offset_of(&layout, n);

		if (!model->is_unknown && memcmp(item, expected, layout.dtype.item_size) != 0 && !*program->wrong)
			wrong(program, "a mapping shows other bytes than the model");
		if (model->is_written) {
			memset(item, (int)(n & 255), layout.dtype.item_size);
			memset(expected, (int)(n & 255), layout.dtype.item_size);
		}
	}
}

static void unmap(struct program *program, struct model *model)
{
	struct bi_error err;

	if (!model->map)
		return;
	note_result(program, model, succeeded(program, bi_unmap(model->map, &err), &err, "bi_unmap"));
	model->map = NULL;
	model->is_written = 0;
}

static void step_unmap(struct program *program)
{
	unmap(program, &program->memories[take(program, MOST_MEMORIES)]);
}

static void step_use(struct program *program)
{
	struct array *array = choose_array(program), *other = choose_array(program);
	struct bi_stream *stream;
	struct bi_use uses[2];
	struct bi_error err;
	int rc;

	if (!array)
		return;
	stream = kept.streams[take(program, MOST_STREAMS)];
	uses[0] = (struct bi_use){ array->view, BI_ACCESS_READ };
	uses[1] = (struct bi_use){ other->view, BI_ACCESS_READ };
	rc = bi_use_begin(stream, uses, 2, &err);
	if (is_busy(model_of(program, array), rc, 0) || is_busy(model_of(program, other), rc, 0))
		return;
	if (succeeded(program, rc, &err, "bi_use_begin"))
		succeeded(program, bi_use_end(stream, uses, 2, &err), &err, "bi_use_end");
}

static void step_consumer_on_the_context_stream(struct program *program)
{
	struct array *array = choose_array(program);
	struct bi_error err;

	if (array)
		succeeded(program, bi_view_switch_to_context_stream(array->view, &err), &err,
			  "bi_view_switch_to_context_stream");
}

static void step_exchange(struct program *program)
{
	struct array *array = choose_array(program);
	int slot = free_array_slot(program), rc;
	struct bi_exchange exchange;
	struct bi_view *view = NULL;
	struct bi_error err;

	if (!array || slot < 0)
		return;
	rc = bi_view_export(array->view, take(program, 2) ? BI_EXPORT_EVENT : 0, &exchange, &err);
	if (!succeeded(program, rc, &err, "bi_view_export"))
		return;
	rc = bi_view_import(kept.context, &exchange, 0, &view, &err);
	if (!succeeded(program, rc, &err, "bi_view_import")) {
		exchange.release(&exchange);
		return;
	}
	add_array(program, slot, view, array->memory);
}

static void step_release_array(struct program *program)
{
	struct array *array = choose_array(program);

	if (!array)
		return;
	bi_view_release(array->view);
	array->view = NULL;
}

static void forget_memory(struct program *program, int slot)
{
	struct model *model = &program->memories[slot];

	if (!model->memory)
		return;
	unmap(program, model);
	for (int i = 0; i < MOST_VIEWS; i++)
		if (program->arrays[i].view && program->arrays[i].memory == slot) {
			bi_view_release(program->arrays[i].view);
			program->arrays[i].view = NULL;
		}
	/* The caller's bytes must live until pending work is done. */
	if (model->is_wrapped) {
		struct bi_error err;
		struct bi_view *view;
		int rc = view_bytes(model, &view, &err);

		rc = rc ? rc : bi_view_synchronize(view, &err);
		succeeded(program, rc, &err, "synchronise before release");
		bi_view_release(view);
	}
	bi_memory_release(model->memory);
	memset(model, 0, sizeof(*model));
}

static void step_release_memory(struct program *program)
{
	forget_memory(program, (int)take(program, MOST_MEMORIES));
}

static void step_synchronize(struct program *program)
{
	struct array *array = choose_array(program);
	struct bi_error err;

	if (array)
		succeeded(program, bi_view_synchronize(array->view, &err), &err, "bi_view_synchronize");
}

static void step_trim(struct program *program)
{
	struct bi_error err;

	succeeded(program, bi_context_trim(kept.context, take(program, 2000), &err), &err, "bi_context_trim");
}

static void step_make_known(struct program *program)
{
	for (int i = 0; i < MOST_MEMORIES; i++)
		if (program->memories[i].memory && program->memories[i].is_unknown)
			write_all(program, i);
}

#ifdef BI_FUZZ_ALLOCATIONS
static void step_fail_allocation(struct program *program)
{
	program->may_fail = 1;
	allocations_arm(1 + take(program, 4), FAIL_ONCE);
}

static void disarm(struct program *program)
{
	allocations_arm(0, FAIL_ONCE);
	program->may_fail = 0;
}
#else
static void disarm(struct program *program)
{
	program->may_fail = 0;
}
#endif

static void (*const steps[])(struct program *program) = {
	step_create_memory,
	step_create_memory,
	step_wrap_host,
	step_create_view,
	step_create_view,
	step_create_view,
	step_derive_view,
	step_derive_view,
	step_write,
	step_read,
	step_fill,
	step_copy,
	step_copy,
	step_copy,
	step_copy,
	step_write_from_wrapped,
	step_element,
	step_map,
	step_unmap,
	step_use,
	step_exchange,
	step_release_array,
	step_release_memory,
	step_synchronize,
	step_trim,
	step_make_known,
	step_consumer_on_the_context_stream,
#ifdef BI_FUZZ_ALLOCATIONS
	step_fail_allocation,
#endif
};

#define STEP_COUNT (sizeof(steps) / sizeof(*steps))

/* The context that programs share for a while. */

void close_programs(void)
{
	for (int i = 1; i < MOST_STREAMS; i++) {
		bi_stream_release(kept.streams[i]);
		kept.streams[i] = NULL;
	}
	bi_context_release(kept.context);
	kept.context = NULL;
}

static int open_for_program(struct program *program, const char *device)
{
	static const size_t limits[] = { 0, 1, 100, 256, 300, 2000, 4096, BI_POOL_NONE };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_error err;
	int rc;

	if (kept.context && kept.programs++ % PROGRAMS_PER_CONTEXT && strcmp(kept.device, device) == 0)
		return 1;
	close_programs();
	kept.device = options.device = device;
	options.pool_limit = limits[take(program, 8)];
	options.debug = take(program, 8) == 0;
	options.profile = take(program, 8) == 0;
	rc = bi_context_open(&options, &kept.context, &err);
	kept.streams[0] = rc ? NULL : bi_context_stream(kept.context);
	for (int i = 1; i < MOST_STREAMS && !rc; i++) {
		int can = (bi_context_device(kept.context)->capabilities & BI_CAP_OUT_OF_ORDER) != 0;

		rc = bi_stream_create(kept.context, i == 2 && can ? BI_STREAM_OUT_OF_ORDER : 0, &kept.streams[i], &err);
	}
	return succeeded(program, rc, &err, "bi_context_open");
}

const char *run_program(const char *device, const uint8_t *data, size_t size, int trace)
{
	static struct program program;

	memset(&program, 0, sizeof(program));
	program.data = data;
	program.size = size;
	program.trace = trace;
	if (!open_for_program(&program, device))
		return program.wrong;
	for (int i = 0; i < MOST_STEPS && program.size && !*program.wrong; i++) {
		int is_armed = program.may_fail;

		steps[take(&program, STEP_COUNT)](&program);
		if (is_armed)
			disarm(&program);
	}
	disarm(&program);
	for (int i = 0; i < MOST_MEMORIES && !*program.wrong; i++)
		if (program.memories[i].memory)
			read_all(&program, i, "at the end");
	for (int i = 0; i < MOST_MEMORIES; i++)
		forget_memory(&program, i);
	if (!*program.wrong && program.released != program.taken) {
		bi_context_trim(kept.context, 0, NULL);
		if (program.released != program.taken)
			wrong(&program, "%d release callbacks of %d were called", program.released, program.taken);
	}
	return *program.wrong ? program.wrong : NULL;
}
