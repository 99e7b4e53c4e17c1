#include "newer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct newer functions;

static void find_newer(void)
{
	const char *name = getenv("BI_CUDA_LIBRARY");
	void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;

#define NEWER_LOAD(name, symbol, necessity, parameters) \
	found = library ? dlsym(library, #symbol) : NULL; \
	memcpy(&functions.name, &found, sizeof(found));
	NEWER_API(NEWER_LOAD)
#undef NEWER_LOAD
}

const struct newer *newer(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_newer);
	return &functions;
}
