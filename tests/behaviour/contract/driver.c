#define _POSIX_C_SOURCE 200809L
#include "driver.h"

#include <time.h>

#include "contract.h"

const struct outside *outside_of(const struct bi_context *context)
{
	static const struct outside *const all[] = { &outside_cuda, &outside_opencl };

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (strcmp(bi_context_device(context)->backend, all[i]->backend) == 0)
			return all[i];
	return NULL;
}

void expect_references(const struct outside *outside, enum driver_kind kind, uintptr_t handle, unsigned expected)
{
	const struct timespec pause = { 0, 1000000 };

	if (!outside->references)
		return;
	for (int i = 0; i < 5000 && outside->references(kind, handle) != expected; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(outside->references(kind, handle), expected);
}
