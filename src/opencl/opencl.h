/* Declarations for the files of the OpenCL backend. The operations are described in common/backend/backend.h. */
#ifndef BI_OPENCL_OPENCL_H
#define BI_OPENCL_OPENCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/backend/backend.h"
#include "kernels/launch.h"
#include "opencl/api.h"

/* The state of an opened device: bi__device_state.state. */
struct bi__opencl {
	cl_context context;
	cl_device_id device;
	uint32_t capabilities; /* enum bi_capability */
	atomic_uint shared_blocks; /* number of blocks of kind BI_HANDLE_CL_MEM that use shared memory (memory.c) */
	/* true: opened, not adopted; the device has native kernels and fine-grained SVM; bi__inline_limit is not 0 */
	bool shares_memory;
	bool profile; /* true: queues are created with CL_QUEUE_PROFILING_ENABLE */
	size_t group; /* most threads of a work-group on the device, but at most BI__NEST_GROUP */
	char *cache_directory; /* owned; directory of compiled programs; NULL: no cache */
	pthread_mutex_t program_lock; /* guards `program`; held also while the driver compiles it */
	cl_program program; /* the library's kernels; NULL until one is needed, and after drop_caches */
	_Atomic(cl_kernel) kernels[BI__KERNEL_COUNT]; /* by number: one that no launch uses now, or NULL */
	atomic_uint built, loaded; /* how often `program` was compiled, and loaded from a file */
	pthread_mutex_t lock; /* guards `spares` */
	struct bi__opencl_spare *spares; /* queues of closed streams (order.c) */
};

/* Returns the log of the last build of the program, or NULL on failure. The caller frees the log. */
char *bi__opencl_build_log(cl_program program, cl_device_id device);

/* The source of a program, and the options of its compiler. */
struct bi__opencl_source {
	char *text, *options;
};

/*
 * Compiles the text followed by `more`. The caller releases *out. If the build fails, *out is a program that has only
 * the log. If the driver creates no program, *out is NULL.
 */
cl_int bi__opencl_compile(const struct bi__opencl *opencl, const struct bi__opencl_source *source, const char *more,
			  cl_program *out);

/*
 * Sets out->count, and out->parameters, which the caller frees, also after a failure. The options of the source contain
 * -cl-kernel-arg-info.
 */
int bi__opencl_read_signature(const struct bi__opencl *opencl, const struct bi__opencl_source *source, cl_kernel kernel,
			      struct bi__kernel *out, struct bi_error *err);

/* A copy or fill. */
struct bi__opencl_job {
	struct bi__opencl *opencl;
	cl_command_queue queue;
	cl_event *event; /* receives the event of the last command that moves bytes; NULL: no event is wanted */
	const struct bi__plan *plan;
	const struct bi__place *dst, *src;
};

/* Returns the buffer of a block: its cl_mem, or for SVM the buffer that uses the SVM pointer. */
static inline cl_mem bi__opencl_buffer(const struct bi__block *block)
{
	return (cl_mem)block->cookie;
}

/*
 * Enqueues kernels of src/kernels/strided.h: a copy between two blocks, or a fill with an item of at most
 * BI__FILL_BYTES bytes. The item is copied before the call returns. The first call, and the first after drop_caches,
 * makes the program. The call does not flush the queue.
 */
int bi__opencl_launch(const struct bi__opencl_job *job, struct bi_error *err);

/*
 * Releases the library's kernels and their program. A kernel that a launch uses now is kept again after the launch, and
 * keeps its program. The caller holds program_lock, or closes the context.
 */
void bi__opencl_release_program(struct bi__opencl *opencl);

/*
 * Files with compiled programs. Only their owner can read them.
 *
 * bi__opencl_cache_read returns the program, which the caller frees. It returns NULL if bi__file_open_own refuses the
 * file, if the file is damaged or has another key, if its program is too large, or if there is no memory.
 * bi__opencl_cache_write replaces the whole file, and ignores failures. It creates the directory if the parent exists.
 */
void *bi__opencl_cache_read(const char *directory, uint64_t key, size_t *nbytes);
void bi__opencl_cache_write(const char *directory, uint64_t key, const void *bytes, size_t nbytes);

/* Adds bytes to a 64-bit FNV-1a hash. The hash of no bytes is BI__OPENCL_HASH. */
#define BI__OPENCL_HASH UINT64_C(0xcbf29ce484222325)
uint64_t bi__opencl_hash(uint64_t hash, const void *bytes, size_t nbytes);

/*
 * Returns the number of blocks that were freed, in all contexts. While this number stays the same, a handle that a
 * block has stands for the same buffer.
 */
unsigned long long bi__opencl_releases(void);

/* Releases the queues of closed streams, and blocks for their work (order.c). Called when the context is closed. */
void bi__opencl_release_spares(struct bi__opencl *opencl);

/* The operations of the table in backend.c: X(member of struct bi__backend, function). */
#define BI__OPENCL_OPERATIONS(X) \
	X(devices.enumerate, bi__opencl_enumerate) \
	X(devices.open, bi__opencl_open) \
	X(devices.close, bi__opencl_close) \
	X(devices.locate, bi__opencl_locate) \
	X(devices.locate_queue, bi__opencl_locate_queue) \
	X(devices.drop_caches, bi__opencl_drop_caches) \
	X(devices.cache_state, bi__opencl_cache_state) \
	X(memory.alloc, bi__opencl_alloc) \
	X(memory.adopt, bi__opencl_adopt) \
	X(memory.free, bi__opencl_free) \
	X(order.stream_open, bi__opencl_stream_open) \
	X(order.stream_close, bi__opencl_stream_close) \
	X(order.follow, bi__opencl_follow) \
	X(order.record, bi__opencl_record) \
	X(order.wait, bi__opencl_wait) \
	X(order.poll, bi__opencl_poll) \
	X(order.drain, bi__opencl_drain) \
	X(order.finish, bi__opencl_finish) \
	X(order.event_wrap, bi__opencl_event_wrap) \
	X(order.event_retain, bi__opencl_event_retain) \
	X(order.event_release, bi__opencl_event_release) \
	X(move.copy, bi__opencl_copy) \
	X(move.takes, bi__opencl_takes) \
	X(move.elapsed, bi__opencl_elapsed) \
	X(move.map, bi__opencl_map) \
	X(move.unmap, bi__opencl_unmap) \
	X(launch.build, bi__opencl_build) \
	X(launch.unload, bi__opencl_unload) \
	X(launch.get, bi__opencl_get_kernel) \
	X(launch.put, bi__opencl_put_kernel) \
	X(launch.enqueue, bi__opencl_launch_kernel)

BI__OPENCL_OPERATIONS(BI__OPERATION)

#endif
