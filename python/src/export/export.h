/* Exports: members of the type. They keep nothing of the object but a reference to its view. */
#ifndef BIP_EXPORT_EXPORT_H
#define BIP_EXPORT_EXPORT_H

#include "extension.h"
#include "buffer_interface/dlpack.h"

/* Type-level capsules, new references. */
PyObject *bip_native_capsule(void); /* native.c: "__buffer_interface_c__" */
PyObject *bip_dlpack_capsule(void); /* dlpack_table.c: "dlpack_exchange_api" */

/* Members of the type. */
PyObject *bip_get_cuda_array_interface(PyObject *self, void *closure); /* cai.c */
PyObject *bip_cuda_array_interface(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names);
PyObject *bip_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names); /* dlpack.c */
PyObject *bip_dlpack_device(PyObject *self, PyObject *none);
PyObject *bip_get_array_interface(PyObject *self, void *closure); /* host.c */
PyObject *bip_get_array_struct(PyObject *self, void *closure);
PyObject *bip_array(PyObject *self, PyObject *args, PyObject *kwargs); /* __array__, H3 */
int bip_getbuffer(PyObject *self, Py_buffer *buffer, int flags);
void bip_releasebuffer(PyObject *self, Py_buffer *buffer);

/* dlpack.c: lets go of a tensor of bi_dlpack_export that nobody took, by who has the GIL: it may be the last that holds
 * its view. */
void bip_delete_export(struct bi_dl_managed_versioned *tensor);

/* host.c: UnsupportedError if the array has a mask, which consumers of host memory would not see [H5]. */
int bip_refuse_host_mask(PyObject *self);

#endif
