#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/npy.h"

#include "commands.h"
#include "fail.h"
#include "file.h"
#include "indexing.h"
#include "picture.h"
#include "plan.h"
#include "terminal.h"
#include "text.h"

/* Bytes of the largest array in which shared bytes are counted. */
#define COUNTED_BYTES (INT64_C(16) << 20)

enum {
	OPTION_SHAPE,
	OPTION_STRIDES,
	OPTION_DTYPE,
	OPTION_OFFSET,
	OPTION_SLICE,
	OPTION_TRANSPOSE,
	OPTION_PLAN,
	OPTION_DEVICE
};

/* The number of options that describe an array without a file. They come first in the table. */
#define OPTIONS_OF_ARRAY OPTION_SLICE

static const struct option options[] = {
	[OPTION_SHAPE] = { "shape", "INTS", "extents: 4,6; () for an array of one element" },
	[OPTION_STRIDES] = { "strides", "INTS", "bytes to the next element, per axis (default: dense)" },
	[OPTION_DTYPE] = { "dtype", "TYPE", "element type, typestr or name (default: <i4)" },
	[OPTION_OFFSET] = { "offset", "BYTES", "byte of element [0, ..., 0] (default: lowest that fits)" },
	[OPTION_SLICE] = { "slice", "INDEX", "take array[INDEX], NumPy's basic indexing: \"::2, ::-1\"" },
	[OPTION_TRANSPOSE] = { "transpose", "AXES", "then transpose; axis i of it is axis AXES[i]: 1,0" },
	[OPTION_PLAN] = { "plan", NULL, "explain how a copy into a dense array is done" },
	[OPTION_DEVICE] = { "device", "SPEC", "with --plan: copy there, and print how long it takes" },
	{ NULL, NULL, NULL },
};

static int read_integers(const char *name, const char *text, int64_t values[BI_MAX_NDIM], int *count,
			 struct bi_error *err)
{
	return integers_parse(text, values, count, err) == BI_OK ? BI_OK : fail_about(err, name);
}

static int read_strides(const char *text, int ndim, int64_t strides[BI_MAX_NDIM], struct bi_error *err)
{
	int count, rc = read_integers("--strides", text, strides, &count, err);

	if (rc == BI_OK && count != ndim)
		rc = fail(err, BI_EINVAL, "--strides has %d numbers, --shape has %d", count, ndim);
	return rc;
}

static int read_offset(const char *text, int64_t *offset, struct bi_error *err)
{
	int64_t values[BI_MAX_NDIM];
	int count, rc = read_integers("--offset", text, values, &count, err);

	if (rc == BI_OK && (count != 1 || values[0] < 0))
		rc = fail(err, BI_EINVAL, "--offset is \"%.24s\"; a number of bytes is expected", text);
	if (rc == BI_OK)
		*offset = values[0];
	return rc;
}

/* Moves a layout that begins below byte 0 up to byte 0. If the user gave the offset, refuses such a layout. */
static int shift_to_zero(struct bi_layout *layout, const char *offset, struct bi_error *err)
{
	int64_t first, end;

	bi_layout_extent(layout, &first, &end);
	if (first >= 0)
		return BI_OK;
	if (offset)
		return fail(err, BI_EBOUNDS,
			    "the array reaches down to byte %" PRId64 "; --offset must be at least %" PRId64, first,
			    layout->offset - first);
	return bi_layout_init(layout, layout->dtype, layout->ndim, layout->shape, layout->strides, -first, err);
}

static int read_layout(const struct invocation *invocation, struct bi_layout *layout, struct bi_error *err)
{
	const char *const *values = invocation->values;
	const char *type = values[OPTION_DTYPE] ? values[OPTION_DTYPE] : "<i4";
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM], offset = 0;
	struct bi_dtype dtype;
	struct bi_layout made;
	int ndim, rc;

	if (!values[OPTION_SHAPE])
		return fail(err, BI_EINVAL, "--shape is missing; give it, or a NumPy file");
	rc = read_integers("--shape", values[OPTION_SHAPE], shape, &ndim, err);
	if (rc == BI_OK && values[OPTION_STRIDES])
		rc = read_strides(values[OPTION_STRIDES], ndim, strides, err);
	if (rc == BI_OK && values[OPTION_OFFSET])
		rc = read_offset(values[OPTION_OFFSET], &offset, err);
	if (rc == BI_OK && bi_dtype_parse(type, &dtype, err) != BI_OK)
		rc = fail_about(err, "--dtype");
	if (rc == BI_OK)
		rc = bi_layout_init(&made, dtype, ndim, shape, values[OPTION_STRIDES] ? strides : NULL, offset, err);
	if (rc == BI_OK)
		rc = shift_to_zero(&made, values[OPTION_OFFSET], err);
	if (rc == BI_OK)
		*layout = made;
	return rc;
}

/* The array of one run of the command. The layouts have no descr, since pictures and plans need none. */
struct shown {
	struct bi_layout base; /* as in the file, or as the options say */
	struct bi_layout view; /* after --slice and --transpose */
	char *descr; /* fields of a structured type, or NULL; freed at the end of the run */
};

/* A file, and the array that it describes. */
struct shown_file {
	struct input input;
	struct shown *shown;
};

static int read_shown_file(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	return input_read(&((struct shown_file *)data)->input, bytes, nbytes, got, err);
}

static int keep_layout(void *data, const struct bi_layout *layout, struct bi_error *err)
{
	struct shown *shown = ((struct shown_file *)data)->shown;

	if (layout->descr) {
		shown->descr = calloc(layout->descr_length + 1, 1);
		if (!shown->descr)
			return fail(err, BI_ENOMEM, "out of memory");
		memcpy(shown->descr, layout->descr, layout->descr_length);
	}
	shown->base = *layout;
	shown->base.descr = NULL;
	shown->base.descr_length = 0;
	return BI_OK;
}

/*
 * Reads the layout of the array in a file, whose offset is 0. Does not read the elements. *code is the exit code of a
 * failure.
 */
static int read_file(const struct invocation *invocation, struct shown *shown, int *code, struct bi_error *err)
{
	const char *path = invocation->arguments[0];
	struct shown_file file = { .shown = shown };
	struct bi_npy_source source = { read_shown_file, keep_layout, &file, -1 };
	int rc;

	for (int i = 0; i < OPTIONS_OF_ARRAY; i++)
		if (invocation->values[i])
			return fail(err, BI_EINVAL, "--%s is for arrays without a file; %s has its own",
				    options[i].name, path);
	rc = input_open(&file.input, path, err);
	if (rc == BI_OK) {
		source.nbytes = file.input.size;
		rc = bi_npy_read(NULL, &source, NULL, err);
		input_close(&file.input);
	}
	*code = input_exit_code(rc);
	return rc;
}

/* Counts the bytes that belong to more than one element. Returns -1 if the array is too large or memory is missing. */
static int64_t count_shared(const struct bi_layout *layout)
{
	int64_t first, end, shared = 0, index[BI_MAX_NDIM] = { 0 }, offset;
	unsigned char *seen;

	bi_layout_extent(layout, &first, &end);
	if (end - first > COUNTED_BYTES || bi_layout_nbytes(layout) > COUNTED_BYTES)
		return -1;
	seen = calloc((size_t)(end - first) + 1, 1);
	if (!seen)
		return -1;
	for (int64_t left = bi_layout_size(layout); left > 0; left--) {
		bi_layout_element(layout, index, &offset, NULL);
		for (uint32_t i = 0; i < layout->dtype.item_size; i++) {
			unsigned char *byte = &seen[offset - first + i];

			shared += *byte == 1;
			*byte = *byte ? 2 : 1;
		}
		for (int i = layout->ndim; i-- > 0; index[i] = 0)
			if (++index[i] < layout->shape[i])
				break;
	}
	free(seen);
	return shared;
}

static const char *contiguity(const struct bi_layout *layout)
{
	int c = bi_layout_is_contiguous(layout, 'C'), f = bi_layout_is_contiguous(layout, 'F');

	return c && f ? "C and F" : c ? "C" : f ? "F" : "no";
}

/* Prints the first line. A long element type is cut to the space that is left on the line. */
static void print_array(const struct bi_layout *view, const char *descr)
{
	char dtype[BI_DTYPE_TEXT], offset[40];
	size_t columns = (size_t)terminal_columns(stdout), taken;

	snprintf(offset, sizeof(offset), "  offset %" PRId64, view->offset);
	taken = strlen("  shape   strides ") + tuple_length(view->shape, view->ndim) +
		tuple_length(view->strides, view->ndim) + strlen(offset);
	text_print_cut(stdout, descr ? descr : type_text(view, dtype), taken + 32 < columns ? columns - taken : 32);
	fputs("  shape ", stdout);
	print_tuple(stdout, view->shape, view->ndim);
	fputs("  strides ", stdout);
	print_tuple(stdout, view->strides, view->ndim);
	printf("%s\n", offset);
}

static void print_summary(const struct bi_layout *view, const char *descr)
{
	int64_t first, end, shared;

	bi_layout_extent(view, &first, &end);
	print_array(view, descr);
	printf("contiguous: %s; ", contiguity(view));
	if (bi_layout_nbytes(view) > 0)
		printf("reaches bytes %" PRId64 "..%" PRId64 ", %" PRId64 " in all; ", first, end - 1, end - first);
	else
		fputs("reaches no byte; ", stdout);
	printf("dense %" PRId64, bi_layout_nbytes(view));
	if (bi_layout_self_overlap(view)) {
		shared = count_shared(view);
		if (shared >= 0)
			printf(" bytes; %" PRId64 " bytes shared by several elements", shared);
		else
			fputs(" bytes; some shared by several elements", stdout);
	} else {
		fputs(" bytes", stdout);
	}
	fputs("\n\n", stdout);
}

static int read_view(const struct invocation *invocation, struct shown *shown, int *code, struct bi_error *err)
{
	const char *const *values = invocation->values;
	struct selection selection;
	int rc = BI_OK;

	if (values[OPTION_DEVICE] && !values[OPTION_PLAN])
		return fail(err, BI_EINVAL, "--device is \"%.*s\"; it goes with --plan",
			    text_fit(values[OPTION_DEVICE], strlen(values[OPTION_DEVICE]), 24), values[OPTION_DEVICE]);
	rc = invocation->arguments[0] ? read_file(invocation, shown, code, err)
				      : read_layout(invocation, &shown->base, err);
	if (rc != BI_OK)
		return rc;
	*code = EXIT_CODE_USAGE;
	shown->view = shown->base;
	rc = selection_parse(values[OPTION_SLICE], values[OPTION_TRANSPOSE], &selection, err);
	return rc == BI_OK ? selection_apply(&selection, &shown->view, err) : rc;
}

static void draw_pictures(const struct bi_layout *base, const struct bi_layout *view)
{
	struct canvas canvas = { stdout, terminal_columns(stdout), terminal_has_colour(stdout) };

	picture_memory(&canvas, base, view);
	fputc('\n', stdout);
	picture_grid(&canvas, view);
}

static int explain_plan(const struct bi_layout *view, const char *device)
{
	struct bi_error err;
	int rc = plan_print(view, &err);

	if (rc == BI_OK && device && bi_layout_nbytes(view) > 0)
		rc = plan_measure(view, device, &err);
	if (rc == BI_OK)
		return EXIT_CODE_OK;
	say("%s", err.message);
	return EXIT_CODE_FAILURE;
}

static int refuse(const struct invocation *invocation, int code, const struct bi_error *err)
{
	if (code != EXIT_CODE_USAGE) {
		say("%s: %s", invocation->arguments[0], err->message);
		return code;
	}
	say("%s", err->message);
	return usage(invocation->command);
}

static int run(const struct invocation *invocation)
{
	struct shown shown = { .descr = NULL };
	struct bi_error err;
	int code = EXIT_CODE_USAGE;

	if (read_view(invocation, &shown, &code, &err) != BI_OK) {
		code = refuse(invocation, code, &err);
	} else {
		code = EXIT_CODE_OK;
		print_summary(&shown.view, shown.descr);
		if (invocation->values[OPTION_PLAN])
			code = explain_plan(&shown.view, invocation->values[OPTION_DEVICE]);
		else
			draw_pictures(&shown.base, &shown.view);
	}
	free(shown.descr);
	return code;
}

const struct command command_show = {
	.name = "show",
	.synopsis = "[IN.npy]",
	.argument_count = 1,
	.optional_count = 1,
	.summary = "Draw how an array lies in memory, or explain how it is copied.",
	.details = "The first picture is the memory; each cell has the number of the element that\n"
		   "lies there, counted in C order of the view. The second one is the view by index,\n"
		   "with the byte offset of each element. The array is given by the header of a\n"
		   "NumPy file, or by --shape and the options after it.\n"
		   "\n"
		   "With --plan there is no picture. A copy is a nest of loops. Its kind, the reason\n"
		   "for that, and the steps of both sides along each axis are printed: extents of 1\n"
		   "are dropped, axes that continue each other are merged, and elements adjacent on\n"
		   "both sides are copied as one run. The kinds: linear (one run of bytes), rows\n"
		   "(runs longer than an element), strided (element by element), tiles (reordered\n"
		   "in the cache), broadcast and fill (the source is repeated).\n"
		   "\n"
		   "Examples:\n"
		   "  bi show --shape 4,6 --slice \"::2, ::-1\"\n"
		   "  bi show --shape 3,4 --strides 4,12            a Fortran order array\n"
		   "  bi show --shape 5,3 --strides 4,4             windows that overlap\n"
		   "  bi show --shape 4,3 --strides 0,4             one row, repeated\n"
		   "  bi show in.npy --transpose 2,1,0 --plan --device opencl\n",
	.options = options,
	.run = run,
};
