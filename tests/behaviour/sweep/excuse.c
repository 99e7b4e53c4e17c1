#include "excuse.h"

#include <string.h>

#include "cuda_driver.h"
#include "trial.h"

/* Calls that let something go, and the words of the report that says that it was left. */
static const struct {
	const char *call, *words;
} leavers[] = {
	{ "cuMemFree_v2", "memory" },
	{ "cuMemFreeAsync", "memory" },
	{ "cuMemFreeHost", "memory" },
	{ "cuMemPoolDestroy", ": a memory pool" },
	{ "cuStreamDestroy_v2", ": stream " },
	{ "cuEventDestroy_v2", ": an event" },
	{ "cuModuleUnload", ": a module" },
	{ "cuDevicePrimaryCtxRelease_v2", ": the primary context " },
	{ "cuCtxPopCurrent_v2", "context stack" },
};

static int is_excused(const char *failed_call, const char *report)
{
	if (!failed_call || (strncmp(report, "left behind", 11) != 0 && strncmp(report, "context stack", 13) != 0))
		return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(leavers); i++)
		if (strcmp(failed_call, leavers[i].call) == 0)
			return strstr(report, leavers[i].words) != NULL;
	return 0;
}

int reports_are_excused(const char *failed_call, uint64_t reports)
{
	return !reports || (reports == 1 && is_excused(failed_call, cuda_sim()->report(0)));
}
