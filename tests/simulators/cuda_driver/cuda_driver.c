#include "cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum necessity { optional, required };

static const char *library_name(void)
{
	const char *name = getenv("BI_CUDA_LIBRARY");

	return name && *name ? name : "libcuda.so.1";
}

/* The driver is never closed, as in the library. */
static void *library(void)
{
	static void *handle;

	if (!handle)
		handle = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "The CUDA driver does not open (BI_CUDA_LIBRARY names another): %s\n", dlerror());
		exit(EXIT_FAILURE);
	}
	return handle;
}

static void load(const char *symbol, enum necessity necessity, void *slot)
{
	void *found = dlsym(library(), symbol);

	if (!found && necessity == required) {
		fprintf(stderr, "%s has no %s\n", library_name(), symbol);
		exit(EXIT_FAILURE);
	}
	memcpy(slot, &found, sizeof(found));
}

static struct cuda_driver driver;
static struct cuda_sim sim;
static int is_simulated;

static void open_driver(void)
{
	bi__cu_result result;

#define DRIVER_LOAD(name, symbol, necessity, parameters) load(#symbol, necessity, &driver.name);
	BI__CU_API(DRIVER_LOAD)
	CUDA_DRIVER_MORE(DRIVER_LOAD)
#undef DRIVER_LOAD
	result = driver.Init(0);
	if (result != BI__CU_SUCCESS) {
		fprintf(stderr, "cuInit of %s returns %u\n", library_name(), result);
		exit(EXIT_FAILURE);
	}
}

static void open_sim(void)
{
	is_simulated = dlsym(library(), "cuda_sim_begin") != NULL;
	if (!is_simulated)
		return;
#define SIM_LOAD(name) load("cuda_sim_" #name, required, &sim.name);
	CUDA_SIM_MAP(SIM_LOAD)
#undef SIM_LOAD
}

const struct cuda_driver *cuda_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_driver);
	return &driver;
}

const struct cuda_sim *cuda_sim(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	cuda_driver();
	pthread_once(&once, open_sim);
	return is_simulated ? &sim : NULL;
}

void cuda_driver_hold(const char *spec)
{
	bi__cu_context context;
	int count = 0;

	if (strncmp(spec, "cuda", 4) != 0 || cuda_sim())
		return;
	cuda_driver()->DeviceGetCount(&count);
	for (int i = 0; i < count; i++)
		cuda_driver()->DevicePrimaryCtxRetain(&context, i);
}
