#include "opencl_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void load(void *library, const char *name, void *slot)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		fprintf(stderr, "libOpenCL.so.1 has no %s\n", name);
		exit(EXIT_FAILURE);
	}
	memcpy(slot, &symbol, sizeof(symbol));
}

const struct driver *driver(void)
{
	static struct driver table;
	static void *library;

	if (library)
		return &table;
	library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(EXIT_FAILURE);
	}
#define DRIVER_LOAD(name) load(library, #name, &table.name);
	DRIVER_MAP(DRIVER_LOAD)
#undef DRIVER_LOAD
	return &table;
}
