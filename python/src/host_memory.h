/* Memory that consumers may read and write as host memory. */
#ifndef BIP_HOST_MEMORY_H
#define BIP_HOST_MEMORY_H

#include "extension.h"

/*
 * Returns true for host memory and for CUDA's pinned host memory. Returns false for managed memory, because the CPU may
 * not access it while the device works.
 */
int bip_is_host(const struct bi_view *view);

/* Returns the address of element [0, ..., 0] of host memory. It is not NULL, even if the array has no elements [H4]. */
void *bip_host_address(const struct bi_view *view);

/*
 * Blocks the calling thread until no work on the memory is pending, for protocols that name no stream. Drops the GIL
 * meanwhile. The caller owns a reference to the view.
 */
int bip_settle(const struct bi_view *view);

/* The struct PyArrayInterface of NumPy's documentation. The capsule __array_struct__ points to it. */
struct bip_array_struct {
	int two; /* always 2 */
	int nd;
	char typekind;
	int itemsize;
	int flags;
	Py_ssize_t *shape;
	Py_ssize_t *strides;
	void *data;
	PyObject *descr;
};

/* Flags of the struct. All but HAS_DESCR are also flags of numpy.ndarray. */
enum bip_array_flag {
	BIP_ARRAY_C_CONTIGUOUS = 1,
	BIP_ARRAY_F_CONTIGUOUS = 2,
	BIP_ARRAY_ALIGNED = 0x100,
	BIP_ARRAY_NOT_SWAPPED = 0x200,
	BIP_ARRAY_WRITEABLE = 0x400,
	BIP_ARRAY_HAS_DESCR = 0x800
};

#endif
