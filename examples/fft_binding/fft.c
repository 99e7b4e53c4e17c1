#include "fft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface/binding.h"
#include "buffer_interface/check.h"
#include "buffer_interface/kernel.h"
#include "buffer_interface/launch.h"

#include "fft.kernel.h"

#ifndef FFT_KERNEL
#define FFT_KERNEL "fft.kernel.h" /* the path of its text */
#endif

static const struct bi_dtype complex64 = { 8, 1, BI_COMPLEX64, 0 };

/* The device of the last call, because most calls are for one device. */
static struct {
	struct bi_location location;
	struct bi_context *context;
	struct bi_kernel *stage;
} last;

static int fail(struct bi_error *err, int status, const char *message)
{
	if (err) {
		*err = (struct bi_error){ .status = status };
		snprintf(err->message, sizeof(err->message), "%s", message);
	}
	return status;
}

static int build_kernel(struct bi_context *context, struct bi_kernel **out, struct bi_error *err)
{
	static const struct bi_host_kernel *const functions[] = { &bi_kernel_stage };
	static char text[1 << 13];
	struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
	struct bi_program *program;
	FILE *file = fopen(FFT_KERNEL, "r");
	const size_t length = file ? fread(text, 1, sizeof(text), file) : 0;
	int rc;

	if (file)
		fclose(file);
	if (!length || length == sizeof(text))
		return fail(err, BI_EINVAL, FFT_KERNEL " cannot be read, or has more than 8191 bytes");
	text[length] = 0;
	source.text = text;
	source.functions = functions;
	source.function_count = 1;
	rc = bi_program_build(context, &source, &program, err);
	if (rc)
		return rc;
	rc = bi_kernel_get(program, "stage", out, err);
	bi_program_release(program);
	return rc;
}

/* Opens the device on which the array is. An OpenCL array has a cl_context of its own, which is adopted. */
static int open_device(const struct bi_location *location, struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_kernel *stage;
	int rc;

	options.device = location->device;
	options.adopt_context = location->context;
	rc = location->context ? bi_context_open(&options, &context, err)
			       : bi_context_shared(location->device, &context, err);
	if (rc)
		return rc;
	rc = build_kernel(context, &stage, err);
	if (rc) {
		bi_context_release(context);
		return rc;
	}
	bi_kernel_release(last.stage);
	bi_context_release(last.context);
	last.location = *location;
	last.context = context;
	last.stage = stage;
	return BI_OK;
}

static int find_device(const struct bi_exchange *array, struct bi_error *err)
{
	struct bi_location location = { "host", 0 };
	const enum bi_handle_kind kind = (enum bi_handle_kind)array->handle_kind;
	int rc = BI_OK;

	if (kind != BI_HANDLE_HOST)
		rc = bi_locate_memory(kind, (uintptr_t)array->handle, &location, err);
	if (rc || (last.context && !strcmp(last.location.device, location.device) &&
		   last.location.context == location.context))
		return rc;
	return open_device(&location, err);
}

static int check_array(const struct bi_view *view, struct bi_error *err)
{
	const struct bi_dtype dtype = bi_view_dtype(view);
	const int ndim = bi_view_ndim(view);
	char message[96];
	int64_t length;

	if (dtype.type != BI_COMPLEX64 || dtype.lanes != 1 || dtype.swapped)
		return fail(err, BI_EDTYPE, "the elements are not complex64");
	if (bi_view_flags(view) & BI_VIEW_READONLY)
		return fail(err, BI_EREADONLY, "the array is read-only");
	length = ndim ? bi_view_shape(view)[ndim - 1] : 0;
	if (length >= 1 && length <= 1 << 30 && !(length & (length - 1)))
		return BI_OK;
	snprintf(message, sizeof(message), "the last extent is %lld, not a power of two up to 2^30: pad the array",
		 (long long)length);
	return fail(err, BI_EINVAL, message);
}

/* Makes the powers of exp(-2 pi i / length) on the device. */
static int make_roots(int64_t length, struct bi_view **out, struct bi_error *err)
{
	const int64_t count = length > 1 ? length / 2 : 1;
	const size_t nbytes = (size_t)count * sizeof(struct fft_number);
	struct fft_number *roots = malloc(nbytes);
	int rc;

	if (!roots)
		return fail(err, BI_ENOMEM, "no memory for the roots of unity");
	for (int64_t i = 0; i < count; i++) {
		const double angle = -6.283185307179586 * (double)i / (double)length;

		roots[i] = (struct fft_number){ (float)cos(angle), (float)sin(angle) };
	}
	rc = bi_view_empty(last.context, complex64, 1, &count, out, err);
	if (!rc)
		rc = bi_view_write(*out, roots, nbytes, err);
	free(roots);
	return rc;
}

/* Does all steps between two dense arrays. *result receives the one that has the transform. */
static int run_stages(struct bi_view *const arrays[2], const struct bi_view *roots, struct bi_view **result,
		      struct bi_error *err)
{
	const struct bi_view *any = arrays[0];
	const int ndim = bi_view_ndim(any);
	const int64_t length = bi_view_shape(any)[ndim - 1];
	struct bi_layout layout;
	struct bi_grid grid = { 2, { 0, length / 2 }, { 0, 0 } };
	int rc = BI_OK, step = 0;

	bi_view_layout(any, &layout);
	grid.size[0] = bi_layout_size(&layout) / length;
	for (int64_t run = 1; run < length && !rc; run *= 2, step++)
		rc = bi_launch(last.stage, NULL, &grid,
			       (struct bi_argument[]){ BI_READS(arrays[step % 2]), BI_WRITES(arrays[1 - step % 2]),
						       BI_READS(roots), BI_INT((int32_t)run) },
			       4, err);
	*result = arrays[step % 2];
	return rc;
}

/* The kernels work on dense copies, so the strides of the array are free. */
static int transform(const struct bi_view *view, struct bi_error *err)
{
	const int64_t length = bi_view_shape(view)[bi_view_ndim(view) - 1];
	struct bi_view *arrays[2] = { NULL, NULL }, *roots = NULL, *result;
	int rc = bi_view_clone(view, last.context, &arrays[0], err);

	if (!rc)
		rc = bi_view_empty(last.context, bi_view_dtype(view), bi_view_ndim(view), bi_view_shape(view),
				   &arrays[1], err);
	if (!rc)
		rc = make_roots(length, &roots, err);
	if (!rc)
		rc = run_stages(arrays, roots, &result, err);
	if (!rc)
		rc = bi_copy(view, result, NULL, err);
	bi_view_release(arrays[0]);
	bi_view_release(arrays[1]);
	bi_view_release(roots);
	return rc;
}

static int has_elements(const struct bi_exchange *array)
{
	for (int i = 0; i < array->ndim; i++)
		if (!array->shape[i])
			return 0;
	return 1;
}

int fft_forward(struct bi_exchange *array, struct bi_error *err)
{
	const char *why = bi_exchange_check(array);
	struct bi_view *view;
	int rc;

	if (why)
		return fail(err, BI_EINVAL, why);
	if (!has_elements(array)) {
		array->release(array);
		return BI_OK;
	}
	rc = find_device(array, err);
	/* The line that takes any array. */
	if (!rc)
		rc = bi_view_import(last.context, array, 0, &view, err);
	if (rc)
		return rc;
	rc = check_array(view, err);
	if (!rc)
		rc = transform(view, err);
	bi_view_release(view);
	return rc;
}
