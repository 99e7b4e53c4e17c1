/*
 * Jobs: the operations that bench/run times, written in C
 *
 * A job is an operation that can be repeated n times. Jobs of the library use only its public header; the others are
 * its peers: memcpy, a naive loop, and the drivers' own calls. All functions are called by one thread, from Python
 * through ctypes, which alternates between the jobs that are compared.
 *
 * Functions that create something return NULL after a failure; bench_message gives the reason.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_API __attribute__((visibility("default")))

/* The bytes that a job leaves in its destination. */
enum bench_result {
	BENCH_STRIDED, /* the elements of the array's layout */
	BENCH_LINEAR, /* the first bytes of the source, whatever the strides are */
	BENCH_ZEROS
};

struct bench_job {
	/* Runs the operation n times and waits for its end. Returns 0, or -1 after bench_fail. */
	int (*run)(struct bench_job *job, long n);
	/*
	 * `clear` overwrites the destination, `fetch` writes the destination's bytes to `bytes`. They return as `run`
	 * does. A job that allocates its destination keeps the last one until it runs again. Both are NULL if
	 * `has_no_result`, and in jobs with a check of their own.
	 */
	int (*clear)(struct bench_job *job);
	int (*fetch)(struct bench_job *job, void *bytes);
	void (*release)(struct bench_job *job);
	struct bench_array *array; /* the array it works on, borrowed; or NULL */
	enum bench_result result;
	int has_no_result; /* 1: the operation writes no elements, or `run` checks what it makes */
};

/* Sets the reason of a failure; arguments as printf. Returns -1. */
__attribute__((format(printf, 1, 2))) int bench_fail(const char *format, ...);
BENCH_API const char *bench_message(void);

/* Returns the seconds that n repetitions take, or -1. */
BENCH_API double bench_time(struct bench_job *job, long n);
/*
 * Runs once on a cleared destination and compares every element. Returns 0 if it is correct, 1 if not (see
 * bench_message), -1 after a failure, or if the job has a result and cannot fetch it.
 */
BENCH_API int bench_verify(struct bench_job *job);
/* Writes the bytes of a job's destination to `bytes`. Returns 0 or -1. */
BENCH_API int bench_fetch(struct bench_job *job, void *bytes);
BENCH_API void bench_release(struct bench_job *job);

/* Creates a job of `size` bytes, zeroed except for these members. */
void *bench_job_create(size_t size, int (*run)(struct bench_job *, long), void (*release)(struct bench_job *));

/*
 * An array on the host: a source with a layout, and a dense destination in C order. The source has random bytes. Both
 * are page-aligned and have been written to, so that no copy is the first access to a page.
 */
#define BENCH_MAX_NDIM 8

struct bench_array {
	int ndim;
	int64_t shape[BENCH_MAX_NDIM], strides[BENCH_MAX_NDIM]; /* strides in bytes */
	int64_t offset; /* of element [0, ..., 0] in the source */
	int64_t item_size;
	size_t source_bytes, bytes; /* size of the source's memory; size of the dense destination */
	unsigned char *source, *destination;
	unsigned char *expected; /* the correct result; NULL until it is needed */
};

BENCH_API struct bench_array *bench_array_create(int ndim, const int64_t *shape, const int64_t *strides, int64_t offset,
						 int64_t item_size, size_t source_bytes);
BENCH_API void bench_array_release(struct bench_array *array);
BENCH_API void *bench_array_source(struct bench_array *array);
BENCH_API void *bench_array_destination(struct bench_array *array);
/*
 * Compares dense bytes with the correct result (enum bench_result). Returns 0 if they are equal, 1 if not (see
 * bench_message), -1 after a failure.
 */
BENCH_API int bench_array_check(struct bench_array *array, const void *bytes, int result);

/* Returns the kind of the library's plan for this copy. */
BENCH_API const char *bench_array_plan(const struct bench_array *array);

/* Peers on the host: memcpy of as many bytes, and naive loops. They copy to the destination. */
BENCH_API struct bench_job *bench_memcpy(struct bench_array *array);
BENCH_API struct bench_job *bench_naive(struct bench_array *array);
/* malloc, memcpy, free: a new destination each time. */
BENCH_API struct bench_job *bench_malloc_copy(struct bench_array *array);

/* Where an array is. */
enum bench_place { BENCH_ON_HOST, BENCH_ON_DEVICE };

/* The operation that a job repeats, for the library and for the driver's own calls. */
enum bench_operation {
	BENCH_COPY, /* bi_copy */
	BENCH_FILL, /* bi_fill of the destination by zeros */
	BENCH_WRITE, /* bi_view_write of a dense array */
	BENCH_READ, /* bi_view_read */
	BENCH_FRESH, /* allocation of a destination, a copy into it, and its release */
	BENCH_ALLOCATE, /* allocation of `bytes` and their release */
	BENCH_OPEN /* opening and closing of the device */
};

/*
 * A job of the library. It enqueues `every` operations, then waits for them. BENCH_COPY copies from `from` to `to`. The
 * host memory of transfers is pinned if that is requested. With `exported`, the handles of the memory are exported, so
 * that the library must use the driver. With `unpooled`, its context keeps no free memory.
 */
struct bench_request {
	int operation; /* enum bench_operation */
	int from, to; /* enum bench_place */
	int pinned, exported, unpooled;
	long every;
};

BENCH_API struct bench_job *bench_library(struct bench_array *array, const char *device,
					  const struct bench_request *request);
/*
 * Copies as many bytes by memcpy as the job `copy` (BENCH_COPY, on the host or a CPU device), between the same arrays.
 * So both jobs find the same bytes in the caches. Beside BENCH_FRESH the destination is that of the array on the host.
 */
BENCH_API struct bench_job *bench_memcpy_beside(struct bench_job *copy);
/*
 * Writes the addresses of both arrays of a job of the library on the host or a CPU device; NULL for the destination of
 * BENCH_FRESH. Returns 0 or -1.
 */
int bench_library_addresses(struct bench_job *library, unsigned char **source, unsigned char **destination);
/*
 * The same operations by the drivers' own calls. Strides are ignored: as many dense bytes are copied. `beside` is NULL,
 * or a job of the library on the same CPU device, which must live longer: then both jobs work on the same memory.
 */
BENCH_API struct bench_job *bench_opencl(struct bench_array *array, int platform, int ordinal,
					 const struct bench_request *request, struct bench_job *beside);
BENCH_API struct bench_job *bench_cuda(struct bench_array *array, int ordinal, const struct bench_request *request);
/*
 * Builds a simple kernel for a job of bench_opencl (BENCH_COPY on the device), which copies the layout by it from now
 * on: a work-item for each element, its index computed by divisions. Returns 0 or -1.
 */
BENCH_API int bench_opencl_use_kernel(struct bench_job *job);

/*
 * Launches of the kernels of examples/heat on a plate. `text` is the source of the kernels, spread and shade; for the
 * driver's own calls it is plain OpenCL C. The driver's own calls write into a kept buffer for BENCH_LAUNCH_INTO_NEW.
 */
enum bench_launch {
	BENCH_LAUNCH_AGAIN, /* one launch, on the same arrays */
	BENCH_LAUNCH_INTO_NEW, /* allocation, a launch that writes there, release */
	BENCH_LAUNCH_SIMULATION /* 400 steps and four pictures */
};

BENCH_API struct bench_job *bench_launch(const char *device, const char *text, int kind, int rows, int columns);
BENCH_API struct bench_job *bench_opencl_launch(int platform, int ordinal, const char *text, int kind, int rows,
						int columns);
/* As bench_verify, for these jobs. */
BENCH_API int bench_launch_verify(struct bench_job *job);
/*
 * The begin and the end of a use of `count` arrays (1 to 3) with one home stream, on another stream. With `is_shown`,
 * other code knows the arrays, so the two streams wait for each other.
 */
BENCH_API struct bench_job *bench_uses(const char *device, int count, int is_shown);
BENCH_API int bench_uses_verify(struct bench_job *job);

/* Views that are created and released (enum bench_view), of an array on a device. */
enum bench_view { BENCH_SLICE, BENCH_TRANSPOSE, BENCH_INDEX };

BENCH_API struct bench_job *bench_view(const char *device, int how);
/* The minimum of a reference-counted view. */
BENCH_API struct bench_job *bench_view_plain(void);
/* The same views by libgpuarray, on an array of an OpenCL device. */
BENCH_API struct bench_job *bench_gpuarray_view(int how, int platform, int ordinal);

/*
 * Returns device number i of the library's list as "spec\tkind\tname\tplatform version", valid until the next call, or
 * NULL after the last device.
 */
BENCH_API const char *bench_device(int i);
BENCH_API const char *bench_library_version(void);

#endif
