#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "work.h"

/* The most arguments of a kernel. Kernels of user_kernels.c have at most 65. */
#define MOST_ARGUMENTS 80

void action_retain(const struct action *action)
{
	if (action->kind == ACTION_LAUNCH)
		action->of.launch.arguments->references++;
}

void action_drop(const struct action *action)
{
	if (action->kind == ACTION_LAUNCH && !--action->of.launch.arguments->references)
		free(action->of.launch.arguments);
}

static uint64_t row_of(const struct copy_side *side, size_t y, size_t z)
{
	return side->address + y * side->row_step + z * side->plane_step;
}

static void copy_footprint(const struct copy *copy, sim_access_fn *access, void *state)
{
	for (size_t z = 0; z < copy->depth; z++)
		for (size_t y = 0; y < copy->height; y++) {
			access(state, row_of(&copy->src, y, z), copy->width, 0);
			access(state, row_of(&copy->dst, y, z), copy->width, 1);
		}
}

void action_footprint(const struct action *action, sim_access_fn *access, void *state)
{
	const struct launch *launch = &action->of.launch;

	if (action->kind == ACTION_COPY)
		copy_footprint(&action->of.copy, access, state);
	if (action->kind == ACTION_SET)
		access(state, action->of.set.address, action->of.set.count * action->of.set.size, 1);
	if (action->kind == ACTION_LAUNCH)
		launch->kernel->footprint(launch->arguments->pointers, launch->grid, launch->block, access, state);
	if (action->kind == ACTION_FREE)
		access(state, action->of.freed->start, action->of.freed->nbytes, 1);
}

/* The comparison is that of a counter that wraps. */
int action_is_open(const struct action *action)
{
	uint32_t word;

	if (action->kind != ACTION_GATE)
		return 1;
	word = __atomic_load_n((const uint32_t *)(const void *)bytes_at(action->of.gate.address), __ATOMIC_ACQUIRE);
	return (int32_t)(word - action->of.gate.value) >= 0;
}

static void run_copy(const struct copy *copy)
{
	struct copy_side dst = copy->dst, src = copy->src;

	dst.address = (uintptr_t)bytes_at(dst.address);
	src.address = (uintptr_t)bytes_at(src.address);
	for (size_t z = 0; z < copy->depth; z++)
		for (size_t y = 0; y < copy->height; y++)
			memcpy((void *)(uintptr_t)row_of(&dst, y, z), (const void *)(uintptr_t)row_of(&src, y, z),
			       copy->width);
}

static void run_set(char *bytes, size_t count, unsigned size, unsigned value)
{
	const unsigned short half = (unsigned short)value;

	if (size == 1) {
		memset(bytes, (int)value, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		memcpy(bytes + i * size, size == 2 ? (const void *)&half : (const void *)&value, size);
}

/* Copies the arguments of a kernel, with host_address of each that may be an address. */
static void load_arguments(const struct launch *launch, void **pointers, uint64_t *addresses)
{
	for (size_t i = 0; i < launch->kernel->argument_count; i++) {
		pointers[i] = launch->arguments->pointers[i];
		if (launch->kernel->argument_sizes[i] != sizeof(*addresses))
			continue;
		memcpy(&addresses[i], pointers[i], sizeof(*addresses));
		addresses[i] = host_address(addresses[i]);
		pointers[i] = &addresses[i];
	}
}

/* Kernels use the addresses of callers. Only the memory that the footprint names is accessible meanwhile. */
static void run_launch(const struct launch *launch, struct allocation *const *touched, size_t count)
{
	void *pointers[MOST_ARGUMENTS];
	uint64_t addresses[MOST_ARGUMENTS];

	load_arguments(launch, pointers, addresses);
	for (size_t i = 0; i < count; i++)
		arena_open(touched[i]->pages);
	launch->kernel->run(pointers, launch->grid, launch->block, random_next());
	for (size_t i = 0; i < count; i++)
		arena_close(touched[i]->pages);
}

static void run_host(bi__cu_host_function function, void *data)
{
	struct thread *self = thread_self();
	enum entry entry = self->entry;
	uint64_t call = self->call;

	self->in_host_function = 1;
	sim_unlock();
	function(data);
	sim_lock();
	self->in_host_function = 0;
	self->entry = entry;
	self->call = call;
}

void action_run(const struct action *action, struct allocation *const *touched, size_t touched_count)
{
	if (action->kind == ACTION_COPY)
		run_copy(&action->of.copy);
	if (action->kind == ACTION_SET)
		run_set(bytes_at(action->of.set.address), action->of.set.count, action->of.set.size,
			action->of.set.value);
	if (action->kind == ACTION_LAUNCH)
		run_launch(&action->of.launch, touched, touched_count);
	if (action->kind == ACTION_HOST)
		run_host(action->of.host.function, action->of.host.data);
	if (action->kind == ACTION_FREE) {
		arena_empty(action->of.freed->pages);
		action->of.freed->is_leaving = 0;
	}
}
