/*
 * Public structs that begin with their own size, so that programs built with an older or a newer header work
 *
 * An older program has a shorter struct: the missing members count as 0, which means the default. A newer program has a
 * longer struct, which is accepted if the members that this library lacks are 0. New members are added at the end,
 * never into padding, because an older program may leave its padding undefined.
 */
#ifndef BI_COMMON_BASE_SIZED_H
#define BI_COMMON_BASE_SIZED_H

#include <stddef.h>

#include "buffer_interface.h"

/* The largest size that is accepted. No struct with a size will be longer, so a larger number is an error. */
#define BI__SIZED_MAX 4096

struct bi__sized {
	const char *name; /* name of the parameter, for messages */
	size_t size; /* size of the struct in this library */
	size_t least; /* smallest size: the end of the members that every version has */
};

/* Bytes from the start of a struct to the end of a member. */
#define BI__SIZED_END(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

const void *bi__sized_convert(const struct bi__sized *type, const void *given, void *copy, struct bi_error *err);

/*
 * Converts a struct of the caller to this library's version. Returns `given` if it has this library's size. Otherwise
 * fills `copy`, which has type->size bytes, and returns `copy`. Returns NULL with BI_EINVAL if the size is not
 * accepted, or if a member that this library lacks is not 0. `given` is not NULL.
 */
static inline const void *bi__sized_read(const struct bi__sized *type, const void *given, void *copy,
					 struct bi_error *err)
{
	return *(const size_t *)given == type->size ? given : bi__sized_convert(type, given, copy, err);
}

#endif
