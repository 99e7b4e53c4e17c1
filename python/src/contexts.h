/* The cache of contexts. */
#ifndef BIP_CONTEXTS_H
#define BIP_CONTEXTS_H

#include "extension.h"

/* That of host memory, borrowed: kept for ever, because no driver stands behind it. NULL with an exception. */
struct bi_context *bip_host_context(void);
/* All owned; they live in a cache of the module until bip_contexts_close or trim(). */
int bip_context_host(struct bi_context **out);
/* The primary context of a CUDA device. */
int bip_context_cuda(int ordinal, struct bi_context **out);
/* By device string ("auto", "cuda:1", "opencl:0:0"). */
int bip_context_open(const char *device, struct bi_context **out);
/* Of a cl_context that somebody else made, by a queue or a memory of it. */
int bip_context_of_queue(uintptr_t queue, struct bi_context **out);
int bip_context_of_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_context **out);
/* A queue that somebody else made, as a stream of that context, which it holds. */
int bip_stream_of_queue(uintptr_t queue, struct bi_stream **out);
/*
 * The same by an object that is known to be the name of one queue as long as it lives: bip_name_stream holds it until
 * the cache lets go of the queue. Retained, or NULL without an exception.
 */
struct bi_stream *bip_stream_named_by(const PyObject *object);
void bip_name_stream(struct bi_stream *stream, PyObject *object);

/* Trims the cached contexts and lets them go; with `all` 0 only adopted ones, which hold the cl_context of somebody
 * else. */
void bip_contexts_close(int all);

/* Costs next to nothing as long as the context is in the cache. */
void bip_release_context(struct bi_context *context);
/* With the GIL it stays so until that is dropped. */
int bip_context_is_cached(const struct bi_context *context);

#endif
