#include "faults.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "behaviour/fault/allocations.h"
#include "buffer_interface.h"
#include "cuda_driver.h"
#include "opencl_layer/layer.h"

static struct {
	int is_open;
	struct bi_layer layer;
	const struct cuda_sim *sim;
	uint64_t armed_call; /* number of the call of the simulated driver that fails, or 0 */
} kept_faults;

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof(*(array)))

void faults_open(const char *device)
{
	if (kept_faults.is_open)
		return;
	kept_faults.is_open = 1;
	if (strncmp(device, "cuda", 4) == 0)
		kept_faults.sim = cuda_sim();
	else if (strncmp(device, "opencl", 6) == 0 && !bi_layer_open(getenv("BI_TEST_LAYER"), &kept_faults.layer))
		memset(&kept_faults.layer, 0, sizeof(kept_faults.layer));
}

static int has_driver(void)
{
	return kept_faults.sim || kept_faults.layer.loaded;
}

static struct cuda_sim_counts counts_now(void)
{
	struct cuda_sim_counts counts;

	kept_faults.sim->count(&counts);
	return counts;
}

static void fail_one_cuda_call(unsigned choice, unsigned n)
{
	static const int codes[] = { 0, BI__CU_ERROR_OUT_OF_MEMORY, BI__CU_ERROR_INVALID_VALUE, BI__CU_ERROR_UNKNOWN };

	kept_faults.armed_call = counts_now().calls + n;
	kept_faults.sim->arm(n, codes[choice % ARRAY_LENGTH(codes)], 0);
}

/* Releases and unmaps are not made to fail, because the driver would keep the object. */
static void fail_one_opencl_call(unsigned choice, unsigned n)
{
	static const int codes[] = { -5 /* out of resources */, -6 /* out of host memory */, -4 /* allocation failed */,
				     -59 /* invalid operation */ };
	const char *name = kept_faults.layer.entry((int)(choice % (unsigned)kept_faults.layer.entries()));

	if (strncmp(name, "clRelease", 9) != 0 && strcmp(name, "clEnqueueUnmapMemObject") != 0)
		kept_faults.layer.arm(name, 1 + n % 3, codes[n % ARRAY_LENGTH(codes)]);
}

static void fail_one_call(unsigned choice, unsigned n)
{
	if (kept_faults.sim)
		fail_one_cuda_call(choice, n);
	else
		fail_one_opencl_call(choice, n);
}

static void fail_calls_from(unsigned n)
{
	if (kept_faults.sim)
		kept_faults.sim->arm_from(n, 0, BI__CU_ERROR_UNKNOWN);
	else
		kept_faults.layer.refuse_from(n, -5);
}

enum fault faults_arm(unsigned choice, unsigned n, int may_refuse)
{
	unsigned kind = choice % (may_refuse ? 4 : 3);

	choice /= 4;
	if (kind < 2 || !has_driver()) {
		allocations_arm(1 + n % 6, kind ? FAIL_FROM : FAIL_ONCE);
		return FAULT_ALLOCATION;
	}
	if (kind == 2)
		fail_one_call(choice, 1 + n);
	else
		fail_calls_from(1 + n % 14);
	return kind == 2 ? FAULT_CALL : FAULT_CALLS;
}

void faults_spare_driver(void)
{
	if (kept_faults.sim)
		kept_faults.sim->arm(0, 0, 0);
	if (kept_faults.layer.loaded)
		kept_faults.layer.reset();
}

int faults_refused_release(void)
{
	const char *name = NULL;

	if (kept_faults.armed_call && counts_now().calls >= kept_faults.armed_call)
		name = kept_faults.sim->call_name(kept_faults.armed_call);
	kept_faults.armed_call = 0;
	return name && (strstr(name, "Free") || strstr(name, "Destroy") || strstr(name, "Release") ||
			strstr(name, "Unload") || strstr(name, "PushCurrent"));
}

void faults_disarm(void)
{
	allocations_arm(0, FAIL_ONCE);
	faults_spare_driver();
}

int faults_explain(enum fault fault, int rc)
{
	if (fault == FAULT_NONE)
		return 0;
	if (fault == FAULT_ALLOCATION)
		return rc == BI_ENOMEM;
	return rc == BI_ENOMEM || rc == BI_EDRIVER || rc == BI_EUNFINISHED;
}
