/*
 * Heat spreads over a plate whose upper edge is hot. The device is chosen when the program starts.
 *
 *     heat [DEVICE [PICTURE.npy]]     the picture shows the plate at the end, for NumPy
 *
 * docs/applications.md explains each part.
 */
#include <stdio.h>
#include <stdlib.h>

#include "buffer_interface.h"
#include "buffer_interface/kernel.h"
#include "buffer_interface/launch.h"
#include "buffer_interface/npy.h"

/* The host runs the kernels as C functions. */
#include "heat.kernel.h"

#define ROWS 256
#define COLUMNS 320
#define STEPS 400
#define STEPS_PER_PICTURE 100

static const struct bi_host_kernel *const functions[] = { &bi_kernel_spread, &bi_kernel_shade };

struct heat {
	struct bi_context *context;
	struct bi_program *program;
	struct bi_kernel *spread, *shade;
	struct bi_stream *steps, *pictures;
	struct bi_view *plates[2], *picture;
};

/* The other devices compile the text of the same kernels. */
static int build_kernels(struct heat *heat, struct bi_error *err)
{
	static char text[1 << 14];
	FILE *file = fopen(HEAT_KERNELS, "r");
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	size_t nbytes = file ? fread(text, 1, sizeof(text), file) : 0;
	int rc;

	if (!nbytes || nbytes == sizeof(text)) {
		fprintf(stderr, "%s cannot be read, is empty or too long\n", HEAT_KERNELS);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	source.text = text;
	source.functions = functions;
	source.function_count = 2;
	rc = bi_program_build(heat->context, &source, &heat->program, err);
	if (!rc)
		rc = bi_kernel_get(heat->program, "spread", &heat->spread, err);
	return rc ? rc : bi_kernel_get(heat->program, "shade", &heat->shade, err);
}

static int make_plates(struct heat *heat, struct bi_error *err)
{
	static const int64_t shape[] = { ROWS, COLUMNS };
	const struct bi_index upper_edge = { BI_INDEX_INTEGER, 0, 0, 0 };
	const struct bi_dtype real = { 4, 1, BI_FLOAT32, 0 }, byte = { 1, 1, BI_UINT8, 0 };
	const float cold = 0, hot = 1;
	struct bi_view *edge;
	int rc = bi_view_empty(heat->context, byte, 2, shape, &heat->picture, err);

	for (int i = 0; i < 2 && !rc; i++)
		rc = bi_view_empty(heat->context, real, 2, shape, &heat->plates[i], err);
	if (!rc)
		rc = bi_fill(heat->plates[0], &cold, NULL, err);
	if (!rc)
		rc = bi_view_index(heat->plates[0], &upper_edge, 1, &edge, err);
	if (rc)
		return rc;
	rc = bi_fill(edge, &hot, NULL, err);
	bi_view_release(edge);
	return rc;
}

/* The steps run on one stream and the pictures on another. No call waits, and each launch sees the right plate. */
static int run_steps(struct heat *heat, struct bi_error *err)
{
	const struct bi_grid grid = { 2, { ROWS, COLUMNS }, { 0, 0 } };
	int rc = BI_OK;

	for (int i = 0; i < STEPS && !rc; i++) {
		struct bi_view *now = heat->plates[i % 2], *next = heat->plates[1 - i % 2];
		struct bi_argument spread[] = { BI_READS(now), BI_WRITES(next), BI_FLOAT(0.2f) };
		struct bi_argument shade[] = { BI_READS(next), BI_WRITES(heat->picture) };

		rc = bi_launch(heat->spread, heat->steps, &grid, spread, 3, err);
		if (!rc && (i + 1) % STEPS_PER_PICTURE == 0)
			rc = bi_launch(heat->shade, heat->pictures, &grid, shade, 2, err);
	}
	return rc;
}

/* Reading waits for the last picture. Prints the mean shade, which is the same on every device. */
static int write_picture(const struct heat *heat, const char *path, struct bi_error *err)
{
	static unsigned char shades[ROWS][COLUMNS];
	double sum = 0;
	int rc = bi_view_read(heat->picture, shades, sizeof(shades), err);

	if (!rc && path)
		rc = bi_npy_save(heat->picture, path, err);
	if (rc)
		return rc;
	for (int y = 0; y < ROWS; y++)
		for (int x = 0; x < COLUMNS; x++)
			sum += shades[y][x];
	printf("%s: mean shade %.1f\n", bi_context_device(heat->context)->name, sum / ROWS / COLUMNS);
	return BI_OK;
}

/* Released in any order: what pending work still needs stays alive. */
static void release_heat(struct heat *heat)
{
	bi_view_release(heat->picture);
	bi_view_release(heat->plates[0]);
	bi_view_release(heat->plates[1]);
	bi_kernel_release(heat->spread);
	bi_kernel_release(heat->shade);
	bi_program_release(heat->program);
	bi_stream_release(heat->steps);
	bi_stream_release(heat->pictures);
	bi_context_release(heat->context);
}

int main(int argc, char **argv)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct heat heat = { 0 };
	struct bi_error err;
	int rc;

	options.device = argc > 1 ? argv[1] : "auto";
	rc = bi_context_open(&options, &heat.context, &err);
	if (!rc)
		rc = bi_stream_create(heat.context, 0, &heat.steps, &err);
	if (!rc)
		rc = bi_stream_create(heat.context, 0, &heat.pictures, &err);
	if (!rc)
		rc = build_kernels(&heat, &err);
	if (!rc)
		rc = make_plates(&heat, &err);
	if (!rc)
		rc = run_steps(&heat, &err);
	if (!rc)
		rc = write_picture(&heat, argc > 2 ? argv[2] : NULL, &err);
	if (rc)
		fprintf(stderr, "heat: %s\n", err.message);
	release_heat(&heat);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
