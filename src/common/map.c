#include <stdlib.h>

#include "common/dispatch.h"
#include "common/order.h"

struct bi_map {
	struct bi_view *view;
	unsigned mode;
	void *base; /* what the driver gave, or NULL: the memory is host memory */
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
static unsigned safe_mode(const struct bi_layout *layout, int64_t nbytes, unsigned mode)
{
	return mode & BI_MAP_DISCARD && bi_layout_nbytes(layout) != nbytes ? BI_MAP_READ | BI_MAP_WRITE : mode;
}

/* Locked. */
static int enter(struct bi_memory *memory, unsigned mode, struct bi_error *err)
{
	int rc = bi__order_check_mapped(memory, (mode & BI_MAP_WRITE) != 0, err);

	if (!rc)
		*(mode & BI_MAP_WRITE ? &memory->writers : &memory->readers) += 1;
	return rc;
}

static void leave(struct bi_memory *memory, unsigned mode)
{
	*(mode & BI_MAP_WRITE ? &memory->writers : &memory->readers) -= 1;
}

/* Locked. */
static int enqueue_map(struct bi_map *map, struct bi__fence *fence, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi_layout layout;
	int64_t first, end;
	int ended, rc = bi__order_begin(memory, memory->home, err);

	if (rc)
		return rc;
	bi_view_layout(map->view, &layout);
	bi_layout_extent(&layout, &first, &end);
	rc = bi__dispatch_map(memory, (size_t)first, (size_t)(end - first), safe_mode(&layout, end - first, map->mode),
			      &map->base, fence, err);
	/* Also after a failure: what is already enqueued stays ordered. */
	ended = bi__order_end(memory, memory->home, rc ? NULL : err);
	if (rc)
		return rc;
	map->data = (char *)map->base + (layout.offset - first);
	return ended;
}

/* Gives the memory back to the library. */
static int unmap(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	int rc = BI_OK, end = BI_OK;

	bi__order_lock(memory, NULL);
	leave(memory, map->mode);
	if (map->base) {
		rc = bi__dispatch_unmap(memory, map->base, err);
		end = bi__order_end(memory, memory->home, rc ? NULL : err);
	}
	bi__order_unlock(memory, NULL);
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

/* The address is there; what is pending must end. */
static int map_host(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;

	map->data = (char *)memory->block.host + map->view->offset;
	return bi__order_synchronize(memory, BI__WAIT_MAP, err);
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
	int rc = bi__dispatch_reachable(memory, err);

	if (rc || is_empty(map->view))
		return rc;
	rc = enter_locked(memory, map->mode, err);
	if (rc)
		return rc;
	rc = bi__is_host(memory) ? map_host(map, err) : map_device(map, err);
	if (rc)
		unmap(map, NULL);
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
	map->view = bi_view_retain((struct bi_view *)(uintptr_t)view);
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
	int rc;

	if (!map)
		return BI_OK;
	rc = bi__dispatch_reachable(map->view->memory, err);
	if (!rc && map->data)
		rc = unmap(map, err);
	bi_view_release(map->view);
	free(map);
	return rc;
}
