/* Declarations for the files of the OpenCL backend. The operations are described in common/backend/backend.h. */
#ifndef BI_OPENCL_OPENCL_H
#define BI_OPENCL_OPENCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/backend/backend.h"
#include "opencl/api.h"

/* The state of an opened device: bi__device_state.state. */
struct bi__opencl {
	cl_context context;
	cl_device_id device;
	uint32_t capabilities; /* enum bi_capability */
	atomic_uint shared_blocks; /* number of buffers that use shared memory (memory.c) */
	bool shares_memory; /* true: the device runs on this CPU, and fine-grained shared virtual memory can be used */
	bool profile; /* queues are created with CL_QUEUE_PROFILING_ENABLE */
	size_t group; /* most threads of a work-group on the device */
	char *cache_directory; /* directory of compiled programs; NULL: no cache */
	pthread_mutex_t lock; /* guards the members below */
	cl_program program; /* the kernels; NULL until a kernel is needed */
	unsigned built, loaded;
	struct bi__opencl_spare *spares; /* the out-of-order queues of closed streams (order.c) */
};

/*
 * Returns the text of a clGetDeviceInfo parameter, or of a clGetPlatformInfo parameter if `device` is NULL, without
 * blanks at its ends. The caller frees the text. Returns NULL on failure.
 */
char *bi__opencl_text(cl_platform_id platform, cl_device_id device, cl_uint what);

/* Returns the log of the last build of the program, which the caller frees, or NULL. */
char *bi__opencl_build_log(cl_program program, cl_device_id device);

/* The destination of a command. */
struct bi__opencl_command {
	struct bi__opencl *opencl;
	cl_command_queue queue;
	cl_event *event; /* receives the event of the command; NULL: no event is wanted */
};

/* One side of a copy between buffers. The plan's offset counts from byte `offset` of the buffer. */
struct bi__opencl_place {
	cl_mem buffer; /* the cookie of the block: its cl_mem, or for SVM the buffer that uses the SVM pointer */
	size_t offset;
};

/*
 * Enqueue the kernels of src/kernels/strided.h for a plan. The first call builds the program. The calls do not flush
 * the queue. bi__opencl_launch_fill copies its item before it returns; the item has at most BI__FILL_BYTES bytes.
 */
int bi__opencl_launch(const struct bi__opencl_command *command, const struct bi__plan *plan,
		      const struct bi__opencl_place *dst, const struct bi__opencl_place *src, struct bi_error *err);
int bi__opencl_launch_fill(const struct bi__opencl_command *command, const struct bi__plan *plan,
			   const struct bi__opencl_place *dst, const void *item, struct bi_error *err);

/*
 * Files with compiled programs. Only their owner can read them. The directory is created if its parent exists.
 *
 * bi__opencl_cache_read returns bytes that the caller frees. It returns NULL if the file is missing, is damaged, has
 * another key, is a symbolic link, or can be written by another user. bi__opencl_cache_write replaces the whole file
 * and ignores failures.
 */
void *bi__opencl_cache_read(const char *directory, uint64_t key, size_t *nbytes);
void bi__opencl_cache_write(const char *directory, uint64_t key, const void *bytes, size_t nbytes);

/* Adds bytes to an FNV-1a hash. The hash of no bytes is BI__OPENCL_HASH. */
#define BI__OPENCL_HASH UINT64_C(0xcbf29ce484222325)
uint64_t bi__opencl_hash(uint64_t hash, const void *bytes, size_t nbytes);

int bi__opencl_enumerate(struct bi_device *devices, int capacity, int *count, struct bi_error *err);
int bi__opencl_open(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
		    struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err);
void bi__opencl_close(struct bi__device_state *device, struct bi__queue *stream);

int bi__opencl_alloc(struct bi__device_state *device, struct bi__block *block, struct bi_error *err);
int bi__opencl_adopt(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		     struct bi_error *err);
void bi__opencl_free(struct bi__device_state *device, struct bi__block *block);
/*
 * Returns the number of blocks that were freed, in all contexts. While it stays the same, two equal handles of blocks
 * are one buffer.
 */
unsigned long long bi__opencl_releases(void);

int bi__opencl_stream_open(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err);
int bi__opencl_stream_close(struct bi__queue *queue);
void bi__opencl_release_spares(struct bi__opencl *opencl);
int bi__opencl_follow(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err);
int bi__opencl_record(struct bi__queue *queue, uintptr_t *event, struct bi_error *err);
int bi__opencl_wait(struct bi__queue *queue, uintptr_t event, struct bi_error *err);
int bi__opencl_poll(uintptr_t event, int block, int *done, struct bi_error *err);
int bi__opencl_finish(struct bi__queue *queue, struct bi_error *err);
int bi__opencl_event_wrap(struct bi__device_state *device, uintptr_t native, uintptr_t *event, struct bi_error *err);
int bi__opencl_event_retain(uintptr_t event, struct bi_error *err);
void bi__opencl_event_release(uintptr_t event);

int bi__opencl_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__move *move,
		    uintptr_t *event, struct bi_error *err);
int bi__opencl_takes(struct bi__device_state *device, const struct bi__move *move, int *takes, struct bi_error *err);
int64_t bi__opencl_elapsed(uintptr_t event);
int bi__opencl_map(struct bi__device_state *device, struct bi__queue *queue, const struct bi__range *range,
		   void **pointer, uintptr_t *event, struct bi_error *err);
int bi__opencl_unmap(struct bi__device_state *device, struct bi__queue *queue, const struct bi__block *block,
		     void *pointer, struct bi_error *err);

int bi__opencl_locate(uintptr_t handle, struct bi__origin *out, struct bi_error *err);
int bi__opencl_locate_queue(uintptr_t queue, struct bi__origin *out, struct bi_error *err);

void bi__opencl_drop_caches(struct bi__device_state *device);
void bi__opencl_cache_state(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded);

int bi__opencl_build(struct bi__device_state *device, struct bi__source *source, uintptr_t *program,
		     struct bi_error *err);
void bi__opencl_unload(struct bi__device_state *device, uintptr_t program);
int bi__opencl_get_kernel(struct bi__device_state *device, uintptr_t program, const char *name, struct bi__kernel *out,
			  struct bi_error *err);
void bi__opencl_put_kernel(struct bi__device_state *device, struct bi__kernel *kernel);
int bi__opencl_launch_kernel(struct bi__device_state *device, struct bi__queue *queue,
			     const struct bi__kernel_launch *launch, struct bi_error *err);

#endif
