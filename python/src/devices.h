/* The function devices(), and the type Device of its entries. */
#ifndef BIP_DEVICES_H
#define BIP_DEVICES_H

#include "extension.h"

/* Creates the type Device and adds it to the module. Called once. */
int bip_devices_ready(PyObject *module);

PyObject *bip_devices(PyObject *module, PyObject *none);

#endif
