/*
 * Makes one allocation fail. Programs that use this file are linked with -Wl,--wrap=malloc. The option replaces malloc
 * in the library and the test, but not in shared libraries such as drivers.
 */
#ifndef BI_TESTS_FAIL_MALLOC_H
#define BI_TESTS_FAIL_MALLOC_H

#include <stddef.h>

/* The next call of malloc with this size returns NULL. 0: no call fails. */
void fail_malloc_of(size_t nbytes);

#endif
