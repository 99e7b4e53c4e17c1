#include "common/engine.h"

#include <string.h>

/* One innermost loop: `count` units with a step on each side. */
typedef void (*run_fn)(unsigned char *dst, const unsigned char *src, int64_t count, int64_t dst_step, int64_t src_step,
		       size_t unit);

static void run_any(unsigned char *dst, const unsigned char *src, int64_t count, int64_t dst_step, int64_t src_step,
		    size_t unit)
{
	for (; count > 0; count--, dst += dst_step, src += src_step)
		memcpy(dst, src, unit);
}

/* The same with a size that the compiler knows, so that memcpy becomes a load and a store. */
#define RUN(size) \
	static void run_##size(unsigned char *dst, const unsigned char *src, int64_t count, int64_t dst_step, \
			       int64_t src_step, size_t unit) \
	{ \
		(void)unit; \
		run_any(dst, src, count, dst_step, src_step, size); \
	}

RUN(1)
RUN(2)
RUN(4)
RUN(8)
RUN(16)

static run_fn choose_run(size_t unit)
{
	switch (unit) {
	case 1:
		return run_1;
	case 2:
		return run_2;
	case 4:
		return run_4;
	case 8:
		return run_8;
	case 16:
		return run_16;
	default:
		return run_any;
	}
}

/* Runs over one axis at a time; depth is at most BI_MAX_NDIM. */
static void nest(const struct bi__plan *plan, int axis, unsigned char *dst, const unsigned char *src, run_fn run)
{
	int64_t extent = plan->shape[axis], dst_step = plan->dst_strides[axis], src_step = plan->src_strides[axis];

	if (axis == plan->ndim - 1) {
		run(dst, src, extent, dst_step, src_step, plan->unit);
		return;
	}
	for (int64_t i = 0; i < extent; i++)
		nest(plan, axis + 1, dst + i * dst_step, src + i * src_step, run);
}

void bi__engine_copy(const struct bi__plan *plan, void *dst, const void *src)
{
	unsigned char *to = (unsigned char *)dst + plan->dst_offset;
	const unsigned char *from = (const unsigned char *)src + plan->src_offset;

	if (plan->ndim == 0)
		memcpy(to, from, plan->unit);
	else
		nest(plan, 0, to, from, choose_run(plan->unit));
}
