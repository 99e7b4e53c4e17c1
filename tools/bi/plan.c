#define _POSIX_C_SOURCE 200809L

#include "plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "progress.h"
#include "terminal.h"

static const char *const kinds[BI_PLAN_COUNT] = {
#define KIND(name, text) [BI_PLAN_##name] = text,
	BI_PLAN_MAP(KIND)
#undef KIND
};

static void print_nest(const struct bi_plan *plan)
{
	if (plan->ndim > 0)
		printf("\n  axis       extent  step of destination    step of source\n");
	for (int i = 0; i < plan->ndim; i++)
		printf("  %4d  %11" PRId64 "  %19" PRId64 "  %16" PRId64 "\n", i, plan->shape[i], plan->dst_strides[i],
		       plan->src_strides[i]);
	if (plan->ndim > 0)
		printf("\n  %" PRIu64 " byte%s each time, %" PRIu64 " in all, from byte %" PRId64 " of the source on\n",
		       plan->unit, plan->unit == 1 ? "" : "s", plan->bytes, plan->src_offset);
}

int plan_print(const struct bi_layout *view, struct bi_error *err)
{
	struct bi_layout dense;
	struct bi_plan plan;
	int rc = bi_layout_init(&dense, view->dtype, view->ndim, view->shape, NULL, 0, err);

	if (rc == BI_OK)
		rc = bi_plan_make(&dense, view, &plan, err);
	if (rc != BI_OK)
		return rc;
	printf("copied into a dense array: %s\n", kinds[plan.kind]);
	print_wrapped(stdout, " ", 1, terminal_columns(stdout), plan.reason);
	print_nest(&plan);
	return BI_OK;
}

/* A copy is repeated at least ROUNDS times, and until SECONDS seconds have passed since the first one began. */
#define ROUNDS 3
#define SECONDS 0.2

/*
 * Writes the shortest time of several copies in seconds to *best. A copy before them is not counted, because it may
 * compile a kernel and touch new memory.
 */
static int measure_copy(const struct bi_view *dst, const struct bi_view *src, double *best, struct bi_error *err)
{
	double start = seconds_now(), begin, took;
	int rc = BI_OK;

	*best = INFINITY;
	for (int i = 0; rc == BI_OK && (i <= ROUNDS || seconds_now() - start < SECONDS); i++) {
		begin = seconds_now();
		rc = bi_copy(dst, src, NULL, err);
		if (rc == BI_OK)
			rc = bi_view_synchronize(dst, err);
		took = seconds_now() - begin;
		if (i > 0 && took < *best)
			*best = took;
	}
	return rc;
}

#define PAGE 4096 /* bytes */

/* The arrays of one measurement on the device. */
struct measurement {
	struct bi_context *context;
	struct bi_view *bytes; /* the memory of the view; all bytes are 0 */
	struct bi_view *view, *dense, *other;
};

/* Makes the source. Only whole pages before it are left out, so its alignment within a page stays the same. */
static int open_source(struct measurement *measured, const struct bi_layout *layout, struct bi_error *err)
{
	struct bi_layout moved = *layout;
	int64_t first, end;
	struct bi_dtype byte;
	int rc;

	bi_layout_extent(layout, &first, &end);
	moved.offset -= first - first % PAGE;
	end -= first - first % PAGE;
	rc = bi_dtype_make(BI_UINT8, 1, 0, &byte, err);
	if (rc == BI_OK)
		rc = bi_view_empty(measured->context, byte, 1, &end, &measured->bytes, err);
	if (rc == BI_OK)
		rc = bi_fill(measured->bytes, "", NULL, err);
	return rc == BI_OK ? bi_view_with_layout(measured->bytes, &moved, &measured->view, err) : rc;
}

static int open_measurement(struct measurement *measured, const struct bi_layout *view, const char *device,
			    struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;
	int rc;

	options.device = device;
	rc = bi_context_open(&options, &measured->context, err);
	if (rc == BI_OK)
		rc = open_source(measured, view, err);
	if (rc == BI_OK)
		rc = bi_view_empty(measured->context, view->dtype, view->ndim, view->shape, &measured->dense, err);
	if (rc == BI_OK)
		rc = bi_view_empty(measured->context, view->dtype, view->ndim, view->shape, &measured->other, err);
	return rc;
}

static void close_measurement(struct measurement *measured)
{
	bi_view_release(measured->other);
	bi_view_release(measured->dense);
	bi_view_release(measured->view);
	bi_view_release(measured->bytes);
	bi_context_release(measured->context);
}

/*
 * Returns a description of the code that copies on the device. It is derived from the device's capabilities, not
 * measured.
 */
static const char *executor(const struct bi_device *device)
{
	if (device->kind == BI_DEVICE_KIND_HOST)
		return "by the library's loops";
	if (device->capabilities & BI_CAP_NATIVE_COPY)
		return "by the library's loops, as work of the device's queue; nothing is compiled";
	return "by kernels, where the driver's own copies do not do it";
}

static void print_time(const char *what, double seconds, int64_t nbytes)
{
	printf("  %-20s  %10.1f us  %7.1f GB/s read and written\n", what, seconds * 1e6,
	       2.0 * (double)nbytes / seconds / 1e9);
}

int plan_measure(const struct bi_layout *view, const char *device, struct bi_error *err)
{
	int64_t nbytes = bi_layout_nbytes(view);
	struct measurement measured = { NULL, NULL, NULL, NULL, NULL };
	double strided = 0, dense = 0;
	int rc = open_measurement(&measured, view, device, err);

	if (rc == BI_OK)
		rc = measure_copy(measured.dense, measured.view, &strided, err);
	if (rc == BI_OK)
		rc = measure_copy(measured.other, measured.dense, &dense, err);
	if (rc == BI_OK) {
		const struct bi_device *at = bi_context_device(measured.context);

		printf("\non %s (%s) %s\n", at->spec, at->name, executor(at));
		print_time("this copy", strided, nbytes);
		print_time("as many dense bytes", dense, nbytes);
	}
	close_measurement(&measured);
	return rc;
}
