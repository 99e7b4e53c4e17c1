/* Copies between the host and the device, and the way of all other moves. None makes the calling thread wait. */
#include "cuda/cuda.h"

/* How a host address and a block exchange dense bytes. */
enum way {
	DIRECTLY, /* by the driver, which does not wait for memory that it knows */
	BY_HOST, /* both are memory of the host */
	STAGED
};

/* In a graph that is captured only the driver's own copies can be repeated. */
static int choose_way(const struct bi__cuda_job *job, const struct bi__block *block, const void *host, enum way *way,
		      struct bi_error *err)
{
	uint64_t capture;
	int is_known, rc = bi__cuda_is_known(host, &is_known, err);

	*way = is_known ? DIRECTLY : STAGED;
	if (rc || (is_known && !bi__cuda_is_of_host(block)))
		return rc;
	rc = bi__cuda_find_capture(job->queue, &capture, err);
	if (!rc && capture && !is_known)
		rc = bi__cuda_refuse_capture(job->queue, "pageable host memory would be staged", err);
	if (!capture && bi__cuda_is_of_host(block))
		*way = BY_HOST;
	return rc;
}

static int write_linear(const struct bi__cuda_job *job, struct bi_error *err)
{
	const struct bi__block *block = job->dst->block;
	bi__cu_pointer to = bi__cuda_address(job->dst, job->plan->dst_offset);
	const char *from = (const char *)job->src->host + job->plan->src_offset;
	size_t nbytes = job->plan->unit;
	enum way way;
	int rc = choose_way(job, block, from, &way, err);

	if (rc)
		return rc;
	if (way == BY_HOST)
		return bi__cuda_copy_by_host(job->queue, (char *)block->host + job->plan->dst_offset, from, nbytes,
					     err);
	if (way == STAGED)
		return bi__cuda_upload(job->queue, to, from, nbytes, err);
	return bi__cu_check(bi__cu->MemcpyHtoDAsync(to, from, nbytes, job->queue->stream), "cuMemcpyHtoDAsync", err);
}

static int read_linear(const struct bi__cuda_job *job, struct bi_error *err)
{
	const struct bi__block *block = job->src->block;
	bi__cu_pointer from = bi__cuda_address(job->src, job->plan->src_offset);
	char *to = (char *)(uintptr_t)job->dst->host + job->plan->dst_offset;
	size_t nbytes = job->plan->unit;
	enum way way;
	int rc = choose_way(job, block, to, &way, err);

	if (rc)
		return rc;
	if (way == BY_HOST)
		return bi__cuda_copy_by_host(job->queue, to, (const char *)block->host + job->plan->src_offset, nbytes,
					     err);
	if (way == STAGED)
		return bi__cuda_download(job->queue, to, from, nbytes, err);
	return bi__cu_check(bi__cu->MemcpyDtoHAsync(to, from, nbytes, job->queue->stream), "cuMemcpyDtoHAsync", err);
}

static int run(struct bi__cuda_job *job, struct bi_error *err)
{
	if (job->src->immediate)
		return bi__cuda_fill(job, err);
	if (job->dst->block && job->src->block)
		return bi__cuda_copy_blocks(job, err);
	if (job->plan->kind != BI__PLAN_LINEAR)
		return bi__fail(err, BI_EUNSUPPORTED, "the device moves only dense bytes from and to the host");
	return job->dst->block ? write_linear(job, err) : read_linear(job, err);
}

/* Entered. */
static int run_timed(struct bi__cuda_job *job, uintptr_t *event, struct bi_error *err)
{
	struct bi__cuda_event *timed;
	int rc = bi__cuda_timing_start(job->queue, &timed, err);

	if (rc)
		return rc;
	rc = run(job, err);
	if (!rc)
		rc = bi__cuda_timing_end(job->queue, timed, err);
	if (rc)
		bi__cuda_event_release((uintptr_t)timed);
	else
		*event = (uintptr_t)timed;
	return rc;
}

int bi__cuda_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__plan *plan,
		  const struct bi__place *dst, const struct bi__place *src, uintptr_t *event, struct bi_error *err)
{
	struct bi__cuda_job job = { bi__cuda_queue_of(queue), plan, dst, src };
	struct bi__cuda_scope scope;
	int rc = bi__cuda_enter(job.queue->cuda->context, &scope, err);

	(void)device;
	if (rc)
		return rc;
	rc = event ? run_timed(&job, event, err) : run(&job, err);
	bi__cuda_leave(&scope);
	return rc;
}
