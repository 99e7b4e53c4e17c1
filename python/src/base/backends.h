/* Finds backends of the library: by name, by context, by the kind of their handles, and by their device strings. */
#ifndef BIP_BACKENDS_H
#define BIP_BACKENDS_H

#include "extension.h"

/*
 * Finds the backend whose name is the first `length` characters of `name`. Returns 1 with the backend in *out, or 0 if
 * there is none.
 */
int bip_backend_named(const char *name, size_t length, struct bi_backend *out);
struct bi_backend bip_backend_of(const struct bi_context *context);
/*
 * Finds the backend whose device memory has handles of that kind. Returns 1 with the backend in *out, or 0 if there is
 * none.
 */
int bip_backend_with_handle(uint32_t kind, struct bi_backend *out);

/*
 * Finds the first backend whose longest device string has `numbers` numbers: 2 as in "opencl:0:1". Returns 1 with the
 * backend in *out, or 0 if there is none.
 */
int bip_backend_with_numbers(int numbers, struct bi_backend *out);

/* Returns 1 if handles of that kind are addresses. Returns 0 for cl_mem and for unknown kinds. */
static inline int bip_is_address(uint32_t kind)
{
	return kind >= BI_HANDLE_HOST && kind <= BI_HANDLE_CL_USM && kind != BI_HANDLE_CL_MEM;
}

#endif
