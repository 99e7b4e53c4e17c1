/*
 * Prints the address of every function of the library that one transposed bi_copy enters on the calling thread, in
 * order, each with its depth. The library is compiled with -finstrument-functions; crossings.py turns the addresses
 * into files. The device is named by the first argument.
 */
#define _GNU_SOURCE
#include <buffer_interface.h>
#include <dlfcn.h>
#include <stdio.h>

#define EXTENT 1024
#define MOST 4096

static struct {
	void *function;
	int depth;
} entries[MOST];
static int count, depth;
static _Thread_local int is_recording;

#define NOT_INSTRUMENTED __attribute__((no_instrument_function))

void __cyg_profile_func_enter(void *function, void *site) NOT_INSTRUMENTED;
void __cyg_profile_func_exit(void *function, void *site) NOT_INSTRUMENTED;

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (!is_recording)
		return;
	if (count < MOST) {
		entries[count].function = function;
		entries[count].depth = depth;
	}
	count++;
	depth++;
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)function;
	(void)site;
	if (is_recording)
		depth--;
}

NOT_INSTRUMENTED static int run(const char *device, struct bi_error *err)
{
	const int64_t shape[2] = { EXTENT, EXTENT };
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context = NULL;
	struct bi_view *array = NULL, *transposed = NULL, *dense = NULL;
	struct bi_dtype float32;
	int rc;

	options.device = device;
	rc = bi_context_open(&options, &context, err);
	if (!rc)
		rc = bi_dtype_parse("float32", &float32, err);
	if (!rc)
		rc = bi_view_empty(context, float32, 2, shape, &array, err);
	if (!rc)
		rc = bi_view_permute(array, NULL, &transposed, err);
	if (!rc)
		rc = bi_view_empty(context, float32, 2, shape, &dense, err);
	/* The first copy opens what is opened once. */
	for (int i = 0; i < 2 && !rc; i++) {
		is_recording = i == 1;
		rc = bi_copy(dense, transposed, NULL, err);
		is_recording = 0;
	}
	bi_view_release(dense);
	bi_view_release(transposed);
	bi_view_release(array);
	bi_context_release(context);
	return rc;
}

NOT_INSTRUMENTED int main(int argc, char **argv)
{
	struct bi_error err;

	if (argc != 2 || run(argv[1], &err)) {
		fprintf(stderr, "%s\n", argc != 2 ? "usage: crossings DEVICE" : err.message);
		return 1;
	}
	if (count > MOST) {
		fprintf(stderr, "%d functions were entered; there is room for %d\n", count, MOST);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		Dl_info info;

		if (!dladdr(entries[i].function, &info))
			return 1;
		printf("%d %#lx\n", entries[i].depth,
		       (unsigned long)((char *)entries[i].function - (char *)info.dli_fbase));
	}
	return 0;
}
