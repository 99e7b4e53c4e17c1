/* Checked integer arithmetic. Each function with `out` returns 1 on overflow and leaves *out undefined. */
#ifndef BI_COMMON_BASE_CHECKED_H
#define BI_COMMON_BASE_CHECKED_H

#include <stddef.h>
#include <stdint.h>

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

/* Returns the greatest common divisor. With 0 it is the other number. */
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
