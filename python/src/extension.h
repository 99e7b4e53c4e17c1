/*
 * The Python extension buffer_interface._core: declarations and conventions for all of its files
 *
 * The extension translates between Python's objects and the public C headers. The library describes arrays, orders the
 * work and checks the values. The extension converts values, keeps references, and raises exceptions for errors.
 *
 * Layers, the lowest first: this header; base/ (without the type BufferInterface); this folder; import/ and export/,
 * which do not include each other; operations/; and type.c, properties.c and module.c. A file includes headers of its
 * own layer and of lower layers. Paths of #include begin in this folder.
 *
 * Conventions, unless a comment says otherwise
 *   - A function that returns PyObject * returns a new reference, or NULL with an exception set.
 *   - A function that returns int returns 0, or -1 with an exception set. A function named is_... or has_... returns
 *     true or false and sets no exception.
 *   - The caller holds the GIL, or is attached to the interpreter where there is no GIL.
 *   - The caller owns the object that a parameter `**out` receives. *out is undefined on failure. Arguments are
 *     borrowed for the call.
 *   - No borrowed reference is kept across a call that can run Python code.
 *   - The GIL is dropped for calls of the library that may wait for a device or take long, such as copies, mappings,
 *     synchronisation and opening a device. The caller then owns a reference to the view (bip_hold). A release that
 *     closes a context drops the GIL in the callback bip_close_context.
 *   - A function named ..._locked is called in the object's critical section (BIP_LOCK). In contexts.c it is called
 *     with the lock of the cache. The guarded members of an object are read and written only in the critical section,
 *     or while no other thread can use the object. Elsewhere a function has a reference to the view (bip_hold). With
 *     a GIL BIP_LOCK takes no lock.
 *   - "[C14]" in a comment or message names a rule of docs/conformance.md.
 */
#ifndef BIP_EXTENSION_H
#define BIP_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#include "buffer_interface.h"
#include "buffer_interface/binding.h"
#include "buffer_interface/cai.h"
#include "buffer_interface/dlpack.h"

/* A method of an array, or a function of the module, with METH_FASTCALL | METH_KEYWORDS. */
typedef PyObject *bip_method(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);

#if PY_VERSION_HEX >= 0x030D0000
#define BIP_LOCK(object) Py_BEGIN_CRITICAL_SECTION(object);
#define BIP_UNLOCK() Py_END_CRITICAL_SECTION()
#else
#define BIP_LOCK(object) {
#define BIP_UNLOCK() }
#endif

#endif
