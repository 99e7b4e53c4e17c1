/* Opens vendor libraries at run time. No other file of src calls dlopen. */
#ifndef BI_COMMON_BASE_DL_H
#define BI_COMMON_BASE_DL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/status.h"

/* Chooses the file name of a library for this kind of system. A name may be NULL. */
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
 * Opens a driver library and fills `table` with the addresses of its functions. Slots of missing optional symbols
 * become NULL. The table begins with a `void *`, which receives the library itself for bi__dl_symbol. The function is
 * not thread-safe: call it with a lock held.
 *
 * If the environment variable `variable` is set and not empty, its value names the library. Otherwise, on Linux, the
 * first library of the process whose file name matches names[0] and that has all required symbols is used. The file
 * name may have "-" and a suffix before its first dot, and "." and a suffix at its end. If no such library is found,
 * the first of `names` that loads is used. `names` ends with NULL.
 *
 * Returns BI_ENODEVICE if no library loads, or if a required symbol is missing. Then the table is unchanged. If no
 * library loads, the message has the names that were tried, with the reasons, as far as they fit.
 *
 * On success the driver library is never closed. The code of BufferInterface stays loaded until the process ends,
 * because the driver may call functions of it.
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
 * Returns BI_OK if `open` has succeeded before. Otherwise calls `open` with once->lock held and returns its status.
 * After a failure the next call tries again. Any thread may call the function.
 */
int bi__dl_open_once(struct bi__dl_once *once, int (*open)(struct bi_error *err), struct bi_error *err);

/* Returns 1 if the library loads. It stays loaded. Otherwise writes "name: reason" into `reason` and returns 0. */
int bi__dl_loads(const char *name, char *reason, size_t capacity);

#endif
