/*
 * The Python extension: what its files share
 *
 * buffer_interface._core is a translation between Python's objects and the public C headers. What an array is, who
 * waits for whom and what is checked is decided by the library; here values are moved, references are kept, and errors
 * become exceptions.
 *
 * Data flows one way: arguments -> struct request -> importer (import_*.c) -> struct found -> object. Exports
 * (export_*.c) start from an object and keep nothing of it but a reference to its view.
 *
 * Conventions
 *   - Functions that return PyObject * return a new reference, or NULL with an exception set. Functions that return int
 *     return 0, or -1 with an exception set, unless their comment says otherwise.
 *   - No borrowed reference is kept across a call that can run Python code.
 *   - The library is called without the GIL where it may wait for a device or run for long (copies, mappings,
 *     synchronisation, opening a device); the view involved is then held with bip_hold. Everything else keeps it.
 *   - Without a GIL (free-threaded Python) `object->view` is read inside BIP_LOCK/BIP_UNLOCK or through bip_hold.
 */
#ifndef BIP_EXTENSION_H
#define BIP_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#include "buffer_interface.h"
#include "buffer_interface/cai.h"
#include "buffer_interface/dlpack.h"

#if PY_VERSION_HEX >= 0x030D0000
#define BIP_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object);
#define BIP_UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define BIP_LOCK(object) {
#define BIP_UNLOCK() }
#endif
#endif
