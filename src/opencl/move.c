/* Chooses the driver's command for each copy, fill and mapping. No function here waits for a command. */
#include "opencl/opencl.h"

#include <string.h>

#include "common/engine/engine.h"
#include "common/plan/rect.h"
#include "kernels/launch.h"

/* Bytes on the host, and the bytes of a buffer to or from which they are copied. */
struct host_copy {
	int writes; /* 1: the bytes go to the buffer; 0: the bytes come from it */
	cl_mem buffer;
	size_t at; /* offset of the first byte in the buffer */
	char *host;
};

static struct host_copy host_copy_of(const struct bi__opencl_job *job)
{
	int writes = job->dst->block != NULL;
	const struct bi__block *block = writes ? job->dst->block : job->src->block;
	const struct bi__place *host = writes ? job->src : job->dst;
	int64_t to = job->plan->dst_offset, from = job->plan->src_offset;

	return (struct host_copy){ writes, bi__opencl_buffer(block), block->origin + (size_t)(writes ? to : from),
				   (char *)(uintptr_t)host->host + (writes ? from : to) };
}

/* Returns the flags with which a buffer was created, or 0 if the driver does not report them. */
static cl_mem_flags flags_of(cl_mem buffer)
{
	cl_mem_flags flags = 0;

	bi__cl->GetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
	return flags;
}

/*
 * Checks the result of a command by which the host reads (BI_MAP_READ) or writes (BI_MAP_WRITE) a buffer. The flags are
 * queried because the error code of a forbidden access is not reliable: Intel's CPU driver returns CL_INVALID_VALUE.
 */
static int check_access(cl_int code, const char *call, cl_mem buffer, unsigned mode, struct bi_error *err)
{
	const cl_mem_flags forbidden = CL_MEM_HOST_NO_ACCESS | (mode & BI_MAP_READ ? CL_MEM_HOST_WRITE_ONLY : 0) |
				       (mode & BI_MAP_WRITE ? CL_MEM_HOST_READ_ONLY : 0);
	const cl_mem_flags flags = code == CL_SUCCESS ? 0 : flags_of(buffer);

	if (!(flags & forbidden))
		return bi__cl_check(code, call, err);
	return bi__fail_vendor(err, BI_EUNSUPPORTED, code,
			       "%s failed: %s (%d): the flags 0x%x of the cl_mem forbid the host this access; use "
			       "another array of the device, and copy between the two",
			       call, bi__cl_name(code), code, (unsigned)flags);
}

static int copy_host_linear(const struct bi__opencl_job *job, struct bi_error *err)
{
	struct host_copy copy = host_copy_of(job);
	cl_command_queue queue = job->queue;

	if (copy.writes)
		return check_access(bi__cl->EnqueueWriteBuffer(queue, copy.buffer, CL_FALSE, copy.at, job->plan->unit,
							       copy.host, 0, NULL, job->event),
				    "clEnqueueWriteBuffer", copy.buffer, BI_MAP_WRITE, err);
	return check_access(bi__cl->EnqueueReadBuffer(queue, copy.buffer, CL_FALSE, copy.at, job->plan->unit, copy.host,
						      0, NULL, job->event),
			    "clEnqueueReadBuffer", copy.buffer, BI_MAP_READ, err);
}

/* A row costs the driver about as much time as copying this many bytes. Packing is faster for shorter rows. */
#define ROW_BYTES 64

/* Returns true if the rows are long enough, and one command of the driver copies them from or to the host. */
static int is_box(const struct bi__plan *plan, struct bi__rect *out)
{
	return plan->unit >= ROW_BYTES && bi__rect_make(plan, out);
}

static int copy_host_box(const struct bi__opencl_job *job, const struct bi__rect *rect, struct bi_error *err)
{
	struct host_copy copy = host_copy_of(job);
	const struct bi__pitch *in_buffer = copy.writes ? &rect->dst : &rect->src;
	const struct bi__pitch *on_host = copy.writes ? &rect->src : &rect->dst;
	cl_command_queue queue = job->queue;
	const size_t region[3] = { rect->width, rect->rows, rect->slices }, start[3] = { 0 };
	/* The driver's coordinates: bytes, rows, slices. */
	const size_t at[3] = { copy.at % in_buffer->row, copy.at % in_buffer->slice / in_buffer->row,
			       copy.at / in_buffer->slice };

	if (copy.writes)
		return check_access(bi__cl->EnqueueWriteBufferRect(queue, copy.buffer, CL_FALSE, at, start, region,
								   in_buffer->row, in_buffer->slice, on_host->row,
								   on_host->slice, copy.host, 0, NULL, job->event),
				    "clEnqueueWriteBufferRect", copy.buffer, BI_MAP_WRITE, err);
	return check_access(bi__cl->EnqueueReadBufferRect(queue, copy.buffer, CL_FALSE, at, start, region,
							  in_buffer->row, in_buffer->slice, on_host->row,
							  on_host->slice, copy.host, 0, NULL, job->event),
			    "clEnqueueReadBufferRect", copy.buffer, BI_MAP_READ, err);
}

/* Copies between a buffer and the host by a read or write command of the driver. */
static int copy_host(const struct bi__opencl_job *job, struct bi_error *err)
{
	struct bi__rect rect;

	if (job->plan->kind == BI_PLAN_LINEAR)
		return copy_host_linear(job, err);
	if (is_box(job->plan, &rect))
		return copy_host_box(job, &rect, err);
	return bi__fail(err, BI_EUNSUPPORTED,
			"the device moves only dense bytes and boxes of rows of at least "
			"%d bytes from and to the host",
			ROW_BYTES);
}

int bi__opencl_takes(const struct bi__move *move, int *takes, struct bi_error *err)
{
	struct bi__rect rect;

	(void)err;
	*takes = is_box(move->plan, &rect);
	return BI_OK;
}

/* Bytes of the largest item that is passed within the arguments of a native kernel. */
#define INLINE_BYTES 256

/*
 * Arguments of a native kernel (a C function that the driver calls as a command on the CPU). The driver copies the
 * arguments when the command is enqueued. The buffers of `mem_list` are linked: before the driver calls the function,
 * it stores their addresses in the copy. PoCL 3.1 stores them in the order in which the buffers were created, not in
 * that of `mem_list`. So two buffers are linked only if the library has their addresses otherwise.
 */
struct native {
	void *linked[2]; /* addresses of the linked buffers, which the driver writes */
	void *dst; /* NULL: the linked buffer */
	const void *src; /* NULL: the linked buffer, or `bytes` if `immediate` */
	int immediate; /* 1: the source is `bytes` */
	struct bi__plan plan; /* its offsets count from the addresses dst and src */
	unsigned char bytes[INLINE_BYTES];
};

static void CL_CALLBACK run_native(void *arguments)
{
	const struct native *native = arguments;
	void *dst = native->dst ? native->dst : native->linked[0];
	const void *src = native->src ? native->src : native->linked[0];

	bi__engine_copy(&native->plan, dst, native->immediate ? native->bytes : src);
}

static int enqueue_native(const struct bi__opencl_job *job, struct native *native, const cl_mem *buffers, cl_uint count,
			  const cl_event *after, cl_event *event, struct bi_error *err)
{
	const void *places[] = { &native->linked[0], &native->linked[1] };

	return bi__cl_check(bi__cl->EnqueueNativeKernel(job->queue, run_native, native, sizeof(*native), count, buffers,
							places, after != NULL, after, event),
			    "clEnqueueNativeKernel", err);
}

/*
 * Returns the block whose buffer is to be linked: dst, or else src. Fills in the addresses and offsets. The driver
 * passes the address of the whole buffer, so the origin of the block is added to the plan's offset.
 */
static const struct bi__block *link_buffer(const struct bi__opencl_job *job, struct native *native)
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

/* Copies between two buffers by a command of the driver or by a kernel. */
static inline int copy_blocks(const struct bi__opencl_job *job, struct bi_error *err)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;
	const struct bi__plan *plan = job->plan;

	if (plan->kind != BI_PLAN_LINEAR)
		return bi__opencl_launch(job, err);
	return bi__cl_check(bi__cl->EnqueueCopyBuffer(job->queue, bi__opencl_buffer(src), bi__opencl_buffer(dst),
						      src->origin + (size_t)plan->src_offset,
						      dst->origin + (size_t)plan->dst_offset, plan->unit, 0, NULL,
						      job->event),
			    "clEnqueueCopyBuffer", err);
}

/*
 * Copies between two buffers by the copy engine (common/engine). The source is mapped while the native kernel runs; a
 * CPU device maps without a copy. If the flags of the source forbid that, copies by copy_blocks.
 */
static int copy_mapped(const struct bi__opencl_job *job, struct native *native, struct bi_error *err)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;
	cl_mem source = (cl_mem)src->cookie, target = (cl_mem)dst->cookie;
	cl_event mapped, moved = NULL;
	cl_int code;
	int rc, unmapped;

	native->src = bi__cl->EnqueueMapBuffer(job->queue, source, CL_FALSE, CL_MAP_READ, src->origin, src->nbytes, 0,
					       NULL, &mapped, &code);
	if (code != CL_SUCCESS && flags_of(source) & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY))
		return copy_blocks(job, err);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clEnqueueMapBuffer", err);
	native->plan.dst_offset += (int64_t)dst->origin;
	rc = enqueue_native(job, native, &target, 1, &mapped, &moved, err);
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

/*
 * Copies by the copy engine between two buffers whose addresses the library has. The buffers are linked so that the
 * driver keeps them until the kernel has ended.
 */
static int copy_linked(const struct bi__opencl_job *job, struct native *native, struct bi_error *err)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;
	const cl_mem buffers[] = { (cl_mem)dst->cookie, (cl_mem)src->cookie };

	native->dst = dst->private_host;
	native->src = src->private_host;
	return enqueue_native(job, native, buffers, 2, NULL, job->event, err);
}

/* Runs the copy engine as a native kernel. One side at least is a block. */
static int copy_native(const struct bi__opencl_job *job, struct bi_error *err)
{
	const struct bi__block *dst = job->dst->block, *src = job->src->block;
	struct native native = { .immediate = job->src->immediate != 0, .plan = *job->plan };
	cl_mem buffer;

	if (native.immediate)
		memcpy(native.bytes, job->src->host, job->src->immediate);
	if (dst && src && dst->cookie != src->cookie)
		return dst->private_host && src->private_host ? copy_linked(job, &native, err)
							      : copy_mapped(job, &native, err);
	buffer = (cl_mem)link_buffer(job, &native)->cookie;
	return enqueue_native(job, &native, &buffer, 1, NULL, job->event, err);
}

/* NVIDIA's fill command does not end, or fails, from this many bytes on (docs/opencl.md). */
#define FILL_LIMIT (UINT64_C(1) << 31)

/*
 * Returns true if the items of the destination are adjacent, and the driver's fill command accepts the item and the
 * number of bytes.
 */
static int is_pattern(const struct bi__opencl_job *job, size_t to)
{
	const struct bi__plan *plan = job->plan;
	size_t unit = plan->unit;

	if (plan->ndim > 1 || unit > 128 || (unit & (unit - 1)) || to % unit || plan->bytes >= FILL_LIMIT)
		return 0;
	return plan->ndim == 0 || plan->dst_strides[0] == (int64_t)unit;
}

/*
 * Dense fills of at least this many bytes use the copy engine on a device that runs native kernels. PoCL's fill command
 * is several times slower, because it writes item by item.
 */
#define NATIVE_FILL_BYTES 65536

static int is_native_fill(const struct bi__opencl_job *job)
{
	return (job->opencl->capabilities & BI_CAP_NATIVE_COPY) && job->src->immediate <= INLINE_BYTES &&
	       job->plan->bytes >= NATIVE_FILL_BYTES;
}

static int fill_pattern(const struct bi__opencl_job *job, size_t to, struct bi_error *err)
{
	const char *pattern = (const char *)job->src->host + job->plan->src_offset;

	return bi__cl_check(bi__cl->EnqueueFillBuffer(job->queue, bi__opencl_buffer(job->dst->block), pattern,
						      job->plan->unit, to, (size_t)job->plan->bytes, 0, NULL,
						      job->event),
			    "clEnqueueFillBuffer", err);
}

/*
 * From this many dense bytes on, the copy engine uses several threads. Larger copies also use non-temporal stores. The
 * engine is then faster than the driver, which uses the memcpy of one thread.
 */
#define NATIVE_FROM ((uint64_t)2 << 20)

/*
 * Returns true if a native kernel copies the plan. The device runs native kernels, and the plan is strided, or dense
 * and large. A kernel in OpenCL C would copy strided plans more slowly, and must be compiled first.
 */
static int is_native(const struct bi__opencl_job *job)
{
	return (job->opencl->capabilities & BI_CAP_NATIVE_COPY) &&
	       (job->plan->kind != BI_PLAN_LINEAR || job->plan->bytes >= NATIVE_FROM);
}

static inline int copy_between(const struct bi__opencl_job *job, struct bi_error *err)
{
	if (is_native(job))
		return copy_native(job, err);
	return job->dst->block && job->src->block ? copy_blocks(job, err) : copy_host(job, err);
}

/* Copies an immediate source through a buffer of its size. The driver keeps the buffer until the command has ended. */
static int copy_through_buffer(const struct bi__opencl_job *job, struct bi_error *err)
{
	struct bi__block block = { .kind = BI_HANDLE_CL_MEM, .nbytes = job->src->immediate };
	const struct bi__place src = { .block = &block };
	struct bi__opencl_job through = *job;
	cl_mem buffer;
	cl_int code;
	int rc;

	buffer = bi__cl->CreateBuffer(job->opencl->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, block.nbytes,
				      (void *)(uintptr_t)job->src->host, &code);
	if (code != CL_SUCCESS)
		return bi__cl_check(code, "clCreateBuffer", err);
	block.cookie = (uintptr_t)buffer;
	through.src = &src;
	rc = copy_between(&through, err);
	bi__cl->ReleaseMemObject(buffer);
	return rc;
}

static int copy_immediate(const struct bi__opencl_job *job, struct bi_error *err)
{
	size_t to = job->dst->block->origin + (size_t)job->plan->dst_offset;

	if (is_pattern(job, to) && !is_native_fill(job))
		return fill_pattern(job, to, err);
	if ((job->opencl->capabilities & BI_CAP_NATIVE_COPY) && job->src->immediate <= INLINE_BYTES)
		return copy_native(job, err);
	if (job->plan->kind != BI_PLAN_LINEAR && job->plan->unit <= BI__FILL_BYTES)
		return bi__opencl_launch(job, err);
	return copy_through_buffer(job, err);
}

int bi__opencl_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__move *move,
		    uintptr_t *event, struct bi_error *err)
{
	cl_event made = NULL;
	struct bi__opencl_job job = {
		.opencl = device->state,
		.queue = (cl_command_queue)queue->native,
		.event = event ? &made : NULL,
		.plan = move->plan,
		.dst = &move->dst,
		.src = &move->src,
	};
	int rc = move->src.immediate ? copy_immediate(&job, err) : copy_between(&job, err);

	if (rc)
		return rc;
	/* With a borrowed side, the caller waits for the event, and waiting flushes the queue. */
	if (!move->dst.borrowed && !move->src.borrowed)
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

int bi__opencl_map(struct bi__queue *queue, const struct bi__range *range, void **pointer, uintptr_t *event,
		   struct bi_error *err)
{
	cl_command_queue handle = (cl_command_queue)queue->native;
	cl_mem buffer = (cl_mem)range->block->cookie;
	cl_event made;
	cl_int code;
	int rc;

	*pointer = bi__cl->EnqueueMapBuffer(handle, buffer, CL_FALSE, map_flags(range->mode),
					    range->block->origin + range->offset, range->nbytes, 0, NULL, &made, &code);
	if (code != CL_SUCCESS)
		return check_access(code, "clEnqueueMapBuffer", buffer, range->mode, err);
	rc = bi__cl_check(bi__cl->Flush(handle), "clFlush", err);
	if (rc) {
		bi__cl->EnqueueUnmapMemObject(handle, buffer, *pointer, 1, &made, NULL);
		bi__cl->ReleaseEvent(made);
		*pointer = NULL;
		return rc;
	}
	*event = (uintptr_t)made;
	return BI_OK;
}

int bi__opencl_unmap(struct bi__queue *queue, const struct bi__block *block, void *pointer, struct bi_error *err)
{
	cl_command_queue handle = (cl_command_queue)queue->native;
	int rc = bi__cl_check(bi__cl->EnqueueUnmapMemObject(handle, (cl_mem)block->cookie, pointer, 0, NULL, NULL),
			      "clEnqueueUnmapMemObject", err);

	/* A failed flush is ignored: a later call on the queue flushes again. */
	if (!rc)
		bi__cl->Flush(handle);
	return rc;
}
