/* Runs random programs in a context that they share. */
#define _POSIX_C_SOURCE 200809L
#include "programs.h"

#include <stdio.h>
#include <stdlib.h>

#include "behaviour/fault/allocations.h"
#include "cuda_driver.h"
#include "program.h"

#define MOST_STEPS 60

static step_fn *steps[64];
static unsigned step_count;

static void add_steps(step_fn *const *more)
{
	while (*more)
		steps[step_count++] = *more++;
}

static void collect_steps(void)
{
	if (step_count)
		return;
	add_steps(library_steps);
	add_steps(raw_steps);
	steps[step_count++] = step_threads;
	steps[step_count++] = step_fork;
}

/* The context. */

static const struct cuda_sim *simulator(const char *device)
{
	return strncmp(device, "cuda", 4) == 0 ? cuda_sim() : NULL;
}

/* After a refused cuCtxPushCurrent, the calls that release objects find no current context. */
static int is_excused(const char *report)
{
	return kept.was_refused && strncmp(report, "no current context", 18) == 0;
}

/* Returns the first report of the simulated driver that is not excused, or NULL. */
static const char *first_report(const struct cuda_sim *sim)
{
	struct cuda_sim_counts counts;
	uint64_t i = 0;

	sim->count(&counts);
	while (i < counts.reports && is_excused(sim->report(i)))
		i++;
	return i < counts.reports ? sim->report(i) : NULL;
}

static void close_streams(void)
{
	struct bi_error err;

	for (int i = 0; i < MOST_STREAMS; i++)
		if (kept.streams[i] && bi_stream_synchronize(kept.streams[i], &err))
			fprintf(stderr, "random_programs: %s\n", err.message);
	for (int i = 1; i < MOST_STREAMS; i++) {
		bi_stream_release(kept.streams[i]);
		kept.streams[i] = NULL;
	}
	kept.streams[0] = NULL;
}

/* Returns the defect if the library has more blocks than after the context before, otherwise NULL. */
static const char *check_blocks(void)
{
	static char text[80];
	static long before = -1;
	long leaked;

	leaked = before < 0 || kept.was_refused ? 0 : allocations_left(before);
	before = allocations_alive();
	snprintf(text, sizeof(text), "%ld blocks of memory are leaked", leaked);
	return leaked > 0 ? text : NULL;
}

const char *close_programs(void)
{
	const struct cuda_sim *sim = simulator(kept.device);
	const char *leak, *report = NULL;

	if (!kept.context)
		return NULL;
	faults_disarm();
	close_streams();
	bi_context_release(kept.context);
	kept.context = NULL;
	if (kept.raw)
		kept.raw->close();
	leak = check_blocks();
	if (sim && sim->end())
		report = sim->report(0);
	/* After refused calls the driver keeps objects, and the library keeps what they use. */
	if (kept.was_refused)
		return NULL;
	return report ? report : leak;
}

static int open_streams(struct bi_error *err)
{
	int can = uses_out_of_order(kept.context), rc = BI_OK;

	kept.streams[0] = bi_context_stream(kept.context);
	for (int i = 1; i < OWN_STREAMS && !rc; i++)
		rc = bi_stream_create(kept.context, i == 2 && can ? BI_STREAM_OUT_OF_ORDER : 0, &kept.streams[i], err);
	if (!kept.raw)
		return rc;
	kept.raw->open(kept.context);
	for (int i = 0; i < RAW_STREAMS && !rc; i++)
		rc = bi_stream_wrap(kept.context, kept.raw->stream(i), NULL, NULL, &kept.streams[OWN_STREAMS + i], err);
	return rc;
}

static void begin_simulation(const struct cuda_sim *sim, unsigned long long block)
{
	struct cuda_sim_options options = CUDA_SIM_OPTIONS_INIT;

	options.seed = block + 1;
	options.pools = block % 3 != 0;
	options.concurrent_managed = block % 2 == 0;
	sim->begin(&options);
}

static const struct raw *raw_of(const char *device)
{
	if (strncmp(device, "cuda", 4) == 0)
		return &raw_cuda;
	return strncmp(device, "opencl", 6) == 0 ? &raw_opencl : NULL;
}

static int open_context(const char *device, unsigned long long block, struct bi_error *err)
{
	static const size_t limits[] = { 0, 1, 100, 256, 300, 2000, 4096, BI_POOL_NONE };
	struct bi_options options = BI_OPTIONS_INIT;
	int rc;

	snprintf(kept.device, sizeof(kept.device), "%s", device);
	if (simulator(device))
		begin_simulation(simulator(device), block);
	options.device = device;
	options.pool_limit = limits[block % 8];
	options.debug = block % 8 == 5;
	options.profile = block % 8 == 6;
	rc = bi_context_open(&options, &kept.context, err);
	if (rc)
		return rc;
	faults_open(device);
	kept.block = block;
	kept.raw = raw_of(device);
	kept.is_device = kept.raw != NULL;
	kept.was_refused = 0;
	return open_streams(err);
}

/* A program. */

void begin_program(struct program *program, int part, const uint8_t *data, size_t size)
{
	memset(program, 0, sizeof(*program));
	program->part = part;
	program->data = data;
	program->size = size;
}

static void disarm(struct program *program)
{
	if (!program->may_fail)
		return;
	faults_disarm();
	if (faults_refused_release())
		program->was_refused = kept.was_refused = 1;
	program->may_fail = FAULT_NONE;
}

void run_steps(struct program *program, int most)
{
	for (int i = 0; i < most && program->size && !*program->wrong; i++) {
		int is_armed = program->may_fail;

		steps[take(program, step_count)](program);
		if (is_armed)
			disarm(program);
	}
}

/* Returns 1 if the library has not called a release callback that it was given. */
static int is_owing(struct program *program)
{
	return atomic_load(&program->released) != atomic_load(&program->taken);
}

static void await_releases(struct program *program)
{
	struct bi_error err;

	for (int i = 0; i < MOST_STREAMS; i++)
		if (kept.streams[i])
			succeeded(program, bi_stream_synchronize(kept.streams[i], &err), &err,
				  "synchronise at the end");
	succeeded(program, bi_context_trim(kept.context, BI_POOL_NONE, &err), &err, "trim at the end");
}

static void check_stock(struct program *program)
{
	for (int i = 0; i < RAW_STOCK && kept.raw; i++) {
		const char *text = kept.raw->check(program->part, i);

		if (text)
			wrong(program, "%s", text);
	}
}

void finish_program(struct program *program)
{
	for (int i = 0; i < MOST_MEMORIES; i++)
		forget_memory(program, i);
	await_releases(program);
	for (int i = 0; i < RAW_WITNESSES; i++)
		settle_witness(program, i);
	/* After refused calls the library may keep what it was given. */
	if (kept.was_refused)
		return;
	if (is_owing(program))
		wrong(program, "%d release callbacks of %d were called", program->released, program->taken);
	else
		check_stock(program);
}

const char *run_program(const char *device, unsigned long long seed, const uint8_t *data, size_t size, int trace)
{
	static struct program program;
	struct bi_error err;
	const struct cuda_sim *sim;
	const char *report = NULL;

	collect_steps();
	if (kept.context && (kept.block != seed / PROGRAMS_PER_BLOCK || strcmp(kept.device, device) != 0))
		report = close_programs();
	begin_program(&program, 0, data, size);
	if (report)
		wrong(&program, "after the programs before: %s", report);
	if (!kept.context && open_context(device, seed / PROGRAMS_PER_BLOCK, &err)) {
		wrong(&program, "the context does not open: %s", err.message);
		return program.wrong;
	}
	program.trace = trace;
	program.is_alone = 1;
	run_steps(&program, MOST_STEPS);
	disarm(&program);
	for (int i = 0; i < MOST_MEMORIES && !*program.wrong; i++)
		if (program.memories[i].memory)
			read_all(&program, i, "at the end");
	finish_program(&program);
	sim = simulator(device);
	if (sim && first_report(sim))
		wrong(&program, "the simulated driver reports: %s", first_report(sim));
	/* The close calls the missing callbacks, which use the program. */
	if (is_owing(&program))
		close_programs();
	return *program.wrong ? program.wrong : NULL;
}
