#include "access.h"

#include <stdlib.h>

#include "context.h"
#include "memory.h"

static struct footprint the_footprint; /* static, so that its arrays are reused */

struct footprint *footprint_start(void)
{
	for (int w = 0; w < 2; w++)
		the_footprint.halves[w].range_count = the_footprint.halves[w].count = 0;
	return &the_footprint;
}

void footprint_add(void *footprint, uint64_t address, size_t nbytes, int writes)
{
	struct half *half = &((struct footprint *)footprint)->halves[writes != 0];
	struct range *last = half->range_count ? &half->ranges[half->range_count - 1] : NULL;
	uint64_t end = address + nbytes;

	if (!nbytes)
		return;
	if (last && address >= last->start && address <= last->end) {
		last->end = end > last->end ? end : last->end;
		return;
	}
	if (half->range_count == half->range_capacity) {
		half->range_capacity = half->range_capacity ? 2 * half->range_capacity : 64;
		half->ranges = must_grow(half->ranges, half->range_capacity, sizeof(struct range));
	}
	half->ranges[half->range_count++] = (struct range){ address, end };
}

void footprint_of_action(struct footprint *footprint, const struct action *action)
{
	action_footprint(action, footprint_add, footprint);
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the ranges, and merges those that touch. */
static void normalise(struct half *half)
{
	size_t count = 0;
	int is_sorted = 1;

	for (size_t i = 1; i < half->range_count; i++)
		is_sorted &= half->ranges[i].start > half->ranges[i - 1].end;
	if (is_sorted)
		return;
	qsort(half->ranges, half->range_count, sizeof(struct range), compare);
	for (size_t i = 0; i < half->range_count; i++) {
		struct range *last = count ? &half->ranges[count - 1] : NULL;
		struct range range = half->ranges[i];

		if (last && range.start <= last->end)
			last->end = range.end > last->end ? range.end : last->end;
		else
			half->ranges[count++] = range;
	}
	half->range_count = count;
}

static const char *const verbs[] = { "reads", "writes" };

/* Returns true if a kernel uses registered memory at the address for the CPU, and devices have another one. */
static int is_wrong_address(const struct allocation *allocation, uint64_t address, enum action_kind kind)
{
	return (kind == ACTION_LAUNCH || kind == ACTION_SET) && address != device_address(allocation, address);
}

/* Returns NULL if the device may access the memory, or the reason why not. */
static const char *obstacle(const struct allocation *allocation, const struct context *context, enum action_kind kind,
			    int writes)
{
	unsigned needed = writes ? 3 : 1;
	int device;

	if (is_host_memory(allocation) || allocation->kind == MEMORY_MANAGED || kind == ACTION_FREE ||
	    kind == ACTION_HOST)
		return NULL;
	device = kind == ACTION_COPY ? allocation->device : context->device;
	if (allocation->kind == MEMORY_MAPPED && (allocation->access[device] & needed) != needed)
		return "to which cuMemSetAccess gave no such access";
	if (kind == ACTION_COPY || allocation->kind == MEMORY_MAPPED)
		return NULL;
	if (allocation->device != context->device)
		return "of another device";
	return allocation->context && allocation->context != context ? "of another context" : NULL;
}

/* Judges a range whose first byte belongs to no allocation. */
static bi__cu_result unknown(struct range range, int writes, enum action_kind kind, const struct allocation *before)
{
	const struct allocation *near = memory_near(range.start);
	unsigned long long address = range.start, nbytes = range.end - range.start;
	char text[128];

	if (!near && before && before->start + before->nbytes == range.start)
		near = before;
	if (kind == ACTION_NOTHING)
		return near || arena_at(range.start) ? BI__CU_ERROR_INVALID_VALUE : BI__CU_SUCCESS;
	if (near)
		report(REPORT_OUTSIDE, "%s %llu bytes behind the end of %s", verbs[writes], nbytes,
		       memory_name(near, text));
	else if (arena_at(range.start))
		report(REPORT_OUTSIDE, "%s %llu bytes at 0x%llx, where nothing is allocated", verbs[writes], nbytes,
		       address);
	else if (kind != ACTION_COPY && kind != ACTION_HOST)
		report(REPORT_UNREACHABLE, "%s %llu bytes of host memory at 0x%llx", verbs[writes], nbytes, address);
	else
		return BI__CU_SUCCESS;
	return BI__CU_ERROR_INVALID_VALUE;
}

static bi__cu_result known(const struct allocation *allocation, struct extent extent, int writes,
			   const struct context *context, enum action_kind kind)
{
	const char *why;
	char text[128];

	if (kind == ACTION_NOTHING)
		return allocation->is_freed ? BI__CU_ERROR_INVALID_VALUE : BI__CU_SUCCESS;
	if (allocation->is_freed) {
		report(REPORT_USE_AFTER_FREE, "%s bytes %zu to %zu of %s, which call %ju freed", verbs[writes],
		       extent.start, extent.end - 1, memory_name(allocation, text), (uintmax_t)allocation->freed.call);
		return BI__CU_ERROR_INVALID_VALUE;
	}
	why = obstacle(allocation, context, kind, writes);
	if (!why)
		return BI__CU_SUCCESS;
	report(allocation->kind == MEMORY_MAPPED ? REPORT_UNREACHABLE : REPORT_WRONG_CONTEXT, "%s %s, %s",
	       verbs[writes], memory_name(allocation, text), why);
	return BI__CU_ERROR_INVALID_VALUE;
}

static void append(struct half *half, struct allocation *owner, struct extent extent)
{
	if (half->count == half->capacity) {
		half->capacity = half->capacity ? 2 * half->capacity : 64;
		half->extents = must_grow(half->extents, half->capacity, sizeof(struct extent));
		half->owners = must_grow(half->owners, half->capacity, sizeof(struct allocation *));
	}
	half->extents[half->count] = extent;
	half->owners[half->count++] = owner;
}

/* Cuts the range where allocations end. */
static bi__cu_result resolve_range(struct half *half, struct range range, int writes, const struct context *context,
				   enum action_kind kind)
{
	uint64_t shift = range.start - host_address(range.start);
	struct allocation *allocation = NULL;
	bi__cu_result code = BI__CU_SUCCESS;

	range.start -= shift;
	range.end -= shift;
	while (!code && range.start < range.end) {
		const struct allocation *before = allocation;
		uint64_t end = range.end;
		struct extent extent;
		char text[128];

		if (!allocation || range.start - allocation->start >= allocation->nbytes)
			allocation = memory_at(range.start);
		if (!allocation)
			return unknown(range, writes, kind, before);
		if (is_wrong_address(allocation, range.start + shift, kind)) {
			report(REPORT_UNREACHABLE, "%s %s at the address for the CPU", verbs[writes],
			       memory_name(allocation, text));
			return BI__CU_ERROR_INVALID_VALUE;
		}
		if (end > allocation->start + allocation->nbytes)
			end = allocation->start + allocation->nbytes;
		extent =
			(struct extent){ (size_t)(range.start - allocation->start), (size_t)(end - allocation->start) };
		code = known(allocation, extent, writes, context, kind);
		append(half, allocation, extent);
		range.start = end;
	}
	return code;
}

static bi__cu_result check_overlap(const struct half *read, const struct half *written)
{
	size_t i = 0, k = 0;

	while (i < read->range_count && k < written->range_count) {
		if (read->ranges[i].end <= written->ranges[k].start) {
			i++;
		} else if (written->ranges[k].end <= read->ranges[i].start) {
			k++;
		} else {
			report(REPORT_OVERLAP, "source and destination share bytes");
			return BI__CU_ERROR_INVALID_VALUE;
		}
	}
	return BI__CU_SUCCESS;
}

bi__cu_result footprint_resolve(struct footprint *footprint, const struct context *context, enum action_kind kind)
{
	bi__cu_result code = BI__CU_SUCCESS;

	for (int w = 0; w < 2; w++) {
		struct half *half = &footprint->halves[w];

		normalise(half);
		for (size_t i = 0; i < half->range_count && !code; i++)
			code = resolve_range(half, half->ranges[i], w, context, kind);
	}
	if (!code && kind == ACTION_COPY)
		code = check_overlap(&footprint->halves[0], &footprint->halves[1]);
	return code;
}

/* Returns how many extents, from the i-th on, are in the same allocation. */
static size_t run_length(const struct half *half, size_t i)
{
	size_t end = i + 1;

	while (end < half->count && half->owners[end] == half->owners[i])
		end++;
	return end - i;
}

static const struct stamp *half_conflict(const struct half *half, int writes, const struct clock *clock, size_t *owner,
					 struct extent *where)
{
	for (size_t i = 0; i < half->count;) {
		size_t count = run_length(half, i);
		const struct stamp *found =
			history_conflict(&half->owners[i]->history, half->extents + i, count, writes, clock, where);

		if (found) {
			*owner = i;
			return found;
		}
		i += count;
	}
	return NULL;
}

const struct stamp *footprint_conflict(const struct footprint *footprint, const struct clock *clock)
{
	struct extent where;
	size_t owner;

	for (int w = 0; w < 2; w++) {
		const struct stamp *found = half_conflict(&footprint->halves[w], w, clock, &owner, &where);

		if (found)
			return found;
	}
	return NULL;
}

static void report_race(const struct allocation *memory, struct extent where, const char *verb, uint32_t stream,
			const struct stamp *found)
{
	char mine[40], name[128], theirs[128];

	report(REPORT_RACE, "%s %s bytes %zu to %zu of %s, and is not ordered behind %s", stream_text(stream, mine),
	       verb, where.start, where.end - 1, memory_name(memory, name), place_text(found->place, theirs));
}

void footprint_check(const struct footprint *footprint, const struct clock *clock, struct stamp *stamp)
{
	int is_reported = 0;

	for (int w = 0; w < 2; w++) {
		const struct half *half = &footprint->halves[w];
		struct extent where;
		size_t owner;
		const struct stamp *found = is_reported ? NULL : half_conflict(half, w, clock, &owner, &where);

		if (found)
			report_race(half->owners[owner], where, verbs[w], stamp->place.stream, found);
		is_reported |= found != NULL;
	}
	for (int w = 0; w < 2; w++) {
		const struct half *half = &footprint->halves[w];

		for (size_t i = 0, count; i < half->count; i += count) {
			count = run_length(half, i);
			history_note(&half->owners[i]->history, half->extents + i, count, w, clock, stamp);
		}
	}
	stamp_release(stamp);
}

static int is_touched(const struct op *op, const struct allocation *allocation)
{
	for (size_t i = 0; i < op->touched_count; i++)
		if (op->touched[i] == allocation)
			return 1;
	return 0;
}

void footprint_touched(const struct footprint *footprint, struct op *op)
{
	for (int w = 0; w < 2; w++)
		for (size_t i = 0; i < footprint->halves[w].count; i += run_length(&footprint->halves[w], i)) {
			struct allocation *allocation = footprint->halves[w].owners[i];

			if (is_host_memory(allocation) || allocation->kind == MEMORY_MANAGED ||
			    is_touched(op, allocation))
				continue;
			op->touched = must_grow(op->touched, op->touched_count + 1, sizeof(struct allocation *));
			op->touched[op->touched_count++] = allocation;
		}
}

int check_free(struct allocation *allocation)
{
	struct footprint *footprint = footprint_start();
	struct half *written = &footprint->halves[1];
	struct extent where;
	size_t owner;
	const struct stamp *found;

	append(written, allocation, (struct extent){ 0, allocation->nbytes });
	found = half_conflict(written, 1, &host_clock, &owner, &where);
	if (found)
		report_race(allocation, where, "frees", PLACE_HOST, found);
	return found != NULL;
}
