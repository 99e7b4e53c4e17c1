/* Interned names, and access to attributes and items by name. All objects that are returned are new references. */
#ifndef BIP_NAMES_H
#define BIP_NAMES_H

#include "extension.h"

/* clang-format off */
#define BIP_NAMES(X) \
	X(__array_interface__) X(__array_struct__) X(__buffer_interface__) X(__buffer_interface_c__) X(_queue) \
	X(__cuda_array_interface__) X(__cuda_stream__) X(__dlpack__) X(__dlpack_c_exchange_api__) X(__dlpack_device__) \
	X(backend) X(base_data) X(buffer) X(buffer_interface_version) X(context) X(copy) X(cuda_stream) \
	X(data) X(descr) X(device) X(dl_device) X(dtype) X(events) X(get_info) X(handle) X(host_pointer) X(int_ptr) \
	X(is_conj) X(is_neg) X(itemsize) X(mask) X(max_version) X(nbytes) X(ndim) X(offset) X(ptr) X(queue) X(readonly) \
	X(requires_grad) X(shape) X(size) X(stream) X(strides) X(svm_ptr) X(to_numpy) X(typestr) X(value) X(version)
/* clang-format on */

/* Interned strings: bip_name.shape is the str "shape". Valid after bip_names_init. */
struct bip_names {
#define BIP_NAME_MEMBER(name) PyObject *name;
	BIP_NAMES(BIP_NAME_MEMBER)
#undef BIP_NAME_MEMBER
};
extern struct bip_names bip_name;
int bip_names_init(void);

/*
 * Returns the UTF-8 of a str. The str owns the text. Raises ValueError if the str has no UTF-8, or contains a NUL,
 * which C code would take for the end of the text.
 */
const char *bip_utf8(PyObject *string);

/* Refuses an attribute that cannot be called: TypeError with its name. Returns 0, or -1 with the exception. */
int bip_check_method(PyObject *method, PyObject *name);

/*
 * Reads an attribute. Sets *out to NULL and returns 0 if getting it raises AttributeError; any other exception is a
 * failure.
 */
int bip_attribute(PyObject *object, PyObject *name, PyObject **out);
/*
 * Reads an item of a dict or another mapping. Sets *out to NULL and returns 0 if getting it raises KeyError; any other
 * exception is a failure.
 */
int bip_item_of(PyObject *mapping, PyObject *key, PyObject **out);
/*
 * Returns the attribute of that name of the type or of one of its bases. A descriptor is returned as it is. Returns
 * NULL without an exception if there is none. Called without an exception set, because the look-up can clear it.
 */
PyObject *bip_type_attribute(PyTypeObject *type, PyObject *name);
/* Returns true if bip_type_attribute finds one. Runs no code of the object, unlike PyObject_HasAttr. */
int bip_type_has(PyTypeObject *type, PyObject *name);
/*
 * Returns an attribute of a module that has been imported. Returns NULL without an exception if the module has not been
 * imported, or with an exception on failure.
 */
PyObject *bip_attribute_of_module(const char *module_name, const char *name);

#endif
