/* One of the copies of the library in the process: copies_side.c, linked with that copy. */
#ifndef BI_TESTS_PROCESS_COPIES_H
#define BI_TESTS_PROCESS_COPIES_H

#include "buffer_interface.h"

#define COPIES_BYTES ((int64_t)4 << 20)

struct copies_side {
	/* Exports an array of `value` whose work is pending, and releases it. Returns the native context, to be
	 * adopted. */
	int (*produce)(const char *device, unsigned char value, struct bi_exchange *out, uintptr_t *native,
		       struct bi_error *err);
	/* Imports the array, copies it, and releases all. *sum = the sum of the bytes of the copy. */
	int (*consume)(const char *device, uintptr_t native, struct bi_exchange *exchange, uint64_t *sum,
		       struct bi_error *err);
};

const struct copies_side *copies_side(void);

#endif
