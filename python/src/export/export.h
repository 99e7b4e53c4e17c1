/*
 * Exports: the protocols that a BufferInterface supports as a producer
 *
 * Tensors, exchange structures and array structs hold a reference to the view, unless the caller borrows. A Py_buffer
 * holds a reference to the view and to the object. A dictionary holds no reference. If the export or the consumer names
 * a stream, the memory is ready on that stream. Otherwise the calling thread waits for pending work, unless the caller
 * opts out of order.
 */
#ifndef BIP_EXPORT_EXPORT_H
#define BIP_EXPORT_EXPORT_H

#include "extension.h"

/* Make the capsules that are attributes of the type. */
PyObject *bip_native_capsule(void); /* native.c: __buffer_interface_c__ */
PyObject *bip_dlpack_capsule(void); /* dlpack_table.c: __dlpack_c_exchange_api__ */

/*
 * Methods, getters and buffer functions of the type, with the signatures of CPython. A comment names the file that
 * defines the function and the functions below it.
 */
PyObject *bip_describe(PyObject *self, PyObject *const *args, Py_ssize_t count); /* native.c: __buffer_interface__ */
PyObject *bip_get_cuda_array_interface(PyObject *self, void *closure); /* cai.c */
bip_method bip_cuda_array_interface;
bip_method bip_dlpack; /* dlpack.c */
PyObject *bip_dlpack_device(PyObject *self, PyObject *none);
PyObject *bip_get_array_interface(PyObject *self, void *closure); /* host.c */
PyObject *bip_get_array_struct(PyObject *self, void *closure);
int bip_getbuffer(PyObject *self, Py_buffer *buffer, int flags);
void bip_releasebuffer(PyObject *self, Py_buffer *buffer);

/*
 * dlpack.c: deletes a tensor of bi_dlpack_export that no consumer owns. The tensor may have the last reference to its
 * view. Drops the GIL if the release of the view may wait.
 */
void bip_delete_export(struct bi_dl_managed_versioned *tensor);

#endif
