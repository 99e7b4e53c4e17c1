/* Vendor libraries, opened at run time. The only file that calls dlopen is dl.c. */
#ifndef BI_COMMON_BASE_DL_H
#define BI_COMMON_BASE_DL_H

#include "common/base/status.h"

/* One function of a driver: where its address goes, its name, and whether the library is of use without it. */
struct bi__symbol {
	size_t slot; /* offset of the function pointer in the table */
	const char *name;
	int required;
};

/*
 * Opens the library that the environment variable `variable` names, or else the first of `names` (NULL at the end) that
 * loads, and fills `table` (symbols that are optional and missing: NULL). The library is never closed. On failure the
 * message lists every name that was tried and why it failed: BI_ENODEVICE. Not thread-safe; call it under pthread_once.
 */
int bi__dl_open(const char *variable, const char *const *names, const struct bi__symbol *symbols, size_t count,
		void *table, struct bi_error *err);

#endif
