/* Finds the allocations that an action touches, and races in them. */
#ifndef BI_TESTS_CUDA_SIM_ACCESS_H
#define BI_TESTS_CUDA_SIM_ACCESS_H

#include "race.h"
#include "work.h"

struct allocation;

/* Ranges of addresses that are read and written. footprint_resolve makes extents of them, each in one allocation. */
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

/* Empties and returns the only footprint. It is valid until the next call. */
struct footprint *footprint_start(void);
void footprint_add(void *footprint, uint64_t address, size_t nbytes, int writes);
void footprint_of_action(struct footprint *footprint, const struct action *action);
/*
 * Finds the allocations. Reports memory that the device of the context cannot reach, and copies whose sides share
 * bytes. Skips host memory that the driver does not know for copies and for accesses of the CPU (ACTION_HOST).
 * ACTION_NOTHING: reports nothing.
 */
bi__cu_result footprint_resolve(struct footprint *footprint, const struct context *context, enum action_kind kind);
/* Reports at most one conflict, and adds the access to the histories. Takes ownership of the stamp. */
void footprint_check(const struct footprint *footprint, const struct clock *clock, struct stamp *stamp);
/* Returns the first operation that the accesses are not ordered behind, or NULL. */
const struct stamp *footprint_conflict(const struct footprint *footprint, const struct clock *clock);
/* Adds the allocations of device memory to op->touched, each once. */
void footprint_touched(const struct footprint *footprint, struct op *op);
/*
 * The CPU frees the memory now. Reports an operation on it that the host has not seen complete. Returns 1 if there is
 * one.
 */
int check_free(struct allocation *allocation);

#endif
