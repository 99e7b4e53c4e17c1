/* devices(). */
#ifndef BIP_DEVICES_H
#define BIP_DEVICES_H

#include "extension.h"

PyObject *bip_devices(PyObject *module, PyObject *none);

/* Adds the type Device to the module. Once is enough. */
int bip_devices_ready(PyObject *module);

#endif
