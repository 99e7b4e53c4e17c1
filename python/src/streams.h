/* Streams that users give. */
#ifndef BIP_STREAMS_H
#define BIP_STREAMS_H

#include "extension.h"

/*
 * A stream for `context` from what a user gives: an int, __cuda_stream__(), the stream objects of CuPy (`ptr`), PyTorch
 * (`cuda_stream`), Numba and PyCUDA (`handle`), a pyopencl queue (`int_ptr`). None: *out is NULL. Owned. The object is
 * kept alive as long as the stream. int 0 is ValueError; -1 is no stream here.
 */
int bip_stream(PyObject *object, struct bi_context *context, struct bi_stream **out);
/* The same for an argument of another name, for messages. */
int bip_stream_named(const char *name, PyObject *object, struct bi_context *context, struct bi_stream **out);

#endif
