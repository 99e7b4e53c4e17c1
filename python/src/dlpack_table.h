/* DLPack's table of C functions, `__dlpack_c_exchange_api__` on a type: binary the same as DLPackExchangeAPI of 1.3. */
#ifndef BIP_DLPACK_TABLE_H
#define BIP_DLPACK_TABLE_H

#include "extension.h"

#define BIP_DLPACK_TABLE "dlpack_exchange_api" /* name of the capsule */

struct bip_dlpack_header {
	struct bi_dl_version version; /* look at `major` before anything behind the header is touched */
	const struct bip_dlpack_header *previous; /* an older table, or NULL */
};

/* Functions return 0, or -1 with an exception set. None of them waits, or makes anything wait. */
struct bip_dlpack_table {
	struct bip_dlpack_header header;
	int (*allocate)(struct bi_dl_tensor *prototype, struct bi_dl_managed_versioned **out, void *error,
			void (*set_error)(void *error, const char *kind, const char *message));
	int (*from_object)(void *object, struct bi_dl_managed_versioned **out);
	int (*to_object)(struct bi_dl_managed_versioned *tensor, void **out);
	int (*describe_object)(void *object, struct bi_dl_tensor *out); /* or NULL */
	int (*current_work_stream)(int32_t device_type, int32_t device_id, void **out);
};

#endif
