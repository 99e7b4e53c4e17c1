/* Work of devices: actions, and operations that do an action when all operations before it are done. */
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

/* A copy of the arguments of a launch. Reference-counted. */
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

/* Add and release a reference to the objects of the action. */
void action_retain(const struct action *action);
void action_drop(const struct action *action);
/* Passes each range that the action touches to `access`. */
void action_footprint(const struct action *action, sim_access_fn *access, void *state);
/* Returns false if the action is a gate that is closed. */
int action_is_open(const struct action *action);
/* Does the action. Host functions are called without the lock. */
void action_run(const struct action *action, struct allocation *const *touched, size_t touched_count);

/*
 * An operation. Reference-counted: the scheduler holds the operations that are not done; streams, events and graphs
 * hold their last one.
 */
struct op {
	unsigned references;
	unsigned missing; /* number of operations that it waits for */
	int is_submitted, is_done;
	int is_void; /* reported, and not to be run */
	struct op **after; /* operations that wait for it */
	size_t after_count, after_capacity;
	struct op *next, **place; /* in the list of operations that are not done, in order of submission */
	uint64_t number; /* of submission */
	uint64_t time; /* when it was done, in nanoseconds of the simulated devices */
	struct context *context;
	struct action action;
	struct allocation **touched; /* device memory that a kernel accesses */
	size_t touched_count;
};

#endif
