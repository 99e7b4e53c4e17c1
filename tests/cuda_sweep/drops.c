/*
 * Each wait of a stream for an event is forgotten once. If no schedule of several shows that – by a report, by a wrong
 * byte, by a failure – then either the wait is not needed or the scenario does not look.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

#define SEEDS 10

enum result { NOTICED, UNNOTICED, NO_SUCH_WAIT, BROKEN };

/* Waits that a host wait of the same call makes superfluous: the call that comes behind them knows that the work is
 * done.
 */
static const struct {
	const char *scenario;
	uint64_t wait;
	const char *why;
} excused[] = {
	{ "download_strided", 2, "unpacking on the host waits for the packed bytes (row 17)" },
	{ "cuda_to_opencl_and_back", 1, "the other device gets the bytes after a host wait (row 17)" },
};

static const char *find_excuse(const char *scenario, uint64_t wait)
{
	for (size_t i = 0; i < sizeof(excused) / sizeof(*excused); i++)
		if (excused[i].wait == wait && strcmp(excused[i].scenario, scenario) == 0)
			return excused[i].why;
	return NULL;
}

static enum result drop(const struct scenario *scenario, uint64_t n, struct totals *totals)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;
	struct outcome outcome;
	int dropped = 0;

	options.drop_wait = n;
	for (options.seed = 1; options.seed <= SEEDS; options.seed++) {
		run(scenario, &options, &outcome);
		add_run(totals, &outcome);
		dropped |= outcome.counts.dropped != 0;
		if (outcome.rc || *outcome.wrong || outcome.reports)
			return outcome.counts.dropped ? NOTICED : BROKEN;
	}
	return dropped ? UNNOTICED : NO_SUCH_WAIT;
}

void drops_mode(const struct scenario *scenario, struct totals *totals)
{
	enum result result;
	uint64_t n;

	for (n = 1; (result = drop(scenario, n, totals)) != NO_SUCH_WAIT; n++) {
		const char *excuse = find_excuse(scenario->name, n);

		if (result == BROKEN) {
			totals->failures++;
			printf("FAILED %s: it fails although no wait is forgotten\n", scenario->name);
			return;
		}
		if (excuse)
			printf("%s: wait %" PRIu64 " is excused: %s\n", scenario->name, n, excuse);
		if (excuse ? result == UNNOTICED : result == NOTICED)
			continue;
		totals->failures++;
		if (excuse) {
			printf("FAILED %s: wait %" PRIu64 " is excused, but somebody notices\n", scenario->name, n);
			continue;
		}
		printf("FAILED %s: nothing shows that wait %" PRIu64 " is forgotten: cuda_sweep one %s 1 0 0 %" PRIu64
		       "\n",
		       scenario->name, n, scenario->name, n);
	}
	for (size_t i = 0; i < sizeof(excused) / sizeof(*excused); i++)
		if (excused[i].wait >= n && strcmp(excused[i].scenario, scenario->name) == 0) {
			totals->failures++;
			printf("FAILED %s: wait %" PRIu64 " is excused, but there are %" PRIu64 "\n", scenario->name,
			       excused[i].wait, n - 1);
		}
}
