/* Streams that users give: ints, and stream objects of other packages. */
#ifndef BIP_STREAMS_H
#define BIP_STREAMS_H

#include "extension.h"

/*
 * Makes a stream of `context` from the object that a user gave. CUDA: an int (1, 2 or a handle), an object with
 * __cuda_stream__, or a stream of CuPy (`ptr`), PyTorch (`cuda_stream`), Numba or PyCUDA (`handle`). OpenCL: a command
 * queue of pyopencl (`int_ptr`). For NULL and None *out is NULL. The stream keeps the object alive. For the handle of
 * the context stream, *out is the context stream itself, which keeps no object. Raises ValueError for host memory, for
 * an int that is no stream, such as 0 or -1, and for a stream of another context. Raises TypeError for other objects.
 */
int bip_stream(PyObject *object, struct bi_context *context, struct bi_stream **out);
/* Makes a stream as bip_stream does. `name` is the name of the argument in messages. */
int bip_stream_named(const char *name, PyObject *object, struct bi_context *context, struct bi_stream **out);
/*
 * Returns the object whose handle a producer gave as the stream of `array`: the attribute `stream` of the array, or
 * CuPy's current stream. Returns NULL without an exception if neither has that handle, or with an exception that
 * bip_clear_error keeps. A stream is not destroyed as long as its object is kept. Not every array keeps the object of
 * its stream.
 */
PyObject *bip_stream_behind(PyObject *array, uintptr_t handle);

#endif
