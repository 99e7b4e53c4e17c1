#include <stdint.h>

#include "decisions.h"
#include "memory.h"
#include "scheduler.h"
#include "stream.h"

#define MAX_PITCH ((size_t)2147483647)

/* The kind of memory that a call declares for a side. */
enum side { SIDE_ANY, SIDE_HOST, SIDE_DEVICE };

/* A copy, and the memory of its sides, which decides whether the caller waits. */
struct request {
	struct copy copy;
	enum side dst_side, src_side;
	int is_dst_pageable, is_src_pageable;
	int is_peer; /* the call names the contexts of both sides */
};

static int is_empty(const struct copy *copy)
{
	return !copy->width || !copy->height || !copy->depth;
}

/* Returns true if a part of the host memory is registered, and a part is not. */
static int is_registered_in_part(uint64_t address, size_t nbytes)
{
	const struct allocation *allocation = memory_at(address);

	return !arena_at(address) && memory_overlaps(address, nbytes) &&
	       (!allocation || allocation->start + allocation->nbytes < address + nbytes);
}

/* Returns 1 for memory that no context owns, if it is of another device than the current context. */
static int is_far_pool(const struct allocation *allocation)
{
	return allocation && (allocation->kind == MEMORY_POOL || allocation->kind == MEMORY_MAPPED) &&
	       allocation->device != thread_top()->device;
}

/* `nbytes`: the size of a linear copy, 0 for other copies. */
static bi__cu_result check_side(enum side side, uint64_t address, size_t nbytes, int *is_pageable, int *device)
{
	const struct allocation *allocation = memory_at(address);
	char text[128];

	if (nbytes && switched(SWITCH_partly_registered) && is_registered_in_part(address, nbytes))
		return BI__CU_ERROR_INVALID_VALUE;

	*is_pageable = !allocation && !arena_at(address);
	*device = allocation && !is_host_memory(allocation) && allocation->kind != MEMORY_MANAGED ? allocation->device
												  : -1;
	if (side == SIDE_DEVICE && *is_pageable) {
		report(REPORT_UNREACHABLE, "0x%llx is host memory, where the call says that it is the device's",
		       (unsigned long long)address);
		return BI__CU_ERROR_INVALID_VALUE;
	}
	if (side == SIDE_HOST && *device >= 0) {
		report(REPORT_UNREACHABLE, "%s, where the call says that it is the host's",
		       memory_name(allocation, text));
		return BI__CU_ERROR_INVALID_VALUE;
	}
	return BI__CU_SUCCESS;
}

static bi__cu_result check_sides(struct request *request)
{
	const struct copy *copy = &request->copy;
	size_t nbytes = copy->height == 1 && copy->depth == 1 ? copy->width : 0;
	int dst_device, src_device;
	bi__cu_result code;

	code = check_side(request->dst_side, copy->dst.address, nbytes, &request->is_dst_pageable, &dst_device);
	if (!code)
		code = check_side(request->src_side, copy->src.address, nbytes, &request->is_src_pageable, &src_device);
	if (!code && switched(SWITCH_far_pools) && !request->is_peer &&
	    (is_far_pool(memory_at(copy->dst.address)) || is_far_pool(memory_at(copy->src.address))))
		code = BI__CU_ERROR_INVALID_VALUE;
	if (!code && dst_device >= 0 && src_device >= 0 && dst_device != src_device && !sim.options.peer)
		code = (bi__cu_result)DECIDED_NO_PEER;
	return code;
}

/* Waits until the copy is done. is_seen: the host has seen it complete then. */
static bi__cu_result wait_for_copy(struct stream *stream, struct op *op, int is_seen)
{
	struct clock clock = { NULL, 0 };
	bi__cu_result code;

	clock_join(&clock, &stream->clock);
	count_host_wait();
	code = wait_for_op(op);
	if (code)
		op->is_void = 1;
	else if (is_seen)
		clock_join(&host_clock, &clock);
	clock_clear(&clock);
	return code;
}

/*
 * Pageable memory: a source has been read when the call returns, but the copy need not have reached the device; a
 * destination has been written. A captured copy uses the memory when the graph is launched.
 */
static bi__cu_result copy_async(struct request *request, struct stream *stream)
{
	struct action action = { .kind = ACTION_COPY, .of.copy = request->copy };
	bi__cu_result code;
	struct op *op;

	if (is_empty(&request->copy))
		return BI__CU_SUCCESS;
	code = check_sides(request);
	if (!code)
		code = stream_enqueue(stream, &action, &op);
	if (code || !op)
		return code;
	if (request->is_dst_pageable || request->is_src_pageable)
		code = wait_for_copy(stream, op, request->is_dst_pageable);
	op_release(op);
	return code;
}

/* Copies on the legacy stream of the current context. */
static bi__cu_result copy_now(struct request *request)
{
	struct action action = { .kind = ACTION_COPY, .of.copy = request->copy };
	bi__cu_result code;
	struct stream *stream = stream_for_work(BI__CU_STREAM_LEGACY, &code);
	struct op *op;

	if (stream)
		code = capture_admits_unsafe();
	if (code || is_empty(&request->copy))
		return code;
	code = check_sides(request);
	if (!code)
		code = stream_enqueue(stream, &action, &op);
	if (code)
		return code;
	code = wait_for_copy(stream, op, 1);
	op_release(op);
	return code;
}

static struct request linear(uint64_t dst, enum side dst_side, uint64_t src, enum side src_side, size_t nbytes)
{
	struct request request = { .dst_side = dst_side, .src_side = src_side };

	request.copy.dst.address = dst;
	request.copy.src.address = src;
	request.copy.width = nbytes;
	request.copy.height = request.copy.depth = 1;
	return request;
}

static bi__cu_result copy_linear(uint64_t dst, enum side dst_side, uint64_t src, enum side src_side, size_t nbytes,
				 bi__cu_stream handle)
{
	struct request request = linear(dst, dst_side, src, src_side, nbytes);
	bi__cu_result code;
	struct stream *stream = stream_for_work(handle, &code);

	return stream ? copy_async(&request, stream) : code;
}

bi__cu_result cuMemcpyAsync(bi__cu_pointer dst, bi__cu_pointer src, size_t nbytes, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemcpyAsync);

	return leave(code ? code : copy_linear(dst, SIDE_ANY, src, SIDE_ANY, nbytes, stream));
}

bi__cu_result cuMemcpyHtoDAsync_v2(bi__cu_pointer dst, const void *src, size_t nbytes, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemcpyHtoDAsync_v2);

	return leave(code ? code : copy_linear(dst, SIDE_DEVICE, (uintptr_t)src, SIDE_HOST, nbytes, stream));
}

bi__cu_result cuMemcpyDtoHAsync_v2(void *dst, bi__cu_pointer src, size_t nbytes, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemcpyDtoHAsync_v2);

	return leave(code ? code : copy_linear((uintptr_t)dst, SIDE_HOST, src, SIDE_DEVICE, nbytes, stream));
}

bi__cu_result cuMemcpyDtoDAsync_v2(bi__cu_pointer dst, bi__cu_pointer src, size_t nbytes, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemcpyDtoDAsync_v2);

	return leave(code ? code : copy_linear(dst, SIDE_DEVICE, src, SIDE_DEVICE, nbytes, stream));
}

bi__cu_result cuMemcpyHtoD_v2(bi__cu_pointer dst, const void *src, size_t nbytes)
{
	bi__cu_result code = ENTER(cuMemcpyHtoD_v2);
	struct request request = linear(dst, SIDE_DEVICE, (uintptr_t)src, SIDE_HOST, nbytes);

	return leave(code ? code : copy_now(&request));
}

bi__cu_result cuMemcpyDtoH_v2(void *dst, bi__cu_pointer src, size_t nbytes)
{
	bi__cu_result code = ENTER(cuMemcpyDtoH_v2);
	struct request request = linear((uintptr_t)dst, SIDE_HOST, src, SIDE_DEVICE, nbytes);

	return leave(code ? code : copy_now(&request));
}

static bi__cu_result check_owner(uint64_t address, bi__cu_context handle)
{
	bi__cu_result code;
	const struct context *context = context_find(handle, &code);
	const struct allocation *allocation = memory_at(address);
	char text[128];

	if (allocation && is_host_memory(allocation))
		return (bi__cu_result)DECIDED_PEER_OF_HOST;
	if (!context || !allocation || allocation->device == context->device)
		return code;
	report(REPORT_WRONG_CONTEXT, "%s is of device %d, the context that was named of device %d",
	       memory_name(allocation, text), allocation->device, context->device);
	return BI__CU_ERROR_INVALID_VALUE;
}

static bi__cu_result copy_peer(uint64_t dst, bi__cu_context dst_context, uint64_t src, bi__cu_context src_context,
			       size_t nbytes, bi__cu_stream handle)
{
	struct request request = linear(dst, SIDE_DEVICE, src, SIDE_DEVICE, nbytes);
	bi__cu_result code = check_owner(dst, dst_context);
	struct stream *stream = NULL;

	request.is_peer = 1;
	if (!code)
		code = check_owner(src, src_context);
	if (!code)
		stream = stream_for_work(handle, &code);
	return stream ? copy_async(&request, stream) : code;
}

bi__cu_result cuMemcpyPeerAsync(bi__cu_pointer dst, bi__cu_context dst_context, bi__cu_pointer src,
				bi__cu_context src_context, size_t nbytes, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemcpyPeerAsync);

	return leave(code ? code : copy_peer(dst, dst_context, src, src_context, nbytes, stream));
}

/* One side of the driver's structs. */
struct pitched {
	size_t x, y, z;
	unsigned memory;
	const void *host;
	bi__cu_pointer device;
	size_t pitch, height;
};

/* A copy of one row needs no pitch. A copy of one plane needs no height. */
static bi__cu_result place_side(const struct pitched *from, const struct copy *copy, struct copy_side *to,
				enum side *side)
{
	uint64_t address;

	if (from->memory != BI__CU_MEMORY_HOST && from->memory != BI__CU_MEMORY_DEVICE &&
	    from->memory != BI__CU_MEMORY_UNIFIED)
		return BI__CU_ERROR_INVALID_VALUE;
	if (from->pitch > MAX_PITCH || (from->pitch < from->x + copy->width && (copy->height > 1 || copy->depth > 1)))
		return BI__CU_ERROR_INVALID_VALUE;
	if (copy->depth > 1 && from->height < from->y + copy->height)
		return BI__CU_ERROR_INVALID_VALUE;
	*side = from->memory == BI__CU_MEMORY_HOST     ? SIDE_HOST
		: from->memory == BI__CU_MEMORY_DEVICE ? SIDE_DEVICE
						       : SIDE_ANY;
	address = *side == SIDE_HOST ? (uintptr_t)from->host : from->device;
	to->row_step = from->pitch;
	to->plane_step = from->pitch * from->height;
	to->address = address + from->x + from->y * to->row_step + from->z * to->plane_step;
	return BI__CU_SUCCESS;
}

static bi__cu_result copy_pitched(const struct pitched *dst, const struct pitched *src, size_t width, size_t height,
				  size_t depth, bi__cu_stream handle)
{
	struct request request = { .copy.width = width, .copy.height = height, .copy.depth = depth };
	bi__cu_result code;
	struct stream *stream = stream_for_work(handle, &code);

	if (stream)
		code = place_side(dst, &request.copy, &request.copy.dst, &request.dst_side);
	if (!code)
		code = place_side(src, &request.copy, &request.copy.src, &request.src_side);
	return code ? code : copy_async(&request, stream);
}

static bi__cu_result copy_2d(const struct bi__cu_copy_2d *c, bi__cu_stream stream)
{
	struct pitched dst, src;

	if (!c)
		return BI__CU_ERROR_INVALID_VALUE;
	dst = (struct pitched){ c->dst_x, c->dst_y, 0, c->dst_memory, c->dst_host, c->dst_device, c->dst_pitch, 0 };
	src = (struct pitched){ c->src_x, c->src_y, 0, c->src_memory, c->src_host, c->src_device, c->src_pitch, 0 };
	return copy_pitched(&dst, &src, c->width, c->height, 1, stream);
}

bi__cu_result cuMemcpy2DAsync_v2(const struct bi__cu_copy_2d *copy, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemcpy2DAsync_v2);

	return leave(code ? code : copy_2d(copy, stream));
}

static bi__cu_result copy_3d(const struct bi__cu_copy_3d *c, bi__cu_stream stream)
{
	struct pitched dst, src;

	if (!c || c->src_level || c->dst_level)
		return BI__CU_ERROR_INVALID_VALUE;
	dst = (struct pitched){ c->dst_x,    c->dst_y,      c->dst_z,     c->dst_memory,
				c->dst_host, c->dst_device, c->dst_pitch, c->dst_height };
	src = (struct pitched){ c->src_x,    c->src_y,      c->src_z,     c->src_memory,
				c->src_host, c->src_device, c->src_pitch, c->src_height };
	return copy_pitched(&dst, &src, c->width, c->height, c->depth, stream);
}

bi__cu_result cuMemcpy3DAsync_v2(const struct bi__cu_copy_3d *copy, bi__cu_stream stream)
{
	bi__cu_result code = ENTER(cuMemcpy3DAsync_v2);

	return leave(code ? code : copy_3d(copy, stream));
}
