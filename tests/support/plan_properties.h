/*
 * Checks of properties that every plan has. The unit test makes plans of random layouts, the fuzzer of any layouts. The
 * checks return NULL, or a text that says what is wrong.
 */
#ifndef BI_TESTS_UNIT_PLAN_PROPERTIES_H
#define BI_TESTS_UNIT_PLAN_PROPERTIES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"
#include "common/plan/plan.h"
#include "support/random.h"

static inline uint64_t plan_steps(int64_t stride)
{
	return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Returns the kind that plan.h demands for this nest, and in *cross the crossed axis, or -1. */
static inline enum bi_plan_kind plan_kind_of(const struct bi__plan *plan, size_t item, int *cross)
{
	int x = plan->ndim - 1, moves = 0;

	*cross = -1;
	if (plan->bytes == 0 || plan->ndim == 0)
		return plan->bytes == 0 ? BI_PLAN_NOTHING : BI_PLAN_LINEAR;
	for (int i = 0; i < plan->ndim; i++)
		moves |= plan->src_strides[i] != 0;
	if (!moves)
		return BI_PLAN_FILL;
	for (int y = 0; y < x && plan->unit < 64; y++) {
		const uint64_t last = plan_steps(plan->src_strides[x]), step = plan_steps(plan->src_strides[y]);
		const int is_short = (uint64_t)plan->shape[x] * plan->unit < 256;

		if (step == 0 || (!is_short && (last <= 4 * plan->unit || step > last / 4)))
			continue;
		if (*cross < 0 || plan_steps(plan->src_strides[y]) <= plan_steps(plan->src_strides[*cross]))
			*cross = y;
	}
	if (*cross >= 0)
		return BI_PLAN_TILES;
	if (plan->src_strides[x] == 0)
		return BI_PLAN_BROADCAST;
	return plan->unit > item ? BI_PLAN_ROWS : BI_PLAN_STRIDED;
}

static inline int plan_is_product(int64_t stride, int64_t extent, int64_t number)
{
	int64_t product;

	return !__builtin_mul_overflow(stride, extent, &product) && product == number;
}

static inline const char *plan_check_form(const struct bi__plan *plan, size_t item)
{
	uint64_t bytes = plan->unit;
	int cross;

	if (plan->ndim < 0 || plan->ndim > BI_MAX_NDIM)
		return "ndim is no number of dimensions";
	for (int i = 0; i < plan->ndim; i++) {
		bytes *= (uint64_t)plan->shape[i];
		if (plan->shape[i] < 2)
			return "an extent is below 2";
		if (plan->dst_strides[i] <= 0)
			return "the destination does not run forward";
		if (i && plan->dst_strides[i] >= plan->dst_strides[i - 1])
			return "the strides of the destination do not fall";
		if (i && plan_is_product(plan->dst_strides[i], plan->shape[i], plan->dst_strides[i - 1]) &&
		    plan_is_product(plan->src_strides[i], plan->shape[i], plan->src_strides[i - 1]))
			return "two axes that continue each other are not one";
	}
	if (plan->bytes && plan->bytes != bytes)
		return "the nest does not move its bytes";
	if (plan->bytes && plan->unit % item)
		return "the unit is no multiple of the item";
	if (plan->ndim && plan->dst_strides[plan->ndim - 1] == plan->src_strides[plan->ndim - 1] &&
	    plan->dst_strides[plan->ndim - 1] == (int64_t)plan->unit)
		return "a dense axis is not part of the unit";
	if (plan->kind != plan_kind_of(plan, item, &cross))
		return "the kind is another one";
	return plan->cross != cross ? "the crossed axis is another one" : NULL;
}

static inline int plan_equal(const struct bi__plan *a, const struct bi__plan *b)
{
	size_t axes = (size_t)a->ndim * sizeof(int64_t);

	return a->kind == b->kind && a->ndim == b->ndim && a->cross == b->cross && a->unit == b->unit &&
	       a->bytes == b->bytes && a->dst_offset == b->dst_offset && a->src_offset == b->src_offset &&
	       !memcmp(a->shape, b->shape, axes) && !memcmp(a->dst_strides, b->dst_strides, axes) &&
	       !memcmp(a->src_strides, b->src_strides, axes);
}

/*
 * Makes a layout of one side of the nest: its axes, and one for the items of the unit. Returns 0 if that is no layout.
 */
static inline int plan_side(const struct bi__plan *plan, struct bi_dtype dtype, int64_t offset, const int64_t *strides,
			    struct bi_layout *out)
{
	int64_t shape[BI_MAX_NDIM + 1], all[BI_MAX_NDIM + 1];

	memcpy(shape, plan->shape, (size_t)plan->ndim * sizeof(*shape));
	memcpy(all, strides, (size_t)plan->ndim * sizeof(*all));
	shape[plan->ndim] = (int64_t)(plan->unit / dtype.item_size);
	all[plan->ndim] = dtype.item_size;
	return plan->ndim < BI_MAX_NDIM &&
	       bi_layout_init(out, dtype, plan->ndim + 1, shape, all, offset, NULL) == BI_OK;
}

/*
 * Checks that both sides of the nest extend as far as the layouts, and that the nest has the same plan. Needs no
 * memory, so the layouts may be of any size.
 */
static inline const char *plan_check_nest(const struct bi__plan *plan, const struct bi_layout *dst,
					  const struct bi_layout *src)
{
	struct bi_layout sides[2];
	int64_t reach[4], wanted[4];
	struct bi__plan again;

	if (plan->bytes == 0 || plan->ndim == BI_MAX_NDIM)
		return NULL;
	if (!plan_side(plan, dst->dtype, plan->dst_offset, plan->dst_strides, &sides[0]) ||
	    !plan_side(plan, dst->dtype, plan->src_offset, plan->src_strides, &sides[1]))
		return "the nest is no layout";
	bi_layout_extent(&sides[0], &reach[0], &reach[1]);
	bi_layout_extent(&sides[1], &reach[2], &reach[3]);
	bi_layout_extent(dst, &wanted[0], &wanted[1]);
	bi_layout_extent(src, &wanted[2], &wanted[3]);
	if (memcmp(reach, wanted, sizeof(reach)))
		return "the nest reaches other bytes";
	bi__plan_make(&again, &sides[0], &sides[1]);
	return plan_equal(plan, &again) ? NULL : "the plan of the plan's nest is another one";
}

#define NOT_WRITTEN INT64_MIN

/* For each byte of the destination, first..end, the offset of the byte of the source that is copied there. */
struct plan_moves {
	int64_t first, end;
	int64_t *from;
};

static inline int plan_moves_open(struct plan_moves *moves, const struct bi_layout *dst)
{
	bi_layout_extent(dst, &moves->first, &moves->end);
	moves->from = malloc((size_t)(moves->end - moves->first + 1) * sizeof(*moves->from));
	for (int64_t i = 0; moves->from && i < moves->end - moves->first; i++)
		moves->from[i] = NOT_WRITTEN;
	return moves->from != NULL;
}

/* Returns 0 if a byte is outside of the destination, or written twice. */
static inline int plan_move(struct plan_moves *moves, int64_t dst, int64_t src, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++) {
		int64_t at = dst + (int64_t)i;

		if (at < moves->first || at >= moves->end || moves->from[at - moves->first] != NOT_WRITTEN)
			return 0;
		moves->from[at - moves->first] = src + (int64_t)i;
	}
	return 1;
}

/* Does all steps of a nest of loops. Returns 0 as plan_move does. */
static inline int plan_move_all(struct plan_moves *moves, int ndim, const int64_t *shape, const int64_t *dst_strides,
				const int64_t *src_strides, int64_t dst, int64_t src, size_t nbytes)
{
	int sound = 1;

	if (ndim == 0)
		return plan_move(moves, dst, src, nbytes);
	for (int64_t i = 0; i < shape[0] && sound; i++)
		sound = plan_move_all(moves, ndim - 1, shape + 1, dst_strides + 1, src_strides + 1,
				      dst + i * dst_strides[0], src + i * src_strides[0], nbytes);
	return sound;
}

/* Checks that the plan moves the same bytes to the same places as a copy of each element by the layouts. */
static inline const char *plan_check_moves(const struct bi__plan *plan, const struct bi_layout *dst,
					   const struct bi_layout *src)
{
	struct plan_moves naive = { 0, 0, NULL }, planned = { 0, 0, NULL };
	const char *wrong = NULL;

	if (plan->bytes == 0)
		return NULL;
	if (!plan_moves_open(&naive, dst) || !plan_moves_open(&planned, dst))
		wrong = "no memory";
	else if (!plan_move_all(&naive, dst->ndim, dst->shape, dst->strides, src->strides, dst->offset, src->offset,
				dst->dtype.item_size))
		wrong = "two elements of the destination share bytes";
	else if (!plan_move_all(&planned, plan->ndim, plan->shape, plan->dst_strides, plan->src_strides,
				plan->dst_offset, plan->src_offset, plan->unit))
		wrong = "the plan writes outside of the destination, or twice";
	else if (memcmp(naive.from, planned.from, (size_t)(naive.end - naive.first) * sizeof(*naive.from)))
		wrong = "the plan moves other bytes";
	free(naive.from);
	free(planned.from);
	return wrong;
}

/* Both layouts of a copy, rewritten so that the copy stays the same. */
struct plan_pair {
	struct bi_layout dst, src;
};

static inline void plan_swap_axes(struct bi_layout *layout, int i, int j)
{
	int64_t extent = layout->shape[i], stride = layout->strides[i];

	layout->shape[i] = layout->shape[j];
	layout->strides[i] = layout->strides[j];
	layout->shape[j] = extent;
	layout->strides[j] = stride;
}

static inline void plan_insert_axis(struct bi_layout *layout, int at, int64_t extent, int64_t stride)
{
	size_t behind = (size_t)(layout->ndim++ - at) * sizeof(int64_t);

	memmove(&layout->shape[at + 1], &layout->shape[at], behind);
	memmove(&layout->strides[at + 1], &layout->strides[at], behind);
	layout->shape[at] = extent;
	layout->strides[at] = stride;
}

/* Splits an axis in two. Its extent is a multiple of `inner`. */
static inline void plan_split_axis(struct bi_layout *layout, int axis, int64_t inner)
{
	int64_t extent = layout->shape[axis] / inner, stride = layout->strides[axis];

	layout->shape[axis] = inner;
	plan_insert_axis(layout, axis, extent, extent > 1 ? stride * inner : 0);
}

/*
 * Returns true if the stride of each axis of two or more elements is at least the number of bytes that all axes with at
 * most this stride cover.
 */
static inline int plan_nests(const struct bi_layout *layout)
{
	for (int i = 0; i < layout->ndim; i++) {
		uint64_t reach = layout->dtype.item_size;

		for (int j = 0; j < layout->ndim; j++)
			if (j != i && layout->shape[j] > 1 &&
			    plan_steps(layout->strides[j]) <= plan_steps(layout->strides[i]))
				reach += plan_steps(layout->strides[j]) * (uint64_t)(layout->shape[j] - 1);
		if (layout->shape[i] > 1 && plan_steps(layout->strides[i]) < reach)
			return 0;
	}
	return 1;
}

static inline void plan_rewrite_once(struct plan_pair *pair, int may_split, struct test_random *random)
{
	static const int64_t unused[] = { 0, 1, -7, INT64_MAX, INT64_MIN };
	int ndim = pair->dst.ndim, axis = ndim ? (int)test_between(random, 0, ndim - 1) : 0;
	int other = ndim ? (int)test_between(random, 0, ndim - 1) : 0;
	int64_t inner = test_between(random, 1, 6);

	switch (test_between(random, 0, 3)) {
	case 0:
		plan_swap_axes(&pair->dst, axis, other);
		plan_swap_axes(&pair->src, axis, other);
		return;
	case 1:
		if (ndim == 0)
			return;
		bi_layout_flip(&pair->dst, axis, NULL);
		bi_layout_flip(&pair->src, axis, NULL);
		return;
	case 2:
		if (ndim == BI_MAX_NDIM)
			return;
		plan_insert_axis(&pair->dst, axis, 1, unused[test_between(random, 0, (int)ARRAY_LENGTH(unused) - 1)]);
		plan_insert_axis(&pair->src, axis, 1, unused[test_between(random, 0, (int)ARRAY_LENGTH(unused) - 1)]);
		return;
	default:
		if (!may_split || ndim == 0 || ndim == BI_MAX_NDIM || pair->dst.shape[axis] % inner)
			return;
		plan_split_axis(&pair->dst, axis, inner);
		plan_split_axis(&pair->src, axis, inner);
	}
}

/* Checks that the same copy, written in another way, has the same plan. */
static inline const char *plan_check_rewritten(const struct bi__plan *plan, const struct bi_layout *dst,
					       const struct bi_layout *src, struct test_random *random)
{
	struct plan_pair pair = { *dst, *src };
	struct bi__plan again;
	int may_split = plan_nests(dst);

	if (plan->bytes == 0)
		return NULL;
	for (int i = 0; i < 8; i++)
		plan_rewrite_once(&pair, may_split, random);
	bi__plan_make(&again, &pair.dst, &pair.src);
	return plan_equal(plan, &again) ? NULL : "the same copy in other words has another plan";
}

/* Checks that bi_plan_make returns the same plan, and a reason of one line. */
static inline const char *plan_check_public(const struct bi__plan *plan, const struct bi_layout *dst,
					    const struct bi_layout *src)
{
	size_t axes = (size_t)plan->ndim * sizeof(int64_t);
	struct bi_plan out;

	if (bi_plan_make(dst, src, &out, NULL) != BI_OK)
		return "bi_plan_make refuses the layouts";
	if (out.kind != (int)plan->kind || out.ndim != plan->ndim || out.cross != plan->cross ||
	    out.unit != plan->unit || out.bytes != plan->bytes || out.dst_offset != plan->dst_offset ||
	    out.src_offset != plan->src_offset || memcmp(out.shape, plan->shape, axes) ||
	    memcmp(out.dst_strides, plan->dst_strides, axes) || memcmp(out.src_strides, plan->src_strides, axes))
		return "bi_plan_make tells of another plan";
	if (strlen(out.reason) < 10 || strlen(out.reason) > sizeof(out.reason) - 2 || strpbrk(out.reason, "\n\r"))
		return "the reason is no sentence";
	return NULL;
}

/*
 * Makes all checks. Shapes and item sizes are equal, and no two elements of the destination share bytes. Plans whose
 * destination spans more than `most` bytes are not executed.
 */
static inline const char *plan_check(const struct bi_layout *dst, const struct bi_layout *src,
				     struct test_random *random, uint64_t most)
{
	struct bi__plan plan;
	const char *wrong;
	int64_t first, end;

	memset(&plan, 0x5a, sizeof(plan));
	bi__plan_make(&plan, dst, src);
	wrong = plan_check_form(&plan, dst->dtype.item_size);
	if (!wrong)
		wrong = plan_check_nest(&plan, dst, src);
	bi_layout_extent(dst, &first, &end);
	if (!wrong && (uint64_t)end - (uint64_t)first <= most)
		wrong = plan_check_moves(&plan, dst, src);
	if (!wrong)
		wrong = plan_check_rewritten(&plan, dst, src, random);
	return wrong ? wrong : plan_check_public(&plan, dst, src);
}

#endif
