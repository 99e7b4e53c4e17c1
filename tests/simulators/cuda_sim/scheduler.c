#define _POSIX_C_SOURCE 200809L
#include "scheduler.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>

/* Seconds without a finished operation after which a wait fails. */
#define PATIENCE_SECONDS (sim.switches ? 3 : 20)
/*
 * Nanoseconds between two checks for progress. They double while there is none, so that a short wait ends soon, and a
 * long one uses little processor time. Tests detect a waiting thread by its processor time.
 */
#define SHORTEST_LOOK 50000
#define LONGEST_LOOK 2000000

static struct op **ready; /* operations that wait for no other */
static size_t ready_count, ready_capacity;
static struct op *pending, **pending_end = &pending;
static uint64_t submitted, finished, now;
static unsigned running; /* operations that threads are running; only host functions release the lock */
static unsigned pace; /* a power of two: fewer operations than this run in each call; not used with the option eager */

struct op *op_new(struct context *context, const struct action *action)
{
	struct op *op = must_alloc(1, sizeof(*op));

	op->references = 1;
	op->context = context;
	op->action = *action;
	return op;
}

struct op *op_retain(struct op *op)
{
	if (op)
		op->references++;
	return op;
}

void op_release(struct op *op)
{
	if (!op || --op->references)
		return;
	if (!op->is_done)
		action_drop(&op->action);
	free(op->after);
	free(op->touched);
	free(op);
}

void op_follow(struct op *op, struct op *earlier)
{
	if (!op || !earlier || earlier->is_done)
		return;
	if (earlier->after_count == earlier->after_capacity) {
		earlier->after_capacity = earlier->after_capacity ? 2 * earlier->after_capacity : 2;
		earlier->after = must_grow(earlier->after, earlier->after_capacity, sizeof(struct op *));
	}
	earlier->after[earlier->after_count++] = op;
	op->missing++;
}

static void make_ready(struct op *op)
{
	if (ready_count == ready_capacity) {
		ready_capacity = ready_capacity ? 2 * ready_capacity : 64;
		ready = must_grow(ready, ready_capacity, sizeof(struct op *));
	}
	ready[ready_count++] = op;
}

void op_submit(struct op *op)
{
	op_retain(op);
	op->is_submitted = 1;
	op->number = ++submitted;
	op->place = pending_end;
	*pending_end = op;
	pending_end = &op->next;
	sim.counts.operations += op->action.kind != ACTION_NOTHING;
	sim.counts.launches += op->action.kind == ACTION_LAUNCH;
	sim.counts.host_functions += op->action.kind == ACTION_HOST;
	if (!op->missing)
		make_ready(op);
}

static void unlink_op(struct op *op)
{
	*op->place = op->next;
	if (op->next)
		op->next->place = op->place;
	else
		pending_end = op->place;
}

static void finish(struct op *op)
{
	op->is_done = 1;
	op->time = now += 1000;
	finished++;
	action_drop(&op->action);
	unlink_op(op);
	for (size_t i = 0; i < op->after_count; i++)
		if (!--op->after[i]->missing && op->after[i]->is_submitted)
			make_ready(op->after[i]);
	op->after_count = 0;
	op_release(op);
}

/* Takes one of the operations that may run, or returns NULL. */
static struct op *choose(void)
{
	size_t start = ready_count ? (size_t)(random_next() % ready_count) : 0;

	for (size_t i = 0; i < ready_count; i++) {
		size_t at = (start + i) % ready_count;
		struct op *op = ready[at];

		if (op->is_void || action_is_open(&op->action)) {
			ready[at] = ready[--ready_count];
			return op;
		}
	}
	return NULL;
}

static int run_one(void)
{
	struct op *op = choose();

	if (!op)
		return 0;
	running++;
	if (!op->is_void)
		action_run(&op->action, op->touched, op->touched_count);
	running--;
	finish(op);
	return 1;
}

void scheduler_choose_pace(void)
{
	static const unsigned paces[] = { 4, 1, 2, 8 };

	pace = sim.options.eager ? UINT_MAX : paces[sim.options.seed % 4];
}

void scheduler_advance(void)
{
	unsigned steps = sim.options.eager ? UINT_MAX : (unsigned)random_next() & (pace - 1);

	while (steps-- && run_one())
		;
}

bi__cu_result scheduler_not_ready(void)
{
	run_one();
	return BI__CU_ERROR_NOT_READY;
}

/* Sleeps for *ns, and doubles it. Another thread may open a gate, or be in a host function that ends. */
static void look_away(long *ns)
{
	const struct timespec time = { 0, *ns };

	*ns = *ns < LONGEST_LOOK / 2 ? 2 * *ns : LONGEST_LOOK;
	sim_unlock();
	nanosleep(&time, NULL);
	sim_lock();
}

void scheduler_settle(void)
{
	long ns = SHORTEST_LOOK;

	while (run_one() || (running && !thread_self()->in_host_function))
		if (running)
			look_away(&ns);
}

struct goal {
	const struct op *op; /* NULL: the other members count */
	const struct context *context; /* NULL: all */
	uint64_t until; /* number of the last operation that counts */
};

static int is_reached(const struct goal *goal)
{
	if (goal->op)
		return goal->op->is_done;
	for (const struct op *op = pending; op && op->number <= goal->until; op = op->next)
		if (!goal->context || op->context == goal->context)
			return 0;
	return 1;
}

static time_t seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static bi__cu_result run_until(const struct goal *goal)
{
	uint64_t seen = finished;
	time_t since = 0;
	long ns = SHORTEST_LOOK;

	while (!is_reached(goal)) {
		if (run_one())
			continue;
		if (!since || finished != seen) {
			since = seconds();
			ns = SHORTEST_LOOK;
		}
		seen = finished;
		look_away(&ns);
		if (finished != seen || seconds() - since <= PATIENCE_SECONDS)
			continue;
		report(REPORT_DEADLOCK,
		       "nothing has moved for seconds: a gate that nobody opens, or a host function that "
		       "does not return");
		return BI__CU_ERROR_LAUNCH_TIMEOUT;
	}
	return BI__CU_SUCCESS;
}

bi__cu_result wait_for_op(struct op *op)
{
	struct goal goal = { op, NULL, 0 };
	bi__cu_result code;

	if (!op)
		return BI__CU_SUCCESS;
	op_retain(op);
	code = run_until(&goal);
	op_release(op);
	return code;
}

bi__cu_result wait_for_context(struct context *context)
{
	struct goal goal = { NULL, context, submitted };

	return run_until(&goal);
}

size_t scheduler_drop(const struct context *context)
{
	size_t count = 0;

	for (struct op *op = pending; op; op = op->next)
		if (op->context == context && op->action.kind != ACTION_NOTHING && !op->is_void) {
			op->is_void = op->action.kind != ACTION_FREE;
			count++;
		}
	return count;
}

size_t scheduler_forget(void)
{
	size_t left = 0;

	ready_count = 0;
	while (pending) {
		struct op *op = pending;

		left += op->action.kind != ACTION_NOTHING;
		unlink_op(op);
		op->after_count = 0;
		op_release(op);
	}
	free(ready);
	ready = NULL;
	ready_capacity = 0;
	submitted = finished = now = 0;
	return left;
}
