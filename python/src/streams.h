/* Streams that users give: ints, and stream objects of other packages. */
#ifndef BIP_STREAMS_H
#define BIP_STREAMS_H

#include "extension.h"

/*
 * Makes a stream of `context` from the object that a user gave: an int (CUDA: 1, 2 or a handle), an object with
 * __cuda_stream__, a stream of CuPy (`ptr`), PyTorch (`cuda_stream`), Numba or PyCUDA (`handle`), or a command queue of
 * pyopencl (`int_ptr`). For NULL and None *out is NULL. The stream keeps the object alive. Raises ValueError for the
 * ints 0 and -1, TypeError for other objects.
 */
int bip_stream(PyObject *object, struct bi_context *context, struct bi_stream **out);
/* Makes a stream as bip_stream does. Messages call the argument `name`. */
int bip_stream_named(const char *name, PyObject *object, struct bi_context *context, struct bi_stream **out);
/*
 * Returns the object whose handle a producer gave as the stream of `array`: the attribute `stream` of the array, or
 * CuPy's current stream. Returns NULL without an exception if neither has that handle, or with an exception that
 * bip_clear_error keeps. While a view keeps the object, the stream is not destroyed: the array itself may not keep it.
 */
PyObject *bip_stream_behind(PyObject *array, uintptr_t handle);

#endif
