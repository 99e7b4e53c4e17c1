/* Imports: what every importer has in common, and buffer_interface() itself. */
#ifndef BIP_IMPORT_IMPORT_H
#define BIP_IMPORT_IMPORT_H

#include "extension.h"

enum bip_protocol {
	BIP_ANY,
	BIP_NATIVE, /* "native": __buffer_interface_c__ */
	BIP_DRAFT, /* "draft": buffer, offset, dtype or typestr, shape, strides */
	BIP_PYOPENCL, /* "pyopencl" */
	BIP_CAI, /* "cuda_array_interface" */
	BIP_DLPACK, /* "dlpack" */
	BIP_BUFFER, /* "buffer": PEP 3118 */
	BIP_ARRAY_INTERFACE, /* "array_interface" */
	BIP_ARRAY_STRUCT /* "array_struct" */
};

/* What the caller of buffer_interface() asks for. All references are borrowed. */
struct bip_request {
	PyObject *stream; /* NULL: none */
	PyObject *producer_stream; /* NULL: what the producer says */
	int sync; /* 0: sync=False */
	int writable; /* -1: as the producer says, 0: a read-only view, 1: refuse what is read-only */
	int keep_mask;
	int check; /* 0: pointers are believed */
	int trust; /* 1: handles are believed that cannot be checked */
	enum bip_protocol protocol;
};

/* What an importer makes of an object. All owned. */
struct bip_found {
	struct bi_view *view;
	struct bi_view *mask; /* or NULL */
	unsigned flags; /* BIP_WAIT_AT_EXIT, BIP_GIVES_BACK */
};

/*
 * An importer. Returns 1 if it imported, 0 if the object does not have the protocol (nothing is set), -1 with an
 * exception. Each looks an attribute up once, and takes AttributeError alone for "not there" [C14]. It keeps the
 * producing object alive through bip_drop. Views it makes are as the producer says; import.c applies `writable`,
 * `stream` and `copy`.
 */
typedef int bip_importer(PyObject *object, const struct bip_request *request, struct bip_found *found);

bip_importer bip_import_native; /* native.c: __buffer_interface_c__ of other modules and of ourselves */
bip_importer bip_import_draft; /* draft.c */
bip_importer bip_import_pyopencl; /* pyopencl.c */
bip_importer bip_import_cai; /* cai.c; all kinds */
/* cai.c: the dictionary is asked for once, and comes before DLPack if it names a stream, behind it otherwise. */
bip_importer bip_import_cai_or_dlpack;
bip_importer bip_import_dlpack; /* dlpack.c: exchange table, then __dlpack__ */
bip_importer bip_import_buffer; /* host.c */
bip_importer bip_import_array_interface;
bip_importer bip_import_array_struct;
/* numpy.ma and its like, whose protocols give the array without its mask: UnsupportedError if there is one [H5]. */
int bip_refuse_masked(PyObject *object);

/* The whole of buffer_interface(obj, ...): METH_FASTCALL | METH_KEYWORDS. */
PyObject *bip_buffer_interface(PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);
/* With defaults, for functions that take any array: a new reference; our own objects come back as they are. */
PyObject *bip_as_object(PyObject *object);

#endif
