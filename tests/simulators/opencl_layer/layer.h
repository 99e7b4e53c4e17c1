/*
 * The loader layer of the tests: counters and injected failures of the calls that pass through it.
 *
 * The loader finds the layer by the environment variable OPENCL_LAYERS. A loader that does not find it reports nothing.
 * So a test calls bi_layer_open, which finds the copy that the loader has opened, and opens none itself. It succeeds
 * after the first call of a function of OpenCL.
 *
 * Environment:
 *   BI_TEST_LAYER_MASK=gpu   devices report that they are GPUs with memory of their own, and run no native kernels
 *   BI_TEST_LAYER_MASK=later-gpu  the same, except for the first device of each platform, which reports what it is
 *   BI_TEST_LAYER_MASK=small-gpu  as gpu; groups have at most 200 items, and at most 96 for each kernel
 *   BI_TEST_LAYER_MASK=twice  the first platform is listed twice
 *   BI_TEST_LAYER_REPORT=f   at the end of the process, lines "name count" of calls and counters are written to f
 *
 * All functions may be called from several threads.
 */
#ifndef BI_TESTS_OPENCL_LAYER_LAYER_H
#define BI_TESTS_OPENCL_LAYER_LAYER_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* Result, name, parameters. */
#define BI_LAYER_API(X) \
	X(int, loaded, (void)) /* 1 after the loader has installed the layer */ \
	X(uint64_t, count, (const char *name)) /* calls of that function since the reset, failed ones too */ \
	X(uint64_t, host_waits, (void)) /* calls that may have made the calling thread wait */ \
	X(uint64_t, strided, (void)) /* native kernels, kernels and rectangle commands */ \
	X(int64_t, live_buffers, (void)) /* buffers made and not yet deleted by the driver; never reset */ \
	X(int64_t, references, (void)) /* of memory objects: made + retained - released; never reset */ \
	X(int64_t, late_frees, (void)) /* calls of clSVMFree when nothing retained a context; never reset */ \
	X(void, reset, (void)) /* the other counts become 0, nothing is armed */ \
	X(void, arm, \
	  (const char *name, uint64_t nth, int code)) /* the nth call from now on (1: the next) returns code */ \
	X(void, arm_from, (const char *name, uint64_t nth, int code)) /* the same for all calls from the nth on */ \
	X(void, fail_from, \
	  (uint64_t nth, int code)) /* from the nth call of any function on, all return code; 0: none */ \
	X(uint64_t, calls, (void)) /* calls of all functions since the reset */ \
	X(void, refuse_from, \
	  (uint64_t nth, int code)) /* the nth call of any function from now on, and all after it, return code, but for \
				       those that only release or count references, or set a user event; 0: no call \
				       fails any more */ \
	X(uint64_t, fired, (void)) /* calls that were made to fail since the reset */ \
	X(int, entries, (void)) /* number of functions that the layer wraps */ \
	X(const char *, entry, (int index)) /* the name of one of them */

struct bi_layer {
#define BI_LAYER_MEMBER(result, name, parameters) result(*name) parameters;
	BI_LAYER_API(BI_LAYER_MEMBER)
#undef BI_LAYER_MEMBER
};

/* The same functions as exported: bi_layer_loaded, bi_layer_count, and so on. */
#define BI_LAYER_DECLARE(result, name, parameters) result bi_layer_##name parameters;
BI_LAYER_API(BI_LAYER_DECLARE)
#undef BI_LAYER_DECLARE

/* Finds the layer that was loaded from `path`. Returns 0 if there is none, or the loader has not installed it. */
static inline int bi_layer_open(const char *path, struct bi_layer *layer)
{
	static const char *const names[] = {
#define BI_LAYER_NAME(result, name, parameters) "bi_layer_" #name,
		BI_LAYER_API(BI_LAYER_NAME)
#undef BI_LAYER_NAME
	};
	void *addresses[sizeof(names) / sizeof(*names)];
	void *library = path ? dlopen(path, RTLD_NOLOAD | RTLD_NOW) : NULL;

	memset(layer, 0, sizeof(*layer));
	if (!library)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!(addresses[i] = dlsym(library, names[i])))
			return 0;
	memcpy(layer, addresses, sizeof(*layer));
	return layer->loaded();
}

#endif
