#ifdef __linux__
#define _GNU_SOURCE /* dladdr */
#endif
#include "common/base/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/environment.h"

/* Appends "name: reason" to `tried`, cut to its capacity. Most reasons of dlerror begin with the name already. */
static void append_reason(char *tried, size_t capacity, const char *name)
{
	size_t used = strlen(tried), length = strlen(name);
	const char *reason = dlerror();

	if (!reason)
		reason = "not loadable";
	if (strncmp(reason, name, length) == 0 && strncmp(reason + length, ": ", 2) == 0)
		reason += length + 2;
	snprintf(tried + used, capacity - used, "%s%s: %s", used ? "; " : "", name, reason);
}

static void *open_first(const char *const *names, char *tried, size_t capacity)
{
	for (; *names; names++) {
		void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);

		if (library)
			return library;
		append_reason(tried, capacity, *names);
	}
	return NULL;
}

/*
 * Keeps the code of this library loaded until the process ends. From now on a driver may call this code at any time: at
 * the end of a buffer that the caller still holds, or to run a native kernel. If this library is linked into another
 * library, that library stays loaded. If it is linked into the program, dlopen fails, which does no harm.
 */
static void keep_own_code_loaded(void)
{
#ifdef RTLD_NODELETE
	static const char own = 0;
	Dl_info info;

	if (dladdr(&own, &info) && info.dli_fname)
		(void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

int bi__dl_open(const char *variable, const char *const *names, const struct bi__symbol *symbols, size_t count,
		void *table, struct bi_error *err)
{
	char tried[512] = "";
	const char *chosen = bi__environment(variable);
	const char *const only[] = { chosen, NULL };
	void *library = open_first(chosen && *chosen ? only : names, tried, sizeof(tried));

	if (!library)
		return bi__fail(err, BI_ENODEVICE, "no driver library (%s names another): %s", variable, tried);
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address && symbols[i].required) {
			dlclose(library);
			return bi__fail(err, BI_ENODEVICE, "the driver library lacks %s", symbols[i].name);
		}
		memcpy((char *)table + symbols[i].slot, &address, sizeof(address));
	}
	keep_own_code_loaded();
	return BI_OK;
}
