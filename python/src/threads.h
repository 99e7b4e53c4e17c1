/* threads() and set_threads(): how many threads copy large arrays on the CPU. */
#ifndef BIP_THREADS_H
#define BIP_THREADS_H

#include "extension.h"

PyObject *bip_threads(PyObject *module, PyObject *none);
PyObject *bip_set_threads(PyObject *module, PyObject *count);

#endif
