/* The control interface: runs, their counters, and queries of the order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "module.h"
#include "scheduler.h"
#include "stream.h"

void run_begin(const struct cuda_sim_options *options)
{
	sim.options = *options;
	switches_choose(NULL);
	/* A call that waits for the device would hide the effect of the ignored wait. */
	if (options->drop_wait)
		sim.switches &= ~(1u << SWITCH_pinned_waits | 1u << SWITCH_stream_waits);
	if (sim.options.devices < 0 || sim.options.devices > SIM_DEVICES)
		sim.options.devices = SIM_DEVICES;
	memset(&sim.counts, 0, sizeof(sim.counts));
	forget_calls();
	forget_reports();
	random_seed(options->seed);
	scheduler_choose_pace();
	arm_faults(options->fail_call, options->fail_code, options->drop_wait);
}

/* The operations are dropped first, then the objects that hold references to them. Contexts free their objects. */
static void run_end(void)
{
	size_t left;

	thread_self()->entry = ENTRY_END;
	scheduler_settle();
	left = scheduler_forget();
	if (left)
		report(REPORT_DEADLOCK, "%zu operations could not run: a gate was never opened", left);
	forget_stacks();
	captures_forget();
	graphs_report_left();
	memory_report_left();
	pools_report_left();
	mappings_report_left();
	contexts_report_left();
	graphs_forget();
	contexts_forget();
	mappings_forget();
	memory_forget();
	pools_forget();
	handles_forget();
	clocks_forget();
}

void cuda_sim_begin(const struct cuda_sim_options *options)
{
	struct cuda_sim_options usual;

	if (!enter_control())
		return;
	run_end();
	options_from_environment(&usual);
	run_begin(options ? options : &usual);
	leave_control();
}

uint64_t cuda_sim_end(void)
{
	uint64_t reports;

	if (!enter_control())
		return 0;
	run_end();
	reports = sim.counts.reports;
	leave_control();
	return reports;
}

/* Runs at the end of the process. Other threads may still exist: their calls are refused from now on. */
static __attribute__((destructor)) void end_process(void)
{
	const char *wanted = getenv("CUDA_SIM_EXIT");
	uint64_t reports;

	if (!enter_control())
		return;
	run_end();
	reports = sim.counts.reports;
	for (uint64_t i = 0; wanted && *wanted == '1' && report_text(i); i++)
		fprintf(stderr, "cuda_sim: %s\n", report_text(i));
	forget_reports();
	forget_calls();
	sim.is_initialised = 0;
	leave_control();
	if (!reports || !wanted || *wanted != '1')
		return;
	fflush(NULL);
	_exit(97);
}

void cuda_sim_count(struct cuda_sim_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	if (!enter_control())
		return;
	*counts = sim.counts;
	counts->live_memory = memory_live() + mappings_live();
	counts->live_streams = streams_live();
	counts->live_events = events_live();
	counts->live_modules = modules_live();
	leave_control();
}

const char *cuda_sim_report(uint64_t i)
{
	const char *text;

	if (!enter_control())
		return NULL;
	text = report_text(i);
	leave_control();
	return text;
}

const char *cuda_sim_call_name(uint64_t n)
{
	const char *name;

	if (!enter_control())
		return NULL;
	name = call_name(n);
	leave_control();
	return name;
}

const char *cuda_sim_host_wait(uint64_t i)
{
	const char *name;

	if (!enter_control())
		return NULL;
	name = host_wait_name(i);
	leave_control();
	return name;
}

void cuda_sim_settle(void)
{
	if (!enter_control())
		return;
	scheduler_settle();
	leave_control();
}

void cuda_sim_arm(uint64_t fail_call, int fail_code, uint64_t drop_wait)
{
	if (!enter_control())
		return;
	arm_faults(fail_call, fail_code, drop_wait);
	leave_control();
}

void cuda_sim_gone(uint64_t from_call, int code)
{
	if (!enter_control())
		return;
	shut_down(from_call, code);
	leave_control();
}

void cuda_sim_arm_from(uint64_t nth, uint64_t count, int code)
{
	if (!enter_control())
		return;
	arm_faults_from(nth, count, code);
	leave_control();
}

void cuda_sim_before(const char *name, uint64_t nth, void (*run)(void *data), void *data)
{
	if (!enter_control())
		return;
	interrupt(name, nth, run, data);
	leave_control();
}

void cuda_sim_behave(const char *names)
{
	if (!enter_control())
		return;
	switches_choose(names);
	leave_control();
}

/* Returns true if the access would not be a race. Host memory that the driver does not know has no races. */
static int is_ordered(uintptr_t handle, uint64_t pointer, size_t nbytes, int writes)
{
	struct footprint *footprint;
	struct clock clock = { NULL, 0 };
	bi__cu_result code = BI__CU_SUCCESS;
	const struct stream *stream = handle ? stream_find((bi__cu_stream)handle, &code) : NULL;
	int answer;

	if (code)
		return 0;
	if (stream)
		stream_join(stream, &clock, NULL);
	else
		clock_join(&clock, &host_clock);
	footprint = footprint_start();
	footprint_add(footprint, pointer, nbytes, writes);
	answer = !footprint_resolve(footprint, NULL, ACTION_NOTHING) && !footprint_conflict(footprint, &clock);
	clock_clear(&clock);
	return answer;
}

int cuda_sim_ordered(uintptr_t stream, unsigned long long pointer, size_t nbytes, int writes)
{
	int answer;

	if (!enter_control())
		return 0;
	answer = is_ordered(stream, pointer, nbytes, writes);
	leave_control();
	return answer;
}

static int is_of_device(const struct allocation *allocation)
{
	return !is_host_memory(allocation) && allocation->kind != MEMORY_MANAGED;
}

/* Returns true if a context has work that the host has not seen complete. */
static int is_any_device_at_work(void)
{
	struct clock enqueued = { NULL, 0 };
	int answer;

	for (const struct context *context = contexts_first(); context; context = context->next)
		context_join(context, &enqueued);
	answer = !clock_covers(&host_clock, &enqueued);
	clock_clear(&enqueued);
	return answer;
}

static void touch(uint64_t address, size_t nbytes, int writes)
{
	struct footprint *footprint = footprint_start();
	const struct half *half = &footprint->halves[writes != 0];
	char text[128];

	footprint_add(footprint, address, nbytes, writes);
	if (footprint_resolve(footprint, NULL, ACTION_HOST))
		return;
	for (size_t i = 0; i < half->count; i++) {
		const struct allocation *allocation = half->owners[i];

		if (is_of_device(allocation)) {
			report(REPORT_UNREACHABLE, "the CPU is at %s", memory_name(allocation, text));
			return;
		}
		if (allocation->kind == MEMORY_MANAGED && !sim.options.concurrent_managed && is_any_device_at_work()) {
			report(REPORT_MANAGED, "the CPU is at %s while devices may be at work",
			       memory_name(allocation, text));
			return;
		}
	}
	footprint_check(footprint, &host_clock,
			stamp_new(HOST_SLOT, clock_tick(&host_clock, HOST_SLOT), place_now(PLACE_HOST)));
}

/* Checks nothing in a host function: its access belongs to a stream, whose clock may include later work already. */
void cuda_sim_touch(const void *pointer, size_t nbytes, int writes)
{
	struct thread *self;

	if (!enter_control())
		return;
	self = thread_self();
	self->entry = ENTRY_TOUCH;
	if (!self->in_host_function)
		touch((uintptr_t)pointer, nbytes, writes);
	leave_control();
}
