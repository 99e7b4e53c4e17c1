/*
 * The library is unloaded while a driver may still call it.
 *
 *     unload LIBRARY DEVICE
 *
 * This program links neither the library nor a driver. A handle that the caller retains outlives the context, the view
 * and the library; when it is released, the driver must not call code that is gone.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>

#include "buffer_interface.h"

/* Finds a function of the library; the union avoids a conversion between a pointer to data and one to a function. */
#define FIND(library, name) \
	do { \
		union { \
			void *found; \
			__typeof__(&name) function; \
		} symbol = { dlsym(library, #name) }; \
		p_##name = symbol.function; \
	} while (0)

static __typeof__(&bi_context_open) p_bi_context_open;
static __typeof__(&bi_context_release) p_bi_context_release;
static __typeof__(&bi_view_empty) p_bi_view_empty;
static __typeof__(&bi_view_native) p_bi_view_native;
static __typeof__(&bi_view_release) p_bi_view_release;
static __typeof__(&bi_dtype_parse) p_bi_dtype_parse;
static __typeof__(&bi_fill) p_bi_fill;

static int (*retain)(uintptr_t), (*release)(uintptr_t);

static int find_driver(void)
{
	void *driver = dlopen("libOpenCL.so.1", RTLD_NOW);
	union {
		void *found;
		int (*function)(uintptr_t);
	} symbol;

	if (!driver)
		return 0;
	symbol.found = dlsym(driver, "clRetainMemObject");
	retain = symbol.function;
	symbol.found = dlsym(driver, "clReleaseMemObject");
	release = symbol.function;
	return retain && release;
}

/* Returns a handle that is retained once, after all else of the library has been released. */
static uintptr_t retained_handle(const char *device)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_native native;
	struct bi_view *view;
	struct bi_dtype dtype;
	struct bi_error err;

	options.device = device;
	if (p_bi_context_open(&options, &context, &err) || p_bi_dtype_parse("uint8", &dtype, &err) ||
	    p_bi_view_empty(context, dtype, 1, &(int64_t){ 4096 }, &view, &err) ||
	    p_bi_fill(view, &(uint8_t){ 1 }, NULL, &err)) {
		printf("wrong: %s\n", err.message);
		exit(1);
	}
	p_bi_view_native(view, &native);
	if (retain(native.handle))
		exit(1);
	p_bi_view_release(view);
	p_bi_context_release(context);
	return native.handle;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	uintptr_t handle;

	if (!library || !find_driver()) {
		printf("usage: unload LIBRARY DEVICE (%s)\n", argc == 3 ? dlerror() : "");
		return 2;
	}
	FIND(library, bi_context_open);
	FIND(library, bi_context_release);
	FIND(library, bi_view_empty);
	FIND(library, bi_view_native);
	FIND(library, bi_view_release);
	FIND(library, bi_dtype_parse);
	FIND(library, bi_fill);
	handle = retained_handle(argv[2]);
	dlclose(library);
	release(handle);
	printf("the driver called nothing that is gone\n");
	return 0;
}
