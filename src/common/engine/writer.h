/* Writes runs of adjacent bytes with non-temporal stores. Bytes are collected until a cache line is complete. */
#ifndef BI_COMMON_ENGINE_WRITER_H
#define BI_COMMON_ENGINE_WRITER_H

#include "common/engine/simd.h"

/* Bytes that can be added to the buffer at a time. */
#define BI__WRITER_BYTES 4096

/*
 * The buffer has the phase of the destination: its first byte is stored at the aligned address `line`. Its first `skip`
 * bytes are not written.
 */
struct bi__writer {
	const struct bi__simd *simd; /* a set with `stream` */
	unsigned char *line;
	size_t fill, skip;
	_Alignas(BI__LINE) unsigned char buffer[BI__LINE + BI__WRITER_BYTES];
};

void bi__writer_init(struct bi__writer *writer, const struct bi__simd *simd);

/* Sets the address of the next byte. Ends the previous run unless dst continues it. */
void bi__writer_seek(struct bi__writer *writer, unsigned char *dst);

/* Returns the space for the next BI__WRITER_BYTES bytes; bi__writer_added then says how many were put there. */
unsigned char *bi__writer_space(struct bi__writer *writer);
void bi__writer_added(struct bi__writer *writer, size_t bytes);

/*
 * For an empty buffer: returns the line that comes next, so that the caller can write whole lines there itself;
 * bi__writer_advance then says how many bytes were written.
 */
unsigned char *bi__writer_line(const struct bi__writer *writer);
void bi__writer_advance(struct bi__writer *writer, size_t bytes);

/* Writes any number of bytes next. */
void bi__writer_put(struct bi__writer *writer, const unsigned char *src, size_t bytes);

/* Ends the run and calls the fence. */
void bi__writer_finish(struct bi__writer *writer);

#endif
