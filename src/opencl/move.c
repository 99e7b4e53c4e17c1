/* Copies, fills and mappings: which command of the driver does what. No command here blocks. */
#include "opencl/opencl.h"

#include <string.h>

#include "common/engine/engine.h"
#include "common/plan/rect.h"
#include "kernels/launch.h"

/* One copy on its way to the driver. */
struct job {
	struct bi__opencl *opencl;
	cl_command_queue queue;
	const struct bi__plan *plan;
	const struct bi__place *dst, *src;
	cl_event *event; /* or NULL: not wanted */
};

static struct bi__opencl_place place_of(const struct bi__place *place)
{
	return (struct bi__opencl_place){ bi__opencl_buffer(place->block), place->block->origin };
}

static inline int copy_linear(const struct job *job, const struct bi__opencl_place *dst,
			      const struct bi__opencl_place *src, struct bi_error *err)
{
	size_t to = dst->offset + (size_t)job->plan->dst_offset, from = src->offset + (size_t)job->plan->src_offset;

	return bi__cl_check(bi__cl->EnqueueCopyBuffer(job->queue, src->buffer, dst->buffer, from, to, job->plan->unit,
						      0, NULL, job->event),
			    "clEnqueueCopyBuffer", err);
}

static int write_linear(const struct job *job, struct bi_error *err)
{
	struct bi__opencl_place dst = place_of(job->dst);
	size_t to = dst.offset + (size_t)job->plan->dst_offset;
	const char *from = (const char *)job->src->host + job->plan->src_offset;

	return bi__cl_check(bi__cl->EnqueueWriteBuffer(job->queue, dst.buffer, CL_FALSE, to, job->plan->unit, from, 0,
						       NULL, job->event),
			    "clEnqueueWriteBuffer", err);
}

static int read_linear(const struct job *job, struct bi_error *err)
{
	struct bi__opencl_place src = place_of(job->src);
	size_t from = src.offset + (size_t)job->plan->src_offset;
	char *to = (char *)(uintptr_t)job->dst->host + job->plan->dst_offset;

	return bi__cl_check(bi__cl->EnqueueReadBuffer(job->queue, src.buffer, CL_FALSE, from, job->plan->unit, to, 0,
						      NULL, job->event),
			    "clEnqueueReadBuffer", err);
}

/* With shorter rows packing beats the driver, which spends about as much on each row as on so many bytes. */
#define ROW_BYTES 64

/* A plan that one command moves between a buffer and the host. */
static int is_box(const struct bi__plan *plan, struct bi__rect *out)
{
	return plan->unit >= ROW_BYTES && bi__rect_make(plan, out);
}

/* A place in a buffer as the driver counts: bytes, whole rows, whole slices. */
static void find_origin(size_t *origin, size_t offset, const struct bi__pitch *pitch)
{
	origin[0] = offset % pitch->row;
	origin[1] = offset % pitch->slice / pitch->row;
	origin[2] = offset / pitch->slice;
}

static int write_box(const struct job *job, const struct bi__rect *rect, struct bi_error *err)
{
	struct bi__opencl_place dst = place_of(job->dst);
	const size_t region[3] = { rect->width, rect->rows, rect->slices }, start[3] = { 0 };
	const char *from = (const char *)job->src->host + job->plan->src_offset;
	size_t to[3];

	find_origin(to, dst.offset + (size_t)job->plan->dst_offset, &rect->dst);
	return bi__cl_check(bi__cl->EnqueueWriteBufferRect(job->queue, dst.buffer, CL_FALSE, to, start, region,
							   rect->dst.row, rect->dst.slice, rect->src.row,
							   rect->src.slice, from, 0, NULL, job->event),
			    "clEnqueueWriteBufferRect", err);
}

static int read_box(const struct job *job, const struct bi__rect *rect, struct bi_error *err)
{
	struct bi__opencl_place src = place_of(job->src);
	const size_t region[3] = { rect->width, rect->rows, rect->slices }, start[3] = { 0 };
	char *to = (char *)(uintptr_t)job->dst->host + job->plan->dst_offset;
	size_t from[3];

	find_origin(from, src.offset + (size_t)job->plan->src_offset, &rect->src);
	return bi__cl_check(bi__cl->EnqueueReadBufferRect(job->queue, src.buffer, CL_FALSE, from, start, region,
							  rect->src.row, rect->src.slice, rect->dst.row,
							  rect->dst.slice, to, 0, NULL, job->event),
			    "clEnqueueReadBufferRect", err);
}

/* Between a buffer and the host, by the driver. */
static int copy_host(const struct job *job, struct bi_error *err)
{
	struct bi__rect rect;

	if (job->plan->kind == BI__PLAN_LINEAR)
		return job->dst->block ? write_linear(job, err) : read_linear(job, err);
	if (!is_box(job->plan, &rect))
		return bi__fail(err, BI_EUNSUPPORTED,
				"the device moves only dense bytes and boxes of rows of at least "
				"%d bytes from and to the host",
				ROW_BYTES);
	return job->dst->block ? write_box(job, &rect, err) : read_box(job, &rect, err);
}

int bi__opencl_takes(struct bi__device_state *device, const struct bi__plan *plan, const struct bi__place *dst,
		     const struct bi__place *src, int *takes, struct bi_error *err)
{
	struct bi__rect rect;

	(void)device;
	(void)dst;
	(void)src;
	(void)err;
	*takes = is_box(plan, &rect);
	return BI_OK;
}

/* Items up to this size travel in the arguments of a native kernel. */
#define INLINE_BYTES 256

/* What the driver copies aside when the command is enqueued, and writes the address of a buffer into. */
struct native {
	void *linked; /* the buffer's, if there is one */
	void *dst; /* NULL: in the linked buffer */
	const void *src; /* NULL: in the linked buffer; unless `immediate` */
	int immediate; /* the source is `bytes` */
	struct bi__plan plan; /* offsets count from the addresses above */
	unsigned char bytes[INLINE_BYTES];
};

static void CL_CALLBACK run_native(void *arguments)
{
	const struct native *native = arguments;
	void *dst = native->dst ? native->dst : native->linked;
	const void *src = native->src ? native->src : native->linked;

	bi__engine_copy(&native->plan, dst, native->immediate ? native->bytes : src);
}

/* With one buffer or none: PoCL 3.1 hands the addresses of several to a kernel in the order of the buffers' age. */
static int enqueue_native(const struct job *job, struct native *native, const struct bi__block *linked,
			  const cl_event *after, cl_event *event, struct bi_error *err)
{
	const void *place = &native->linked;
	cl_mem buffer = linked ? bi__opencl_buffer(linked) : NULL;

	return bi__cl_check(bi__cl->EnqueueNativeKernel(job->queue, run_native, native, sizeof(*native), linked != NULL,
							linked ? &buffer : NULL, linked ? &place : NULL, after != NULL,
							after, event),
			    "clEnqueueNativeKernel", err);
}

/* Where a buffer is linked its address is that of its start, which may be before the first byte that is ours. */
static const struct bi__block *link(const struct job *job, struct native *native)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;

	if (dst)
		native->plan.dst_offset += (int64_t)dst->origin;
	else
		native->dst = (void *)(uintptr_t)job->dst->host;
	if (src)
		native->plan.src_offset += (int64_t)src->origin;
	else if (!job->src->immediate)
		native->src = job->src->host;
	return dst ? dst : src;
}

/* By the device itself, between two buffers. */
static inline int copy_blocks(const struct job *job, struct bi_error *err)
{
	struct bi__opencl_place dst = place_of(job->dst), src = place_of(job->src);

	if (job->plan->kind == BI__PLAN_LINEAR)
		return copy_linear(job, &dst, &src, err);
	return bi__opencl_launch(job->opencl, job->queue, job->plan, &dst, &src, job->event, err);
}

/*
 * Between two buffers: the source is mapped while the kernel runs. On such a device that costs commands, not copies. A
 * buffer that its maker closed to the host (CL_MEM_HOST_NO_ACCESS) cannot be mapped.
 */
static int copy_mapped(const struct job *job, struct native *native, struct bi_error *err)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;
	cl_mem source = bi__opencl_buffer(src);
	cl_event mapped, moved = NULL;
	cl_int code;
	int rc, unmapped;

	native->src = bi__cl->EnqueueMapBuffer(job->queue, source, CL_FALSE, CL_MAP_READ, src->origin, src->nbytes, 0,
					       NULL, &mapped, &code);
	if (code == CL_INVALID_OPERATION)
		return copy_blocks(job, err);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clEnqueueMapBuffer", err);
	native->plan.dst_offset += (int64_t)dst->origin;
	rc = enqueue_native(job, native, dst, &mapped, &moved, err);
	unmapped = bi__cl_check(bi__cl->EnqueueUnmapMemObject(job->queue, source, (void *)(uintptr_t)native->src, 1,
							      rc ? &mapped : &moved, NULL),
				"clEnqueueUnmapMemObject", rc ? NULL : err);
	bi__cl->ReleaseEvent(mapped);
	if (rc)
		return rc;
	if (job->event && !unmapped)
		*job->event = moved;
	else
		bi__cl->ReleaseEvent(moved);
	return unmapped;
}

/* Our own copy engine as a command of a device that runs on this processor. */
static int copy_native(const struct job *job, struct bi_error *err)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;
	struct native native = { .immediate = job->src->immediate != 0, .plan = *job->plan };

	if (native.immediate)
		memcpy(native.bytes, job->src->host, job->src->immediate);
	if (dst && src && bi__opencl_buffer(dst) != bi__opencl_buffer(src))
		return copy_mapped(job, &native, err);
	return enqueue_native(job, &native, link(job, &native), NULL, job->event, err);
}

/* Is the destination one run, filled with one item that the driver's fill takes? */
static int is_pattern(const struct job *job, size_t to)
{
	const struct bi__plan *plan = job->plan;
	size_t unit = plan->unit;

	if (plan->ndim > 1 || unit > 128 || (unit & (unit - 1)) || to % unit)
		return 0;
	return plan->ndim == 0 || (plan->src_strides[0] == 0 && plan->dst_strides[0] == (int64_t)unit);
}

/* From this many bytes on our engine is several times as fast as the fill of a CPU device, which goes item by item. */
#define NATIVE_FILL_BYTES 65536

static int is_native_fill(const struct job *job)
{
	return (job->opencl->capabilities & BI_CAP_NATIVE_COPY) && job->src->immediate <= INLINE_BYTES &&
	       job->plan->bytes >= NATIVE_FILL_BYTES;
}

static int fill(const struct job *job, const struct bi__opencl_place *dst, size_t to, struct bi_error *err)
{
	const char *pattern = (const char *)job->src->host + job->plan->src_offset;

	return bi__cl_check(bi__cl->EnqueueFillBuffer(job->queue, dst->buffer, pattern, job->plan->unit, to,
						      (size_t)job->plan->bytes, 0, NULL, job->event),
			    "clEnqueueFillBuffer", err);
}

/*
 * Does our own engine do it, on a device that runs on this processor? What is strided, where a kernel would be slower
 * and has to be compiled first; and dense bytes of which the driver would make one thread's memcpy, once that is
 * slower.
 */
static int is_native(const struct job *job)
{
	return (job->opencl->capabilities & BI_CAP_NATIVE_COPY) &&
	       (job->plan->kind != BI__PLAN_LINEAR || bi__engine_beats_memcpy(job->plan));
}

static inline int copy_between(const struct job *job, struct bi_error *err)
{
	if (is_native(job))
		return copy_native(job, err);
	return job->dst->block && job->src->block ? copy_blocks(job, err) : copy_host(job, err);
}

/* Through a small buffer, which the driver keeps until the command has finished. */
static int copy_staged(const struct job *job, struct bi_error *err)
{
	struct bi__block block = { .kind = BI_HANDLE_CL_MEM, .nbytes = job->src->immediate };
	const struct bi__place src = { .block = &block };
	struct job staged = *job;
	cl_mem buffer;
	cl_int code;
	int rc;

	buffer = bi__cl->CreateBuffer(job->opencl->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, block.nbytes,
				      (void *)(uintptr_t)job->src->host, &code);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clCreateBuffer", err);
	block.handle = (uintptr_t)buffer;
	staged.src = &src;
	rc = copy_between(&staged, err);
	bi__cl->ReleaseMemObject(buffer);
	return rc;
}

static int copy_immediate(const struct job *job, struct bi_error *err)
{
	struct bi__opencl_place dst = place_of(job->dst);
	size_t to = dst.offset + (size_t)job->plan->dst_offset;

	if (is_pattern(job, to) && !is_native_fill(job))
		return fill(job, &dst, to, err);
	if ((job->opencl->capabilities & BI_CAP_NATIVE_COPY) && job->src->immediate <= INLINE_BYTES)
		return copy_native(job, err);
	if (job->plan->kind != BI__PLAN_LINEAR && job->plan->unit <= BI__FILL_BYTES)
		return bi__opencl_launch_fill(job->opencl, job->queue, job->plan, &dst, job->src->host, job->event,
					      err);
	return copy_staged(job, err);
}

int bi__opencl_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__plan *plan,
		    const struct bi__place *dst, const struct bi__place *src, uintptr_t *event, struct bi_error *err)
{
	cl_event made = NULL;
	struct job job = { device->state, (cl_command_queue)queue->native, plan, dst, src, event ? &made : NULL };
	int rc = src->immediate ? copy_immediate(&job, err) : copy_between(&job, err);

	if (rc)
		return rc;
	/* To wait is to flush as well. */
	if (!dst->lent && !src->lent)
		rc = bi__cl_check(bi__cl->Flush(job.queue), "clFlush", err);
	if (rc && made)
		bi__cl->ReleaseEvent(made);
	if (!rc && event)
		*event = (uintptr_t)made;
	return rc;
}

static cl_map_flags map_flags(unsigned mode)
{
	if (mode & BI_MAP_READ)
		return mode & BI_MAP_WRITE ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ;
	return mode & BI_MAP_DISCARD ? CL_MAP_WRITE_INVALIDATE_REGION : CL_MAP_WRITE;
}

int bi__opencl_map(struct bi__device_state *device, struct bi__queue *queue, const struct bi__block *block,
		   size_t offset, size_t nbytes, unsigned mode, void **pointer, uintptr_t *event, struct bi_error *err)
{
	cl_command_queue handle = (cl_command_queue)queue->native;
	cl_mem buffer = bi__opencl_buffer(block);
	cl_event made;
	cl_int code;
	int rc;

	(void)device;
	*pointer = bi__cl->EnqueueMapBuffer(handle, buffer, CL_FALSE, map_flags(mode), block->origin + offset, nbytes,
					    0, NULL, &made, &code);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clEnqueueMapBuffer", err);
	rc = bi__cl_check(bi__cl->Flush(handle), "clFlush", err);
	if (rc) {
		bi__cl->EnqueueUnmapMemObject(handle, buffer, *pointer, 0, NULL, NULL);
		bi__cl->ReleaseEvent(made);
		*pointer = NULL;
		return rc;
	}
	*event = (uintptr_t)made;
	return BI_OK;
}

int bi__opencl_unmap(struct bi__device_state *device, struct bi__queue *queue, const struct bi__block *block,
		     void *pointer, struct bi_error *err)
{
	cl_command_queue handle = (cl_command_queue)queue->native;
	int rc = bi__cl_check(bi__cl->EnqueueUnmapMemObject(handle, bi__opencl_buffer(block), pointer, 0, NULL, NULL),
			      "clEnqueueUnmapMemObject", err);

	(void)device;
	return rc ? rc : bi__cl_check(bi__cl->Flush(handle), "clFlush", err);
}
