/* Answers of a driver before cuInit. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"

static void find(void *library, const char *symbol, void *slot)
{
	void *found = dlsym(library, symbol);

	if (!found) {
		fprintf(stderr, "the driver has no %s\n", symbol);
		exit(EXIT_FAILURE);
	}
	memcpy(slot, &found, sizeof(found));
}

/* Documented: every function but these two answers that the driver is not initialised. */
static void ask(void *library)
{
	bi__cu_result (*init)(unsigned), (*get_version)(int *), (*get_count)(int *);
	bi__cu_result (*get_name)(bi__cu_result, const char **), (*get_current)(bi__cu_context *);
	bi__cu_context context;
	bi__cu_result result;
	const char *name = NULL;
	int number;

	find(library, "cuInit", &init);
	find(library, "cuDriverGetVersion", &get_version);
	find(library, "cuDeviceGetCount", &get_count);
	find(library, "cuGetErrorName", &get_name);
	find(library, "cuCtxGetCurrent", &get_current);
	printf("before.device_count: %s\n", code(get_count(&number)));
	printf("before.current_context: %s\n", code(get_current(&context)));
	printf("before.version: %s\n", code(get_version(&number)));
	result = get_name(BI__CU_ERROR_INVALID_VALUE, &name);
	printf("before.error_name: %s %s\n", code(result), name ? name : "NULL");
	printf("before.init_with_flags: %s\n", code(init(1)));
	printf("before.device_count_after_failed_init: %s\n", code(get_count(&number)));
}

void ask_before(void)
{
	const char *name = getenv("BI_CUDA_LIBRARY");
	void *library = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	/* cuda_driver() says why, a moment later. */
	if (library)
		ask(library);
}
