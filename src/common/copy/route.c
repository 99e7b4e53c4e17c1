/* Chooses the route of a copy. */
#include "common/copy/job.h"

#include "common/layout/layout.h"

/* Returns the address of byte 0 of the memory, or 0 if its handle is an object without address. */
static uintptr_t address_of(const struct bi_memory *memory)
{
	const struct bi__block *block = &memory->block;

	if (memory->backend->cpu_addressable)
		return (uintptr_t)block->host;
	return bi__exported_of(memory)->form == BI__FORM_OBJECT ? 0 : block->handle + block->origin;
}

/*
 * Returns true if the two memories may contain the same byte. All memories with addresses share one address space. Two
 * memories without addresses can share bytes only if they have the same handle.
 */
static int shares_place(const struct bi_memory *a, const struct bi_memory *b)
{
	if (a == b || (address_of(a) && address_of(b)))
		return 1;
	return !a->backend->cpu_addressable && !b->backend->cpu_addressable && bi__same_space(a->context, b->context) &&
	       a->block.handle == b->block.handle;
}

/* Returns the bytes from byte 0 of `b` to byte 0 of `a`, for two memories for which shares_place is true. */
static int64_t distance(const struct bi_memory *a, const struct bi_memory *b)
{
	if (address_of(a) && address_of(b))
		return (int64_t)(address_of(a) - address_of(b));
	return (int64_t)(a->block.origin - b->block.origin);
}

static int overlaps(const struct bi__job *job)
{
	const struct bi_memory *to = job->dst, *from = job->src;

	return shares_place(to, from) &&
	       bi__layout_overlap_at(&job->to, to == from ? 0 : distance(to, from), &job->from);
}

/* Returns true if both are device memories, and their contexts have different native contexts. */
static int is_cross(const struct bi__job *job)
{
	const struct bi_memory *to = job->dst, *from = job->src;

	return !to->backend->cpu_addressable && !from->backend->cpu_addressable &&
	       !bi__same_space(to->context, from->context);
}

/* Returns true if the streams of both contexts can wait for each other and dense bytes can be copied between them. */
static int are_peers(const struct bi__job *job)
{
	return bi__share_events(job->dst->context, job->src->context);
}

/*
 * Sets *needs to 1 if one side is host memory, the other side is device memory, and the device cannot execute the plan
 * directly; else to 0.
 */
static inline int needs_packing(const struct bi__job *job, int *needs, struct bi_error *err)
{
	const struct bi_memory *to = job->dst, *from = job->src;
	struct bi_context *context = to->backend->cpu_addressable ? from->context : to->context;
	int takes, rc;

	*needs = 0;
	if (job->plan.kind == BI__PLAN_LINEAR || to->backend->cpu_addressable == from->backend->cpu_addressable)
		return BI_OK;
	if (job->stream)
		context = job->stream->context;
	rc = bi__job_is_taken(job, context, &takes, err);
	*needs = !takes;
	return rc;
}

/* Returns the route for a host array that is not dense: in chunks. For a dense host array the device packs its side. */
static struct bi__route route_packed(const struct bi__job *job)
{
	int to_host = job->dst->backend->cpu_addressable;
	struct bi_context *context = (to_host ? job->src : job->dst)->context;

	if (!bi_layout_is_contiguous(to_host ? &job->to : &job->from, 'C'))
		return (struct bi__route){ BI__ROUTE_CHUNKED, context, BI_MEMORY_PINNED };
	return (struct bi__route){ BI__ROUTE_TWO_STEP, context, BI_MEMORY_DEVICE };
}

/*
 * Returns the route between two devices that can copy dense bytes to each other. The new dense array is on the device
 * of the side that is not dense, which packs or unpacks.
 */
static struct bi__route route_dense_side(const struct bi__job *job)
{
	const struct bi_memory *side = bi_layout_is_contiguous(&job->from, 'C') ? job->dst : job->src;

	return (struct bi__route){ BI__ROUTE_TWO_STEP, side->context, BI_MEMORY_DEVICE };
}

/*
 * Returns the context that allocates the staging buffers between two contexts that share nothing. A context is
 * preferred if its driver can use pinned memory without mapping it.
 */
static struct bi_context *choose_staging(const struct bi__job *job)
{
	struct bi_context *to = job->dst->context, *from = job->src->context;

	return from->device.backend->move.map ? to : from;
}

/* Returns true if the job would copy every element onto itself. */
static int is_identity(const struct bi__job *job)
{
	return job->dst == job->src && bi_layout_equal(&job->to, &job->from);
}

int bi__job_choose_route(struct bi__job *job, struct bi__route *route, struct bi_error *err)
{
	struct bi_memory *to = job->dst;
	int needs, rc;

	*route = (struct bi__route){ .kind = BI__ROUTE_DIRECT };
	if (is_identity(job)) {
		job->plan.kind = BI__PLAN_NOTHING;
		job->plan.bytes = 0;
		return BI_OK;
	}
	if (overlaps(job)) {
		*route = (struct bi__route){ BI__ROUTE_TWO_STEP, to->context,
					     to->backend->cpu_addressable ? BI_MEMORY_HOST : BI_MEMORY_DEVICE };
		return BI_OK;
	}
	bi__plan_make(&job->plan, &job->to, &job->from);
	if (is_cross(job)) {
		if (!are_peers(job))
			*route = (struct bi__route){ BI__ROUTE_CHUNKED, choose_staging(job), BI_MEMORY_PINNED };
		else if (job->plan.kind != BI__PLAN_LINEAR)
			*route = route_dense_side(job);
		return BI_OK;
	}
	rc = needs_packing(job, &needs, err);
	if (!rc && needs)
		*route = route_packed(job);
	return rc;
}
