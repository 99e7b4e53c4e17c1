/* The last writer and readers of all bytes, and races between them. */
#ifndef BI_TESTS_CUDA_SIM_RACE_H
#define BI_TESTS_CUDA_SIM_RACE_H

#include "clock.h"
#include "sim.h"

/* Sequences of operations that are no created stream. */
#define PLACE_HOST 0u
#define PLACE_LEGACY UINT32_MAX
#define PLACE_PER_THREAD (UINT32_MAX - 1)

/* The call and the stream of an operation, for reports. */
struct place {
	enum entry entry;
	uint64_t call;
	uint32_t stream; /* number of the stream, or one of the above */
};

struct place place_now(uint32_t stream);
const char *stream_text(uint32_t stream, char text[40]);
const char *place_text(struct place place, char text[128]);

/* An operation in histories. Reference-counted. */
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
	struct stamp *writer; /* NULL: none since the allocation */
	struct readers *readers; /* since then; NULL: none */
};

/* The accesses to one allocation: segments without gaps, in order. */
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
/* Returns the first operation that the access is not ordered behind, or NULL. Extents are in order and do not touch. */
const struct stamp *history_conflict(const struct history *history, const struct extent *extents, size_t count,
				     int writes, const struct clock *clock, struct extent *where);
/* Adds the access to the history. */
void history_note(struct history *history, const struct extent *extents, size_t count, int writes,
		  const struct clock *clock, struct stamp *stamp);

#endif
