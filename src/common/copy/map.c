/*
 * Mapping: gives the CPU the bytes of a view until bi_unmap.
 *
 * Memory with a CPU address is used in place if its backend has no mapping function (host memory, CUDA's pinned and
 * managed memory), or if the library alone can use the address (private_host, never exported, no failed work). The
 * calling thread then only waits for pending work. Other memory is mapped by its driver if the driver can map,
 * otherwise it is copied to pinned memory and back. The memory counts as mapped before bi_view_map waits, so that
 * bi__order_check_mapped refuses conflicting work.
 */
#include <stdlib.h>

#include "buffer_interface/binding.h"
#include "common/backend/dispatch.h"
#include "common/copy/job.h"
#include "common/runtime/fence.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"
#include "common/view/view.h"

struct bi_map {
	struct bi_view *view;
	unsigned mode;
	void *base; /* address that the driver mapped, or NULL */
	struct bi_memory
		*copy; /* copy of the bytes `first` to `end`, if the CPU cannot access the memory itself; or NULL */
	int64_t first, end;
	void *data; /* address of element [0, ..., 0] */
};

static int check_map(const struct bi_view *view, unsigned mode, struct bi_error *err)
{
	if (!(mode & (BI_MAP_READ | BI_MAP_WRITE)) || mode > (BI_MAP_READ | BI_MAP_WRITE | BI_MAP_DISCARD))
		return bi__fail(err, BI_EINVAL, "mode %u is not BI_MAP_READ, _WRITE, or both, or _WRITE with _DISCARD",
				mode);
	if ((mode & BI_MAP_DISCARD) && (mode & BI_MAP_READ || !(mode & BI_MAP_WRITE)))
		return bi__fail(err, BI_EINVAL, "mode %u: BI_MAP_DISCARD is allowed with BI_MAP_WRITE alone", mode);
	if (mode & BI_MAP_WRITE && view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "the view is read-only; it can be mapped for reading only");
	return BI_OK;
}

/* Returns the address at which the CPU can use the memory once its work is complete, or NULL. */
static char *direct_address_locked(const struct bi_memory *memory)
{
	if (memory->block.private_host && !memory->order.failed && !(memory->marks & BI__MARK_EXPORTED))
		return memory->block.private_host;
	return memory->backend->move.map ? NULL : memory->block.host;
}

/* Marks the memory as mapped, or returns BI_EBUSY. Sets *address to the result of direct_address_locked. */
static int enter_map(struct bi_memory *memory, unsigned mode, char **address, struct bi_error *err)
{
	int rc;

	bi__order_lock(memory, NULL);
	rc = bi__order_check_mapped(memory, (mode & BI_MAP_WRITE) != 0, err);
	if (!rc && mode & BI_MAP_WRITE)
		atomic_fetch_or(&memory->marks, BI__MARK_WRITTEN);
	else if (!rc)
		memory->readers++;
	/* The marks are read after WRITTEN is set: an export that takes no lock is either seen here, or fails. */
	*address = direct_address_locked(memory);
	bi__order_unlock(memory, NULL);
	return rc;
}

static void leave_map_locked(struct bi_memory *memory, unsigned mode)
{
	if (mode & BI_MAP_WRITE)
		atomic_fetch_and(&memory->marks, (unsigned char)~BI__MARK_WRITTEN);
	else
		memory->readers--;
}

static int enqueue_map_locked(struct bi_map *map, struct bi__fence *fence, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi_stream *stream = memory->home;
	const struct bi__range range = {
		.block = &memory->block,
		.offset = (size_t)map->first,
		.nbytes = (size_t)(map->end - map->first),
		.mode = map->mode,
	};
	uintptr_t event;
	int ended, rc = bi__order_begin_locked(memory, stream, err);

	if (rc)
		return rc;
	rc = bi__dispatch_map(&memory->context->device, &stream->queue, &range, &map->base, &event, err);
	if (!rc)
		*fence = bi__fence_of(memory->context, event);
	/* This is needed after a failure as well, because some commands may have been enqueued. */
	ended = bi__order_end_locked(memory, stream, rc ? NULL : err);
	if (rc)
		return rc;
	map->data = (char *)map->base + (map->view->offset - map->first);
	return ended;
}

/* Returns BI_ECAPTURE if the home stream is captured: it cannot be waited for, and a copy would join the graph. */
static int refuse_map_in_capture(const struct bi_memory *memory, struct bi_error *err)
{
	return memory->home ? bi__stream_refuse_capture(memory->home, "its memory is not mapped", err) : BI_OK;
}

/* Enqueues a copy on the home stream of the memory: from the memory to map->copy, or back if `out` is 1. */
static int move_copy_locked(struct bi_map *map, int out, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi_stream *stream = memory->home;
	struct bi__job job;
	int ended, rc = refuse_map_in_capture(memory, err);

	if (!rc)
		rc = bi__order_check_capture_locked(stream, memory, map->copy, err);
	if (!rc)
		rc = bi__order_begin_locked(memory, stream, err);
	if (!rc)
		rc = bi__order_begin_locked(map->copy, stream, err);
	if (rc)
		return rc;
	job.operation = out ? "unmap" : "map";
	job.dst = out ? memory : map->copy;
	job.src = out ? map->copy : memory;
	bi__plan_bytes(&job.plan, out ? map->first : 0, out ? 0 : map->first, (size_t)(map->end - map->first));
	rc = bi__job_execute(&job, stream, NULL, err);
	ended = bi__order_end_copy_locked(job.dst, job.src, stream, BI__FENCE_NONE, rc ? NULL : err);
	return rc ? rc : ended;
}

/*
 * Ends the driver's mapping. If the driver refuses, tries again when the home stream is empty, because bytes that the
 * CPU wrote would be lost otherwise.
 */
static int unmap_locked(const struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi__device *device = &memory->context->device;
	struct bi_error reason;
	int rc = bi__dispatch_unmap(device, &memory->home->queue, &memory->block, map->base, &reason);

	if (rc && !bi__stream_finish(memory->home, NULL))
		rc = bi__dispatch_unmap(device, &memory->home->queue, &memory->block, map->base, &reason);
	return rc ? bi__fail_vendor(err, rc, reason.vendor, "%s", reason.message) : BI_OK;
}

/* Ends the mapping. After BI_ECAPTURE the memory is still mapped. */
static int end_map(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi__scope scope;
	int rc = BI_OK, end = BI_OK;

	bi__order_lock(memory, map->copy);
	bi__dispatch_begin(&scope, &memory->context->device);
	if (map->base) {
		rc = unmap_locked(map, err);
		end = bi__order_end_locked(memory, memory->home, rc ? NULL : err);
	} else if (map->copy && map->mode & BI_MAP_WRITE) {
		rc = move_copy_locked(map, 1, err);
	}
	bi__dispatch_end(&scope);
	if (rc != BI_ECAPTURE)
		leave_map_locked(memory, map->mode);
	bi__order_unlock(memory, map->copy);
	return rc ? rc : end;
}

static int map_device(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi__fence fence = BI__FENCE_NONE;
	int waited, rc;

	bi__order_lock(memory, NULL);
	rc = enqueue_map_locked(map, &fence, err);
	bi__order_unlock(memory, NULL);
	/* Waits after a failure, too: on an out-of-order stream the unmapping could run before the mapping. */
	waited = bi__fence_block(&fence, BI__WAIT_MAP, rc ? NULL : err);
	bi__fence_clear(&fence);
	return rc ? rc : waited;
}

/* Maps a copy in pinned memory, to which the device copies fastest. With BI_MAP_DISCARD the copy gets no bytes. */
static int map_copy(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	struct bi__scope scope;
	int rc = bi_memory_create(memory->context, (size_t)(map->end - map->first), BI_MEMORY_PINNED, &map->copy, err);

	if (rc)
		return rc;
	if (!(map->mode & BI_MAP_DISCARD)) {
		bi__order_lock(memory, map->copy);
		bi__dispatch_begin(&scope, &memory->context->device);
		rc = move_copy_locked(map, 0, err);
		bi__dispatch_end(&scope);
		bi__order_unlock(memory, map->copy);
	}
	if (!rc)
		rc = bi__order_synchronize(map->copy, BI__WAIT_MAP, err);
	map->data = (char *)map->copy->block.host + (map->view->offset - map->first);
	return rc;
}

/* Sets the range of bytes to map, which contains all elements. Returns 0 if there are none. */
static int find_bytes(struct bi_map *map)
{
	struct bi_layout layout;
	int64_t nbytes;

	bi_view_layout(map->view, &layout);
	nbytes = bi_layout_nbytes(&layout);
	if (!nbytes)
		return 0;
	bi_layout_extent(&layout, &map->first, &map->end);
	/* DISCARD would lose bytes in gaps. If elements overlap, there may be gaps although the two sizes are equal. */
	if (map->mode & BI_MAP_DISCARD && (nbytes != map->end - map->first || bi_layout_self_overlap(&layout)))
		map->mode = BI_MAP_READ | BI_MAP_WRITE;
	return 1;
}

void bi_map_abandon(struct bi_map *map)
{
	bi_memory_release(map->copy);
	map->copy = NULL;
}

static int map_view(struct bi_map *map, struct bi_error *err)
{
	struct bi_memory *memory = map->view->memory;
	int rc = bi__dispatch_check_reach(memory->backend, &memory->context->device, err);
	char *address = NULL;

	if (rc || !find_bytes(map))
		return rc;
	rc = refuse_map_in_capture(memory, err);
	if (!rc)
		rc = enter_map(memory, map->mode, &address, err);
	if (rc)
		return rc;
	if (address) {
		map->data = address + map->view->offset;
		rc = bi__order_synchronize(memory, BI__WAIT_MAP, err);
	} else if (memory->backend->move.map) {
		rc = map_device(map, err);
	} else {
		rc = map_copy(map, err);
	}
	if (rc) {
		bi_map_abandon(map);
		end_map(map, NULL);
	}
	return rc;
}

static void free_map(struct bi_map *map)
{
	bi_memory_release(map->copy);
	bi_view_release(map->view);
	free(map);
}

int bi_view_map(const struct bi_view *view, unsigned mode, struct bi_map **out, struct bi_error *err)
{
	struct bi_map *map;
	int rc = bi__check_out(out, view != NULL, "view is NULL", err);

	if (!rc)
		rc = check_map(view, mode, err);
	if (rc)
		return rc;
	map = calloc(1, sizeof(*map));
	if (!map)
		return bi__fail(err, BI_ENOMEM, "no memory for a mapping");
	map->mode = mode;
	map->view = bi__view_retain_const(view);
	rc = map_view(map, err);
	if (rc)
		free_map(map);
	else
		*out = map;
	return rc;
}

void *bi_map_data(const struct bi_map *map)
{
	return map->data;
}

int bi_unmap(struct bi_map *map, struct bi_error *err)
{
	const struct bi_memory *memory;
	int rc;

	if (!map)
		return BI_OK;
	memory = map->view->memory;
	rc = bi__dispatch_check_reach(memory->backend, &memory->context->device, err);
	if (!rc && map->data)
		rc = end_map(map, err);
	if (rc != BI_ECAPTURE)
		free_map(map);
	return rc;
}
