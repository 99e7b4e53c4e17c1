/* Copies and fills: check, choose a route, order, execute. */
#include "common/copy.h"

#include "common/across.h"
#include "common/dispatch.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/order.h"
#include "common/status.h"
#include "common/stream.h"
#include "common/view.h"

/* One copy on its way through the stages below. */
struct job {
	const struct bi_view *dst, *src;
	struct bi_layout to, from;
	struct bi_stream *stream; /* the caller's, or NULL */
	const char *operation;
	struct bi__plan plan;
};

static int check_shapes(const struct bi_layout *to, const struct bi_layout *from, struct bi_error *err)
{
	if (to->ndim != from->ndim)
		return bi__fail(err, BI_EINVAL, "the destination has %d dimensions, the source %d", to->ndim,
				from->ndim);
	for (int i = 0; i < to->ndim; i++)
		if (to->shape[i] != from->shape[i])
			return bi__fail(err, BI_EINVAL, "the destination has extent %lld on axis %d, the source %lld",
					(long long)to->shape[i], i, (long long)from->shape[i]);
	return BI_OK;
}

static int check_destination(const struct bi_view *view, const struct bi_layout *layout, struct bi_error *err)
{
	if (view->flags & BI_VIEW_READONLY)
		return bi__fail(err, BI_EREADONLY, "the destination is read-only");
	if (bi_layout_self_overlap(layout))
		return bi__fail(err, BI_EOVERLAP, "two elements of the destination share bytes");
	return BI_OK;
}

static int check(const struct job *job, struct bi_error *err)
{
	int rc = check_shapes(&job->to, &job->from, err);

	if (rc)
		return rc;
	if (job->to.dtype.item_size != job->from.dtype.item_size)
		return bi__fail(err, BI_EDTYPE, "an item of the destination has %u bytes, of the source %u",
				job->to.dtype.item_size, job->from.dtype.item_size);
	return check_destination(job->dst, &job->to, err);
}

/* Address of the first byte that is ours, for memory that has one; else 0. */
static uintptr_t address_of(const struct bi__block *block)
{
	return block->kind == BI_HANDLE_CL_SVM || block->kind == BI_HANDLE_CUDA ? block->handle + block->origin
										: (uintptr_t)block->host;
}

/* Memory with an address is one place, whoever made it; other device memories are told apart by their handles. */
static int shares_place(const struct bi_memory *a, const struct bi_memory *b)
{
	if (a == b || (address_of(&a->block) && address_of(&b->block)))
		return 1;
	return !bi__is_host(a) && !bi__is_host(b) && bi__same_space(a->context, b->context) &&
	       a->block.handle == b->block.handle;
}

/* Byte 0 of a's layouts, counted from byte 0 of b's, where both share a place. */
static int64_t distance(const struct bi_memory *a, const struct bi_memory *b)
{
	if (address_of(&a->block) && address_of(&b->block))
		return (int64_t)(address_of(&a->block) - address_of(&b->block));
	return (int64_t)(a->block.origin - b->block.origin);
}

static int overlaps(const struct job *job)
{
	const struct bi_memory *to = job->dst->memory, *from = job->src->memory;
	struct bi_layout shifted;

	if (!shares_place(to, from))
		return 0;
	if (to == from)
		return bi_layout_overlap(&job->to, &job->from);
	shifted = job->to;
	return !__builtin_add_overflow(shifted.offset, distance(to, from), &shifted.offset) &&
	       bi_layout_overlap(&shifted, &job->from);
}

/* Can the stream move bytes between the two? One that reaches either of two peers can. */
static int serves(const struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from)
{
	if (bi__is_host(to) || bi__is_host(from))
		return bi__stream_reaches(stream, bi__is_host(to) ? from : to);
	if (bi__stream_reaches(stream, to))
		return 1;
	return bi__share_events(to->context, from->context) && bi__stream_reaches(stream, from);
}

/* The stream that executes, or NULL with an error: the caller's must reach the device memory involved. */
static struct bi_stream *choose_stream(const struct job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst->memory;
	struct bi_memory *from = job->src ? job->src->memory : to;
	struct bi_memory *worker = bi__is_host(to) ? from : to;

	if (!job->stream)
		return bi__is_host(worker) ? bi__host_stream() : worker->home;
	if (serves(job->stream, to, from))
		return job->stream;
	bi__fail(err, BI_EINVAL, "the stream of device %s cannot reach memory of %s", job->stream->context->device.spec,
		 bi__is_host(worker) ? "the host" : worker->context->device.spec);
	return NULL;
}

/* Two device memories that no stream reaches both. */
static int is_cross(const struct job *job)
{
	const struct bi_memory *to = job->dst->memory, *from = job->src->memory;

	return !bi__is_host(to) && !bi__is_host(from) && !bi__same_space(to->context, from->context);
}

/* Of two contexts whose streams can wait for each other, and between which dense bytes can be copied. */
static int are_peers(const struct job *job)
{
	return bi__share_events(job->dst->memory->context, job->src->memory->context);
}

/* Host and device memory, and a device that moves only dense bytes between them. */
static int needs_packing(const struct job *job)
{
	const struct bi_memory *to = job->dst->memory, *from = job->src->memory;
	const struct bi_context *context = bi__is_host(to) ? from->context : to->context;

	if (job->stream)
		context = job->stream->context;
	return bi__is_host(to) != bi__is_host(from) && job->plan.kind != BI__PLAN_LINEAR &&
	       !(context->device.capabilities & BI_CAP_NATIVE_COPY);
}

/* Locked. Device memory first: where its home is also the stream on which host memory was last used, that is enough. */
static int begin_both(struct bi_memory *to, struct bi_memory *from, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_memory *first = from && bi__is_host(to) ? from : to;
	struct bi_memory *second = first == to ? from : to;
	int rc = bi__order_begin(first, stream, err);

	return rc || !second ? rc : bi__order_begin_next(second, first, stream, err);
}

/* Locked. Whoever sees the end of the work on host memory has seen that of the device memory on the other side. */
static void note_partner(struct bi_memory *to, struct bi_memory *from)
{
	struct bi_memory *host = bi__is_host(to) ? to : from;

	if (!bi__is_host(host))
		return;
	host->partner = host == to ? from : to;
	host->partner_epoch = host->partner->epoch;
}

/* The locked step: what is waited for, the work, and who waits for it, are enqueued as one. */
static int execute_locked(const struct job *job, struct bi_stream *stream, const void *element, struct bi_error *err)
{
	struct bi_memory *to = job->dst->memory;
	struct bi_memory *from = job->src && job->src->memory != to ? job->src->memory : NULL;
	int rc, to_end, from_end = BI_OK;

	rc = bi__order_check_mapped(to, 1, err);
	if (!rc && from)
		rc = bi__order_check_mapped(from, 0, err);
	if (rc || job->plan.kind == BI__PLAN_NOTHING)
		return rc;
	rc = bi__order_check_capture(stream, to, from, err);
	if (rc)
		return rc;
	/* A producer whose work failed is noticed before anything is enqueued. */
	if (from)
		rc = bi__order_check(from, err);
	if (!rc)
		rc = begin_both(to, from, stream, err);
	if (rc)
		return rc;
	rc = bi__dispatch_copy(stream, job->operation, &job->plan, to, job->src ? job->src->memory : NULL, element,
			       job->to.dtype.item_size, err);
	/* Also after a failure: what is already enqueued stays ordered. */
	to_end = bi__order_end(to, stream, rc ? NULL : err);
	if (from)
		from_end = bi__order_end_next(from, to, stream, rc || to_end ? NULL : err);
	if (from)
		note_partner(to, from);
	return rc ? rc : to_end ? to_end : from_end;
}

static void log_job(const struct job *job, const struct bi_stream *stream, int rc)
{
	bi__log(job->dst->memory->context, BI_LOG_DEBUG, "%s: %s, %llu bytes, stream %u: %s", job->operation,
		bi__plan_name(job->plan.kind), (unsigned long long)job->plan.bytes, stream->id, bi_status_text(rc));
}

static int execute(const struct job *job, const void *element, struct bi_error *err)
{
	struct bi_memory *to = job->dst->memory;
	struct bi_memory *from = job->src ? job->src->memory : NULL;
	struct bi_stream *stream = choose_stream(job, err);
	int rc;

	if (!stream)
		return BI_EINVAL;
	bi__memory_reap(stream->context, BI__REAP_SOME);
	bi__order_lock(to, from);
	rc = execute_locked(job, stream, element, err);
	bi__order_unlock(to, from);
	log_job(job, stream, rc);
	return rc;
}

/*
 * The caller's stream for one leg of a copy in two, if it serves there. Between two contexts that is any of either:
 * such a leg finds out itself what the stream can do.
 */
static struct bi_stream *leg_stream(struct bi_stream *stream, const struct bi_view *a, const struct bi_view *b)
{
	const struct bi_memory *to = a->memory, *from = b->memory;

	if (!stream)
		return NULL;
	if (bi__is_host(to) || bi__is_host(from))
		return serves(stream, to, from) ? stream : NULL;
	return bi__stream_reaches(stream, to) || bi__stream_reaches(stream, from) ? stream : NULL;
}

/* What goes in two legs needs memory in between, and a graph that is captured gets none. */
static int refuse_capture(const struct job *job, struct bi_error *err)
{
	static const char what[] = "this copy needs memory of its own";
	struct bi_stream *homes[] = { job->stream, job->dst->memory->home, job->src->memory->home };
	int rc = BI_OK;

	for (int i = 0; i < 3 && !rc; i++)
		if (homes[i])
			rc = bi__dispatch_refuse_capture(homes[i], what, err);
	return rc;
}

/* Before the first of two legs: what would stop the second one stops both. */
static int check_both(const struct job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst->memory, *from = job->src->memory;
	int rc = refuse_capture(job, err);

	if (rc)
		return rc;
	bi__order_lock(to, from);
	rc = bi__order_check_mapped(to, 1, err);
	if (!rc && from != to)
		rc = bi__order_check_mapped(from, 0, err);
	if (!rc)
		rc = bi__order_check(to, err);
	if (!rc)
		rc = bi__order_check(from, err);
	bi__order_unlock(to, from);
	return rc;
}

/* A copy that is part of another one. */
static struct job make_leg(const struct job *whole, const struct bi_view *dst, const struct bi_view *src)
{
	struct job leg = { .dst = dst, .src = src, .operation = whole->operation };

	leg.stream = leg_stream(whole->stream, dst, src);
	bi_view_layout(dst, &leg.to);
	bi_view_layout(src, &leg.from);
	leg.from.dtype = leg.to.dtype;
	bi__plan_make(&leg.plan, &leg.to, &leg.from);
	return leg;
}

/* Does one stream do it as it is? */
static int is_direct(const struct job *job)
{
	if (is_cross(job))
		return are_peers(job) && job->plan.kind == BI__PLAN_LINEAR;
	return !needs_packing(job);
}

/* The three memories of a copy in two legs. The one in between is nobody else's, so it needs no lock. */
struct chain {
	struct bi_memory *to, *between, *from; /* from may be to */
	struct bi_memory *neighbour; /* the one of the two that shares the home of `between`, if any does */
};

static struct chain make_chain(const struct job *first, const struct job *second)
{
	struct chain chain = { second->dst->memory, first->dst->memory, first->src->memory, NULL };

	chain.neighbour = chain.to->home == chain.between->home ? chain.to : chain.from;
	return chain;
}

/* Locked. */
static int begin_legs(const struct chain *chain, struct bi_stream *stream, struct bi_error *err)
{
	struct bi_memory *other = chain->from == chain->to ? NULL : chain->from;
	int rc = bi__order_check_mapped(chain->to, 1, err);

	if (!rc && other)
		rc = bi__order_check_mapped(other, 0, err);
	if (!rc)
		rc = bi__order_check_capture(stream, chain->to, other, err);
	if (!rc && other)
		rc = bi__order_check(other, err);
	if (!rc)
		rc = begin_both(chain->to, other, stream, err);
	return rc ? rc : bi__order_begin_next(chain->between, chain->neighbour, stream, err);
}

/* Locked. */
static int end_legs(const struct chain *chain, struct bi_stream *stream, struct bi_error *err)
{
	int rc = bi__order_end(chain->to, stream, err), ended = BI_OK;

	if (chain->from != chain->to)
		ended = bi__order_end_next(chain->from, chain->to, stream, rc ? NULL : err);
	rc = rc ? rc : ended;
	ended = bi__order_end_next(chain->between, chain->neighbour, stream, rc ? NULL : err);
	return rc ? rc : ended;
}

/* Locked. */
static int execute_legs_locked(const struct job *first, const struct job *second, const struct chain *chain,
			       struct bi_stream *stream, struct bi_error *err)
{
	int ended, rc = begin_legs(chain, stream, err);

	if (rc)
		return rc;
	rc = bi__dispatch_copy(stream, first->operation, &first->plan, chain->between, chain->from, NULL, 0, err);
	if (!rc)
		rc = bi__dispatch_copy(stream, second->operation, &second->plan, chain->to, chain->between, NULL, 0,
				       err);
	/* Also after a failure: what is already enqueued stays ordered. */
	ended = end_legs(chain, stream, rc ? NULL : err);
	return rc ? rc : ended;
}

/* Both legs as one step: nobody can come between them, so nobody waits in between. */
static int execute_legs(const struct job *first, const struct job *second, struct bi_stream *stream,
			struct bi_error *err)
{
	const struct chain chain = make_chain(first, second);
	int rc;

	bi__memory_reap(stream->context, BI__REAP_SOME);
	bi__order_lock(chain.to, chain.from);
	rc = execute_legs_locked(first, second, &chain, stream, err);
	bi__order_unlock(chain.to, chain.from);
	/* Lets go of what the step left behind. */
	bi__order_lock(chain.between, NULL);
	bi__order_unlock(chain.between, NULL);
	log_job(first, stream, rc);
	log_job(second, stream, rc);
	return rc;
}

static int run_legs(const struct job *first, const struct job *second, struct bi_error *err)
{
	struct bi_stream *stream = choose_stream(first, NULL);
	int rc;

	if (stream && stream == choose_stream(second, NULL) && !stream->queue.out_of_order &&
	    !bi__is_host(first->dst->memory) && is_direct(first) && is_direct(second))
		return execute_legs(first, second, stream, err);
	rc = bi__copy(first->dst, first->src, first->stream, first->operation, err);
	return rc ? rc : bi__copy(second->dst, second->src, second->stream, second->operation, err);
}

/* In two legs, through a dense array of the destination's context. */
static int copy_through(const struct job *job, enum bi_memory_kind kind, struct bi_context *context,
			struct bi_error *err)
{
	struct job first, second;
	struct bi_view *between;
	int rc = check_both(job, err);

	if (!rc)
		rc = bi__view_empty(context, &job->to, kind, &between, err);
	if (rc)
		return rc;
	first = make_leg(job, between, job->src);
	second = make_leg(job, job->dst, between);
	if (job->stream && !first.stream && !second.stream)
		rc = bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
			      job->stream->context->device.spec);
	if (!rc)
		rc = run_legs(&first, &second, err);
	bi_view_release(between);
	return rc;
}

/* Makes the side dense that is not: the host's first, because that needs no device memory. */
static int copy_packed(const struct job *job, struct bi_error *err)
{
	int to_host = bi__is_host(job->dst->memory);
	const struct bi_view *device = to_host ? job->src : job->dst;

	if (!bi_layout_is_contiguous(to_host ? &job->to : &job->from, 'C'))
		return copy_through(job, BI_MEMORY_HOST, device->memory->context, err);
	return copy_through(job, BI_MEMORY_DEVICE, device->memory->context, err);
}

/* Only dense bytes travel between devices: the side that is not dense is packed, or unpacked, where it lies. */
static int copy_dense_side(const struct job *job, struct bi_error *err)
{
	const struct bi_view *side = bi_layout_is_contiguous(&job->from, 'C') ? job->dst : job->src;

	return copy_through(job, BI_MEMORY_DEVICE, side->memory->context, err);
}

/* Two contexts that share nothing: dense bytes go in steps where one side has host memory that it works on itself. */
static int copy_across(const struct job *job, struct bi_error *err)
{
	struct bi_context *staging = bi__across_staging(job->dst->memory->context, job->src->memory->context);
	int rc;

	if (!staging)
		return copy_through(job, BI_MEMORY_HOST, job->dst->memory->context, err);
	if (job->plan.kind != BI__PLAN_LINEAR)
		return copy_dense_side(job, err);
	rc = check_both(job, err);
	return rc ? rc : bi__across_copy(staging, job->dst, job->src, &job->plan, job->stream, job->operation, err);
}

/* The same elements on both sides. */
static int is_identity(const struct job *job)
{
	return job->dst->memory == job->src->memory && bi_layout_equal(&job->to, &job->from);
}

static int run(struct job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst->memory;

	if (is_identity(job)) {
		job->plan.kind = BI__PLAN_NOTHING;
		return execute(job, NULL, err);
	}
	if (overlaps(job))
		return copy_through(job, bi__is_host(to) ? BI_MEMORY_HOST : BI_MEMORY_DEVICE, to->context, err);
	bi__plan_make(&job->plan, &job->to, &job->from);
	if (is_cross(job) && !are_peers(job))
		return copy_across(job, err);
	if (is_cross(job) && job->plan.kind != BI__PLAN_LINEAR)
		return copy_dense_side(job, err);
	if (needs_packing(job))
		return copy_packed(job, err);
	return execute(job, NULL, err);
}

int bi__copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, const char *operation,
	     struct bi_error *err)
{
	struct job job = { .dst = dst, .src = src, .stream = stream, .operation = operation };
	int rc;

	bi_view_layout(dst, &job.to);
	bi_view_layout(src, &job.from);
	rc = check(&job, err);
	if (!rc)
		rc = bi__dispatch_reachable(dst->memory, err);
	if (!rc)
		rc = bi__dispatch_reachable(src->memory, err);
	if (rc || bi_layout_nbytes(&job.to) == 0)
		return rc;
	/* From here only sizes matter. */
	job.from.dtype = job.to.dtype;
	return run(&job, err);
}

int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, struct bi_error *err)
{
	if (!dst || !src)
		return bi__fail(err, BI_EINVAL, "dst or src is NULL");
	return bi__copy(dst, src, stream, "copy", err);
}

int bi__fill(const struct bi_view *view, const void *element, struct bi_stream *stream, const char *operation,
	     struct bi_error *err)
{
	struct job job = { .dst = view, .stream = stream, .operation = operation };
	int rc;

	bi_view_layout(view, &job.to);
	rc = check_destination(view, &job.to, err);
	if (!rc)
		rc = bi__dispatch_reachable(view->memory, err);
	if (rc || bi_layout_nbytes(&job.to) == 0)
		return rc;
	bi__plan_fill(&job.plan, &job.to);
	return execute(&job, element, err);
}

int bi_fill(const struct bi_view *view, const void *element, struct bi_stream *stream, struct bi_error *err)
{
	if (!view || !element)
		return bi__fail(err, BI_EINVAL, "view or element is NULL");
	return bi__fill(view, element, stream, "fill", err);
}
