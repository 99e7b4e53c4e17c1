/*
 * The first calls of a process: the driver is opened and started once, and what it answered then stays. So each of
 * these runs is a process of its own, in which nothing but the library has called the driver when the n-th call fails.
 */
#define _POSIX_C_SOURCE 200809L
#include "cold.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cuda_driver.h"
#include "excuse.h"
#include "array_length.h"

extern char **environ;

/* How a process of one run ends. */
enum { FAILED_RIGHTLY = 0, WRONG = 1, NOTHING_FAILED = 10 };

/* Opening and closing makes fewer. */
#define MOST_CALLS 500

static const int codes[] = { BI__CU_ERROR_UNKNOWN, BI__CU_ERROR_OUT_OF_MEMORY, BI__CU_ERROR_NOT_SUPPORTED };

/* Not through cuda_driver(), which calls the driver; the call might be made to fail. */
static void *control(const char *name)
{
	const char *library = getenv("BI_CUDA_LIBRARY");
	void *handle = library ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;

	return handle ? dlsym(handle, name) : NULL;
}

static int open_and_close_twice(struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	int rc = BI_OK;

	options.device = "cuda:0";
	for (int i = 0; i < 2 && !rc; i++) {
		rc = bi_context_open(&options, &context, err);
		bi_context_release(context);
	}
	return rc;
}

/* A refusal is "no such device", with the reason, or the driver's own. */
static int is_documented(int rc, const struct bi_error *err)
{
	return !rc || ((rc == BI_ENODEVICE || err->vendor) && err->status == rc && *err->message);
}

/* Nothing fails from here on, so that the simulator can be asked. */
static const struct cuda_sim *disarm(void)
{
	cuda_sim_arm_fn *arm;
	void *found = control("cuda_sim_arm");

	if (!found)
		return NULL;
	memcpy(&arm, &found, sizeof(arm));
	arm(0, 0, 0);
	return cuda_sim();
}

int cold_one(void)
{
	struct cuda_sim_counts counts;
	struct bi_error err = { 0, 0, "" };
	int rc = open_and_close_twice(&err);
	const struct cuda_sim *sim = disarm();
	const char *fail = getenv("CUDA_SIM_FAIL"), *failed_call;
	uint64_t reports;

	if (!sim || !fail)
		return WRONG;
	sim->count(&counts);
	failed_call = sim->call_name(strtoull(fail, NULL, 10));
	reports = sim->end();
	if (!is_documented(rc, &err) || !reports_are_excused(failed_call, reports)) {
		printf("    status %s, vendor %d: %s; %s\n", bi_status_name(rc), err.vendor, err.message,
		       reports ? sim->report(0) : "no report");
		return WRONG;
	}
	return counts.failed_calls ? FAILED_RIGHTLY : NOTHING_FAILED;
}

static int run_process(const char *program, unsigned n, int code)
{
	char *arguments[] = { strdup(program), strdup("cold-one"), NULL }, fail[48];
	pid_t pid;
	int status = -1;

	snprintf(fail, sizeof(fail), "%u:%d", n, code);
	setenv("CUDA_SIM_FAIL", fail, 1);
	if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
	free(arguments[0]);
	free(arguments[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

static unsigned sweep(const char *program, int code, unsigned long *failures)
{
	unsigned n = 0;
	int result;

	do {
		result = run_process(program, ++n, code);
		if (result != FAILED_RIGHTLY && result != NOTHING_FAILED) {
			printf("FAILED: CUDA_SIM_FAIL=%u:%d %s cold-one\n", n, code, program);
			++*failures;
		}
	} while (result != NOTHING_FAILED && n < MOST_CALLS);
	if (result != NOTHING_FAILED) {
		printf("FAILED: call %d of cold-one is not the last\n", MOST_CALLS);
		++*failures;
	}
	return n;
}

unsigned long cold_mode(const char *program)
{
	unsigned long failures = 0;
	unsigned runs = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++)
		runs += sweep(program, codes[i], &failures);
	printf("sweep: %u first runs of a process, %lu failures\n", runs, failures);
	return failures;
}
