/*
 * Lets one allocation fail. Programs that use it are linked with -Wl,--wrap=malloc, which sends the calls of malloc in
 * the library and the test here, but not those in shared libraries such as drivers.
 */
#ifndef BI_TESTS_FAIL_MALLOC_H
#define BI_TESTS_FAIL_MALLOC_H

#include <stddef.h>

/* The next call of malloc with that size returns NULL; 0: none does. */
void fail_malloc_of(size_t nbytes);

#endif
