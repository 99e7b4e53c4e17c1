/* The argument `device`. */
#ifndef BIP_DEVICE_ARGUMENT_H
#define BIP_DEVICE_ARGUMENT_H

#include "extension.h"

/*
 * The context that a `device` argument means: a device string, a CUDA ordinal, (platform, ordinal), what devices()
 * lists, another BufferInterface; NULL and None mean "auto". Owned.
 */
int bip_device_context(PyObject *device, struct bi_context **out);

#endif
