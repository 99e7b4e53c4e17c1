/* The largest copy or fill that the calling thread does inline instead of enqueueing a command. */
#ifndef BI_COMMON_BASE_INLINE_LIMIT_H
#define BI_COMMON_BASE_INLINE_LIMIT_H

#include <stddef.h>

/*
 * Returns the limit in bytes: the value of the environment variable BI_INLINE_LIMIT if it is a number up to 1 GiB, else
 * 16 MiB. The variable is read by the first call. With the limit 0, nothing is copied inline.
 */
size_t bi__inline_limit(void);

#endif
