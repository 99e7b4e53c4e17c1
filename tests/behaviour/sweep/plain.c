/* Every scenario as it is meant, under schedules of many seeds: right bytes, no report, nothing left. */
#include "run.h"

/* One failure tells as much as a thousand. */
#define ENOUGH 3

static int is_clean(const struct outcome *outcome)
{
	const struct cuda_sim_counts *counts = &outcome->counts;

	return !outcome->rc && !*outcome->wrong && !outcome->reports && !outcome->stack_changed &&
	       !counts->live_memory && !counts->live_streams && !counts->live_events && !counts->live_modules;
}

static void try_seed(const struct scenario *scenario, const struct cuda_sim_options *options, struct totals *totals)
{
	struct outcome outcome;

	run(scenario, options, &outcome);
	add_run(totals, &outcome);
	if (is_clean(&outcome))
		return;
	describe(scenario, options, &outcome);
	totals->failures++;
}

/* Without a simulator there are no seeds: it is run once. */
void plain_mode(const struct scenario *scenario, uint64_t first, uint64_t count, struct totals *totals)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;

	if (!cuda_sim()) {
		try_seed(scenario, NULL, totals);
		return;
	}
	for (uint64_t i = 0; i < count && totals->failures < ENOUGH; i++) {
		options.seed = first + i;
		try_seed(scenario, &options, totals);
	}
}
