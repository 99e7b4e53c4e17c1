/*
 * Stands in for the header that "futhark opencl --library" (or "futhark c --library") writes for this program:
 *
 *     entry scale (xs: []f32): []f32 = map (\x -> 2 * x + 1) xs
 *
 * It has the signatures of Futhark's API. The real compiler replaces futlib.h and futlib.c.
 */
#ifndef FUTLIB_H
#define FUTLIB_H

#include <stdint.h>

#if defined(FUTHARK_BACKEND_opencl)
#include "buffer_interface/opencl.h" /* the types of OpenCL; generated code has CL/cl.h here */
typedef cl_mem futhark_raw;
#else
typedef char *futhark_raw;
#endif

struct futhark_context_config;
struct futhark_context;
struct futhark_f32_1d;

struct futhark_context_config *futhark_context_config_new(void);
void futhark_context_config_free(struct futhark_context_config *cfg);
struct futhark_context *futhark_context_new(struct futhark_context_config *cfg);
void futhark_context_free(struct futhark_context *ctx);
int futhark_context_sync(struct futhark_context *ctx);
char *futhark_context_get_error(struct futhark_context *ctx);

struct futhark_f32_1d *futhark_new_raw_f32_1d(struct futhark_context *ctx, futhark_raw data, int64_t dim0);
int futhark_free_f32_1d(struct futhark_context *ctx, struct futhark_f32_1d *arr);
futhark_raw futhark_values_raw_f32_1d(struct futhark_context *ctx, struct futhark_f32_1d *arr);
const int64_t *futhark_shape_f32_1d(struct futhark_context *ctx, struct futhark_f32_1d *arr);

int futhark_entry_scale(struct futhark_context *ctx, struct futhark_f32_1d **out0, const struct futhark_f32_1d *in0);

#if defined(FUTHARK_BACKEND_opencl)
cl_command_queue futhark_context_get_command_queue(struct futhark_context *ctx);
#endif

#endif
