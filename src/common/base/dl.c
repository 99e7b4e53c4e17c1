#include "common/base/dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int bi__dl_open(const char *variable, const char *const *names, const struct bi__symbol *symbols, size_t count,
		void *table, struct bi_error *err)
{
	char tried[512] = "";
	const char *chosen = getenv(variable);
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
	return BI_OK;
}
