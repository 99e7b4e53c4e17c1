/*
 * Vector clocks. A slot is a sequence of operations (a stream, a branch of a graph, the host); the clock of an
 * operation says for each slot up to where the operation is ordered behind it. All threads of the host are slot 0.
 */
#ifndef BI_TESTS_CUDA_SIM_CLOCK_H
#define BI_TESTS_CUDA_SIM_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define HOST_SLOT 0u

struct clock {
	uint32_t *times; /* NULL: nothing is known */
	size_t count;
};

/* What the host has seen complete, or done itself. */
extern struct clock host_clock;

uint32_t clock_at(const struct clock *clock, unsigned slot);
void clock_join(struct clock *clock, const struct clock *other);
int clock_covers(const struct clock *clock, const struct clock *other);
void clock_copy(struct clock *clock, const struct clock *other);
void clock_clear(struct clock *clock);
/* The next operation of the slot; the clock knows it. Returns its time. */
uint32_t clock_tick(struct clock *clock, unsigned slot);

/* A slot for a new sequence: a fresh one, or one that ended and that the host has seen the end of. */
unsigned slot_take(void);
void slot_retire(unsigned slot);
void clocks_forget(void);

#endif
