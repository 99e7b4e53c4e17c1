#define _POSIX_C_SOURCE 200809L
#include "exhausted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocations.h"
#include "buffer_interface.h"
#include "opencl_layer/layer.h"

#define BYTES ((int64_t)3 << 20)
#define MOST 2000
/* Buffers that OpenCL still makes. */
#define LEFT 20
#define CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)

static struct bi_layer layer;

static int wrong(const char *text, const struct bi_error *err)
{
	printf("wrong: %s (%s)\n", text, err->message);
	return 1;
}

/* An array with work that is pending. */
static int new_array(struct bi_context *context, int64_t nbytes, struct bi_view **out, struct bi_error *err)
{
	struct bi_native native;
	struct bi_dtype dtype;
	int rc = bi_dtype_parse("uint8", &dtype, err);

	rc = rc ? rc : bi_view_empty(context, dtype, 1, &nbytes, out, err);
	if (rc)
		return rc;
	/* Exported memory is retired when it is released, and never pooled. */
	bi_view_native(*out, &native);
	return bi_fill(*out, "\1", NULL, err);
}

static int count_arrays(struct bi_context *context, struct bi_view **arrays, struct bi_error *err)
{
	int count = 0;

	while (count < MOST && !new_array(context, BYTES, &arrays[count], err))
		count++;
	return count;
}

static void release_arrays(struct bi_view **arrays, int first, int end)
{
	for (int i = first; i < end; i++)
		bi_view_release(arrays[i]);
}

static int check_message(const struct bi_error *err)
{
	if (err->status != BI_ENOMEM)
		return wrong("another status than BI_ENOMEM", err);
	if (!strstr(err->message, "3145728") || !strstr(err->message, "release other arrays"))
		return wrong("the message lacks the size or the advice", err);
	return 0;
}

/* Half of the arrays is released: as many can be made again, without a wait in between. */
static int exhaust_twice(struct bi_context *context)
{
	static struct bi_view *arrays[MOST];
	struct bi_error err = { 0 };
	int count = count_arrays(context, arrays, &err), failed = count < MOST ? check_message(&err) : 1;

	release_arrays(arrays, count / 2, count);
	if (layer.reset)
		layer.reset();
	for (int i = count / 2; i < count; i++)
		if (new_array(context, BYTES, &arrays[i], &err)) {
			release_arrays(arrays, 0, i);
			return wrong("released memory cannot be used again", &err);
		}
	release_arrays(arrays, 0, count);
	printf("%d arrays of %lld bytes\n", count, (long long)BYTES);
	return failed || !count;
}

static int check_once(const char *device, struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	int failed;

	options.device = device;
	if (bi_context_open(&options, &context, err))
		return wrong("no context", err);
	if (strncmp(device, "opencl", 6) == 0 && !bi_layer_open(getenv("BI_TEST_LAYER"), &layer))
		return wrong("the layer of the tests is not loaded", err);
	if (layer.arm_from)
		layer.arm_from("clCreateBuffer", LEFT + 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
	failed = exhaust_twice(context);
	bi_context_release(context);
	return failed;
}

/* The driver deletes a buffer when its own thread has let go of it, so this may take a while. */
static int has_live_buffers(int64_t allowed)
{
	for (int i = 0; layer.live_buffers && layer.live_buffers() > allowed; i++) {
		if (i == 2000)
			return 1;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return 0;
}

int check_exhausted_memory(const char *device)
{
	struct bi_error err = { 0 };
	int failed = check_once(device, &err);
	long alive = allocations_alive();

	failed |= check_once(device, &err);
	if (allocations_left(alive) > 0)
		return wrong("memory is leaked", &err);
	if (has_live_buffers(0))
		return wrong("buffers are leaked", &err);
	return failed;
}
