/* Draws a layout as text: as memory (rows of cells), or as a grid of indices with the byte offset of each element. */
#ifndef BI_TOOL_PICTURE_H
#define BI_TOOL_PICTURE_H

#include <stdio.h>

#include "buffer_interface.h"

struct canvas {
	FILE *out;
	int columns;
	int colour;
};

/* Draws the memory that `base` covers. Each cell has the number of the element of `view` that begins there. */
void picture_memory(const struct canvas *canvas, const struct bi_layout *base, const struct bi_layout *view);

/* Draws the elements of `view` by index, each with the offset of its first byte. */
void picture_grid(const struct canvas *canvas, const struct bi_layout *view);

#endif
