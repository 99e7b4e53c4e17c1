/* Checked integers. Each function with `out` returns 1 on overflow, else 0. On overflow *out is a wrong number. */
#ifndef BI_COMMON_BASE_CHECKED_H
#define BI_COMMON_BASE_CHECKED_H

#include "common/base/status.h"

#define BI__CHECKED(name, type, operation) \
	static inline int name(type a, type b, type *out) \
	{ \
		return __builtin_##operation##_overflow(a, b, out); \
	}

BI__CHECKED(bi__add, int64_t, add)
BI__CHECKED(bi__sub, int64_t, sub)
BI__CHECKED(bi__mul, int64_t, mul)
BI__CHECKED(bi__add_size, size_t, add)
BI__CHECKED(bi__mul_size, size_t, mul)

/* Returns BI_EINVAL if a handle of a producer does not fit into a pointer. `name` is the member with the handle. */
static inline int bi__check_handle(const char *name, uint64_t value, struct bi_error *err)
{
	if ((uintptr_t)value == value)
		return BI_OK;
	return bi__fail(err, BI_EINVAL, "%s 0x%llx is above the largest handle 0x%llx; a 64-bit process can import it",
			name, (unsigned long long)value, (unsigned long long)UINTPTR_MAX);
}

static inline int64_t bi__minimum(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns the greatest common divisor. If one number is 0, returns the other. */
static inline uint64_t bi__common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
