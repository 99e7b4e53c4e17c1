/* The size up to which the calling thread copies by itself instead of enqueueing a command. */
#ifndef BI_COMMON_BASE_INLINE_LIMIT_H
#define BI_COMMON_BASE_INLINE_LIMIT_H

#include <stddef.h>

/*
 * Returns the limit in bytes: the environment variable BI_AT_ONCE, read when the limit is needed first, if it is a
 * number up to 1 MiB; else 16 KiB. 0: nothing is copied inline, whether the caller waits for the copy or not.
 */
size_t bi__inline_limit(void);

#endif
