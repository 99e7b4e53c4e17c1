/*
 * The cache of contexts
 *
 * A context is opened or adopted at its first use. The cache keeps an opened context until the end of the process, and
 * an adopted one until trim(), unless new contexts replace it. The caller owns the references in *out.
 */
#ifndef BIP_CONTEXTS_H
#define BIP_CONTEXTS_H

#include "extension.h"

/* Returns the context of host memory, borrowed; it is never closed. Returns NULL with an exception on failure. */
struct bi_context *bip_host_context(void);
/* Sets *out to the context of host memory. */
int bip_context_host(struct bi_context **out);
/* Sets *out to the primary context of a CUDA device. Raises InvalidArrayError for a negative ordinal. */
int bip_context_cuda(int ordinal, struct bi_context **out);
/* Sets *out to the context of a device string such as "auto", "cuda:1" or "opencl:0:0". */
int bip_context_open(const char *device, struct bi_context **out);
/* Sets *out to a native context, adopted for the device at `position` in it. */
int bip_context_native(const char *backend, uint64_t native, int position, struct bi_context **out);
/* Sets *out to the cl_context of a command queue, adopted for the device of the queue. */
int bip_context_of_queue(uint64_t queue, struct bi_context **out);
/* Sets *out to the context of a memory: the adopted cl_context, or the primary context of the CUDA device. */
int bip_context_of_memory(enum bi_handle_kind kind, uint64_t handle, struct bi_context **out);

/* Sets *out to a stream for a command queue of another library. The stream keeps the context. */
int bip_stream_of_queue(uintptr_t queue, struct bi_stream **out);
/*
 * Returns an owned reference to the stream of the queue that `object` stands for. Returns NULL without an exception if
 * the object is not in the cache.
 */
struct bi_stream *bip_stream_named_by(const PyObject *object);
/*
 * Stores that `object` stands for the queue of `stream`. The cache owns a reference to the object until it drops the
 * queue, or another object replaces this one. Does nothing if the queue is not in the cache.
 */
void bip_name_stream(struct bi_stream *stream, PyObject *object);

/*
 * Trims every cached context, and drops the queues in the cache. Removes the adopted contexts from the cache, or with
 * `all` all contexts.
 */
void bip_contexts_close(int all);

#endif
