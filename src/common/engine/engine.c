#include "common/engine/engine.h"

#include <string.h>

#include "common/engine/parts.h"
#include "common/engine/writer.h"
#include "common/engine/workers.h"

/*
 * A copy of at least STREAM_FROM bytes may use non-temporal stores. A fill or a broadcast may use them from
 * STREAM_FILLS_FROM bytes on, because its reads need less of the bandwidth than those of a copy. A smaller result often
 * stays in the last-level cache, where later reads and writes find it. The size that the system reports for this cache
 * is not used, because other programs and other virtual machines use the cache too.
 */
#define STREAM_FROM ((uint64_t)8 << 20)
#define STREAM_FILLS_FROM ((uint64_t)32 << 20)
#define CHUNK_FROM ((uint64_t)2 << 20)
#define CHUNK ((uint64_t)512 << 10)
#define TILES_FROM ((uint64_t)128 << 10)

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

static void copy_tiles(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	if (bi__engine_planes(part, dst, src))
		return;
	if (part->plan->bytes >= part->tiles_from)
		bi__engine_tiles(part, dst, src);
	else
		bi__engine_lines(part, dst, src);
}

static void copy_part(const struct bi__engine_part *part, unsigned char *dst, const unsigned char *src)
{
	const struct bi__plan *plan = part->plan;

	dst += plan->dst_offset;
	src += plan->src_offset;
	if (plan->ndim == 0)
		copy_linear(part, dst, src);
	else if (plan->kind == BI_PLAN_TILES)
		copy_tiles(part, dst, src);
	else
		bi__engine_lines(part, dst, src);
}

/* A copy that several threads work on. */
struct job {
	struct bi__engine_part part;
	struct bi__engine_split split;
	unsigned char *dst;
	const unsigned char *src;
};

static void copy_chunk(void *arg, int i)
{
	const struct job *job = arg;
	struct bi__engine_part part = job->part;
	struct bi__plan plan;

	bi__engine_chunk(&plan, &job->split, part.plan, i);
	part.plan = &plan;
	copy_part(&part, job->dst, job->src);
}

/*
 * Returns the number of chunks, at least 1. Each thread gets several, so that one delayed thread does not delay the
 * whole copy. There are fewer chunks if they would have less than tuning->chunk bytes.
 */
static int64_t wanted_chunks(const struct bi__engine_tuning *tuning, uint64_t bytes)
{
	uint64_t most = (uint64_t)bi_threads() * 4;

	if (bytes / tuning->chunk < most)
		most = bytes / tuning->chunk;
	return most ? (int64_t)most : 1;
}

/* Returns true if non-temporal stores may be used for the plan. A broadcast counts as a fill. */
static int is_streamed(const struct bi__engine_tuning *tuning, const struct bi__plan *plan)
{
	const int is_fill = plan->kind == BI_PLAN_FILL || plan->kind == BI_PLAN_BROADCAST;

	return tuning->simd->stream && plan->bytes >= (is_fill ? tuning->stream_fills_from : tuning->stream_from);
}

static int needs_chunks(const struct bi__engine_tuning *tuning, const struct bi__plan *plan)
{
	return plan->bytes >= tuning->chunk_from && bi_threads() > 1;
}

void bi__engine_copy_tuned(const struct bi__engine_tuning *tuning, const struct bi__plan *plan, void *dst,
			   const void *src)
{
	struct job job = { .dst = dst, .src = src };

	if (plan->kind == BI_PLAN_NOTHING)
		return;
	job.part.plan = plan;
	job.part.simd = tuning->simd;
	job.part.streams = is_streamed(tuning, plan);
	job.part.tiles_from = tuning->tiles_from;
	if (needs_chunks(tuning, plan) && bi__engine_split(&job.split, plan, wanted_chunks(tuning, plan->bytes)) > 1)
		bi__workers_run(job.split.chunks, copy_chunk, &job);
	else
		copy_part(&job.part, dst, src);
}

void bi__engine_copy(const struct bi__plan *plan, void *dst, const void *src)
{
	struct bi__engine_tuning tuning = {
		.stream_from = STREAM_FROM,
		.stream_fills_from = STREAM_FILLS_FROM,
		.chunk_from = CHUNK_FROM,
		.chunk = CHUNK,
		.tiles_from = TILES_FROM,
	};

	if (plan->kind == BI_PLAN_LINEAR && plan->bytes < CHUNK_FROM) {
		memcpy((unsigned char *)dst + plan->dst_offset, (const unsigned char *)src + plan->src_offset,
		       plan->unit);
		return;
	}
	tuning.simd = bi__simd_best();
	bi__engine_copy_tuned(&tuning, plan, dst, src);
}
