/* Chooses the route of a copy and runs its steps. The steps are copies as well, and have their own routes. */
#include "common/copy/chunked.h"
#include "common/copy/job.h"
#include "common/layout/layout.h"
#include "common/runtime/memory.h"
#include "common/runtime/order.h"
#include "common/runtime/stream.h"

struct route {
	enum {
		DIRECT, /* one step on one stream */
		TWO_STEP, /* through a new dense array */
		CHUNKED /* in chunks through pinned staging buffers */
	} kind;
	struct bi_context *context; /* TWO_STEP: context of the new array. CHUNKED: context of the staging buffers */
	enum bi_memory_kind memory; /* TWO_STEP: kind of memory of the new array */
};

/*
 * Returns the address of byte 0 of the memory: the one for the CPU if there is one, because devices may have another
 * for the same byte. Returns 0 if there is none, and the handle is an object without address.
 */
static uintptr_t address_of(const struct bi_memory *memory)
{
	const struct bi__block *block = &memory->block;

	if (memory->backend->cpu_addressable || block->host)
		return (uintptr_t)block->host;
	return memory->backend->exported[memory->block.memory].form == BI__FORM_OBJECT ? 0
										       : block->handle + block->origin;
}

/*
 * Returns 1 if the two memories may have a byte in common, and sets *distance to the number of bytes from the start of
 * `b` to the start of `a`. All addresses count as one address space. Without an address, handles are compared.
 */
static int shares_place(const struct bi_memory *a, const struct bi_memory *b, int64_t *distance)
{
	uintptr_t first = address_of(a), second = address_of(b);

	if (first && second) {
		*distance = (int64_t)((uint64_t)first - second);
		return 1;
	}
	*distance = (int64_t)((uint64_t)a->block.origin - b->block.origin);
	return a == b || (!a->backend->cpu_addressable && !b->backend->cpu_addressable &&
			  a->block.handle == b->block.handle && bi__same_space(a->context, b->context));
}

static int overlaps(const struct bi__job *job)
{
	int64_t distance;

	return shares_place(job->dst, job->src, &distance) && bi__layout_overlap_at(&job->to, distance, &job->from);
}

/* Returns true if both are device memories, and their contexts have different native contexts. */
static int is_cross(const struct bi__job *job)
{
	const struct bi_memory *to = job->dst, *from = job->src;

	return to->context != from->context && !to->backend->cpu_addressable && !from->backend->cpu_addressable &&
	       !bi__same_space(to->context, from->context);
}

/* Sets *needs to 1 if the job is between host and device memory, and the device does not take the plan directly. */
static int needs_packing(const struct bi__job *job, int *needs, struct bi_error *err)
{
	const struct bi_memory *to = job->dst, *from = job->src;
	const struct bi_memory *device = to->backend->cpu_addressable ? from : to;
	const struct bi_stream *stream = job->stream;
	int takes, rc;

	*needs = 0;
	if (job->plan.kind == BI_PLAN_LINEAR || to->backend->cpu_addressable == from->backend->cpu_addressable)
		return BI_OK;
	if (!stream)
		stream = device->home; /* may belong to another device of the native context than the memory */
	rc = bi__job_is_taken(job, stream->context, &takes, err);
	*needs = !takes;
	return rc;
}

/* Returns the route if the device does not take the plan. The device packs its side if the host's array is dense. */
static struct route route_packed(const struct bi__job *job)
{
	int to_host = job->dst->backend->cpu_addressable;
	struct bi_context *context = (to_host ? job->src : job->dst)->context;

	if (!bi_layout_is_contiguous(to_host ? &job->to : &job->from, 'C'))
		return (struct route){ CHUNKED, context, BI_MEMORY_PINNED };
	return (struct route){ TWO_STEP, context, BI_MEMORY_DEVICE };
}

/*
 * Returns the route between two devices. If they share events, they can copy dense bytes to each other. The new dense
 * array of a strided copy is on the source's device if the source is not dense, otherwise on the destination's device.
 * If they share no events, the source's context allocates the staging buffers. If the CPU can use pinned memory of that
 * context only while the memory is mapped, the destination's context allocates them.
 */
static struct route route_cross(const struct bi__job *job)
{
	struct bi_context *to = job->dst->context, *from = job->src->context;

	if (!bi__share_events(to, from))
		return (struct route){ CHUNKED, from->device.backend->move.map ? to : from, BI_MEMORY_PINNED };
	if (job->plan.kind == BI_PLAN_LINEAR)
		return (struct route){ .kind = DIRECT };
	return (struct route){ TWO_STEP, bi_layout_is_contiguous(&job->from, 'C') ? to : from, BI_MEMORY_DEVICE };
}

/*
 * Chooses the route and makes the plan. A copy of an array to itself gets only the kind BI_PLAN_NOTHING and 0 bytes. A
 * copy between overlapping arrays gets no plan here, because its two steps get theirs.
 */
static int choose_route(struct bi__job *job, struct route *route, struct bi_error *err)
{
	struct bi_memory *to = job->dst;
	int needs, rc;

	*route = (struct route){ .kind = DIRECT };
	if (to == job->src && bi_layout_equal(&job->to, &job->from)) {
		job->plan.kind = BI_PLAN_NOTHING;
		job->plan.bytes = 0;
		return BI_OK;
	}
	if (overlaps(job)) {
		*route = (struct route){ TWO_STEP, to->context,
					 to->backend->cpu_addressable ? BI_MEMORY_HOST : BI_MEMORY_DEVICE };
		return BI_OK;
	}
	bi__plan_make(&job->plan, &job->to, &job->from);
	if (is_cross(job)) {
		*route = route_cross(job);
		return BI_OK;
	}
	rc = needs_packing(job, &needs, err);
	if (!rc && needs)
		*route = route_packed(job);
	return rc;
}

/* Returns BI_ECAPTURE if a stream is captured: several steps need memory, and a capture must not allocate any. */
static int refuse_any_capture(const struct bi__job *job, struct bi_error *err)
{
	static const char what[] = "this copy needs memory of its own";
	struct bi_stream *streams[] = { job->stream, job->dst->home, job->src->home };
	int rc = BI_OK;

	for (int i = 0; i < 3 && !rc; i++)
		if (streams[i])
			rc = bi__stream_refuse_capture(streams[i], what, err);
	return rc;
}

/* Refuses captures, conflicting mappings and failed work before a first step has written a part of the destination. */
static int check_steps(const struct bi__job *job, struct bi_error *err)
{
	struct bi_memory *to = job->dst, *from = job->src;
	int rc = refuse_any_capture(job, err);

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

/* Returns the caller's stream if the step can use it, else NULL. */
static struct bi_stream *step_stream(struct bi_stream *stream, const struct bi__job *step)
{
	return stream && bi__job_serves(stream, step->dst, step->src) ? stream : NULL;
}

/*
 * Makes the two steps of the job: a copy to the memory `between`, and a copy from there. The caller has set first->to,
 * the layout of the dense array.
 */
static int make_two_steps(const struct bi__job *job, struct bi_memory *between, struct bi__job *first,
			  struct bi__job *second, struct bi_error *err)
{
	first->operation = second->operation = job->operation;
	first->src = job->src;
	first->from = job->from;
	first->dst = second->src = between;
	second->from = first->to;
	second->dst = job->dst;
	second->to = job->to;
	first->stream = step_stream(job->stream, first);
	second->stream = step_stream(job->stream, second);
	return job->stream && !first->stream && !second->stream ? bi__job_refuse_stream(job, err) : BI_OK;
}

static int run_two_step(const struct bi__job *job, const struct route *route, struct bi_error *err)
{
	struct bi__job first, second;
	struct bi_memory *between;
	int rc = bi_layout_init(&first.to, job->to.dtype, job->to.ndim, job->to.shape, NULL, 0, err);

	if (!rc)
		rc = bi__memory_create_for(route->context, &first.to, route->memory, &between, err);
	if (rc)
		return rc;
	rc = make_two_steps(job, between, &first, &second, err);
	if (!rc)
		rc = bi__job_run(&first, err);
	if (!rc)
		rc = bi__job_run(&second, err);
	bi_memory_release(between);
	return rc;
}

static int run_chunked(const struct bi__job *job, const struct route *route, struct bi_error *err)
{
	struct bi__chunked chunked;
	struct bi__job step;
	int rc = bi__chunked_start(&chunked, job, route->context, err);

	while (!rc && bi__chunked_has_step(&chunked)) {
		rc = bi__chunked_next(&chunked, &step, err);
		if (!rc)
			rc = bi__job_run(&step, err);
	}
	bi__chunked_finish(&chunked);
	return rc;
}

int bi__job_run(struct bi__job *job, struct bi_error *err)
{
	struct route route;
	int rc = choose_route(job, &route, err);

	if (rc)
		return rc;
	if (route.kind == DIRECT)
		return bi__job_enqueue(job, err);
	rc = check_steps(job, err);
	if (rc)
		return rc;
	return route.kind == TWO_STEP ? run_two_step(job, &route, err) : run_chunked(job, &route, err);
}
