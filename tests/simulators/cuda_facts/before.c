/* Answers of a driver before cuInit. Most functions are documented to return NOT_INITIALIZED then. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

/* Finds a function without cuda_driver(), which would call cuInit. */
static void find_before(const char *symbol, void *slot)
{
	const char *name = getenv("BI_CUDA_LIBRARY");
	void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *found = library ? dlsym(library, symbol) : NULL;

	if (!found) {
		fprintf(stderr, "the driver has no %s\n", symbol);
		exit(EXIT_FAILURE);
	}
	memcpy(slot, &found, sizeof(found));
}

static const char *device_count(struct objects *objects)
{
	bi__cu_result (*get_count)(int *);
	int count;

	(void)objects;
	find_before("cuDeviceGetCount", &get_count);
	return code(get_count(&count));
}

static const char *current_context(struct objects *objects)
{
	bi__cu_result (*get_current)(bi__cu_context *);
	bi__cu_context context;

	(void)objects;
	find_before("cuCtxGetCurrent", &get_current);
	return code(get_current(&context));
}

static const char *version(struct objects *objects)
{
	bi__cu_result (*get_version)(int *);
	int number;

	(void)objects;
	find_before("cuDriverGetVersion", &get_version);
	return code(get_version(&number));
}

static const char *error_name(struct objects *objects)
{
	bi__cu_result (*get_name)(bi__cu_result, const char **);
	const char *name = NULL;
	bi__cu_result result;

	(void)objects;
	find_before("cuGetErrorName", &get_name);
	result = get_name(BI__CU_ERROR_INVALID_VALUE, &name);
	return say("%s %s", code(result), name ? name : "NULL");
}

static const char *init_with_flags(struct objects *objects)
{
	bi__cu_result (*init)(unsigned);

	(void)objects;
	find_before("cuInit", &init);
	return code(init(1));
}

static const char *device_count_after_failed_init(struct objects *objects)
{
	return device_count(objects);
}

const struct fact before_facts[] = {
	FACT(device_count, documented),    FACT(current_context, documented),
	FACT(version, documented),         FACT(error_name, documented),
	FACT(init_with_flags, documented), FACT(device_count_after_failed_init, documented),
	{ NULL, assumed, NULL },
};
