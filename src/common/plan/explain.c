/* bi_plan_make: a plan with the reason for its kind. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plan/plan.h"
#include "common/base/status.h"
#include "common/layout/layout.h"

static void explain_tiles(const struct bi__plan *plan, char *text, size_t capacity)
{
	const int x = plan->ndim - 1, y = plan->cross;
	const int64_t run = plan->shape[x] * (int64_t)plan->unit;
	size_t used;

	if (run < BI__PLAN_SHORT)
		snprintf(text, capacity, "runs along axis %d have only %" PRId64 " bytes, and the steps of the source",
			 x, run);
	else
		snprintf(text, capacity, "the steps of the source along axis %d have %" PRId64 " bytes, and those", x,
			 plan->src_strides[x]);
	used = strlen(text);
	snprintf(text + used, capacity - used,
		 " along axis %d have %" PRId64
		 ": units of %zu bytes are reordered in tiles that hold long runs of both sides",
		 y, plan->src_strides[y], plan->unit);
}

/*
 * If the unit is too long for tiles, and the source has a much smaller stride along another axis than along the last,
 * appends why the plan is not copied in tiles.
 */
static void explain_no_tiles(const struct bi__plan *plan, char *text, size_t capacity)
{
	int y = bi__plan_cross(plan);
	size_t used = strlen(text);

	if (y >= 0 && plan->unit >= BI__PLAN_LONG)
		snprintf(text + used, capacity - used,
			 "; the steps of the source are shorter along axis %d, but runs of %d bytes and more are not "
			 "copied in tiles",
			 y, BI__PLAN_LONG);
}

static void explain_strided(const struct bi__plan *plan, char *text, size_t capacity)
{
	int x = plan->ndim - 1;

	snprintf(text, capacity,
		 "elements of %zu bytes are copied one by one: along axis %d the step is %" PRId64
		 " bytes in the destination, %" PRId64 " in the source",
		 plan->unit, x, plan->dst_strides[x], plan->src_strides[x]);
	explain_no_tiles(plan, text, capacity);
}

static void explain_kind(const struct bi__plan *plan, char *text, size_t capacity)
{
	switch (plan->kind) {
	case BI_PLAN_LINEAR:
		snprintf(text, capacity, "both sides are one run of %zu bytes", plan->unit);
		break;
	case BI_PLAN_ROWS:
		snprintf(text, capacity, "both sides are dense in runs of %zu bytes", plan->unit);
		explain_no_tiles(plan, text, capacity);
		break;
	case BI_PLAN_STRIDED:
		explain_strided(plan, text, capacity);
		break;
	case BI_PLAN_TILES:
		explain_tiles(plan, text, capacity);
		break;
	case BI_PLAN_BROADCAST:
		snprintf(text, capacity,
			 "the source has stride 0 along axis %d: %zu bytes are written %" PRId64 " times",
			 plan->ndim - 1, plan->unit, plan->shape[plan->ndim - 1]);
		break;
	case BI_PLAN_FILL:
		snprintf(text, capacity, "the same %zu bytes are written everywhere", plan->unit);
		break;
	default:
		snprintf(text, capacity, "there are no elements");
	}
}

static void write_public_plan(const struct bi__plan *plan, struct bi_plan *out)
{
	size_t strides = (size_t)plan->ndim * sizeof(int64_t);

	*out = (struct bi_plan){
		.kind = (int)plan->kind,
		.ndim = plan->ndim,
		.cross = plan->cross,
		.unit = plan->unit,
		.bytes = plan->bytes,
		.dst_offset = plan->dst_offset,
		.src_offset = plan->src_offset,
	};
	memcpy(out->shape, plan->shape, strides);
	memcpy(out->dst_strides, plan->dst_strides, strides);
	memcpy(out->src_strides, plan->src_strides, strides);
	explain_kind(plan, out->reason, sizeof(out->reason));
}

int bi_plan_make(const struct bi_layout *dst, const struct bi_layout *src, struct bi_plan *out, struct bi_error *err)
{
	struct bi__plan plan;
	int rc;

	if (!dst || !out)
		return bi__fail(err, BI_EINVAL, "dst or out is NULL");
	rc = bi__layout_check(dst, err);
	if (!rc && src)
		rc = bi__layout_check(src, err);
	if (!rc && src)
		rc = bi__plan_check(dst, src, err);
	if (!rc && (uint64_t)bi_layout_nbytes(dst) > SIZE_MAX)
		rc = bi__fail(err, BI_EBOUNDS, "the array has more bytes than an address of this machine");
	if (rc)
		return rc;
	if (bi_layout_self_overlap(dst))
		return bi__fail(err, BI_EOVERLAP, "two elements of the destination share bytes");
	bi__plan_make(&plan, dst, src);
	write_public_plan(&plan, out);
	return BI_OK;
}
