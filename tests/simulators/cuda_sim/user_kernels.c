/* Kernels of a program as C functions: tests register them by cuda_sim_kernel, and modules find them by their names. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "buffer_interface/kernel.h"
#include "memory.h"
#include "user_kernels.h"

#define MOST_KERNELS 32
#define MOST_PARAMETERS 32

struct user_kernel {
	struct sim_kernel kernel;
	const struct bi_host_kernel *function;
	char name[64];
	size_t sizes[2 * MOST_PARAMETERS + 1];
};

static struct user_kernel kernels[MOST_KERNELS];
static size_t count;

static uint64_t pointer_at(void *const *arguments, size_t index)
{
	uint64_t pointer;

	memcpy(&pointer, arguments[index], sizeof(pointer));
	return pointer;
}

/* A kernel of the caller may touch all of an array's allocation. */
static void touch_arrays(const struct user_kernel *user, void *const *arguments, sim_access_fn *access, void *state)
{
	size_t at = 0;

	for (const struct bi_parameter *parameter = user->function->parameters; parameter->kind; parameter++) {
		int is_array = parameter->kind == BI_PARAMETER_ARRAY || parameter->kind == BI_PARAMETER_STRIDED;
		uint64_t pointer = is_array ? pointer_at(arguments, at) : 0;
		const struct allocation *allocation = pointer ? memory_at(pointer) : NULL;

		if (allocation)
			access(state, allocation->start, allocation->nbytes, (parameter->access & 2) != 0);
		else if (pointer)
			access(state, pointer, parameter->size, 1);
		at += parameter->kind == BI_PARAMETER_STRIDED ? 2 : 1;
	}
}

static size_t load_arguments(const struct user_kernel *user, void *const *from, struct bi_host_argument *to,
			     char *local)
{
	size_t at = 0;

	for (const struct bi_parameter *parameter = user->function->parameters; parameter->kind; parameter++, to++) {
		unsigned offset;

		to->data = from[at];
		if (parameter->kind == BI_PARAMETER_LOCAL) {
			memcpy(&offset, from[at], sizeof(offset));
			to->data = local + offset;
		}
		if (parameter->kind <= BI_PARAMETER_STRIDED)
			to->data = (void *)(uintptr_t)pointer_at(from, at);
		if (parameter->kind == BI_PARAMETER_STRIDED)
			to->strides = from[++at];
		at++;
	}
	return at;
}

static void run_user(const struct user_kernel *user, void *const *arguments, const unsigned grid[3],
		     const unsigned block[3])
{
	static long long local[49152 / sizeof(long long)];
	struct bi_host_argument loaded[MOST_PARAMETERS];
	struct bi_host_box box;
	int64_t most;
	size_t at = load_arguments(user, arguments, loaded, (char *)local);

	memcpy(box.size, arguments[at], sizeof(box.size));
	for (int i = 0; i < 3; i++) {
		box.first[i] = 0;
		box.group[i] = block[i];
		box.end[i] = user->function->has_groups ? box.size[i] / box.group[i] : box.size[i];
		most = user->function->has_groups ? grid[i] : (int64_t)grid[i] * block[i];
		if (box.end[i] > most)
			box.end[i] = most;
	}
	user->function->run(&box, loaded);
}

/* The functions of struct sim_kernel get no pointer to their kernel, so each slot has functions of its own. */
#define SLOT(n) \
	static void footprint_##n(void *const *arguments, const unsigned grid[3], const unsigned block[3], \
				  sim_access_fn *access, void *state) \
	{ \
		(void)grid; \
		(void)block; \
		touch_arrays(&kernels[n], arguments, access, state); \
	} \
	static void run_##n(void *const *arguments, const unsigned grid[3], const unsigned block[3], uint64_t seed) \
	{ \
		(void)seed; \
		run_user(&kernels[n], arguments, grid, block); \
	}
#define SLOTS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
SLOTS(SLOT)

static const struct {
	void (*footprint)(void *const *arguments, const unsigned grid[3], const unsigned block[3],
			  sim_access_fn *access, void *state);
	void (*run)(void *const *arguments, const unsigned grid[3], const unsigned block[3], uint64_t seed);
} slots[] = {
#define SLOT_ENTRY(n) { footprint_##n, run_##n },
	SLOTS(SLOT_ENTRY)
};

static size_t set_sizes(const struct bi_parameter *parameter, size_t *sizes)
{
	size_t at = 0;

	for (; parameter->kind; parameter++) {
		sizes[at++] = parameter->kind == BI_PARAMETER_VALUE   ? parameter->size
			      : parameter->kind == BI_PARAMETER_LOCAL ? sizeof(unsigned)
								      : sizeof(uint64_t);
		if (parameter->kind == BI_PARAMETER_STRIDED)
			sizes[at++] = parameter->rank * sizeof(int64_t);
	}
	sizes[at++] = 3 * sizeof(int64_t);
	return at;
}

const struct sim_kernel *user_kernel_find(const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i].kernel;
	return NULL;
}

void cuda_sim_kernel(const struct bi_host_kernel *function)
{
	struct user_kernel *user = &kernels[count];

	if (!enter_control())
		return;
	snprintf(user->name, sizeof(user->name), "bi_kernel_%s", function->name);
	if (!user_kernel_find(user->name) && count < sizeof(slots) / sizeof(*slots)) {
		user->function = function;
		user->kernel = (struct sim_kernel){ .name = user->name,
						    .argument_count = set_sizes(function->parameters, user->sizes),
						    .argument_sizes = user->sizes,
						    .footprint = slots[count].footprint,
						    .run = slots[count].run };
		count++;
	}
	leave_control();
}
