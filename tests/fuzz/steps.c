/* The steps that call the library alone. */
#include <stdio.h>

#include "buffer_interface/dlpack.h"
#include "program.h"

static void step_create_memory(struct program *program)
{
	static const enum bi_memory_kind kinds[] = { BI_MEMORY_DEFAULT, BI_MEMORY_DEVICE, BI_MEMORY_PINNED,
						     BI_MEMORY_HOST };
	int slot = free_memory_slot(program);
	enum bi_memory_kind kind = kinds[take(program, 4)];
	struct model *model;
	struct bi_error err;
	int rc;

	if (slot < 0)
		return;
	model = &program->memories[slot];
	memset(model, 0, sizeof(*model));
	model->nbytes = 1 + take(program, take(program, 3) ? 300 : MOST_BYTES);
	rc = bi_memory_create(kept.context, model->nbytes, kind, &model->memory, &err);
	if (!succeeded(program, rc, &err, "bi_memory_create"))
		return;
	write_all(program, slot);
}

static void lent_is_released(void *data)
{
	struct lent *lent = data;

	atomic_fetch_add(&lent->program->released, 1);
	if (!atomic_exchange(&lent->is_used, 0))
		wrong(lent->program, "a release callback was called twice");
	if (!lent->program->is_child && memcmp(lent->bytes, lent->expected, (size_t)lent->is_known) != 0)
		wrong(lent->program, "wrapped bytes are released with other contents than the model");
}

static struct lent *free_lent(struct program *program)
{
	for (int i = 0; i < MOST_MEMORIES; i++)
		if (!atomic_load(&program->lent[i].is_used))
			return &program->lent[i];
	return NULL;
}

static void step_wrap_host(struct program *program)
{
	int slot = free_memory_slot(program);
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct lent *lent = free_lent(program);
	struct model *model;
	struct bi_error err;
	int rc;

	if (slot < 0 || !lent)
		return;
	model = &program->memories[slot];
	memset(model, 0, sizeof(*model));
	model->nbytes = 1 + take(program, MOST_BYTES);
	lent->program = program;
	lent->is_known = 0;
	foreign.handle = (uintptr_t)lent->bytes;
	foreign.nbytes = model->nbytes;
	foreign.release = lent_is_released;
	foreign.release_data = lent;
	rc = bi_memory_wrap(kept.context, &foreign, &model->memory, &err);
	if (!succeeded(program, rc, &err, "bi_memory_wrap"))
		return;
	atomic_store(&lent->is_used, 1);
	atomic_fetch_add(&program->taken, 1);
	model->lent = lent;
	write_all(program, slot);
}

/* Halves the longest extent until the elements fit into the memory. Returns 0 if one element does not. */
static int shrink(struct bi_layout *layout, size_t nbytes)
{
	int64_t first, end;
	int longest;

	for (;;) {
		bi_layout_extent(layout, &first, &end);
		if (end - first <= (int64_t)nbytes)
			return 1;
		longest = 0;
		for (int i = 1; i < layout->ndim; i++)
			if (layout->shape[i] > layout->shape[longest])
				longest = i;
		if (!layout->ndim || layout->shape[longest] < 2)
			return 0;
		layout->shape[longest] /= 2;
	}
}

/* Chooses extents, strides and offset of a layout inside the memory. Returns 0 if there is none. */
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
	if (bi_layout_init(layout, dtype, ndim, shape, take(program, 3) ? strides : NULL, 0, NULL) ||
	    !shrink(layout, model->nbytes))
		return 0;
	bi_layout_extent(layout, &first, &end);
	layout->offset = -first + (int64_t)take(program, (unsigned)((int64_t)model->nbytes - (end - first)) + 1);
	return 1;
}

static void step_create_view(struct program *program)
{
	int memory = choose_memory(program), slot = free_array_slot(program);
	struct bi_view *view = NULL;
	struct bi_layout layout;
	struct bi_error err;

	if (slot < 0 || memory < 0 || !choose_layout(program, &program->memories[memory], &layout))
		return;
	if (succeeded(program, bi_view_create(program->memories[memory].memory, &layout, 0, &view, &err), &err,
		      "bi_view_create"))
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

static void step_write(struct program *program)
{
	struct array *array = choose_writable(program);
	unsigned first = take(program, 256), step = take(program, 8);
	struct bi_layout layout;
	struct bi_error err;
	size_t nbytes;
	int rc;

	if (!array)
		return;
	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	for (size_t i = 0; i < nbytes; i++)
		program->dense[i] = (unsigned char)(first + i * step);
	rc = bi_view_write(array->view, program->dense, nbytes, &err);
	if ((rc == BI_EOVERLAP && bi_layout_self_overlap(&layout)) || is_busy(model_of(program, array), rc, 1))
		return;
	if (succeeded(program, rc, &err, "bi_view_write"))
		scatter(model_of(program, array), &layout, program->dense);
	check_bytes_are_free(program, array, rc, nbytes, 1);
	note_result(model_of(program, array), !rc);
	await_bytes(program, array->view, rc);
}

static void step_read(struct program *program)
{
	struct array *array = choose_array(program);
	struct bi_layout layout;
	struct bi_error err;
	size_t nbytes;
	int rc;

	if (!array)
		return;
	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	memset(program->other, 0xa5, nbytes);
	rc = bi_view_read(array->view, program->other, nbytes, &err);
	if (is_busy(model_of(program, array), rc, 0))
		return;
	if (!succeeded(program, rc, &err, "bi_view_read")) {
		check_bytes_are_free(program, array, rc, nbytes, 0);
		await_bytes(program, array->view, rc);
		return;
	}
	gather(model_of(program, array), &layout, program->dense);
	for (size_t i = 0; i < nbytes && !model_of(program, array)->is_unknown; i++)
		if (program->other[i] != program->dense[i])
			wrong(program, "bi_view_read of memory %d: byte %zu of %zu is %u, not %u", array->memory, i,
			      nbytes, program->other[i], program->dense[i]);
}

static void step_fill(struct program *program)
{
	struct array *array = choose_writable(program);
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
		item[i] = (unsigned char)(i < 2 ? take(program, 256) : item[i - 2] + 1u);
	rc = bi_fill(array->view, item, stream, &err);
	if (is_busy(model_of(program, array), rc, 1) || (rc == BI_EOVERLAP && bi_layout_self_overlap(&layout)))
		return;
	if (succeeded(program, rc, &err, "bi_fill"))
		for (size_t n = 0; n < count_of(&layout); n++)
			memcpy(model_of(program, array)->bytes + offset_of(&layout, n), item, layout.dtype.item_size);
	note_stream(model_of(program, array), stream);
	note_result(model_of(program, array), !rc);
}

static int fits(const struct bi_layout *a, const struct bi_layout *b)
{
	return a->ndim == b->ndim && a->dtype.item_size == b->dtype.item_size &&
	       memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof(*a->shape)) == 0;
}

static struct array *existing_destination(struct program *program, const struct bi_layout *from)
{
	struct bi_layout layout;

	for (int i = 0; i < MOST_VIEWS; i++) {
		struct array *array = &program->arrays[i];

		if (!array->view || model_of(program, array)->is_shared)
			continue;
		bi_view_layout(array->view, &layout);
		if (fits(&layout, from) && take(program, 2))
			return array;
	}
	return NULL;
}

/* Returns an array of the same shape and item size: one that exists, or a new dense one. Returns NULL on failure. */
static struct array *destination_for(struct program *program, const struct bi_layout *from)
{
	int memory = choose_memory(program), slot = free_array_slot(program);
	struct array *found = take(program, 2) ? existing_destination(program, from) : NULL;
	struct model *model = &program->memories[memory];
	struct bi_layout layout;
	struct bi_view *view = NULL;
	struct bi_error err;
	int64_t nbytes;

	if (found || slot < 0 || model->is_shared)
		return found;
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
		gather(model_of(program, from), &source, program->dense);
		scatter(model_of(program, to), &destination, program->dense);
	}
	note_stream(model_of(program, from), stream);
	note_stream(model_of(program, to), stream);
	if (model_of(program, from)->is_unknown)
		model_of(program, to)->is_unknown = 1;
	note_result(model_of(program, to), !rc);
}

/* Enqueues a copy of device memory into the wrapped bytes, on the context stream. */
static void copy_into_wrapped(struct program *program, struct model *to, struct model *from)
{
	int64_t size = (int64_t)(to->nbytes < from->nbytes ? to->nbytes : from->nbytes);
	struct bi_view *target = NULL, *source = NULL;
	struct bi_dtype dtype;
	struct bi_layout layout;
	struct bi_error err;
	int rc = bi_dtype_parse("uint8", &dtype, &err);

	rc = rc ? rc : bi_layout_init(&layout, dtype, 1, &size, NULL, 0, &err);
	rc = rc ? rc : bi_view_create(to->memory, &layout, 0, &target, &err);
	rc = rc ? rc : bi_view_create(from->memory, &layout, 0, &source, &err);
	rc = rc ? rc : bi_copy(target, source, kept.streams[0], &err);
	if (succeeded(program, rc, &err, "bi_copy into wrapped bytes"))
		memcpy(to->bytes, from->bytes, (size_t)size);
	to->is_unknown |= from->is_unknown;
	note_result(to, !rc);
	bi_view_release(target);
	bi_view_release(source);
}

/*
 * Writes into an array from bytes that are also wrapped as memory. Work on these bytes that was enqueued on the context
 * stream must come first, also if the write is small enough to be done inline.
 */
static void step_write_from_wrapped(struct program *program)
{
	struct array *array = choose_writable(program);
	int memory = choose_memory(program), source = choose_memory(program);
	struct model *from, *to, *before;
	struct bi_layout layout;
	struct bi_error err;
	size_t nbytes;
	int rc;

	if (!array)
		return;
	from = &program->memories[memory];
	before = &program->memories[source];
	to = model_of(program, array);
	bi_view_layout(array->view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	if (!from->lent || from->map || from->is_shared || from->is_used_elsewhere || nbytes > from->nbytes)
		return;
	/* The context stream writes device memory, unless a producer named another stream. */
	if (to == from || to->producer || bi_memory_is_host(to->memory))
		return;
	if (!before->map && !bi_memory_is_host(before->memory))
		copy_into_wrapped(program, from, before);
	if (from->is_unknown)
		return;
	rc = bi_view_write(array->view, from->lent->bytes, nbytes, &err);
	if (is_busy(to, rc, 1) || (rc == BI_EOVERLAP && bi_layout_self_overlap(&layout)))
		return;
	if (succeeded(program, rc, &err, "bi_view_write from wrapped bytes"))
		scatter(to, &layout, from->bytes);
	note_result(to, !rc);
	await_bytes(program, array->view, rc);
}

static void step_element(struct program *program)
{
	struct array *array = choose_writable(program);
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
		item[i] = (unsigned char)(i ? item[i - 1] * 3u + 1 : take(program, 256));
	rc = bi_view_set_element(array->view, index, item, &err);
	if (is_busy(model, rc, 1))
		return;
	note_result(model, !rc);
	if (!succeeded(program, rc, &err, "bi_view_set_element"))
		return;
	memcpy(model->bytes + offset, item, layout.dtype.item_size);
	rc = bi_view_get_element(array->view, index, found, &err);
	if (succeeded(program, rc, &err, "bi_view_get_element") && memcmp(found, item, layout.dtype.item_size) != 0)
		wrong(program, "an element that was set reads as something else");
	await_bytes(program, array->view, rc);
}

static void use_mapping(struct program *program, struct model *model, const struct bi_layout *layout)
{
	unsigned char *data = bi_map_data(model->map);

	for (size_t n = 0; n < count_of(layout); n++) {
		unsigned char *item = data + (offset_of(layout, n) - layout->offset);
		unsigned char *expected = model->bytes + offset_of(layout, n);

		if (!model->is_unknown && memcmp(item, expected, layout->dtype.item_size) != 0)
			wrong(program, "a mapping shows other bytes than the model");
		if (model->is_written) {
			memset(item, (int)(n & 255), layout->dtype.item_size);
			memset(expected, (int)(n & 255), layout->dtype.item_size);
		}
	}
}

static void step_map(struct program *program)
{
	unsigned mode = take(program, 2) ? BI_MAP_READ | BI_MAP_WRITE : BI_MAP_READ;
	struct array *array = choose_writable(program);
	struct bi_layout layout;
	struct bi_error err;
	struct model *model;
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
	use_mapping(program, model, &layout);
}

static void step_unmap(struct program *program)
{
	int memory = choose_memory(program);

	if (memory >= 0)
		unmap(program, &program->memories[memory]);
}

static void step_streams(struct program *program)
{
	struct bi_stream *a = kept.streams[take(program, MOST_STREAMS)], *b = kept.streams[take(program, MOST_STREAMS)];
	struct bi_event *event = NULL;
	struct bi_error err;
	int done;

	if (!a || !b)
		return;
	switch (take(program, 3)) {
	case 0:
		succeeded(program, bi_stream_join(a, &b, 1, &err), &err, "bi_stream_join");
		return;
	case 1:
		succeeded(program, bi_stream_synchronize(a, &err), &err, "bi_stream_synchronize");
		return;
	default:
		if (!succeeded(program, bi_event_record(a, &event, &err), &err, "bi_event_record"))
			return;
		succeeded(program, bi_stream_wait(b, event, &err), &err, "bi_stream_wait");
		succeeded(program, bi_event_query(event, &done, &err), &err, "bi_event_query");
		bi_event_release(event);
	}
}

static void step_exchange(struct program *program)
{
	struct array *array = choose_array(program);
	int slot = free_array_slot(program), rc;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_view *view = NULL;
	struct bi_error err;

	if (!array || slot < 0)
		return;
	rc = bi_view_export(array->view, take(program, 2) ? BI_ACQUIRE_READY : 0, &exchange, &err);
	if (is_busy(model_of(program, array), rc, 0) || !succeeded(program, rc, &err, "bi_view_export"))
		return;
	rc = bi_view_import(kept.context, &exchange, 0, &view, &err);
	if (!succeeded(program, rc, &err, "bi_view_import")) {
		exchange.release(&exchange);
		return;
	}
	add_array(program, slot, view, array->memory);
}

static void step_dlpack(struct program *program)
{
	struct array *array = choose_array(program);
	struct bi_dl_managed_versioned *tensor = NULL;
	int slot = free_array_slot(program), rc;
	struct bi_view *view = NULL;
	struct bi_error err;

	if (!array || slot < 0)
		return;
	rc = bi_dlpack_export(array->view, 0, &tensor, &err);
	/* DLPack has no type for these items, or the strides are no multiples of the item size. */
	if (rc == BI_EDTYPE || rc == BI_EUNSUPPORTED || rc == BI_EINVAL || is_busy(model_of(program, array), rc, 0))
		return;
	if (!succeeded(program, rc, &err, "bi_dlpack_export"))
		return;
	rc = bi_dlpack_import(kept.context, tensor, NULL, &view, &err);
	if (!succeeded(program, rc, &err, "bi_dlpack_import")) {
		tensor->deleter(tensor);
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

static void step_release_memory(struct program *program)
{
	int memory = choose_memory(program);

	if (memory >= 0 && !program->memories[memory].is_shared)
		forget_memory(program, memory);
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

static void step_fault(struct program *program)
{
	unsigned choice = take(program, 4096), n = take(program, 32);

	if (!program->is_alone)
		return;
	/* Only every other block has faults after which objects may be left at the end. */
	program->may_fail = (int)faults_arm(choice, n, kept.block % 2 == 0);
	if (program->may_fail == FAULT_CALLS)
		program->was_refused = kept.was_refused = 1;
}

step_fn *const library_steps[] = {
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
	step_streams,
	step_exchange,
	step_dlpack,
	step_release_array,
	step_release_memory,
	step_synchronize,
	step_trim,
	step_make_known,
	step_fault,
	step_fault,
	NULL,
};
