#include <stdlib.h>

#include "common/backend/dispatch.h"
#include "common/runtime/fence.h"
#include "common/runtime/operation.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"
#include "common/view/view.h"

struct bi_map {
	struct bi_view *view;
	unsigned mode;
	void *base; /* what the driver gave, or NULL: it does not map */
	struct bi_memory
		*copy; /* of the bytes from `first` to `end`, where the CPU cannot use the memory itself; or NULL */
	int64_t first, end;
	void *data; /* element [0, ..., 0] */
};

static int check(const struct bi_view *view, unsigned mode, struct bi_error *err)
{
	if (!view)
		return bi__fail(err, BI_EINVAL, "view is NULL");
	if (!(mode & (BI_MAP_READ | BI_MAP_WRITE)) || mode > (BI_MAP_READ | BI_MAP_WRITE | BI_MAP_DISCARD))
		return bi__fail(err, BI_EINVAL, "mode %u is not made of READ, WRITE and DISCARD", mode);
	if ((mode & BI_MAP_DISCARD) && (mode & BI_MAP_READ || !(mode & BI_MAP_WRITE)))
		return bi__fail(err, BI_EINVAL, "mode %u: DISCARD goes with WRITE alone", mode);
	if (mode & BI_MAP_WRITE && view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "a read-only view is mapped for writing");
	return BI_OK;
}

/* Bytes between the elements would be lost with DISCARD; then the old contents are kept. */
static unsigned safe_mode(const struct bi_map *map)
{
	struct bi_layout layout;

	bi_view_layout(map->view, &layout);
	if (map->mode & BI_MAP_DISCARD && bi_layout_nbytes(&layout) != map->end - map->first)
		return BI_MAP_READ | BI_MAP_WRITE;
	return map->mode;
}

/* Locked. */
static int enter(struct bi_memory *memory, unsigned mode, struct bi_error *err)
{
	int rc = bi__order_check_mapped(memory, (mode & BI_MAP_WRITE) != 0, err);

	if (!rc)
		*(mode & BI_MAP_WRITE ? &memory->mappings.writers : &memory->mappings.readers) += 1;
	return rc;
}

static void leave(struct bi_memory *memory, unsigned mode)
{
	*(mode & BI_MAP_WRITE ? &memory->mappings.writers : &memory->mappings.readers) -= 1;
}

/* Locked. */
static int enqueue_map(struct bi_map *map, struct bi__fence *fence, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi_stream *stream = memory->home;
	const struct bi__range range = {
		.block = &memory->block,
		.offset = (size_t)map->first,
		.nbytes = (size_t)(map->end - map->first),
		.mode = safe_mode(map),
	};
	uintptr_t event;
	int ended, rc = bi__order_begin_locked(memory, stream, err);

	if (rc)
		return rc;
	rc = bi__dispatch_map(&memory->context->device, &stream->queue, &range, &map->base, &event, err);
	if (!rc)
		*fence = bi__fence_of(memory->context, event);
	/* Also after a failure: what is already enqueued stays ordered. */
	ended = bi__order_end_locked(memory, stream, rc ? NULL : err);
	if (rc)
		return rc;
	map->data = (char *)map->base + (map->view->offset - map->first);
	return ended;
}

/* Both locked. Enqueues the copy of the mapped bytes, in or out, on the memory's home. */
static int move_copy(struct bi_map *map, int out, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi_stream *stream = memory->home;
	struct bi__plan plan;
	const struct bi__operation operation = {
		.name = out ? "unmap" : "map",
		.plan = &plan,
		.dst = out ? memory : map->copy,
		.src = out ? map->copy : memory,
	};
	int ended, copy_ended, rc = bi__order_check_capture_locked(stream, memory, map->copy, err);

	if (!rc)
		rc = bi__order_begin_locked(memory, stream, err);
	if (!rc)
		rc = bi__order_begin_locked(map->copy, stream, err);
	if (rc)
		return rc;
	bi__plan_bytes(&plan, out ? map->first : 0, out ? 0 : map->first, (size_t)(map->end - map->first));
	rc = bi__operation_enqueue(stream, &operation, NULL, err);
	ended = bi__order_end_locked(memory, stream, rc ? NULL : err);
	copy_ended = bi__order_end_locked(map->copy, stream, rc || ended ? NULL : err);
	return rc ? rc : ended ? ended : copy_ended;
}

/* Gives the memory back to the library. */
static int unmap(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	int rc = BI_OK, end = BI_OK;

	bi__order_lock(memory, map->copy);
	leave(memory, map->mode);
	if (map->base) {
		rc = bi__dispatch_unmap(&memory->context->device, &memory->home->queue, &memory->block, map->base, err);
		end = bi__order_end_locked(memory, memory->home, rc ? NULL : err);
	} else if (map->copy && map->mode & BI_MAP_WRITE) {
		rc = move_copy(map, 1, err);
	}
	bi__order_unlock(memory, map->copy);
	return rc ? rc : end;
}

static int enter_locked(struct bi_memory *memory, unsigned mode, struct bi_error *err)
{
	int rc;

	bi__order_lock(memory, NULL);
	rc = enter(memory, mode, err);
	bi__order_unlock(memory, NULL);
	return rc;
}

static int map_device(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi__fence fence = { NULL, 0 };
	int rc;

	bi__order_lock(memory, NULL);
	rc = enqueue_map(map, &fence, err);
	bi__order_unlock(memory, NULL);
	if (!rc)
		rc = bi__fence_block(&fence, BI__WAIT_MAP, err);
	bi__fence_clear(&fence);
	return rc;
}

/* Fills the copy, unless every byte of it will be written. */
static int read_copy(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	int rc;

	bi__order_lock(memory, map->copy);
	rc = move_copy(map, 0, err);
	bi__order_unlock(memory, map->copy);
	return rc;
}

/* What the CPU cannot address is lent as a copy, in memory that the device transfers fastest. */
static int map_copy(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	int rc = bi_memory_create(memory->context, (size_t)(map->end - map->first), BI_MEMORY_PINNED, &map->copy, err);

	if (rc)
		return rc;
	if (!(safe_mode(map) & BI_MAP_DISCARD))
		rc = read_copy(map, err);
	/* Also where nothing was read: the copy may come from the pool, and its last work be pending. */
	if (!rc)
		rc = bi__order_synchronize(map->copy, BI__WAIT_MAP, err);
	map->data = (char *)map->copy->block.host + (map->view->offset - map->first);
	return rc;
}

/* The address is there; what is pending must end. */
static int map_host(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;

	map->data = (char *)memory->block.host + map->view->offset;
	return bi__order_synchronize(memory, BI__WAIT_MAP, err);
}

static int refuse_capture(struct bi_memory *memory, struct bi_error *err)
{
	return memory->home ? bi__stream_refuse_capture(memory->home, "its memory is not mapped", err) : BI_OK;
}

static int map_by_kind(struct bi_map *map, struct bi_error *err)
{
	const struct bi_memory *memory = map->view->memory;
	struct bi_layout layout;

	bi_view_layout(map->view, &layout);
	bi_layout_extent(&layout, &map->first, &map->end);
	if (memory->backend->map)
		return map_device(map, err);
	return memory->block.host ? map_host(map, err) : map_copy(map, err);
}

/* Undoes a mapping that failed: nothing of it is written. */
static void give_up(struct bi_map *map)
{
	struct bi_memory *copy = map->copy;

	map->copy = NULL;
	unmap(map, NULL);
	bi_memory_release(copy);
}

static int is_empty(const struct bi_view *view)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	return bi_layout_nbytes(&layout) == 0;
}

static int map_any(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	int rc = bi__memory_check_reach(memory, err);

	if (rc || is_empty(map->view))
		return rc;
	rc = refuse_capture(memory, err);
	if (!rc)
		rc = enter_locked(memory, map->mode, err);
	if (rc)
		return rc;
	rc = map_by_kind(map, err);
	if (rc)
		give_up(map);
	return rc;
}

int bi_view_map(const struct bi_view *view, unsigned mode, struct bi_map **out, struct bi_error *err)
{
	struct bi_map *map;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	*out = NULL;
	rc = check(view, mode, err);
	if (rc)
		return rc;
	map = calloc(1, sizeof(*map));
	if (!map)
		return bi__fail(err, BI_ENOMEM, "no memory for a mapping");
	map->mode = mode;
	map->view = bi__view_retain_const(view);
	rc = map_any(map, err);
	if (rc) {
		bi_view_release(map->view);
		free(map);
		return rc;
	}
	*out = map;
	return BI_OK;
}

void *bi_map_data(const struct bi_map *map)
{
	return map->data;
}

int bi_unmap(struct bi_map *map, struct bi_error *err)
{
	struct bi_error refusal;
	int rc;

	if (!map)
		return BI_OK;
	rc = bi__memory_check_reach(map->view->memory, err);
	/* What was written must not go into a graph. */
	if (!rc && map->copy && map->mode & BI_MAP_WRITE && refuse_capture(map->view->memory, &refusal) == BI_ECAPTURE)
		return bi__fail(err, BI_ECAPTURE, "%s", refusal.message);
	if (!rc && map->data)
		rc = unmap(map, err);
	bi_memory_release(map->copy);
	bi_view_release(map->view);
	free(map);
	return rc;
}
