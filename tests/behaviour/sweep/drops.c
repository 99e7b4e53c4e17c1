/*
 * Each wait of a stream for an event is forgotten once. If no schedule of several shows that – by a report, by a wrong
 * byte, by a failure – then either the wait is not needed or the scenario does not look.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

#define SEEDS 40 /* schedules in which a wait is looked for, */
#define SEEDS_OF_A_WAIT 120 /* and those in which its loss may show: few do for the pieces of a large copy */
#define EXCUSED_SEEDS 2

enum result { NOTICED, UNNOTICED, NO_SUCH_WAIT, BROKEN };

/*
 * Waits that order nothing new: those that a host wait of the same call makes superfluous, because the call that comes
 * behind them knows that the work is done; and, where each of several pieces waits for the array and the array for it,
 * all but the first piece's and the last one's.
 */
static const struct {
	const char *scenario;
	uint64_t first, last;
	const char *why;
} excused[] = {
	{ "upload_by_a_closed_context", 2, 2, "the close of the other context waits for its stream (row 16)" },
	{ "download_strided", 2, 2, "unpacking on the host waits for the packed bytes (row 17)" },
	{ "download_pieces", 2, 2, "the first piece has waited, and the last one is waited for" },
	{ "copy_overlapping", 3, 3, "the other array was waited for, and the same work ends the use of both" },
	{ "copy_transposed", 3, 3, "the other array was waited for, and the same work ends the use of both" },
	{ "copy_on_a_stream", 3, 3, "the other array was waited for, and the same work ends the use of both" },
	{ "wrap_without_stream", 3, 3, "the other array was waited for, and the same work ends the use of both" },
	{ "per_thread_stream", 2, 2, "what the stream has waited for is not known at the end of the use (row 38)" },
	{ "per_thread_stream", 5, 5, "what the stream has waited for is not known at the end of the use (row 38)" },
	{ "cuda_to_opencl_and_back", 1, 1, "the other device gets the bytes after a host wait (row 17)" },
};

static const char *find_excuse(const char *scenario, uint64_t wait)
{
	for (size_t i = 0; i < ARRAY_LENGTH(excused); i++)
		if (excused[i].first <= wait && wait <= excused[i].last && strcmp(excused[i].scenario, scenario) == 0)
			return excused[i].why;
	return NULL;
}

static enum result drop(const struct scenario *scenario, uint64_t n, uint64_t seeds, struct totals *totals)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;
	struct outcome outcome;
	int dropped = 0;

	options.drop_wait = n;
	for (options.seed = 1; options.seed <= (dropped || seeds < SEEDS ? seeds : SEEDS); options.seed++) {
		run(scenario, &options, &outcome);
		add_run(totals, &outcome);
		dropped |= outcome.counts.dropped != 0;
		if (outcome.rc || *outcome.wrong || outcome.reports)
			return outcome.counts.dropped ? NOTICED : BROKEN;
	}
	return dropped ? UNNOTICED : NO_SUCH_WAIT;
}

/* Excuses for waits that there are not. */
static void check_excuses(const struct scenario *scenario, uint64_t count, struct totals *totals)
{
	for (size_t i = 0; i < ARRAY_LENGTH(excused); i++)
		if (excused[i].last > count && strcmp(excused[i].scenario, scenario->name) == 0) {
			totals->failures++;
			printf("FAILED %s: wait %" PRIu64 " is excused, but there are %" PRIu64 "\n", scenario->name,
			       excused[i].last, count);
		}
}

/* Whether there may be more waits. */
static int drop_one(const struct scenario *scenario, uint64_t n, struct totals *totals)
{
	const char *excuse = find_excuse(scenario->name, n);
	enum result result = drop(scenario, n, excuse ? EXCUSED_SEEDS : SEEDS_OF_A_WAIT, totals);

	if (result == NO_SUCH_WAIT)
		return 0;
	if (excuse)
		printf("%s: wait %" PRIu64 " is excused: %s\n", scenario->name, n, excuse);
	if (result == (excuse ? UNNOTICED : NOTICED))
		return 1;
	totals->failures++;
	if (result == BROKEN)
		printf("FAILED %s: it fails although no wait is forgotten\n", scenario->name);
	else if (excuse)
		printf("FAILED %s: wait %" PRIu64 " is excused, but somebody notices\n", scenario->name, n);
	else
		printf("FAILED %s: nothing shows that wait %" PRIu64 " is forgotten: sweep one %s 1 0 0 %" PRIu64 "\n",
		       scenario->name, n, scenario->name, n);
	return result != BROKEN;
}

void drops_mode(const struct scenario *scenario, struct totals *totals)
{
	uint64_t n = 1;

	while (drop_one(scenario, n, totals))
		n++;
	check_excuses(scenario, n - 1, totals);
}
