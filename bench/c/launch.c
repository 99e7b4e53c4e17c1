/* Launches by the library: the kernels of examples/heat, and the check of all jobs with a plate. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <buffer_interface.h>
#include <buffer_interface/launch.h>

#include "launch.h"

struct launch_job {
	struct bench_plate_job base;
	struct bi_context *context;
	struct bi_program *program;
	struct bi_kernel *spread, *shade;
	struct bi_stream *pictures;
	struct bi_view *plates[2], *picture;
	struct bi_view *newest; /* the last plate of BENCH_LAUNCH_INTO_NEW; or NULL */
};

static const struct bi_dtype real = { 4, 1, BI_FLOAT32, 0 }, byte = { 1, 1, BI_UINT8, 0 };

static struct bi_grid grid_of(const struct launch_job *job)
{
	return (struct bi_grid){ 2, { job->base.rows, job->base.columns }, { 0, 0 } };
}

static int spread(const struct launch_job *job, const struct bi_view *now, const struct bi_view *next,
		  struct bi_error *err)
{
	const struct bi_grid grid = grid_of(job);

	return bi_launch(job->spread, NULL, &grid,
			 (struct bi_argument[]){ BI_READS(now), BI_WRITES(next), BI_FLOAT(BENCH_RATE) }, 3, err);
}

static int spread_into_new(struct launch_job *job, struct bi_error *err)
{
	const int64_t shape[] = { job->base.rows, job->base.columns };
	int rc;

	bi_view_release(job->newest);
	job->newest = NULL;
	rc = bi_view_empty(job->context, real, 2, shape, &job->newest, err);
	return rc ? rc : spread(job, job->plates[0], job->newest, err);
}

/* As in examples/heat: the steps on one stream, the pictures on another. */
static int simulate(const struct launch_job *job, struct bi_error *err)
{
	const struct bi_grid grid = grid_of(job);
	int rc = 0;

	for (int i = 0; i < BENCH_STEPS && !rc; i++) {
		struct bi_view *now = job->plates[i % 2], *next = job->plates[1 - i % 2];

		rc = spread(job, now, next, err);
		if (!rc && (i + 1) % BENCH_STEPS_PER_PICTURE == 0)
			rc = bi_launch(job->shade, job->pictures, &grid,
				       (struct bi_argument[]){ BI_READS(next), BI_WRITES(job->picture) }, 2, err);
	}
	return rc ? rc : bi_view_synchronize(job->picture, err);
}

static int run_once(struct launch_job *job, struct bi_error *err)
{
	switch (job->base.kind) {
	case BENCH_LAUNCH_AGAIN:
		return spread(job, job->plates[0], job->plates[1], err);
	case BENCH_LAUNCH_INTO_NEW:
		return spread_into_new(job, err);
	default:
		return simulate(job, err);
	}
}

static int run_launches(struct bench_job *base, long n)
{
	struct launch_job *job = (struct launch_job *)base;
	struct bi_stream *stream = bi_context_stream(job->context);
	struct bi_error err;

	for (long i = 1; i <= n; i++)
		if (run_once(job, &err) || ((i == n || i % BENCH_LAUNCHES == 0) && bi_stream_synchronize(stream, &err)))
			return bench_fail("%s", err.message);
	return 0;
}

static void release_launches(struct bench_job *base)
{
	struct launch_job *job = (struct launch_job *)base;

	bi_view_release(job->plates[0]);
	bi_view_release(job->plates[1]);
	bi_view_release(job->picture);
	bi_view_release(job->newest);
	bi_kernel_release(job->spread);
	bi_kernel_release(job->shade);
	bi_program_release(job->program);
	bi_stream_release(job->pictures);
	bi_context_release(job->context);
	free(job);
}

static size_t plate_bytes(const struct bench_plate_job *job)
{
	return (size_t)job->rows * (size_t)job->columns * sizeof(float);
}

static int set_plates(struct bench_plate_job *base, const float *plate, const float *other)
{
	const struct launch_job *job = (struct launch_job *)base;
	const size_t nbytes = plate_bytes(base);
	struct bi_error err;

	if (bi_view_write(job->plates[0], plate, nbytes, &err) || bi_view_write(job->plates[1], other, nbytes, &err) ||
	    bi_view_write(job->picture, other, nbytes / sizeof(float), &err))
		return bench_fail("%s", err.message);
	return 0;
}

/* The last step of the simulation writes the first plate. */
static int get_plate(struct bench_plate_job *base, float *plate)
{
	const struct launch_job *job = (struct launch_job *)base;
	const struct bi_view *last = job->newest ? job->newest : job->plates[base->kind != BENCH_LAUNCH_SIMULATION];
	struct bi_error err;

	return bi_view_read(last, plate, plate_bytes(base), &err) ? bench_fail("%s", err.message) : 0;
}

static int get_picture(struct bench_plate_job *base, unsigned char *picture)
{
	const struct launch_job *job = (struct launch_job *)base;
	struct bi_error err;

	return bi_view_read(job->picture, picture, plate_bytes(base) / sizeof(float), &err)
		       ? bench_fail("%s", err.message)
		       : 0;
}

static int open_launches(struct launch_job *job, const char *device, const char *text, struct bi_error *err)
{
	const int64_t shape[] = { job->base.rows, job->base.columns };
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_options options = BI_OPTIONS_INIT;
	int rc;

	options.device = device;
	source.text = text;
	rc = bi_context_open(&options, &job->context, err);
	if (!rc)
		rc = bi_stream_create(job->context, 0, &job->pictures, err);
	if (!rc)
		rc = bi_program_build(job->context, &source, &job->program, err);
	if (!rc)
		rc = bi_kernel_get(job->program, "spread", &job->spread, err);
	if (!rc)
		rc = bi_kernel_get(job->program, "shade", &job->shade, err);
	for (int i = 0; i < 2 && !rc; i++)
		rc = bi_view_empty(job->context, real, 2, shape, &job->plates[i], err);
	return rc ? rc : bi_view_empty(job->context, byte, 2, shape, &job->picture, err);
}

struct bench_job *bench_launch(const char *device, const char *text, int kind, int rows, int columns)
{
	struct launch_job *job = bench_job_create(sizeof(*job), run_launches, release_launches);
	struct bi_error err;

	if (!job)
		return NULL;
	job->base = (struct bench_plate_job){ job->base.job, rows, columns, kind, set_plates, get_plate, get_picture };
	if (!open_launches(job, device, text, &err))
		return &job->base.job;
	bench_fail("%s", err.message);
	release_launches(&job->base.job);
	return NULL;
}

static void spread_on_host(const float *now, float *next, int rows, int columns)
{
	memcpy(next, now, (size_t)rows * (size_t)columns * sizeof(*now));
	for (int y = 1; y < rows - 1; y++)
		for (int x = 1; x < columns - 1; x++) {
			const int i = y * columns + x;

			next[i] = now[i] + BENCH_RATE * (now[i - 1] + now[i + 1] + now[i - columns] + now[i + columns] -
							 4.0f * now[i]);
		}
}

/* Devices may contract products and sums, so the last digits may differ. */
static int compare_plates(const float *found, const float *expected, int count)
{
	for (int i = 0; i < count; i++)
		if (!(fabsf(found[i] - expected[i]) <= 1e-4f)) {
			bench_fail("element %d is %g, not %g", i, (double)found[i], (double)expected[i]);
			return 1;
		}
	return 0;
}

static int check_plate(struct bench_plate_job *job, const float *expected, float *found)
{
	const int rc = job->get(job, found);

	return rc ? rc : compare_plates(found, expected, job->rows * job->columns);
}

/* A shade may be the next one, because the temperatures may differ in the last digits. */
static int check_picture(struct bench_plate_job *job, const float *plate, unsigned char *found)
{
	const int rc = job->get_picture(job, found);

	for (int i = 0; !rc && i < job->rows * job->columns; i++) {
		const int shade = (int)(plate[i] * 255.0f + 0.5f);

		if (abs(found[i] - shade) > 1) {
			bench_fail("shade %d is %d, not %d", i, found[i], shade);
			return 1;
		}
	}
	return rc;
}

int bench_launch_verify(struct bench_job *base)
{
	struct bench_plate_job *job = (struct bench_plate_job *)base;
	const int count = job->rows * job->columns, steps = job->kind == BENCH_LAUNCH_SIMULATION ? BENCH_STEPS : 1;
	float *plates = malloc(3 * (size_t)count * sizeof(*plates)), *found = plates + 2 * count;
	int rc;

	if (!plates)
		return bench_fail("out of memory");
	for (int i = 0; i < count; i++)
		plates[i] = i < job->columns ? 1 : 0;
	memset(found, 0xee, (size_t)count * sizeof(*found));
	rc = job->set(job, plates, found);
	if (!rc)
		rc = base->run(base, 1);
	for (int i = 0; i < steps; i++)
		spread_on_host(plates + i % 2 * count, plates + (1 - i % 2) * count, job->rows, job->columns);
	if (!rc)
		rc = check_plate(job, plates + steps % 2 * count, found);
	if (!rc && job->kind == BENCH_LAUNCH_SIMULATION)
		rc = check_picture(job, plates + steps % 2 * count, (unsigned char *)found);
	free(plates);
	return rc;
}
