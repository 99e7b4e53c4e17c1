/* Copies in two legs, through a dense array of their own. */
#include "common/copy/job.h"

#include "common/backend/dispatch.h"
#include "common/runtime/retire.h"
#include "common/runtime/order.h"
#include "common/base/status.h"
#include "common/runtime/stream.h"

/*
 * The caller's stream for one leg of a copy in two, if it serves there. Between two contexts that is any of either:
 * such a leg finds out itself what the stream can do.
 */
static struct bi_stream *leg_stream(struct bi_stream *stream, const struct bi_memory *to, const struct bi_memory *from)
{
	if (!stream)
		return NULL;
	if (bi__is_cpu_addressable(to) || bi__is_cpu_addressable(from))
		return bi__job_serves(stream, to, from) ? stream : NULL;
	return bi__stream_reaches(stream, to) || bi__stream_reaches(stream, from) ? stream : NULL;
}

/* What goes in two legs needs memory in between, and a graph that is captured gets none. */
static int refuse_capture(const struct bi__job *job, struct bi_error *err)
{
	static const char what[] = "this copy needs memory of its own";
	struct bi_stream *homes[] = { job->stream, job->dst->home, job->src->home };
	int rc = BI_OK;

	for (int i = 0; i < 3 && !rc; i++)
		if (homes[i])
			rc = bi__dispatch_refuse_capture(homes[i], what, err);
	return rc;
}

int bi__job_check_steps(const struct bi__job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst, *from = job->src;
	int rc = refuse_capture(job, err);

	if (rc)
		return rc;
	bi__order_lock(to, from);
	rc = bi__order_check_mapped(to, 1, err);
	if (!rc && from != to)
		rc = bi__order_check_mapped(from, 0, err);
	if (!rc)
		rc = bi__order_check_failed_locked(to, err);
	if (!rc)
		rc = bi__order_check_failed_locked(from, err);
	bi__order_unlock(to, from);
	return rc;
}

/* One side of a copy. */
struct side {
	struct bi_memory *memory;
	const struct bi_layout *layout;
};

/* A copy that is part of another one. */
static void make_leg(struct bi__job *leg, const struct bi__job *whole, struct side dst, struct side src)
{
	leg->dst = dst.memory;
	leg->src = src.memory;
	leg->to = *dst.layout;
	leg->from = *src.layout;
	leg->stream = leg_stream(whole->stream, dst.memory, src.memory);
	leg->operation = whole->operation;
	bi__plan_make(&leg->plan, &leg->to, &leg->from);
}

/* The three memories of a copy in two legs. The one in between is nobody else's, so it needs no lock. */
struct chain {
	struct bi_memory *to, *between, *from; /* from may be to */
	struct bi_memory *neighbour; /* the one of the two that shares the home of `between`, if any does */
};

static struct chain make_chain(const struct bi__job *first, const struct bi__job *second)
{
	struct chain chain = { second->dst, first->dst, first->src, NULL };

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
		rc = bi__order_check_capture_locked(stream, chain->to, other, err);
	if (!rc && other)
		rc = bi__order_check_failed_locked(other, err);
	if (!rc)
		rc = bi__job_begin_locked(chain->to, other, stream, err);
	return rc ? rc : bi__order_begin_next_locked(chain->between, chain->neighbour, stream, err);
}

/* Locked. */
static int end_legs(const struct chain *chain, struct bi_stream *stream, struct bi_error *err)
{
	int rc = bi__order_end_locked(chain->to, stream, err), ended = BI_OK;

	if (chain->from != chain->to)
		ended = bi__order_end_next_locked(chain->from, chain->to, stream, rc ? NULL : err);
	rc = rc ? rc : ended;
	ended = bi__order_end_next_locked(chain->between, chain->neighbour, stream, rc ? NULL : err);
	return rc ? rc : ended;
}

/* Locked. */
static int execute_legs_locked(const struct bi__job *first, const struct bi__job *second, const struct chain *chain,
			       struct bi_stream *stream, struct bi_error *err)
{
	int ended, rc = begin_legs(chain, stream, err);

	if (rc)
		return rc;
	rc = bi__dispatch_copy(stream, first->operation, &first->plan, chain->between, chain->from, NULL, 0, NULL, err);
	if (!rc)
		rc = bi__dispatch_copy(stream, second->operation, &second->plan, chain->to, chain->between, NULL, 0,
				       NULL, err);
	/* Also after a failure: what is already enqueued stays ordered. */
	ended = end_legs(chain, stream, rc ? NULL : err);
	return rc ? rc : ended;
}

/* Both legs as one step: nobody can come between them, so nobody waits in between. */
static int execute_legs(const struct bi__job *first, const struct bi__job *second, struct bi_stream *stream,
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
	bi__job_log(first, stream, rc);
	bi__job_log(second, stream, rc);
	return rc;
}

static int run_legs(struct bi__job *first, struct bi__job *second, struct bi_error *err)
{
	struct bi_stream *stream = bi__job_stream(first, NULL);
	int rc;

	if (stream && stream == bi__job_stream(second, NULL) && !stream->queue.out_of_order &&
	    !bi__is_synchronous(first->dst) && bi__job_is_direct(first) && bi__job_is_direct(second))
		return execute_legs(first, second, stream, err);
	rc = bi__job_route(first, err);
	return rc ? rc : bi__job_route(second, err);
}

int bi__job_run_legs(const struct bi__job *job, enum bi_memory_kind kind, struct bi_context *context,
		     struct bi_error *err)
{
	struct bi__job first, second;
	struct bi_memory *between;
	struct bi_layout dense;
	int rc = bi__job_check_steps(job, err);

	if (!rc)
		rc = bi_layout_init(&dense, job->to.dtype, job->to.ndim, job->to.shape, NULL, 0, err);
	if (!rc)
		rc = bi_memory_create(context, (size_t)bi_layout_nbytes(&dense), kind, &between, err);
	if (rc)
		return rc;
	make_leg(&first, job, (struct side){ between, &dense }, (struct side){ job->src, &job->from });
	make_leg(&second, job, (struct side){ job->dst, &job->to }, (struct side){ between, &dense });
	if (job->stream && !first.stream && !second.stream)
		rc = bi__fail(err, BI_EINVAL, "the stream of device %s reaches neither source nor destination",
			      job->stream->context->device.info->spec);
	if (!rc)
		rc = run_legs(&first, &second, err);
	bi_memory_release(between);
	return rc;
}
