/* The driver, its devices, its error codes. */
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "decisions.h"
#include "memory.h"

static bi__cu_result initialise(unsigned flags)
{
	if (flags)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!sim.options.devices)
		return BI__CU_ERROR_NO_DEVICE;
	sim.is_initialised = 1;
	return BI__CU_SUCCESS;
}

bi__cu_result cuInit(unsigned flags)
{
	bi__cu_result code = ENTER(cuInit);

	return leave(code ? code : initialise(flags));
}

bi__cu_result cuDriverGetVersion(int *version)
{
	bi__cu_result code = ENTER(cuDriverGetVersion);

	if (!code && !version)
		code = BI__CU_ERROR_INVALID_VALUE;
	if (!code)
		*version = sim.options.version;
	return leave(code);
}

static const struct {
	bi__cu_result code;
	const char *name;
} codes[] = {
	{ BI__CU_SUCCESS, "CUDA_SUCCESS" },
#define CODE(name, number, status) { number, "CUDA_" #name },
	BI__CU_CODES(CODE)
#undef CODE
		{ SIM_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" },
	{ SIM_HOST_MEMORY_ALREADY_REGISTERED, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" },
	{ SIM_HOST_MEMORY_NOT_REGISTERED, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" },
};

static bi__cu_result name_of(bi__cu_result code, const char **name)
{
	if (!name)
		return BI__CU_ERROR_INVALID_VALUE;
	*name = NULL;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			*name = codes[i].name;
	return *name ? BI__CU_SUCCESS : BI__CU_ERROR_INVALID_VALUE;
}

bi__cu_result cuGetErrorName(bi__cu_result code, const char **name)
{
	bi__cu_result result = ENTER(cuGetErrorName);

	return leave(result ? result : name_of(code, name));
}

/* A real driver returns a sentence; this one returns the name. */
bi__cu_result cuGetErrorString(bi__cu_result code, const char **text)
{
	bi__cu_result result = ENTER(cuGetErrorString);

	return leave(result ? result : name_of(code, text));
}

static bi__cu_result count_devices(int *count)
{
	if (!count)
		return BI__CU_ERROR_INVALID_VALUE;
	*count = sim.options.devices;
	return BI__CU_SUCCESS;
}

bi__cu_result cuDeviceGetCount(int *count)
{
	bi__cu_result code = ENTER(cuDeviceGetCount);

	return leave(code ? code : count_devices(count));
}

static bi__cu_result get_device(bi__cu_device *device, int ordinal)
{
	if (!device)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(ordinal))
		return BI__CU_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return BI__CU_SUCCESS;
}

bi__cu_result cuDeviceGet(bi__cu_device *device, int ordinal)
{
	bi__cu_result code = ENTER(cuDeviceGet);

	return leave(code ? code : get_device(device, ordinal));
}

static bi__cu_result get_name(char *name, int size, int device)
{
	if (!name || size <= 0)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)size, "Simulated CUDA device %d", device);
	return BI__CU_SUCCESS;
}

bi__cu_result cuDeviceGetName(char *name, int size, bi__cu_device device)
{
	bi__cu_result code = ENTER(cuDeviceGetName);

	return leave(code ? code : get_name(name, size, device));
}

static bi__cu_result get_total(size_t *nbytes, int device)
{
	if (!nbytes)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
	*nbytes = memory_total();
	return BI__CU_SUCCESS;
}

bi__cu_result cuDeviceTotalMem_v2(size_t *nbytes, bi__cu_device device)
{
	bi__cu_result code = ENTER(cuDeviceTotalMem_v2);

	return leave(code ? code : get_total(nbytes, device));
}

/* Number of the attribute, value. Names where types.h has one. */
#define ATTRIBUTES(X) \
	X(1, 1024) /* threads of a block, in all, along x, y, z */ \
	X(2, 1024) \
	X(3, 1024) \
	X(4, 64) \
	X(5, 2147483647) /* blocks of a grid along x, y, z */ \
	X(6, 65535) \
	X(7, 65535) \
	X(8, 49152) /* bytes of shared memory of a block */ \
	X(10, 32) /* threads of a warp */ \
	X(BI__CU_DEVICE_MAX_PITCH, 2147483647) \
	X(16, 8) /* multiprocessors */ \
	X(BI__CU_DEVICE_INTEGRATED, 0) \
	X(19, 1) /* host memory can be mapped */ \
	X(BI__CU_DEVICE_COMPUTE_MODE, sim.options.prohibited >> device & 1 ? BI__CU_COMPUTE_PROHIBITED : 0) \
	X(31, 1) /* concurrent kernels */ \
	X(40, 2) /* copy engines */ \
	X(BI__CU_DEVICE_UNIFIED_ADDRESSING, 1) \
	X(BI__CU_DEVICE_MAJOR, sim.options.capability / 10) \
	X(BI__CU_DEVICE_MINOR, sim.options.capability % 10) \
	X(BI__CU_DEVICE_MANAGED_MEMORY, 1) \
	X(88, 0) /* pageable memory access */ \
	X(BI__CU_DEVICE_CONCURRENT_MANAGED_ACCESS, sim.options.concurrent_managed) \
	X(102, 1) /* virtual memory management */

static bi__cu_result attribute(int *value, unsigned what, int device)
{
	if (!value)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!is_device(device))
		return BI__CU_ERROR_INVALID_DEVICE;
#define ATTRIBUTE(number, its_value) \
	if (what == (number)) { \
		*value = (its_value); \
		return BI__CU_SUCCESS; \
	}
	ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
	if (what != BI__CU_DEVICE_MEMORY_POOLS_SUPPORTED || sim.options.version < 11020)
		return BI__CU_ERROR_INVALID_VALUE;
	*value = sim.options.pools;
	return BI__CU_SUCCESS;
}

bi__cu_result cuDeviceGetAttribute(int *value, unsigned what, bi__cu_device device)
{
	bi__cu_result code = ENTER(cuDeviceGetAttribute);

	return leave(code ? code : attribute(value, what, device));
}
