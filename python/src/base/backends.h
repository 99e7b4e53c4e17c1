/* Backends of the library, by name, by context and by the handles of their memory. */
#ifndef BIP_BACKENDS_H
#define BIP_BACKENDS_H

#include "extension.h"

/* Returns 1 and the backend whose name is the first `length` characters of `name`; 0 if there is none. */
int bip_backend_named(const char *name, size_t length, struct bi_backend *out);
/* Returns the backend of a context. */
struct bi_backend bip_backend_of(const struct bi_context *context);
/* Returns 1 and the backend whose device memory has handles of that kind; 0 if there is none. */
int bip_backend_with_handle(uint32_t kind, struct bi_backend *out);

/* Returns 1 and the first backend whose devices are named by so many numbers; 0 if there is none. */
int bip_backend_with_numbers(int numbers, struct bi_backend *out);

/* Returns 1 if handles of that kind are addresses. Any other is an object of a driver. */
static inline int bip_is_address(uint32_t kind)
{
	return kind >= BI_HANDLE_HOST && kind <= BI_HANDLE_CL_USM && kind != BI_HANDLE_CL_MEM;
}

#endif
