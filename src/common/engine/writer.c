#include "common/engine/writer.h"

#include <string.h>

void bi__writer_init(struct bi__writer *writer, const struct bi__simd *simd)
{
	writer->simd = simd;
	writer->line = NULL;
	writer->fill = writer->skip = 0;
}

/* Writes a part of a line with ordinary stores: the bytes of the buffer from `skip` to `end`. */
static void write_part(struct bi__writer *writer, size_t end)
{
	if (end > writer->skip)
		memcpy(writer->line + writer->skip, writer->buffer + writer->skip, end - writer->skip);
	writer->skip = 0;
}

/* Writes the whole cache lines of the buffer, and keeps the rest in the buffer. */
static void flush_lines(struct bi__writer *writer)
{
	size_t lines = writer->fill / BI__LINE, first = writer->skip != 0;

	if (lines == 0)
		return;
	if (first)
		write_part(writer, BI__LINE);
	writer->simd->stream(writer->line + first * BI__LINE, writer->buffer + first * BI__LINE, lines - first);
	writer->line += lines * BI__LINE;
	writer->fill -= lines * BI__LINE;
	memcpy(writer->buffer, writer->buffer + lines * BI__LINE, BI__LINE);
}

void bi__writer_seek(struct bi__writer *writer, unsigned char *dst)
{
	if (writer->line && writer->line + writer->fill == dst)
		return;
	write_part(writer, writer->fill);
	writer->skip = writer->fill = (uintptr_t)dst % BI__LINE;
	writer->line = dst - writer->fill;
}

unsigned char *bi__writer_space(struct bi__writer *writer)
{
	return writer->buffer + writer->fill;
}

void bi__writer_added(struct bi__writer *writer, size_t bytes)
{
	writer->fill += bytes;
	flush_lines(writer);
}

void bi__writer_put(struct bi__writer *writer, const unsigned char *src, size_t bytes)
{
	if (writer->fill) {
		size_t missing = BI__LINE - writer->fill, taken = bytes < missing ? bytes : missing;

		memcpy(bi__writer_space(writer), src, taken);
		bi__writer_added(writer, taken);
		src += taken;
		bytes -= taken;
	}
	if (bytes >= BI__LINE) {
		size_t lines = bytes / BI__LINE;

		writer->simd->stream(writer->line, src, lines);
		writer->line += lines * BI__LINE;
		src += lines * BI__LINE;
		bytes -= lines * BI__LINE;
	}
	if (bytes) {
		memcpy(writer->buffer, src, bytes);
		writer->fill = bytes;
	}
}

void bi__writer_finish(struct bi__writer *writer)
{
	write_part(writer, writer->fill);
	writer->simd->fence();
}
