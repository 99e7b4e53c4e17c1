/*
 * Each wait of a stream for an event is forgotten once. If no schedule of several shows that – by a report, by a wrong
 * byte, by a failure – then either the wait is not needed or the scenario does not look.
 */
#include <inttypes.h>
#include <stdio.h>

#include "run.h"

#define SEEDS 10

enum result { NOTICED, UNNOTICED, NO_SUCH_WAIT };

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
			return NOTICED;
	}
	return dropped ? UNNOTICED : NO_SUCH_WAIT;
}

void drops_mode(const struct scenario *scenario, struct totals *totals)
{
	enum result result;

	for (uint64_t n = 1; (result = drop(scenario, n, totals)) != NO_SUCH_WAIT; n++) {
		if (result == NOTICED)
			continue;
		totals->failures++;
		printf("FAILED %s: nothing shows that wait %" PRIu64 " is forgotten: cuda_sweep one %s 1 0 0 %" PRIu64
		       "\n",
		       scenario->name, n, scenario->name, n);
	}
}
