/* Interned names; attributes and items by name. */
#ifndef BIP_NAMES_H
#define BIP_NAMES_H

#include "extension.h"

/* A new reference into *out, or NULL there and no exception if the attribute is not there. */
int bip_attribute(PyObject *object, PyObject *name, PyObject **out);
/* A new reference or NULL without exception if the key is not there; for exact dicts and any mapping. */
int bip_item_of(PyObject *mapping, PyObject *key, PyObject **out);
/* Interned names. */
#define BIP_NAMES(X) \
	X(__cuda_array_interface__) \
	X(__array_interface__) \
	X(__array_struct__) \
	X(__dlpack__) \
	X(__dlpack_device__) \
	X(__dlpack_c_exchange_api__) \
	X(__buffer_interface_c__) X(__cuda_stream__) X(shape) X(strides) X(typestr) X(dtype) X(data) X(version) \
		X(stream) X(descr) X(mask) X(offset) X(buffer) X(int_ptr) X(ptr) X(handle) X(cuda_stream) \
			X(max_version) X(dl_device) X(copy) X(queue) X(events) X(context) X(base_data) X(device) \
				X(readonly) X(backend) X(numpy) X(ndarray) X(value) X(command_execution_status)
struct bip_names {
#define BIP_NAME_MEMBER(name) PyObject *name;
	BIP_NAMES(BIP_NAME_MEMBER)
#undef BIP_NAME_MEMBER
};
extern struct bip_names bip_name;
int bip_names_init(void);

/* What the type and its bases have: a new reference, or NULL without an exception. Descriptors are not called. */
PyObject *bip_type_attribute(PyTypeObject *type, PyObject *name);

#endif
