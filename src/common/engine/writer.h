/*
 * Writes runs of adjacent bytes: whole cache lines with non-temporal stores, incomplete ones at both ends with ordinary
 * stores. Bytes are collected until a cache line is complete.
 */
#ifndef BI_COMMON_ENGINE_WRITER_H
#define BI_COMMON_ENGINE_WRITER_H

#include "common/engine/simd.h"

/* The largest number of bytes that can be added to the buffer in one call. */
#define BI__WRITER_BYTES 4096

/*
 * The buffer holds the bytes for the aligned address `line` and the addresses after it. The first `skip` bytes of the
 * buffer are before the start of the run, and are not written. While the buffer is empty, the caller may write whole
 * cache lines at `line`, and add their bytes to `line`.
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

/*
 * Returns space for the next BI__WRITER_BYTES bytes. After the caller has put bytes there, it calls bi__writer_added
 * with their number.
 */
unsigned char *bi__writer_space(struct bi__writer *writer);
void bi__writer_added(struct bi__writer *writer, size_t bytes);

/* Adds any number of bytes to the run. */
void bi__writer_put(struct bi__writer *writer, const unsigned char *src, size_t bytes);

/* Ends the run and calls the fence. */
void bi__writer_finish(struct bi__writer *writer);

#endif
