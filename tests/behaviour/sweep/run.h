/* One scenario under one set of options of the simulator, and what came of it. */
#ifndef BI_TESTS_CUDA_SWEEP_RUN_H
#define BI_TESTS_CUDA_SWEEP_RUN_H

#include "cuda_driver.h"
#include "scenarios.h"

struct scenario {
	const char *name;
	enum scenario_need need;
	scenario_fn *play;
};

struct outcome {
	int rc; /* of the first step that failed */
	struct bi_error err;
	char wrong[200]; /* what was not as it should be, or "" */
	struct cuda_sim_counts counts; /* when everything was let go; what is live then, is left */
	const char *failed_call; /* the name of the call that was made to fail, or NULL */
	uint64_t reports; /* of the simulator, those about what is left included */
	int stack_changed; /* the thread's current context is another than before */
};

/* A real driver has no options: then they are NULL, and there are no counts and reports. */
void run(const struct scenario *scenario, const struct cuda_sim_options *options, struct outcome *outcome);

/* What went wrong, in a few lines, with the command that repeats it. */
void describe(const struct scenario *scenario, const struct cuda_sim_options *options, const struct outcome *outcome);

/* What a mode did with one scenario, and adds up over all. */
struct totals {
	unsigned long runs, calls, waits, failures;
};

void add_run(struct totals *totals, const struct outcome *outcome);

/* The modes: each does one scenario. Failures are described as they are found. */
void plain_mode(const struct scenario *scenario, uint64_t first, uint64_t count, struct totals *totals);
void faults_mode(const struct scenario *scenario, struct totals *totals);
void drops_mode(const struct scenario *scenario, struct totals *totals);

#endif
