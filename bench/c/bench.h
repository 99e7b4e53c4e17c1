/*
 * Jobs: what bench/run times, written in C
 *
 * A job is something that can be done n times. Jobs of the library use nothing but its public header; the others are
 * its peers: memcpy, a naive loop, the drivers' own calls. Everything here is called by one thread, from Python through
 * ctypes, which lets jobs that are compared take turns.
 *
 * Functions that make something return NULL after a failure, and bench_message says why.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_API __attribute__((visibility("default")))

struct bench_job {
	/* Does it n times; everything is done when it returns. 0, or -1 after bench_fail. */
	int (*run)(struct bench_job *job, long n);
	/* What can be checked has both: overwrite the destination; write the destination's bytes into `bytes`. As run.
	 */
	int (*clear)(struct bench_job *job);
	int (*fetch)(struct bench_job *job, void *bytes);
	void (*release)(struct bench_job *job);
	struct bench_array *array; /* what it works on, borrowed; or NULL */
	int is_linear; /* 1: the first bytes of the source are copied, whatever the strides are */
};

/* Writes the reason, as printf. Returns -1. */
__attribute__((format(printf, 1, 2))) int bench_fail(const char *format, ...);
BENCH_API const char *bench_message(void);

/* Seconds that n times take, or -1. */
BENCH_API double bench_time(struct bench_job *job, long n);
/* Does it once on a cleared destination and compares every element. 0 right, 1 wrong (bench_message), -1 failed. */
BENCH_API int bench_verify(struct bench_job *job);
BENCH_API void bench_release(struct bench_job *job);

/* Makes a job of `size` bytes, zeroed but for these members. */
void *bench_job_create(size_t size, int (*run)(struct bench_job *, long), void (*release)(struct bench_job *));

/*
 * An array on the host: a source with a layout, and a dense destination in C order. The bytes of the source are random.
 * Both are page-aligned and have been written to, so no copy meets a page for the first time.
 */
#define BENCH_MAX_NDIM 8

struct bench_array {
	int ndim;
	int64_t shape[BENCH_MAX_NDIM], strides[BENCH_MAX_NDIM]; /* strides in bytes */
	int64_t offset; /* of element [0, ..., 0] in the source */
	int64_t item_size;
	size_t source_bytes, bytes; /* of the source's memory; of the dense destination */
	unsigned char *source, *destination;
	unsigned char *expected; /* what the destination should be, once it was asked for */
};

BENCH_API struct bench_array *bench_array_create(int ndim, const int64_t *shape, const int64_t *strides, int64_t offset,
						 int64_t item_size, size_t source_bytes);
BENCH_API void bench_array_release(struct bench_array *array);
BENCH_API void *bench_array_source(struct bench_array *array);
BENCH_API void *bench_array_destination(struct bench_array *array);
/* Compares dense bytes with what the copy should be. 0 equal, 1 not (bench_message), -1 failed. */
BENCH_API int bench_array_check(struct bench_array *array, const void *bytes, int is_linear);

/* Peers on the host: memcpy of as many bytes, and the loops that one writes first. They copy to the destination. */
BENCH_API struct bench_job *bench_memcpy(struct bench_array *array);
BENCH_API struct bench_job *bench_naive(struct bench_array *array);
/* malloc, memcpy, free: the destination is new each time. */
BENCH_API struct bench_job *bench_malloc_copy(struct bench_array *array);

/* Where an array lies. */
enum bench_place { BENCH_ON_HOST, BENCH_ON_DEVICE };

/* What is done, in the library's words and in the driver's. */
enum bench_operation {
	BENCH_COPY, /* bi_copy */
	BENCH_FILL, /* bi_fill of the destination by zeros */
	BENCH_WRITE, /* bi_view_write of a dense array */
	BENCH_READ, /* bi_view_read */
	BENCH_FRESH, /* a new destination, a copy into it, and its release */
	BENCH_ALLOCATE, /* memory of `bytes` and its release */
	BENCH_OPEN /* the device, and letting go of it */
};

/*
 * Jobs of the library. `every` operations are enqueued, then they are waited for. From and to which place BENCH_COPY
 * goes say `from` and `to`; host memory of a device's transfers is pinned where that is asked for. Where `shown` is set
 * others might know the memory, so that nothing is done behind the driver's back.
 */
struct bench_request {
	int operation; /* enum bench_operation */
	int from, to; /* enum bench_place */
	int pinned, shown;
	long every;
};

BENCH_API struct bench_job *bench_library(struct bench_array *array, const char *device,
					  const struct bench_request *request);
/* What the drivers' own calls need for the same; strides are left out: as many bytes are copied. */
BENCH_API struct bench_job *bench_opencl(struct bench_array *array, int platform, int ordinal,
					 const struct bench_request *request);
BENCH_API struct bench_job *bench_cuda(struct bench_array *array, int ordinal, const struct bench_request *request);
/* The kernel that one writes first: a work-item for each element, its place by divisions. */
BENCH_API struct bench_job *bench_opencl_kernel(struct bench_array *array, int platform, int ordinal);

/* Views: made and released. The plain one is the least that a counted view costs. */
BENCH_API struct bench_job *bench_view_slice(void);
BENCH_API struct bench_job *bench_view_transpose(void);
BENCH_API struct bench_job *bench_view_index(void);
BENCH_API struct bench_job *bench_view_plain(void);
/* The same three (0, 1, 2) by libgpuarray, of an array on an OpenCL device. */
BENCH_API struct bench_job *bench_gpuarray_view(int how, int platform, int ordinal);

/* Device number i of the library's list as "spec\tkind\tname\tplatform version"; NULL when there is none. Until the
 * next call. */
BENCH_API const char *bench_device(int i);
BENCH_API const char *bench_library_version(void);

#endif
