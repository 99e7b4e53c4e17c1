/* Opens vendor libraries at run time. Only dl.c calls dlopen. */
#ifndef BI_COMMON_BASE_DL_H
#define BI_COMMON_BASE_DL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/status.h"

/* The file names of a library: a list for each kind of system. */
#ifdef _WIN32
#define BI__DL_NAMES(elf, windows, macos) windows
#elif defined(__APPLE__)
#define BI__DL_NAMES(elf, windows, macos) macos
#else
#define BI__DL_NAMES(elf, windows, macos) elf
#endif

/* One function of a driver. A library that lacks a required function is refused. */
struct bi__symbol {
	size_t slot; /* offset of the function pointer in `table` of bi__dl_open */
	const char *name;
	int required;
};

/*
 * Opens a driver library and fills `table` with the addresses of its functions. The table begins with a `void *` for
 * the library itself, which bi__dl_symbol takes.
 *
 * The environment variable `variable` names the library. If it is unset or empty, a library is taken that the process
 * has already loaded from a file called names[0], with "-" and a suffix before the first dot or not, with further
 * digits of the version or not, and that has all required symbols (only on Linux). Otherwise the first of `names` that
 * loads is opened; `names` ends with NULL. Slots of missing optional symbols become NULL. The driver library is never
 * closed. The function is not thread-safe: call it with a lock held.
 *
 * Returns BI_ENODEVICE if no library loads (the message lists every name that was tried, with the reason) or if a
 * required symbol is missing. Then the table is unchanged.
 *
 * On success the code of BufferInterface stays loaded until the process ends, because the driver may call it back.
 */
int bi__dl_open(const char *variable, const char *const *names, const struct bi__symbol *symbols, size_t count,
		void *table, struct bi_error *err);

/* Returns the address of a function of an opened library, or NULL if the library does not have it. */
bi_function *bi__dl_symbol(void *library, const char *name);

/* The state of a driver library that is opened once in a process. */
struct bi__dl_once {
	pthread_mutex_t lock;
	atomic_bool is_open;
};

#define BI__DL_ONCE_INIT \
	{ \
		PTHREAD_MUTEX_INITIALIZER, false \
	}

/*
 * Calls `open` with the lock held, unless it has succeeded before. A failure is not kept: the next call tries again.
 * Any thread may call it.
 */
int bi__dl_open_once(struct bi__dl_once *once, int (*open)(struct bi_error *err), struct bi_error *err);

/* Returns 1 if the library loads; it stays loaded. Otherwise returns 0, and writes "name: reason" into `reason`. */
int bi__dl_loads(const char *name, char *reason, size_t capacity);

#endif
