/*
 * The CUDA device that is current on the calling thread while a producer is asked [E9]
 *
 * Some libraries export arrays of the current device only. The functions are those of the driver that the library has
 * opened; without it there is no context to enter.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "producer.h"

static struct {
	int (*get)(void **context);
	int (*push)(void *context);
	int (*pop)(void **context);
} driver;

static pthread_once_t opening = PTHREAD_ONCE_INIT;

static void find(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	memcpy(slot, &address, sizeof(address));
}

static void open_driver(void)
{
	const char *named = getenv("BI_CUDA_LIBRARY");
	void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return;
	find(library, "cuCtxGetCurrent", &driver.get);
	find(library, "cuCtxPushCurrent_v2", &driver.push);
	find(library, "cuCtxPopCurrent_v2", &driver.pop);
}

int bip_enter(const struct bi_context *context)
{
	void *wanted = (void *)bi_context_handle(context), *current = NULL;

	pthread_once(&opening, open_driver);
	if (!driver.get || !driver.push || !driver.pop || driver.get(&current) || current == wanted)
		return 0;
	return driver.push(wanted) == 0;
}

void bip_leave(int entered)
{
	void *left;

	if (entered)
		driver.pop(&left);
}
