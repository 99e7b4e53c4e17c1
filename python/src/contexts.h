/*
 * The cache of contexts
 *
 * Each context is opened or adopted once, and kept for the next use until trim() or the end of the process. The results
 * in *out are owned references.
 */
#ifndef BIP_CONTEXTS_H
#define BIP_CONTEXTS_H

#include "extension.h"

/* Returns the context of host memory, borrowed. It is never closed. NULL with an exception. */
struct bi_context *bip_host_context(void);
/* The same as an owned reference. */
int bip_context_host(struct bi_context **out);
/* The primary context of a CUDA device. InvalidArrayError for a negative ordinal. */
int bip_context_cuda(int ordinal, struct bi_context **out);
/* The context of a device string: "auto", "cuda:1", "opencl:0:0", ... */
int bip_context_open(const char *device, struct bi_context **out);
/* The cl_context of a command queue, adopted. */
int bip_context_of_queue(uintptr_t queue, struct bi_context **out);
/* The context in which a memory was allocated, adopted or opened. */
int bip_context_of_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_context **out);

/* A command queue that somebody else made, as a stream of its context, which the stream keeps. */
int bip_stream_of_queue(uintptr_t queue, struct bi_stream **out);
/*
 * Returns the stream of the queue that `object` stands for, or NULL without an exception if the cache does not know the
 * object. An owned reference.
 */
struct bi_stream *bip_stream_named_by(const PyObject *object);
/*
 * Tells the cache that `object` stands for the queue of `stream`, for as long as the object lives. The cache keeps the
 * object as long as the queue.
 */
void bip_name_stream(struct bi_stream *stream, PyObject *object);

/* Trims every cached context and removes it from the cache: the adopted ones, or with `all` the opened ones too. */
void bip_contexts_close(int all);

/*
 * Releases a context; NULL is ignored. The GIL is dropped if this may be the last reference, because
 * closing a context waits for pending work.
 */
void bip_release_context(struct bi_context *context);
/* Returns true if the cache has a reference to the context. Stays true until the GIL is dropped. */
int bip_context_is_cached(const struct bi_context *context);

#endif
