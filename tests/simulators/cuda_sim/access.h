/* From the ranges that an action touches to the allocations that they lie in, and to the races there. */
#ifndef BI_TESTS_CUDA_SIM_ACCESS_H
#define BI_TESTS_CUDA_SIM_ACCESS_H

#include "race.h"
#include "work.h"

struct allocation;

/* Ranges of addresses that are read and written, and what they are made into: extents, each in one allocation. */
struct footprint {
	struct half {
		struct range {
			uint64_t start, end;
		} * ranges;
		struct extent *extents;
		struct allocation **owners; /* of the extents */
		size_t range_count, range_capacity, count, capacity;
	} halves[2]; /* read, written */
};

/* The one footprint that is under examination; emptied. */
struct footprint *footprint_start(void);
void footprint_add(void *footprint, uint64_t address, size_t nbytes, int writes);
void footprint_of_action(struct footprint *footprint, const struct action *action);
/*
 * Finds the allocations and reports what the device of the context cannot reach. For copies, and for accesses of the
 * CPU (ACTION_HOST), memory of the host that the driver does not know is skipped. ACTION_NOTHING: is only asked, no
 * report.
 */
bi__cu_result footprint_resolve(struct footprint *footprint, const struct context *context, enum action_kind kind);
/* Reports a conflict (at most one), and remembers the access. Takes the stamp. */
void footprint_check(const struct footprint *footprint, const struct clock *clock, struct stamp *stamp);
/* The first operation that the accesses are not ordered behind, or NULL. */
const struct stamp *footprint_conflict(const struct footprint *footprint, const struct clock *clock);
/* The allocations, each once, into the operation. */
void footprint_touched(const struct footprint *footprint, struct op *op);
/* Reports what still works on the memory, which the CPU frees now. Returns 1 if there was something. */
int check_free(struct allocation *allocation);

#endif
