/*
 * Vector clocks. A slot is a sequence of operations: a stream, a branch of a graph, or the host. The clock of an
 * operation has for each slot the number of the last operation that comes before. All threads of the host are slot 0.
 */
#ifndef BI_TESTS_CUDA_SIM_CLOCK_H
#define BI_TESTS_CUDA_SIM_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define HOST_SLOT 0u

struct clock {
	uint32_t *times; /* NULL: all are 0 */
	size_t count;
};

/* The operations that the host has seen complete, and its own. */
extern struct clock host_clock;

uint32_t clock_at(const struct clock *clock, unsigned slot);
void clock_join(struct clock *clock, const struct clock *other);
int clock_covers(const struct clock *clock, const struct clock *other);
void clock_copy(struct clock *clock, const struct clock *other);
void clock_clear(struct clock *clock);
/* Numbers the next operation of the slot. Returns the number, which the clock then has. */
uint32_t clock_tick(struct clock *clock, unsigned slot);

/* Returns a slot for a new sequence: a new slot, or a retired one whose last operation the host has seen complete. */
unsigned slot_take(void);
void slot_retire(unsigned slot);
void clocks_forget(void);

#endif
