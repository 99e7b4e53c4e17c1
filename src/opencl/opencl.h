/* What the files of the OpenCL backend share. The operations are described in common/backend/backend.h. */
#ifndef BI_OPENCL_OPENCL_H
#define BI_OPENCL_OPENCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/backend/backend.h"
#include "opencl/api.h"

/* A context of ours: bi__device_state.state, in its room. */
struct bi__opencl {
	cl_context context;
	cl_device_id device;
	uint32_t capabilities; /* enum bi_capability */
	int version; /* of the device: 102, 300 */
	atomic_uint near_blocks; /* buffers over memory that is shared with the CPU */
	bool is_near; /* memory of the device is this processor's, can be shared with it byte by byte, and is */
	bool profile; /* queues are created with profiling */
	size_t group; /* work-items of a group */
	char *cache_directory; /* or NULL */
	pthread_mutex_t lock; /* of what follows */
	cl_program program; /* or NULL: not yet needed */
	uint64_t built, loaded;
};

/* Information as text without blanks around it: of the device, or of the platform if `device` is NULL. Freed by the
 * caller; NULL if there is none. */
char *bi__opencl_text(cl_platform_id platform, cl_device_id device, cl_uint what);

/* The buffer behind a block of any kind. */
cl_mem bi__opencl_buffer(const struct bi__block *block);

/* One side of a copy on the device: byte `offset` of a buffer is where the plan's offset counts from. */
struct bi__opencl_place {
	cl_mem buffer;
	size_t offset;
};

/*
 * Enqueue the kernels of src/kernels/strided.h for a plan; build the program if it is the first. They do not flush. A
 * fill reads its item, of at most BI__FILL_BYTES bytes, before it returns.
 */
int bi__opencl_launch(struct bi__opencl *opencl, cl_command_queue queue, const struct bi__plan *plan,
		      const struct bi__opencl_place *dst, const struct bi__opencl_place *src, cl_event *event,
		      struct bi_error *err);
int bi__opencl_launch_fill(struct bi__opencl *opencl, cl_command_queue queue, const struct bi__plan *plan,
			   const struct bi__opencl_place *dst, const void *item, cl_event *event, struct bi_error *err);

/*
 * Program files, for their owner alone. The directory is made if its parent is there. `read` returns bytes that the caller
 * frees, or NULL for a file that is not there, is damaged, was written for another key, is a symbolic link, or is one that
 * somebody else owns or may write. `write` replaces the file as a whole; it does
 * not say whether it could.
 */
void *bi__opencl_cache_read(const char *directory, uint64_t key, size_t *nbytes);
void bi__opencl_cache_write(const char *directory, uint64_t key, const void *bytes, size_t nbytes);

/* FNV-1a; start with BI__OPENCL_HASH. */
#define BI__OPENCL_HASH UINT64_C(0xcbf29ce484222325)
uint64_t bi__opencl_hash(uint64_t hash, const void *bytes, size_t nbytes);

int bi__opencl_enumerate(struct bi_device *devices, int capacity, int *count, struct bi_error *err);
const struct bi_device *bi__opencl_recall(const char *spec);
int bi__opencl_open(const struct bi_options *options, const struct bi_device *device, struct bi_device *adopted,
		    struct bi__device_state *out, struct bi__queue *stream, struct bi_error *err);
void bi__opencl_close(struct bi__device_state *device, struct bi__queue *stream);

int bi__opencl_alloc(struct bi__device_state *device, struct bi__block *block, struct bi_error *err);
int bi__opencl_adopt(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		     struct bi_error *err);
void bi__opencl_free(struct bi__device_state *device, struct bi__block *block);

int bi__opencl_stream_open(struct bi__device_state *device, struct bi__queue *queue, struct bi_error *err);
void bi__opencl_stream_close(struct bi__queue *queue);
int bi__opencl_follow(struct bi__queue *waiter, struct bi__queue *on, struct bi_error *err);
int bi__opencl_record(struct bi__queue *queue, uintptr_t *event, struct bi_error *err);
int bi__opencl_wait(struct bi__queue *queue, uintptr_t event, struct bi_error *err);
int bi__opencl_poll(uintptr_t event, int block, int *done, struct bi_error *err);
int bi__opencl_finish(struct bi__queue *queue, struct bi_error *err);
int bi__opencl_event_wrap(struct bi__device_state *device, uintptr_t native, uintptr_t *event, struct bi_error *err);
int bi__opencl_event_retain(uintptr_t event, struct bi_error *err);
void bi__opencl_event_release(uintptr_t event);

int bi__opencl_copy(struct bi__device_state *device, struct bi__queue *queue, const struct bi__plan *plan,
		    const struct bi__place *dst, const struct bi__place *src, uintptr_t *event, struct bi_error *err);
int bi__opencl_takes(struct bi__device_state *device, const struct bi__plan *plan, const struct bi__place *dst,
		     const struct bi__place *src, int *takes, struct bi_error *err);
int64_t bi__opencl_elapsed(uintptr_t event);
int bi__opencl_map(struct bi__device_state *device, struct bi__queue *queue, const struct bi__block *block,
		   size_t offset, size_t nbytes, unsigned mode, void **pointer, uintptr_t *event, struct bi_error *err);
int bi__opencl_unmap(struct bi__device_state *device, struct bi__queue *queue, const struct bi__block *block,
		     void *pointer, struct bi_error *err);

int bi__opencl_locate(uintptr_t handle, struct bi__origin *out, struct bi_error *err);
int bi__opencl_locate_queue(uintptr_t queue, struct bi__origin *out, struct bi_error *err);

void bi__opencl_drop_caches(struct bi__device_state *device);
void bi__opencl_cache_state(const struct bi__device_state *device, uint64_t *built, uint64_t *loaded);

#endif
