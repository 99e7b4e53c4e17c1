#include "options.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(*(array)))

static unsigned long runs, failures;

static void complain(const char *option, unsigned long long value, const char *wrong, const struct bi_error *err)
{
	failures++;
	printf("%s %llu: %s (%s)\n", option, value, wrong, err ? err->message : "");
}

/* Allocations and copies of many sizes, twice each, so that what a pool keeps is used again. */
static const char *use_context(struct bi_context *context, struct bi_error *err)
{
	static const int64_t sizes[] = { 1, 2, 50, 254, 255, 256, 257, 300, 511, 512, 513, 4095, 4096, 70000 };
	static unsigned char bytes[70000], back[70000];
	struct bi_dtype dtype;
	const char *wrong = NULL;

	if (bi_dtype_parse("uint8", &dtype, err))
		return "no type";
	for (size_t i = 0; i < 2 * ARRAY_LENGTH(sizes) && !wrong; i++) {
		int64_t size = sizes[i % ARRAY_LENGTH(sizes)];
		struct bi_view *first = NULL, *second = NULL;

		memset(bytes, (int)(i + 1), (size_t)size);
		if (bi_view_empty(context, dtype, 1, &size, &first, err) ||
		    bi_view_empty(context, dtype, 1, &size, &second, err) ||
		    bi_view_write(first, bytes, (size_t)size, err) || bi_copy(second, first, NULL, err) ||
		    bi_view_read(second, back, (size_t)size, err))
			wrong = "a use fails";
		else if (memcmp(bytes, back, (size_t)size) != 0)
			wrong = "wrong bytes";
		bi_view_release(first);
		bi_view_release(second);
	}
	if (!wrong && bi_context_trim(context, 100, err))
		wrong = "trim fails";
	return wrong;
}

static void check_context(const struct bi_options *options, const char *option, unsigned long long value, int is_legal)
{
	struct bi_context *context = NULL;
	struct bi_error err;
	int rc = bi_context_open(options, &context, &err);
	const char *wrong = NULL;

	runs++;
	if (is_legal && rc)
		wrong = "a legal value is refused";
	else if (!is_legal && rc != BI_EINVAL)
		wrong = "an illegal value is taken";
	else if (rc && context)
		wrong = "a context after a failure";
	else if (!rc)
		wrong = use_context(context, &err);
	if (wrong)
		complain(option, value, wrong, &err);
	bi_context_release(context);
}

static void check_pool_limits(const char *device)
{
	static const size_t limits[] = { 0,
					 1,
					 2,
					 50,
					 254,
					 255,
					 256,
					 257,
					 511,
					 512,
					 513,
					 4095,
					 4096,
					 69999,
					 70000,
					 73728,
					 (size_t)256 << 20,
					 SIZE_MAX / 2,
					 SIZE_MAX - 1,
					 BI_POOL_NONE };

	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
		struct bi_options options = BI_OPTIONS_INIT;

		options.device = device;
		options.pool_limit = limits[i];
		check_context(&options, "pool_limit", limits[i], 1);
	}
}

/* A member of bi_options that is an int, its legal range, and whether 1 must be possible on every device. */
static void check_int_option(const char *device, const char *name, size_t member, int lowest, int highest)
{
	const int values[] = { INT32_MIN, -256, -1, 0, 1, 2, 3, 4, 5, 255, 256, INT32_MAX };

	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
		struct bi_options options = BI_OPTIONS_INIT;

		options.device = device;
		memcpy((char *)&options + member, &values[i], sizeof(values[i]));
		check_context(&options, name, (unsigned long long)values[i],
			      values[i] >= lowest && values[i] <= highest);
	}
}

static void check_threads(void)
{
	static const int counts[] = { INT32_MIN,          -1,  0,   1,        2, BI_MAX_THREADS - 1, BI_MAX_THREADS,
				      BI_MAX_THREADS + 1, 255, 256, INT32_MAX };
	struct bi_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		int is_legal = counts[i] >= 0 && counts[i] <= BI_MAX_THREADS;
		int rc = bi_set_threads(counts[i], &err);

		runs++;
		if (rc != (is_legal ? BI_OK : BI_EINVAL) || bi_threads() < 1 || bi_threads() > BI_MAX_THREADS)
			complain("threads", (unsigned long long)counts[i], "not as the header says", rc ? &err : NULL);
	}
	bi_set_threads(0, NULL);
}

/* Device strings that are too long, empty or not there. */
static void check_device_strings(void)
{
	static char long_text[5000];
	const char *texts[] = { "opencl:-1",
				"opencl:0:4294967296",
				"opencl:99999999999999999999",
				"#-1",
				"#2147483648",
				"#",
				":",
				"host:1",
				"cuda:",
				"opencl::",
				"no such device",
				long_text };

	memset(long_text, 'x', sizeof(long_text) - 1);
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct bi_options options = BI_OPTIONS_INIT;
		struct bi_context *context = NULL;
		struct bi_error err;
		int rc;

		options.device = texts[i];
		rc = bi_context_open(&options, &context, &err);
		runs++;
		if (rc != BI_EINVAL && rc != BI_ENODEVICE && rc != BI_OK)
			complain("device string", i, "an unexpected status", &err);
		bi_context_release(context);
	}
}

int check_all_options(const char *device)
{
	check_pool_limits(device);
	check_int_option(device, "log_level", offsetof(struct bi_options, log_level), 0, BI_LOG_DEBUG);
	check_int_option(device, "debug", offsetof(struct bi_options, debug), INT32_MIN, INT32_MAX);
	check_int_option(device, "profile", offsetof(struct bi_options, profile), INT32_MIN, INT32_MAX);
	check_threads();
	check_device_strings();
	printf("%lu values, %lu wrong\n", runs, failures);
	return failures || !runs;
}
