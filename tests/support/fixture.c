#define _POSIX_C_SOURCE 200809L
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct fixture fixture;
struct bi_error error;

int fixture_start(const char *suite, int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: %s DEVICE [OTHER_DEVICE]\n", suite);
		return 0;
	}
	cmocka_set_test_filter(getenv("BI_TEST_FILTER"));
	cmocka_set_skip_filter(getenv("BI_TEST_SKIP"));
	fixture.suite = suite;
	fixture.spec = argv[1];
	fixture.second_spec = argv[2];
	fixture.random.state = test_seed();
	return 1;
}

void skip_for_one_thread(void)
{
	if (getenv("BI_TEST_ONE_THREAD"))
		skip();
}

struct bi_context *fixture_open(const char *spec, const struct bi_options *options)
{
	struct bi_options with_spec = *options;
	struct bi_context *context;

	with_spec.device = spec;
	if (bi_context_open(&with_spec, &context, &error) == BI_OK)
		return context;
	fprintf(stderr, "%s: %s\n", fixture.suite, error.message);
	exit(EXIT_FAILURE);
}

int fixture_open_contexts(void **state)
{
	const struct bi_options options = BI_OPTIONS_INIT;

	(void)state;
	fixture.context = fixture_open(fixture.spec, &options);
	fixture.second = fixture.second_spec ? fixture_open(fixture.second_spec, &options) : NULL;
	return 0;
}

int fixture_close_contexts(void **state)
{
	(void)state;
	bi_context_release(fixture.second);
	bi_context_release(fixture.context);
	fixture.context = fixture.second = NULL;
	return 0;
}

static const char untouched[] = "untouched";

void mark_error(void)
{
	error.status = 77;
	error.vendor = 78;
	memcpy(error.message, untouched, sizeof(untouched));
}

void check_ok(int rc, const char *call, const char *file, int line)
{
	if (rc == BI_OK && error.status == 77 && error.vendor == 78 && strcmp(error.message, untouched) == 0)
		return;
	print_error("%s\n  returned %d (%s): %.256s\n", call, rc, bi_status_name(rc), error.message);
	_fail(file, line);
}

static int is_sentence(const char *message)
{
	const char *end = memchr(message, '\0', sizeof(error.message));

	return end && end > message && !strpbrk(message, "\n\r") && strcmp(message, untouched) != 0;
}

void check_refused(int rc, int status, const char *reason, const char *call, const char *file, int line)
{
	if (rc < 0 && (status == BI_OK || rc == status) && error.status == rc && is_sentence(error.message) &&
	    strstr(error.message, reason))
		return;
	print_error("%s\n  returned %d (%s), expected %s; error has %d: \"%.256s\"%s%s\n", call, rc, bi_status_name(rc),
		    status ? bi_status_name(status) : "a failure", error.status, error.message,
		    *reason ? ", expected words: " : "", reason);
	_fail(file, line);
}

void count_release(void *data)
{
	atomic_fetch_add((atomic_int *)data, 1);
}

static int has_backend(const struct bi_context *context, const char *name)
{
	return strcmp(bi_context_device(context)->backend, name) == 0;
}

int is_opencl(const struct bi_context *context)
{
	return has_backend(context, "opencl");
}

int is_cuda(const struct bi_context *context)
{
	return has_backend(context, "cuda");
}

int can(const struct bi_context *context, unsigned capability)
{
	return (bi_context_device(context)->capabilities & capability) != 0;
}

struct bi_dtype dtype_of(const char *text)
{
	struct bi_dtype dtype;

	OK(bi_dtype_parse(text, &dtype, &error));
	return dtype;
}

double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
