#include "common/engine/engine.h"

#include <string.h>

#include "common/engine/parts.h"
#include "common/engine/writer.h"
#include "common/engine/workers.h"

/*
 * Past the caches: transposes as soon as they leave the second level, because they cannot write whole lines otherwise;
 * what is written in sequence later, because a copy that the last level holds is read sooner again; fills last, because
 * nothing else wants the bandwidth.
 */
#define STREAM_TILES_FROM ((uint64_t)1 << 20)
#define STREAM_LINES_FROM ((uint64_t)8 << 20)
#define STREAM_FILLS_FROM ((uint64_t)32 << 20)
#define SHARE_FROM ((uint64_t)2 << 20)
#define SHARE ((uint64_t)512 << 10)

void bi__engine_usual_way(struct bi__engine_way *way)
{
	way->simd = bi__simd_best();
	way->stream_tiles_from = STREAM_TILES_FROM;
	way->stream_lines_from = STREAM_LINES_FROM;
	way->stream_fills_from = STREAM_FILLS_FROM;
	way->share_from = SHARE_FROM;
	way->share = SHARE;
}

static void copy_linear(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	struct bi__writer writer;

	if (!part->streams) {
		memcpy(dst, src, part->plan->unit);
		return;
	}
	bi__writer_init(&writer, part->simd);
	bi__writer_seek(&writer, dst);
	bi__writer_put(&writer, src, part->plan->unit);
	bi__writer_finish(&writer);
}

/* By one thread. */
static void copy_part(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;

	dst += plan->dst_offset;
	src += plan->src_offset;
	if (plan->ndim == 0)
		copy_linear(part, dst, src);
	else if (plan->kind == BI__PLAN_TILES)
		bi__engine_tiles(part, dst, src);
	else
		bi__engine_lines(part, dst, src);
}

/* What the threads of one copy have in common. */
struct job {
	struct bi__engine_part part;
	struct bi__engine_split split;
	unsigned char *dst;
	const unsigned char *src;
};

static void copy_share(void *arg, int i)
{
	const struct job *job = arg;
	struct bi__engine_part part = job->part;
	struct bi__plan plan;

	bi__engine_share(&plan, &job->split, part.plan, i);
	part.plan = &plan;
	copy_part(&part, job->dst, job->src);
}

/* Several for each thread, so that one that is held up does not hold up all; none much smaller than way->share. */
static int64_t wanted_shares(const struct bi__engine_way *way, uint64_t bytes)
{
	uint64_t most = (uint64_t)bi_threads() * 4;

	if (bytes / way->share < most)
		most = bytes / way->share;
	return most ? (int64_t)most : 1;
}

/* A plan that stands still along its last axis reads next to nothing. */
static int streams(const struct bi__engine_way *way, const struct bi__plan *plan)
{
	uint64_t from = way->stream_lines_from;

	if (plan->kind == BI__PLAN_TILES)
		from = way->stream_tiles_from;
	else if (plan->kind == BI__PLAN_FILL || plan->kind == BI__PLAN_BROADCAST)
		from = way->stream_fills_from;
	return way->simd->stream && plan->bytes >= from;
}

static int is_shared(const struct bi__engine_way *way, const struct bi__plan *plan)
{
	return plan->bytes >= way->share_from && bi_threads() > 1;
}

void bi__engine_copy_by(const struct bi__engine_way *way, const struct bi__plan *plan, void *dst, const void *src)
{
	struct job job = { .dst = dst, .src = src };

	if (plan->kind == BI__PLAN_NOTHING)
		return;
	job.part.plan = plan;
	job.part.simd = way->simd;
	job.part.streams = streams(way, plan);
	if (is_shared(way, plan) && bi__engine_split(&job.split, plan, wanted_shares(way, plan->bytes)) > 1)
		bi__workers_run(job.split.shares, copy_share, &job);
	else
		copy_part(&job.part, dst, src);
}

void bi__engine_copy(const struct bi__plan *plan, void *dst, const void *src)
{
	struct bi__engine_way way;

	bi__engine_usual_way(&way);
	bi__engine_copy_by(&way, plan, dst, src);
}

int bi__engine_beats_memcpy(const struct bi__plan *plan)
{
	struct bi__engine_way way;

	if (plan->bytes < SHARE_FROM)
		return 0;
	bi__engine_usual_way(&way);
	return is_shared(&way, plan) || streams(&way, plan);
}
