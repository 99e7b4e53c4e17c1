/* bi_plan_make: the planner for people, who want a reason with each plan. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/plan/plan.h"
#include "common/base/status.h"

static void explain_tiles(const struct bi__plan *plan, char *text, size_t room)
{
	int x = plan->ndim - 1, y = plan->cross;

	snprintf(text, room,
		 "the source is read along axis %d (steps of %" PRId64 " bytes; along axis %d they have %" PRId64
		 "), the destination written along axis %d (steps of %" PRId64
		 "): squares of %zu-byte units are turned",
		 y, plan->src_strides[y], x, plan->src_strides[x], x, plan->dst_strides[x], plan->unit);
}

/* Appends why a nest in which the source is nearer along another axis is not turned all the same. */
static void explain_no_tiles(const struct bi__plan *plan, char *text, size_t room)
{
	int x = plan->ndim - 1, y = bi__plan_cross(plan, 2);
	size_t used = strlen(text);

	if (y < 0)
		return;
	if (plan->unit > BI__PLAN_TILE_UNIT)
		snprintf(text + used, room - used,
			 "; the source is nearer along axis %d, but runs above %d bytes are not turned", y,
			 BI__PLAN_TILE_UNIT);
	else
		snprintf(text + used, room - used,
			 "; the source is nearer along axis %d, but a square needs %d by %d and axis %d has %" PRId64,
			 y, BI__PLAN_TILE_EXTENT, BI__PLAN_TILE_EXTENT, plan->shape[x] < BI__PLAN_TILE_EXTENT ? x : y,
			 plan->shape[x] < BI__PLAN_TILE_EXTENT ? plan->shape[x] : plan->shape[y]);
}

static void explain_rows(const struct bi__plan *plan, char *text, size_t room)
{
	snprintf(text, room, "elements lie side by side on both sides in runs of %zu bytes", plan->unit);
	explain_no_tiles(plan, text, room);
}

static void explain_strided(const struct bi__plan *plan, char *text, size_t room)
{
	int x = plan->ndim - 1;

	snprintf(text, room,
		 "along axis %d each element of %zu bytes is on its own: steps of %" PRId64
		 " bytes in the destination, %" PRId64 " in the source",
		 x, plan->unit, plan->dst_strides[x], plan->src_strides[x]);
	explain_no_tiles(plan, text, room);
}

static void explain_broadcast(const struct bi__plan *plan, char *text, size_t room)
{
	snprintf(text, room, "the source stands still along axis %d: %zu bytes are written %" PRId64 " times",
		 plan->ndim - 1, plan->unit, plan->shape[plan->ndim - 1]);
}

static void explain(const struct bi__plan *plan, char *text, size_t room)
{
	switch (plan->kind) {
	case BI__PLAN_LINEAR:
		snprintf(text, room, "both sides are one run of %zu bytes", plan->unit);
		break;
	case BI__PLAN_ROWS:
		explain_rows(plan, text, room);
		break;
	case BI__PLAN_STRIDED:
		explain_strided(plan, text, room);
		break;
	case BI__PLAN_TILES:
		explain_tiles(plan, text, room);
		break;
	case BI__PLAN_BROADCAST:
		explain_broadcast(plan, text, room);
		break;
	case BI__PLAN_FILL:
		snprintf(text, room, "the source is the same %zu bytes for the whole destination", plan->unit);
		break;
	default:
		snprintf(text, room, "there is no element");
	}
}

static void publish(const struct bi__plan *plan, struct bi_plan *out)
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
	explain(plan, out->reason, sizeof(out->reason));
}

int bi_plan_make(const struct bi_layout *dst, const struct bi_layout *src, struct bi_plan *out, struct bi_error *err)
{
	struct bi__plan plan;
	int rc;

	if (!dst || !out)
		return bi__fail(err, BI_EINVAL, "dst or out is NULL");
	rc = src ? bi__plan_check(dst, src, err) : BI_OK;
	if (rc)
		return rc;
	if (bi_layout_self_overlap(dst))
		return bi__fail(err, BI_EOVERLAP, "two elements of the destination share bytes");
	if (src)
		bi__plan_make(&plan, dst, src);
	else
		bi__plan_fill(&plan, dst);
	publish(&plan, out);
	return BI_OK;
}
