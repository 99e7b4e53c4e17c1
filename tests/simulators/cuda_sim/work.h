/* What devices do: actions, and the operations that do them when everything before them is done. */
#ifndef BI_TESTS_CUDA_SIM_WORK_H
#define BI_TESTS_CUDA_SIM_WORK_H

#include "kernels.h"
#include "sim.h"

struct allocation;

/* One side of a copy: where its first byte is, and how far it is from row to row and from plane to plane. */
struct copy_side {
	uint64_t address;
	size_t row_step, plane_step;
};

struct copy {
	struct copy_side dst, src;
	size_t width, height, depth; /* bytes, rows, planes */
};

/* The arguments of a launch as they were at the call. Counted. */
struct arguments {
	unsigned references;
	void **pointers;
};

struct launch {
	const struct sim_kernel *kernel;
	struct arguments *arguments;
	unsigned grid[3], block[3];
};

enum action_kind {
	ACTION_NOTHING, /* a point in a stream */
	ACTION_COPY,
	ACTION_SET,
	ACTION_LAUNCH,
	ACTION_HOST,
	ACTION_GATE,
	ACTION_FREE
};

struct action {
	enum action_kind kind;
	union {
		struct copy copy;
		struct {
			uint64_t address;
			size_t count;
			unsigned size; /* bytes of an item */
			unsigned value;
		} set;
		struct launch launch;
		struct {
			bi__cu_host_function function;
			void *data;
		} host;
		struct {
			uint64_t address;
			uint32_t value;
		} gate;
		struct allocation *freed;
	} of;
};

/* action.c */

/* Another holder of what the action refers to. */
void action_retain(const struct action *action);
void action_drop(const struct action *action);
/* Says every range that the action touches. */
void action_footprint(const struct action *action, sim_access_fn *access, void *state);
/* Is there something that it waits for, beside earlier operations? */
int action_is_open(const struct action *action);
/* Does it. Host functions are called without the lock. */
void action_run(const struct action *action, struct allocation *const *touched, size_t touched_count);

/* An operation. Counted: the scheduler holds those that are not done; streams and events hold their last. */
struct op {
	unsigned references;
	unsigned missing; /* operations that it waits for */
	int is_submitted, is_done;
	int is_void; /* reported, and not to be run */
	struct op **after; /* wait for it */
	size_t after_count, after_capacity;
	struct op *next, **place; /* in the list of what is not done, in order of submission */
	uint64_t number; /* of submission */
	uint64_t time; /* when it was done, in nanoseconds of the simulated devices */
	struct context *context;
	struct action action;
	struct allocation **touched; /* memory of devices that a kernel must be let at */
	size_t touched_count;
};

#endif
