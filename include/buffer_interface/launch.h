/*
 * Launching the caller's own kernels on host, OpenCL and CUDA devices
 *
 * The kernels are written once (kernel.h). OpenCL devices compile the text with the driver, CUDA devices with NVRTC,
 * and the host runs them as C functions. A launch runs after all earlier work that conflicts with it, and later work
 * that conflicts with it runs after the launch (docs/ordering.md, rows 37 and 38).
 *
 *     #include "buffer_interface/kernel.h"
 *     #include "heat.kernel.h"
 *
 *     static const struct bi_host_kernel *const functions[] = { &bi_kernel_step };
 *
 *     struct bi_program_source source = BI_PROGRAM_SOURCE_INIT;
 *     source.text = text;                     (the contents of heat.kernel.h)
 *     source.functions = functions;
 *     source.function_count = 1;
 *     rc = bi_program_build(context, &source, &program, &err);
 *     rc = bi_kernel_get(program, "step", &kernel, &err);
 *     rc = bi_launch(kernel, stream, &(struct bi_grid){ 2, { rows, columns }, { 0, 0 } },
 *                    (struct bi_argument[]){ BI_READS(now), BI_WRITES(next), BI_FLOAT(k) }, 3, &err);
 *
 * The rules of buffer_interface.h about errors, ownership, threads and NULL hold here as well.
 */
#ifndef BUFFER_INTERFACE_LAUNCH_H
#define BUFFER_INTERFACE_LAUNCH_H

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A compiled source. Reference counted. Retains its context. */
struct bi_program;
/* One kernel of a program. Reference counted. Retains its program. */
struct bi_kernel;
/* A kernel as a C function (kernel.h). */
struct bi_host_kernel;

/* The same kernels in the forms that the devices need. A device ignores the forms that it does not need. */
struct bi_program_source {
	size_t struct_size;             /* set by BI_PROGRAM_SOURCE_INIT */
	const char *text;               /* OpenCL, CUDA: the source, which the library puts behind kernel.h; or NULL */
	const char *options;            /* for the compiler, separated by blanks, not quoted, such as "-DN=4"; or NULL.
					   Borrowed for the call. The host ignores them */
	/*
	 * Host: the kernels. CUDA: host kernels with the names and parameters of the kernels in `image`. They are needed
	 * if `image` is machine code, or PTX that was not made from BI_KERNEL. They outlive the program. NULL: there are
	 * none.
	 */
	const struct bi_host_kernel *const *functions;
	size_t function_count;
	const void *image;              /* CUDA: PTX that ends with a NUL, or machine code, used instead of `text`; or
					   NULL */
	char *log;                      /* receives the compiler's log with its NUL, also after success; or NULL */
	size_t log_capacity;            /* bytes at `log`; a longer log is cut */
};

#define BI_PROGRAM_SOURCE_INIT \
	{ \
		sizeof(struct bi_program_source), BI__NULL, BI__NULL, BI__NULL, 0, BI__NULL, BI__NULL, 0 \
	}

/*
 * Makes a program for the device of `context`. Lines of the text are counted from 1, and the file is called "source" in
 * messages. The text and the image are borrowed for the call.
 *
 * BI_EINVAL: the text does not compile, and the message has the first error; or the source lacks the form that the
 * device needs, and the message names the member to set. BI_EUNSUPPORTED: the device runs no kernels of the caller, or
 * its compiler was not found. CUDA compiles with libnvrtc, which is opened when it is first needed; the environment
 * variable BI_NVRTC_LIBRARY names another file. An image needs no compiler.
 *
 * The library does not store the compiled program, not in bi_options.cache_directory either; the driver may. Blocks
 * while the compiler runs. A CUDA driver may block until pending work of the CUcontext is complete, because it loads
 * code. Owned.
 */
BI_API int bi_program_build(struct bi_context *context, const struct bi_program_source *source,
			    struct bi_program **out, struct bi_error *err);
BI_API struct bi_program *bi_program_retain(struct bi_program *program);
/*
 * Releases a reference. The last release of a CUDA program blocks until all kernels that the library has launched in
 * the CUcontext are done. If a stream that the library created there has kernels and is being captured, the release
 * does not block, and the code stays loaded. A graph that launches kernels of the program must not be launched
 * afterwards.
 */
BI_API void bi_program_release(struct bi_program *program);

/*
 * Finds the kernel that BI_KERNEL(name, ...) or BI_GROUP_KERNEL(name, ...) defines. BI_EINVAL: there is none, the name
 * has more than 200 characters, or the parameters are not known, too many, or described in a way that kernel.h of this
 * version does not have. Several threads may launch one kernel. A CUDA driver that loads code lazily may block here as
 * in bi_program_build. Owned.
 */
BI_API int bi_kernel_get(struct bi_program *program, const char *name, struct bi_kernel **out, struct bi_error *err);
BI_API struct bi_kernel *bi_kernel_retain(struct bi_kernel *kernel);
BI_API void bi_kernel_release(struct bi_kernel *kernel);

/* The largest number of arguments. */
#define BI_MAX_ARGUMENTS 32

/*
 * The items of a launch, in the order of a shape: the last extent is x in the kernel, so neighbouring items work on
 * neighbouring elements of a dense array.
 */
struct bi_grid {
	int ndim;                       /* 1 to 3 */
	int64_t size[3];                /* items along each axis, each > 0 */
	int64_t group[3];               /* items of a group; divides `size`. All 0 (only for a BI_KERNEL): the size is
					   chosen for the device */
};

enum bi_argument_kind { BI_ARGUMENT_ARRAY = 1, BI_ARGUMENT_VALUE, BI_ARGUMENT_LOCAL };

/* One argument of a launch. Made by the functions below. */
struct bi_argument {
	const struct bi_view *view;     /* ARRAY */
	const void *bytes;              /* VALUE: bytes of a struct or another type; NULL: the value is in `value` */
	size_t nbytes;                  /* VALUE, LOCAL */
	union {
		int32_t i32;
		int64_t i64;
		float f32;
		double f64;
	} value;
	uint8_t kind;                   /* enum bi_argument_kind */
	uint8_t access;                 /* ARRAY: enum bi_access */
	char type_class;                /* VALUE: 'i' for integers, 'f' for float and double, 0 for others */
};

/* An array that the kernel reads, writes, or does both with. The view is borrowed for the launch. */
static inline struct bi_argument bi_argument_array(const struct bi_view *view, enum bi_access access)
{
	struct bi_argument argument = { BI__NULL, BI__NULL, 0, { 0 }, BI_ARGUMENT_ARRAY, 0, 0 };

	argument.view = view;
	argument.access = BI__CAST(uint8_t, access);
	return argument;
}

/* A value of any type: `nbytes` bytes, copied by the launch. */
static inline struct bi_argument bi_argument_bytes(const void *bytes, size_t nbytes)
{
	struct bi_argument argument = { BI__NULL, BI__NULL, 0, { 0 }, BI_ARGUMENT_VALUE, 0, 0 };

	argument.bytes = bytes;
	argument.nbytes = nbytes;
	return argument;
}

/* Makes a VALUE whose `value` is not set; the functions below set it. `type_class` is as in struct bi_argument. */
static inline struct bi_argument bi_argument_number(size_t nbytes, char type_class)
{
	struct bi_argument argument = { BI__NULL, BI__NULL, 0, { 0 }, BI_ARGUMENT_VALUE, 0, 0 };

	argument.nbytes = nbytes;
	argument.type_class = type_class;
	return argument;
}

/*
 * Values of BI_VALUE parameters. The size and the class must be those of the parameter. Values of other types are
 * passed by address, and their class is not checked: bi_argument_bytes(&value, sizeof(value)) for a short.
 */
static inline struct bi_argument bi_argument_int32(int32_t value)
{
	struct bi_argument argument = bi_argument_number(sizeof(value), 'i');

	argument.value.i32 = value;
	return argument;
}

static inline struct bi_argument bi_argument_int64(int64_t value)
{
	struct bi_argument argument = bi_argument_number(sizeof(value), 'i');

	argument.value.i64 = value;
	return argument;
}

static inline struct bi_argument bi_argument_float(float value)
{
	struct bi_argument argument = bi_argument_number(sizeof(value), 'f');

	argument.value.f32 = value;
	return argument;
}

static inline struct bi_argument bi_argument_double(double value)
{
	struct bi_argument argument = bi_argument_number(sizeof(value), 'f');

	argument.value.f64 = value;
	return argument;
}

/* Local memory of a BI_LOCAL_PARAMETER: bytes for each group, > 0. */
static inline struct bi_argument bi_argument_local(size_t nbytes)
{
	struct bi_argument argument = { BI__NULL, BI__NULL, 0, { 0 }, BI_ARGUMENT_LOCAL, 0, 0 };

	argument.nbytes = nbytes;
	return argument;
}

#define BI_READS(view) bi_argument_array(view, BI_ACCESS_READ)
#define BI_WRITES(view) bi_argument_array(view, BI_ACCESS_WRITE)
#define BI_UPDATES(view) bi_argument_array(view, BI_ACCESS_READ_WRITE)
#define BI_INT(value) bi_argument_int32(value)
#define BI_INT64(value) bi_argument_int64(value)
#define BI_FLOAT(value) bi_argument_float(value)
#define BI_DOUBLE(value) bi_argument_double(value)
#define BI_STRUCT(pointer) bi_argument_bytes(pointer, sizeof(*(pointer)))
#define BI_LOCAL_BYTES(nbytes) bi_argument_local(nbytes)

/*
 * Enqueues a kernel. `stream` NULL: the context stream of the program's context. The host runs the kernel before the
 * call returns, on at most as many threads as bi_threads returns. Arguments are in the order of the kernel's
 * parameters.
 *
 * Every argument is checked before anything is enqueued. BI_EINVAL:
 *
 *   - The number of arguments is not that of the kernel, or an argument has another kind, size, class or rank than its
 *     parameter.
 *   - BI_READS is given for an array that the kernel writes, or BI_WRITES or BI_UPDATES for one that it only reads.
 *   - An array for BI_IN, BI_OUT or BI_INOUT is not dense in C order.
 *   - The numbers of an array have swapped bytes, or do not all begin at a multiple of their size, such as a field of a
 *     packed structure. The alignment of structures and vectors is not checked, nor that of the host memory behind a
 *     cl_mem.
 *   - The device cannot use the memory of an array, or the stream belongs to another native context or device.
 *   - The grid does not have 1 to 3 axes, an extent is not positive, or there are more than INT64_MAX items.
 *   - A group does not divide the grid, or is larger than the device allows for the kernel; the message has the limit.
 *     Or there are more groups along an axis than the device allows (CUDA: 65535 along y and z).
 *   - grid.group is 0 for a BI_GROUP_KERNEL, whose local memory and barriers need groups of a known size.
 *   - The size of local memory is 0 or no multiple of the size of its type, or larger than the device allows. On the
 *     host, too much local memory is BI_ENOMEM.
 *
 * BI_EREADONLY: the kernel writes to a read-only view. BI_EBUSY: a memory is mapped for writing, or is mapped and the
 * kernel writes to it. BI_EPRODUCER: work of a producer that the launch waits for has failed. BI_ECAPTURE: the stream
 * and the home stream of an array do not belong to the same graph capture, or work before the capture is not complete.
 * The kernel is not enqueued after any of these failures.
 *
 * Two arguments may be views of one memory. The following is not checked. Items run in any order and at the same time,
 * so no item may read or write bytes that another item writes. Items of one group may do so if a BI_BARRIER separates
 * the two accesses. A kernel whose items read only the elements that they write themselves may read and write one array
 * through two arguments.
 *
 * Blocks the calling thread if too much memory is retired (`pressure`), and on the host until the devices that use the
 * arrays have finished (`cross`).
 *
 * A launch is no export: memory of the library still returns to the pool at its last release. It can be captured into a
 * CUDA graph, like a copy (docs/ordering.md, row 27). If the driver fails, the contents of the written arrays are
 * undefined.
 */
BI_API int bi_launch(struct bi_kernel *kernel, struct bi_stream *stream, const struct bi_grid *grid,
		     const struct bi_argument *arguments, size_t count, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
