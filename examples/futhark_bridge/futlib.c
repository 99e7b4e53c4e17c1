/* Stands in for the code that Futhark generates (futlib.h). */
#include "futlib.h"

#include <stdlib.h>
#include <string.h>

struct futhark_context_config {
	int unused;
};

struct futhark_f32_1d {
	futhark_raw data;
	int64_t shape[1];
	int is_raw; /* 1: the caller owns `data` */
};

#if defined(FUTHARK_BACKEND_opencl)

struct futhark_context {
	cl_context context;
	cl_command_queue queue;
	cl_program program;
	cl_kernel scale;
	cl_int rc;
};

static void open_context(struct futhark_context *ctx)
{
	const char *text = "kernel void scale(global const float *xs, global float *ys)\n"
			   "{ size_t i = get_global_id(0); ys[i] = 2 * xs[i] + 1; }\n";
	cl_platform_id platform;
	cl_device_id device;
	cl_int rc = clGetPlatformIDs(1, &platform, NULL);

	if (!rc)
		rc = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
	if (!rc)
		ctx->context = clCreateContext(NULL, 1, &device, NULL, NULL, &rc);
	if (!rc)
		ctx->queue = clCreateCommandQueue(ctx->context, device, 0, &rc);
	if (!rc)
		ctx->program = clCreateProgramWithSource(ctx->context, 1, &text, NULL, &rc);
	if (!rc)
		rc = clBuildProgram(ctx->program, 1, &device, "", NULL, NULL);
	if (!rc)
		ctx->scale = clCreateKernel(ctx->program, "scale", &rc);
	ctx->rc = rc;
}

static void close_context(struct futhark_context *ctx)
{
	clReleaseKernel(ctx->scale);
	clReleaseProgram(ctx->program);
	clReleaseCommandQueue(ctx->queue);
	clReleaseContext(ctx->context);
}

static int scale(struct futhark_context *ctx, const struct futhark_f32_1d *in, struct futhark_f32_1d *out)
{
	const size_t count = (size_t)in->shape[0];

	/* As in Futhark's code, an array without elements has a buffer of a few bytes, and no kernel runs. */
	out->data = clCreateBuffer(ctx->context, CL_MEM_READ_WRITE, (count + !count) * sizeof(float), NULL, &ctx->rc);
	if (!count)
		return ctx->rc;
	if (!ctx->rc)
		ctx->rc = clSetKernelArg(ctx->scale, 0, sizeof(in->data), &in->data);
	if (!ctx->rc)
		ctx->rc = clSetKernelArg(ctx->scale, 1, sizeof(out->data), &out->data);
	if (!ctx->rc)
		ctx->rc = clEnqueueNDRangeKernel(ctx->queue, ctx->scale, 1, NULL, &count, NULL, 0, NULL, NULL);
	return ctx->rc;
}

static void free_data(futhark_raw data)
{
	clReleaseMemObject(data);
}

int futhark_context_sync(struct futhark_context *ctx)
{
	return clFinish(ctx->queue);
}

cl_command_queue futhark_context_get_command_queue(struct futhark_context *ctx)
{
	return ctx->queue;
}

#else

struct futhark_context {
	int rc;
};

static void open_context(struct futhark_context *ctx)
{
	ctx->rc = 0;
}

static void close_context(struct futhark_context *ctx)
{
	(void)ctx;
}

static int scale(struct futhark_context *ctx, const struct futhark_f32_1d *in, struct futhark_f32_1d *out)
{
	const float *xs = (const float *)(const void *)in->data;
	float *ys = malloc((size_t)(in->shape[0] + !in->shape[0]) * sizeof(*ys));

	out->data = (char *)ys;
	ctx->rc = !ys;
	for (int64_t i = 0; ys && i < in->shape[0]; i++)
		ys[i] = 2 * xs[i] + 1;
	return ctx->rc;
}

static void free_data(futhark_raw data)
{
	free(data);
}

int futhark_context_sync(struct futhark_context *ctx)
{
	return ctx->rc;
}

#endif

struct futhark_context_config *futhark_context_config_new(void)
{
	return calloc(1, sizeof(struct futhark_context_config));
}

void futhark_context_config_free(struct futhark_context_config *cfg)
{
	free(cfg);
}

struct futhark_context *futhark_context_new(struct futhark_context_config *cfg)
{
	struct futhark_context *ctx = calloc(1, sizeof(*ctx));

	(void)cfg;
	if (ctx)
		open_context(ctx);
	return ctx;
}

void futhark_context_free(struct futhark_context *ctx)
{
	close_context(ctx);
	free(ctx);
}

char *futhark_context_get_error(struct futhark_context *ctx)
{
	return ctx->rc ? strdup("the device does not work") : NULL;
}

static struct futhark_f32_1d *new_array(futhark_raw data, int64_t count, int is_raw)
{
	struct futhark_f32_1d *arr = malloc(sizeof(*arr));

	if (arr)
		*arr = (struct futhark_f32_1d){ data, { count }, is_raw };
	return arr;
}

struct futhark_f32_1d *futhark_new_raw_f32_1d(struct futhark_context *ctx, futhark_raw data, int64_t dim0)
{
	(void)ctx;
	return new_array(data, dim0, 1);
}

int futhark_free_f32_1d(struct futhark_context *ctx, struct futhark_f32_1d *arr)
{
	(void)ctx;
	if (!arr->is_raw)
		free_data(arr->data);
	free(arr);
	return 0;
}

futhark_raw futhark_values_raw_f32_1d(struct futhark_context *ctx, struct futhark_f32_1d *arr)
{
	(void)ctx;
	return arr->data;
}

const int64_t *futhark_shape_f32_1d(struct futhark_context *ctx, struct futhark_f32_1d *arr)
{
	(void)ctx;
	return arr->shape;
}

int futhark_entry_scale(struct futhark_context *ctx, struct futhark_f32_1d **out0, const struct futhark_f32_1d *in0)
{
	struct futhark_f32_1d *out = new_array(NULL, in0->shape[0], 0);

	if (!out || scale(ctx, in0, out))
		return 1;
	*out0 = out;
	return 0;
}
