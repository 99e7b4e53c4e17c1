#define _POSIX_C_SOURCE 200809L

#include "picture.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "locate.h"
#include "text.h"

#define ROWS_SHOWN 16
#define ROWS_AT_END 3
#define BLOCKS_SHOWN 4
#define EMPTY_SHOWN 2
#define DASHES 30
#define LABEL (3 * DASHES + 24)

static const char dim[] = "\033[2m", shared[] = "\033[7m";

static void set_colour(const struct canvas *canvas, const char *code, const char *format, ...) TOOL_PRINTF(3, 4);

static void set_colour(const struct canvas *canvas, const char *code, const char *format, ...)
{
	va_list args;

	if (canvas->colour)
		fputs(code, canvas->out);
	va_start(args, format);
	vfprintf(canvas->out, format, args);
	va_end(args);
	if (canvas->colour)
		fputs("\033[0m", canvas->out);
}

/* Returns the colour of an element. All elements of a row of the view have one colour. */
static const char *row_colour(const struct bi_layout *view, int64_t number)
{
	static const char *const colours[] = { "\033[36m", "\033[33m", "\033[32m", "\033[35m", "\033[34m", "\033[31m" };
	int64_t row = view->ndim > 1 ? view->shape[view->ndim - 1] : 1;

	return colours[number / row % (int64_t)(sizeof(colours) / sizeof(colours[0]))];
}

static void pad_columns(FILE *out, int count)
{
	fprintf(out, "%*s", count > 0 ? count : 0, "");
}

static int digits(int64_t number)
{
	return snprintf(NULL, 0, "%" PRId64, number);
}

/* The rows or columns that are drawn. If not all fit, the first `head` ones and those from `tail` on are drawn. */
struct window {
	int64_t count;
	int64_t head;
	int64_t tail; /* number of the first one after the gap; equals head if all are drawn */
};

static struct window window_of(int64_t count, int64_t space, int64_t last)
{
	struct window window = { count, count, count };

	if (count > space) {
		window.head = space - last - 1 > 0 ? space - last - 1 : 1;
		window.tail = count - last;
	} else {
		window.tail = window.head;
	}
	return window;
}

static int is_gap(const struct window *window, int64_t at)
{
	return at == window->head && window->tail > window->head;
}

struct memory {
	struct locator locator;
	const struct bi_layout *view;
	int64_t first; /* first byte that is drawn; the drawn bytes are [first, end) */
	int64_t end;
	int64_t cell; /* bytes that a cell stands for */
	int64_t row; /* number of cells in a row */
	int width; /* characters of a label */
	int widest; /* characters of the longest label that was drawn */
	int uncounted; /* 1: the elements of a drawn cell were not all counted */
	int crowded; /* 1: a drawn cell belongs to several elements */
	int continued; /* 1: a drawn cell belongs to an element that begins in an earlier cell */
	int gaps; /* 1: a drawn cell belongs to no element */
};

static int64_t gcd(int64_t a, int64_t b)
{
	int64_t rest;

	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	for (; b; b = rest) {
		rest = a % b;
		a = b;
	}
	return a;
}

static int64_t common_cell(const struct bi_layout *layout, int64_t cell)
{
	for (int i = 0; i < layout->ndim; i++)
		if (layout->shape[i] > 1)
			cell = gcd(cell, layout->strides[i]);
	return cell;
}

/*
 * Returns the bytes of a row in a natural drawing of the base: its second shortest stride, or 0 if it has fewer than
 * two different strides.
 */
static int64_t natural_row(const struct bi_layout *base)
{
	int64_t shortest = INT64_MAX, second = INT64_MAX;

	for (int i = 0; i < base->ndim; i++) {
		int64_t stride = base->strides[i] < 0 ? -base->strides[i] : base->strides[i];

		if (base->shape[i] < 2 || !stride)
			continue;
		if (stride < shortest) {
			second = shortest;
			shortest = stride;
		} else if (stride > shortest && stride < second) {
			second = stride;
		}
	}
	return second < INT64_MAX ? second : 0;
}

/*
 * The content of a cell: the number of elements that cover it, the lowest number of an element that begins in it, and
 * the lowest number of an element that covers it.
 */
struct cell {
	int64_t covers;
	int64_t begins; /* element number; -1: no element begins here */
	int64_t number; /* element number; -1: no element covers the cell */
	int is_cut; /* 1: more elements than these may cover the cell */
};

/* Finds the elements that have at least one byte in [first, last]. */
static struct located find_covering(const struct memory *memory, int64_t first, int64_t last)
{
	return locate(&memory->locator, first - memory->view->dtype.item_size + 1, last);
}

static struct cell look_at_cell(const struct memory *memory, int64_t byte)
{
	struct located here = find_covering(memory, byte, byte), begins = locate(&memory->locator, byte, byte);

	return (struct cell){ here.count, begins.number, here.number, here.is_cut || begins.is_cut };
}

/*
 * Writes the label of a cell: "12" (element 12), "0+2" (element 0 and 2 others), "──" (an element continues), "·" (no
 * element), "?" (the elements were not counted). Returns the number of characters.
 */
static int make_label(const struct cell *cell, int width, char text[LABEL])
{
	char more[24] = "";
	int used = 0, taken = 0;

	if (cell->is_cut || !cell->covers) {
		strcpy(text, cell->is_cut ? "?" : "·");
		return 1;
	}
	if (cell->covers > 1)
		taken = snprintf(more, sizeof(more), "+%" PRId64, cell->covers - 1);
	if (cell->begins >= 0)
		return snprintf(text, LABEL, "%" PRId64 "%s", cell->begins, more);
	*text = '\0';
	do
		strcat(text, "─");
	while (++used < width - taken && used < DASHES);
	strcat(text, more);
	return used + taken;
}

static void draw_cell(const struct canvas *canvas, struct memory *memory, int64_t byte)
{
	struct cell cell = look_at_cell(memory, byte);
	char text[LABEL];
	int width = make_label(&cell, memory->width, text);

	memory->uncounted |= cell.is_cut;
	memory->crowded |= !cell.is_cut && cell.covers > 1;
	memory->continued |= !cell.is_cut && cell.covers && cell.begins < 0;
	memory->gaps |= !cell.is_cut && !cell.covers;
	memory->widest = width > memory->widest ? width : memory->widest;
	pad_columns(canvas->out, 1 + memory->width - width);
	if (cell.is_cut || !cell.covers)
		set_colour(canvas, dim, "%s", text);
	else
		set_colour(canvas, cell.covers > 1 ? shared : row_colour(memory->view, cell.number), "%s", text);
}

static void draw_row(const struct canvas *canvas, struct memory *memory, int64_t row, const struct window *cells)
{
	int64_t start = memory->first + row * memory->row * memory->cell;

	set_colour(canvas, dim, "%*" PRId64 " │", digits(memory->end) + 2, start);
	for (int64_t at = 0; at < cells->count; at++) {
		if (is_gap(cells, at)) {
			set_colour(canvas, dim, " …");
			at = cells->tail - 1;
		} else if (at * memory->cell < memory->end - start) {
			draw_cell(canvas, memory, start + at * memory->cell);
		}
	}
	fputc('\n', canvas->out);
}

static int64_t memory_rows(const struct memory *memory)
{
	int64_t row = memory->row * memory->cell, bytes = memory->end - memory->first;

	return bytes / row + (bytes % row != 0);
}

/* Returns the number of cells that fit on a line beside the offset. */
static int64_t space_for_cells(const struct canvas *canvas, const struct memory *memory)
{
	int64_t space = (canvas->columns - digits(memory->end) - 5) / (memory->width + 1);

	return space < 4 ? 4 : space;
}

static void choose_row(const struct canvas *canvas, struct memory *memory, const struct bi_layout *base)
{
	int64_t natural = natural_row(base) / memory->cell, space, fit = 1;

	space = space_for_cells(canvas, memory);
	while (fit * 2 <= space && fit < 64)
		fit *= 2;
	memory->row = natural ? natural : fit;
}

static void explain_memory(const struct canvas *canvas, const struct memory *memory)
{
	int64_t item = memory->view->dtype.item_size;

	fprintf(canvas->out, "memory  bytes %" PRId64 "..%" PRId64 ", a cell is ", memory->first, memory->end - 1);
	if (memory->cell == item)
		fprintf(canvas->out, "one item of %" PRId64 " byte%s", item, item == 1 ? "" : "s");
	else
		fprintf(canvas->out, "%" PRId64 " byte%s, an item is %" PRId64 " cells", memory->cell,
			memory->cell == 1 ? "" : "s", item / memory->cell);
	if (memory->gaps)
		fputs(", · is no element", canvas->out);
	if (memory->continued)
		fputs(",\n        ─: the rest of the item before", canvas->out);
	if (memory->crowded)
		fputs(",\n        +n: n more elements share the cell", canvas->out);
	if (memory->uncounted)
		fputs(",\n        ?: too many elements overlap here to be counted", canvas->out);
	fputs("\n\n", canvas->out);
}

/* One line of the picture: a row, or several adjacent rows without elements. */
struct band {
	int64_t first;
	int64_t count; /* number of rows; 1 if the row is drawn */
	int empty;
};

static int rows_are_empty(const struct memory *memory, int64_t first, int64_t count)
{
	int64_t row = memory->row * memory->cell, space = memory->end - memory->first - 1;
	int64_t last = (first + count - 1) * row;
	struct located found;

	last = last > space - (row - 1) ? space : last + row - 1;
	found = find_covering(memory, memory->first + first * row, memory->first + last);
	return !found.count && !found.is_cut;
}

/*
 * Counts the adjacent rows without elements that begin with row `at`; with `backwards`, those that end with row `at`.
 * Counts at most `limit` rows.
 */
static int64_t empty_run(const struct memory *memory, int64_t at, int64_t limit, int backwards)
{
	int64_t low = 0, high = limit;

	while (low < high) {
		int64_t middle = low + (high - low + 1) / 2;

		if (rows_are_empty(memory, backwards ? at - middle + 1 : at, middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static struct band next_band(const struct memory *memory, int64_t at, int64_t limit, int backwards)
{
	int64_t run = empty_run(memory, at, limit, backwards);

	if (run <= EMPTY_SHOWN)
		return (struct band){ at, 1, 0 };
	return (struct band){ backwards ? at - run + 1 : at, run, 1 };
}

static void draw_band(const struct canvas *canvas, struct memory *memory, const struct band *band,
		      const struct window *cells)
{
	if (!band->empty) {
		draw_row(canvas, memory, band->first, cells);
		return;
	}
	pad_columns(canvas->out, digits(memory->end) + 1);
	fprintf(canvas->out, "…   %" PRId64 " rows without an element\n", band->count);
}

static void draw_rows(const struct canvas *canvas, struct memory *memory)
{
	struct window cells = window_of(memory->row, space_for_cells(canvas, memory), 2);
	struct band head[ROWS_SHOWN], tail[ROWS_AT_END];
	int64_t rows = memory_rows(memory), from = 0, to = rows;
	int heads = 0, tails = 0, shown;

	for (; from < rows && heads < ROWS_SHOWN; from += head[heads++].count)
		head[heads] = next_band(memory, from, rows - from, 0);
	shown = from < rows ? ROWS_SHOWN - ROWS_AT_END - 1 : heads;
	from = shown < heads ? head[shown].first : rows;
	for (; to > from && tails < ROWS_AT_END; to = tail[tails++].first)
		tail[tails] = next_band(memory, to - 1, to - from, 1);
	for (int i = 0; i < shown; i++)
		draw_band(canvas, memory, &head[i], &cells);
	if (to > from) {
		pad_columns(canvas->out, digits(memory->end) + 1);
		fprintf(canvas->out, "⋮   %" PRId64 " more rows\n", to - from);
	}
	while (tails--)
		draw_band(canvas, memory, &tail[tails], &cells);
}

/* Draws the rows into a buffer, which the caller frees. Returns NULL if memory is missing. */
static char *draw_memory(const struct canvas *canvas, struct memory *memory, const struct bi_layout *base)
{
	struct canvas inner = *canvas;
	char *drawn;
	size_t size;

	memory->width = memory->widest;
	memory->uncounted = memory->crowded = memory->continued = memory->gaps = 0;
	choose_row(canvas, memory, base);
	inner.out = text_open(&drawn, &size);
	if (!inner.out)
		return NULL;
	draw_rows(&inner, memory);
	text_close(inner.out, &drawn, &size);
	return drawn;
}

void picture_memory(const struct canvas *canvas, const struct bi_layout *base, const struct bi_layout *view)
{
	struct memory memory = { .view = view };
	int64_t first, end;
	char *drawn = NULL;

	bi_layout_extent(base, &memory.first, &memory.end);
	bi_layout_extent(view, &first, &end);
	if (!view->dtype.item_size || memory.first == memory.end) {
		fputs("memory  none: the array has no bytes\n", canvas->out);
		return;
	}
	memory.cell = common_cell(view, common_cell(base, view->dtype.item_size));
	if (first != end)
		memory.cell = gcd(memory.cell, first - memory.first);
	locator_init(&memory.locator, view);
	memory.widest = digits(bi_layout_size(view) - 1);
	/* The legend and the width of a cell depend on the cells that are drawn, so the rows are drawn first. */
	do {
		free(drawn);
		drawn = draw_memory(canvas, &memory, base);
	} while (drawn && memory.widest > memory.width);
	explain_memory(canvas, &memory);
	fputs(drawn ? drawn : "", canvas->out);
	free(drawn);
}

struct grid {
	const struct bi_layout *view;
	int width; /* characters of an offset */
	int64_t rows;
	int64_t columns;
	int64_t row_stride;
	int64_t column_stride;
};

static void draw_grid_row(const struct canvas *canvas, const struct grid *grid, const struct window *columns,
			  int64_t row, int64_t offset, int64_t number)
{
	if (grid->view->ndim > 1)
		set_colour(canvas, dim, "%*" PRId64 " │", digits(grid->rows) + 2, row);
	else
		fputs("  ", canvas->out);
	for (int64_t at = 0; at < columns->count; at++) {
		if (is_gap(columns, at)) {
			set_colour(canvas, dim, " …");
			at = columns->tail;
		}
		set_colour(canvas, row_colour(grid->view, number + at), " %*" PRId64, grid->width,
			   offset + at * grid->column_stride);
	}
	fputc('\n', canvas->out);
}

/* Prints the indices along the last axis. */
static void draw_column_titles(const struct canvas *canvas, const struct grid *grid, const struct window *columns)
{
	if (!grid->view->ndim)
		return;
	pad_columns(canvas->out, grid->view->ndim > 1 ? digits(grid->rows) + 4 : 2);
	for (int64_t at = 0; at < columns->count; at++) {
		if (is_gap(columns, at)) {
			set_colour(canvas, dim, " …");
			at = columns->tail;
		}
		set_colour(canvas, dim, " %*" PRId64, grid->width, at);
	}
	fputc('\n', canvas->out);
}

static void draw_block(const struct canvas *canvas, const struct grid *grid, int64_t offset, int64_t number)
{
	int64_t space = (canvas->columns - digits(grid->rows) - 7) / (grid->width + 1);
	struct window columns = window_of(grid->columns, space < 4 ? 4 : space, 2);
	struct window rows = window_of(grid->rows, ROWS_SHOWN / 2, ROWS_AT_END - 1);

	draw_column_titles(canvas, grid, &columns);
	for (int64_t row = 0; row < rows.count; row++) {
		if (is_gap(&rows, row)) {
			pad_columns(canvas->out, digits(grid->rows) + 1);
			fprintf(canvas->out, "⋮   %" PRId64 " more rows\n", rows.tail - rows.head);
			row = rows.tail;
		}
		draw_grid_row(canvas, grid, &columns, row, offset + row * grid->row_stride,
			      number + row * grid->columns);
	}
}

/* Prints the title of a block, such as "[0, 1, :, :]". */
static void draw_block_title(const struct canvas *canvas, const int64_t *index, int leading)
{
	fputs("  [", canvas->out);
	for (int i = 0; i < leading; i++)
		fprintf(canvas->out, "%" PRId64 ", ", index[i]);
	fputs(":, :]\n", canvas->out);
}

static void draw_blocks(const struct canvas *canvas, const struct grid *grid, int leading)
{
	const struct bi_layout *view = grid->view;
	int64_t index[BI_MAX_NDIM] = { 0 }, blocks = bi_layout_size(view) / (grid->rows * grid->columns);

	for (int64_t block = 0; block < blocks && block < BLOCKS_SHOWN; block++) {
		int64_t offset = view->offset;

		for (int i = 0; i < leading; i++)
			offset += index[i] * view->strides[i];
		if (block)
			fputc('\n', canvas->out);
		if (leading)
			draw_block_title(canvas, index, leading);
		draw_block(canvas, grid, offset, block * grid->rows * grid->columns);
		for (int i = leading; i-- > 0; index[i] = 0)
			if (++index[i] < view->shape[i])
				break;
	}
	if (blocks > BLOCKS_SHOWN)
		fprintf(canvas->out, "  … %" PRId64 " more blocks\n", blocks - BLOCKS_SHOWN);
}

void picture_grid(const struct canvas *canvas, const struct bi_layout *view)
{
	struct grid grid = { .view = view, .rows = 1, .columns = 1 };
	int64_t first, end;

	if (!bi_layout_size(view)) {
		fputs("index   the array has no elements\n", canvas->out);
		return;
	}
	bi_layout_extent(view, &first, &end);
	grid.width = digits(end);
	if (view->ndim > 0) {
		grid.columns = view->shape[view->ndim - 1];
		grid.column_stride = view->strides[view->ndim - 1];
		if (digits(grid.columns) > grid.width)
			grid.width = digits(grid.columns);
	}
	if (view->ndim > 1) {
		grid.rows = view->shape[view->ndim - 2];
		grid.row_stride = view->strides[view->ndim - 2];
	}
	fputs("index   the byte at which each element begins\n\n", canvas->out);
	draw_blocks(canvas, &grid, view->ndim > 2 ? view->ndim - 2 : 0);
}
