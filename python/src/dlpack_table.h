/*
 * DLPack's table of C functions, the attribute `__dlpack_c_exchange_api__` of a type. The struct has the same binary
 * layout as DLPackExchangeAPI of DLPack 1.3.
 */
#ifndef BIP_DLPACK_TABLE_H
#define BIP_DLPACK_TABLE_H

#include "extension.h"

#define BIP_DLPACK_TABLE "dlpack_exchange_api" /* name of the capsule */

struct bip_dlpack_header {
	struct bi_dl_version version; /* check `major` before members behind the header are read */
	const struct bip_dlpack_header *previous; /* a table of an older version, or NULL */
};

/*
 * Functions return 0, or -1 with an exception set; `allocate` reports a failure to set_error instead. By DLPack's rules
 * no function synchronises. In this package, from_object and describe_object wait for pending work on memory that is
 * not on CUDA (export/dlpack_table.c).
 */
struct bip_dlpack_table {
	struct bip_dlpack_header header;
	int (*allocate)(struct bi_dl_tensor *prototype, struct bi_dl_managed_versioned **out, void *error,
			void (*set_error)(void *error, const char *kind, const char *message));
	int (*from_object)(void *object, struct bi_dl_managed_versioned **out);
	int (*to_object)(struct bi_dl_managed_versioned *tensor, void **out);
	int (*describe_object)(void *object, struct bi_dl_tensor *out); /* NULL: not supported */
	int (*current_work_stream)(int32_t device_type, int32_t device_id, void **out);
};

#endif
