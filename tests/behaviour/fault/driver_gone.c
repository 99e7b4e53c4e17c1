#include "driver_gone.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"
#include "cuda_sim/cuda_sim.h"
#include "opencl_layer/layer.h"

#define CL_DEVICE_NOT_AVAILABLE (-2)
#define CUDA_ERROR_DEINITIALIZED 4

static struct bi_layer layer;
static struct cuda_sim sim;

static int find_simulator(void)
{
	void *library = dlopen(getenv("BI_CUDA_LIBRARY"), RTLD_NOW | RTLD_NOLOAD), *address;

	if (!library)
		return 0;
#define FIND(name) \
	address = dlsym(library, "cuda_sim_" #name); \
	memcpy(&sim.name, &address, sizeof(address));
	CUDA_SIM_MAP(FIND)
#undef FIND
	return sim.gone != NULL;
}

int driver_gone_open(const char *device)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;

	options.device = device;
	if (bi_context_open(&options, &context, NULL))
		return 0;
	bi_context_release(context);
	return strncmp(device, "cuda", 4) == 0 ? find_simulator() : bi_layer_open(getenv("BI_TEST_LAYER"), &layer);
}

void driver_gone_reset(void)
{
	static const struct cuda_sim_options usual = CUDA_SIM_OPTIONS_INIT;

	if (layer.reset)
		layer.reset();
	if (sim.begin)
		sim.begin(&usual);
}

uint64_t driver_gone_calls(void)
{
	struct cuda_sim_counts counts;

	if (layer.calls)
		return layer.calls();
	sim.count(&counts);
	return counts.calls;
}

void driver_gone_from(uint64_t nth)
{
	if (layer.fail_from)
		layer.fail_from(nth, CL_DEVICE_NOT_AVAILABLE);
	else
		sim.gone(nth, CUDA_ERROR_DEINITIALIZED);
}

const char *driver_gone_code(void)
{
	return layer.loaded ? "CL_DEVICE_NOT_AVAILABLE" : "CUDA_ERROR_DEINITIALIZED";
}
