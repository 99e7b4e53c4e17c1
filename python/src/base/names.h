/* Interned names; attributes and items by name. All references are new. */
#ifndef BIP_NAMES_H
#define BIP_NAMES_H

#include "extension.h"

/* clang-format off */
#define BIP_NAMES(X) \
	X(__array_interface__) X(__array_struct__) X(__buffer_interface_c__) X(__cuda_array_interface__) \
	X(__cuda_stream__) X(__dlpack__) X(__dlpack_c_exchange_api__) X(__dlpack_device__) \
	X(backend) X(base_data) X(buffer) X(command_execution_status) X(context) X(copy) X(cuda_stream) X(data) X(descr) \
	X(device) X(dl_device) X(dtype) X(events) X(handle) X(int_ptr) X(mask) X(max_version) X(ndarray) X(numpy) \
	X(offset) X(ptr) X(queue) X(readonly) X(shape) X(stream) X(strides) X(typestr) X(value) X(version)
/* clang-format on */

/* bip_name.shape is the interned str "shape". Valid after bip_names_init. */
struct bip_names {
#define BIP_NAME_MEMBER(name) PyObject *name;
	BIP_NAMES(BIP_NAME_MEMBER)
#undef BIP_NAME_MEMBER
};
extern struct bip_names bip_name;
int bip_names_init(void);

/* *out is the attribute, or NULL if the object has none of that name. AttributeError alone means that. */
int bip_attribute(PyObject *object, PyObject *name, PyObject **out);
/* *out is the item of a dict or another mapping, or NULL if there is no such key. KeyError alone means that. */
int bip_item_of(PyObject *mapping, PyObject *key, PyObject **out);
/* Returns what the type or one of its bases has under that name, descriptors as they are; or NULL, no exception. */
PyObject *bip_type_attribute(PyTypeObject *type, PyObject *name);

#endif
