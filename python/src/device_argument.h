/* The argument `device` of operations. */
#ifndef BIP_DEVICE_ARGUMENT_H
#define BIP_DEVICE_ARGUMENT_H

#include "extension.h"

/*
 * Returns in *out the context that a `device` argument names: a device string, a CUDA ordinal, a tuple (platform,
 * ordinal) of OpenCL, an entry of devices(), or a BufferInterface on the device. NULL and None mean "auto". An owned
 * reference. TypeError or ValueError for anything else, DriverError if the device cannot be opened.
 */
int bip_device_context(PyObject *device, struct bi_context **out);

#endif
