#include "clock.h"

#include <stdlib.h>
#include <string.h>

#include "sim.h"

struct clock host_clock;

static struct slot {
	uint32_t time; /* of its last operation */
	int is_retired;
} * slots;
static size_t slot_count, slot_capacity;

uint32_t clock_at(const struct clock *clock, unsigned slot)
{
	return slot < clock->count ? clock->times[slot] : 0;
}

static void widen(struct clock *clock, size_t count)
{
	if (count <= clock->count)
		return;
	clock->times = must_grow(clock->times, count, sizeof(*clock->times));
	memset(clock->times + clock->count, 0, (count - clock->count) * sizeof(*clock->times));
	clock->count = count;
}

void clock_join(struct clock *clock, const struct clock *other)
{
	widen(clock, other->count);
	for (size_t i = 0; i < other->count; i++)
		if (other->times[i] > clock->times[i])
			clock->times[i] = other->times[i];
}

int clock_covers(const struct clock *clock, const struct clock *other)
{
	for (size_t i = 0; i < other->count; i++)
		if (other->times[i] > clock_at(clock, (unsigned)i))
			return 0;
	return 1;
}

void clock_copy(struct clock *clock, const struct clock *other)
{
	clock_clear(clock);
	clock_join(clock, other);
}

void clock_clear(struct clock *clock)
{
	free(clock->times);
	clock->times = NULL;
	clock->count = 0;
}

static void need_host_slot(void)
{
	if (slot_count)
		return;
	slot_capacity = 16;
	slots = must_alloc(slot_capacity, sizeof(*slots));
	slot_count = 1;
}

uint32_t clock_tick(struct clock *clock, unsigned slot)
{
	need_host_slot();
	widen(clock, slot + 1);
	clock->times[slot] = ++slots[slot].time;
	return clock->times[slot];
}

/* A retired slot can be reused: later work comes after all that the host has seen complete, so after its past too. */
unsigned slot_take(void)
{
	need_host_slot();
	for (unsigned i = 1; i < slot_count; i++)
		if (slots[i].is_retired && clock_at(&host_clock, i) >= slots[i].time) {
			slots[i].is_retired = 0;
			return i;
		}
	if (slot_count == slot_capacity) {
		slot_capacity *= 2;
		slots = must_grow(slots, slot_capacity, sizeof(*slots));
	}
	slots[slot_count] = (struct slot){ 0, 0 };
	return (unsigned)slot_count++;
}

void slot_retire(unsigned slot)
{
	slots[slot].is_retired = 1;
}

void clocks_forget(void)
{
	clock_clear(&host_clock);
	free(slots);
	slots = NULL;
	slot_count = slot_capacity = 0;
}
