/* Reads the argument `device` of functions and methods. */
#ifndef BIP_DEVICE_ARGUMENT_H
#define BIP_DEVICE_ARGUMENT_H

#include "extension.h"

/*
 * Sets *out to an owned reference to the context that a `device` argument names. The argument is a device string, a
 * CUDA ordinal, a tuple (platform, ordinal) of OpenCL, an entry of devices(), or a BufferInterface on the device. NULL
 * and None mean "auto". Raises TypeError or ValueError for any other argument, InvalidArrayError for a BufferInterface
 * that was released, DriverError if the device cannot be opened.
 */
int bip_device_context(PyObject *device, struct bi_context **out);

#endif
