/*
 * Threads of the program use the library in another namespace (dlmopen), which has a C library of its own.
 *
 *     namespace LIBRARY DEVICE
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "buffer_interface.h"

#define SIDE 800

static void *library;
static const char *device;
static int32_t numbers[SIDE * SIDE];

/* The functions of the library. A union avoids a conversion between a pointer to data and one to a function. */
#define FIND(name) \
	union { \
		void *found; \
		__typeof__(&bi_##name) call; \
	} name = { dlsym(library, "bi_" #name) }

static int wrong(const char *text)
{
	printf("wrong: %s\n", text);
	return 1;
}

static int use_array(struct bi_context *context, struct bi_error *err)
{
	FIND(view_empty);
	FIND(fill);
	FIND(view_read);
	FIND(view_release);
	const struct bi_dtype type = { 4, 1, BI_INT32, 0 };
	struct bi_view *view;
	int rc = view_empty.call(context, type, 2, (const int64_t[]){ SIDE, SIDE }, &view, err);

	if (rc)
		return rc;
	rc = fill.call(view, &(int32_t){ 7 }, NULL, err);
	if (!rc)
		rc = view_read.call(view, numbers, sizeof(numbers), err);
	view_release.call(view);
	return rc;
}

static void *run_thread(void *failed)
{
	FIND(context_open);
	FIND(context_release);
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	struct bi_error err;
	int rc;

	memset(numbers, 0, sizeof(numbers));
	options.device = device;
	rc = context_open.call(&options, &context, &err);
	if (!rc) {
		rc = use_array(context, &err);
		context_release.call(context);
	}
	*(int *)failed = rc ? wrong(err.message) : numbers[SIDE * SIDE - 1] == 7 ? 0 : wrong("a fill");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int failed = 0, now = 0;

	library = argc == 3 ? dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW) : NULL;
	if (!library) {
		printf("usage: namespace LIBRARY DEVICE (%s)\n", argc == 3 ? dlerror() : "");
		return 2;
	}
	device = argv[2];
	alarm(60);
	/* A driver may set up the first thread that calls it. */
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&thread, NULL, run_thread, &now) || pthread_join(thread, NULL))
			return wrong("no thread");
		failed |= now;
	}
	dlclose(library);
	if (!failed)
		printf("threads of the program used %s in another namespace\n", device);
	return failed;
}
