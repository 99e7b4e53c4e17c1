/* Writes dense runs of bytes past the caches: collects them until a line is whole. */
#ifndef BI_COMMON_ENGINE_WRITER_H
#define BI_COMMON_ENGINE_WRITER_H

#include "common/engine/simd.h"

/* What can be collected at once. */
#define BI__WRITER_ROOM 4096

/*
 * The buffer is in phase with the destination: its first byte stands for the aligned address `line`. The first `skip`
 * bytes belong to others.
 */
struct bi__writer {
	const struct bi__simd *simd; /* with stream */
	unsigned char *line;
	size_t fill, skip;
	_Alignas(BI__LINE) unsigned char buffer[BI__LINE + BI__WRITER_ROOM];
};

void bi__writer_init(struct bi__writer *writer, const struct bi__simd *simd);

/* The next byte goes to dst. Ends the run before if dst does not continue it. */
void bi__writer_seek(struct bi__writer *writer, unsigned char *dst);

/* Where the next bytes, BI__WRITER_ROOM of them, can be put; done says how many are there. */
unsigned char *bi__writer_room(struct bi__writer *writer);
void bi__writer_done(struct bi__writer *writer, size_t bytes);

/* Nothing is collected: the line where whole lines can be written by other means; went says how many bytes did. */
unsigned char *bi__writer_place(const struct bi__writer *writer);
void bi__writer_went(struct bi__writer *writer, size_t bytes);

/* The next bytes are these, any number. */
void bi__writer_put(struct bi__writer *writer, const unsigned char *src, size_t bytes);

/* Ends the run, and fences. */
void bi__writer_finish(struct bi__writer *writer);

#endif
