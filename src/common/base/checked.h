/* Checked integer arithmetic. Each function returns 1 on overflow and leaves *out undefined. */
#ifndef BI_COMMON_BASE_CHECKED_H
#define BI_COMMON_BASE_CHECKED_H

#include <stddef.h>
#include <stdint.h>

static inline int bi__add(int64_t a, int64_t b, int64_t *out)
{
	return __builtin_add_overflow(a, b, out);
}

static inline int bi__sub(int64_t a, int64_t b, int64_t *out)
{
	return __builtin_sub_overflow(a, b, out);
}

static inline int bi__mul(int64_t a, int64_t b, int64_t *out)
{
	return __builtin_mul_overflow(a, b, out);
}

static inline int bi__add_size(size_t a, size_t b, size_t *out)
{
	return __builtin_add_overflow(a, b, out);
}

static inline int bi__mul_size(size_t a, size_t b, size_t *out)
{
	return __builtin_mul_overflow(a, b, out);
}

#endif
