/* Who read and wrote which bytes last, and whether that was ordered. */
#ifndef BI_TESTS_CUDA_SIM_RACE_H
#define BI_TESTS_CUDA_SIM_RACE_H

#include "clock.h"
#include "sim.h"

/* Sequences of operations that are no created stream. */
#define PLACE_HOST 0u
#define PLACE_LEGACY UINT32_MAX
#define PLACE_PER_THREAD (UINT32_MAX - 1)

/* Where something was done: for the words of a report. */
struct place {
	enum entry entry;
	uint64_t call;
	uint32_t stream; /* its number, or one of the above */
};

struct place place_now(uint32_t stream);
const char *stream_text(uint32_t stream, char text[40]);
const char *place_text(struct place place, char text[128]);

/* An operation as histories remember it. Counted. */
struct stamp {
	unsigned references;
	unsigned slot;
	uint32_t time;
	struct place place;
};

struct stamp *stamp_new(unsigned slot, uint32_t time, struct place place);
void stamp_release(struct stamp *stamp);

struct readers;

struct segment {
	size_t start, end;
	struct stamp *writer; /* NULL: nobody since it was allocated */
	struct readers *readers; /* since then; NULL: nobody */
};

/* Of one allocation: segments without gaps, in order. */
struct history {
	struct segment *segments;
	size_t count, capacity;
};

/* A range of bytes in an allocation. */
struct extent {
	size_t start, end;
};

void history_init(struct history *history, size_t nbytes, struct stamp *writer);
void history_clear(struct history *history);
/* Extents are in order and do not touch. The first operation that the access is not ordered behind, or NULL. */
const struct stamp *history_conflict(const struct history *history, const struct extent *extents, size_t count,
				     int writes, const struct clock *clock, struct extent *where);
/* Remembers the access. */
void history_note(struct history *history, const struct extent *extents, size_t count, int writes,
		  const struct clock *clock, struct stamp *stamp);

#endif
