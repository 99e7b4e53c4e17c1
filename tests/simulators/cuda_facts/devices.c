/* Devices and their attributes. */
#include <string.h>

#include "facts.h"

static const char *ask_attribute(unsigned what, bi__cu_device device)
{
	int value;

	return code(cu->DeviceGetAttribute(&value, what, device));
}

static const char *value_of(struct objects *objects, unsigned what)
{
	int value = -1;
	bi__cu_result result = cu->DeviceGetAttribute(&value, what, objects->device);

	return result == BI__CU_SUCCESS ? say("%d", value) : code(result);
}

static const char *there_is_one(struct objects *objects)
{
	int count = 0;
	bi__cu_result result = cu->DeviceGetCount(&count);

	(void)objects;
	return say("%s %s", code(result), yes_or_no(count > 0));
}

static const char *count_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->DeviceGetCount(NULL));
}

static const char *handle_is_ordinal(struct objects *objects)
{
	return yes_or_no(objects->device == 0);
}

static const char *ordinal_negative(struct objects *objects)
{
	bi__cu_device device;

	(void)objects;
	return code(cu->DeviceGet(&device, -1));
}

static const char *ordinal_past_end(struct objects *objects)
{
	bi__cu_device device;
	int count = 0;

	(void)objects;
	cu->DeviceGetCount(&count);
	return code(cu->DeviceGet(&device, count));
}

static const char *get_to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->DeviceGet(NULL, 0));
}

static const char *name_is_there(struct objects *objects)
{
	char name[256] = "";
	bi__cu_result result = cu->DeviceGetName(name, sizeof(name), objects->device);

	return say("%s %s", code(result), yes_or_no(name[0] && memchr(name, 0, sizeof(name))));
}

static const char *name_cut_off(struct objects *objects)
{
	char name[8] = "xxxxxxx";
	bi__cu_result result = cu->DeviceGetName(name, 4, objects->device);

	return say("%s %s %s", code(result), name[3] == 0 ? "ends" : "does not end",
		   strcmp(name + 4, "xxx") == 0 ? "inside" : "outside");
}

static const char *name_to_null(struct objects *objects)
{
	return code(cu->DeviceGetName(NULL, 16, objects->device));
}

static const char *name_of_wrong_device(struct objects *objects)
{
	char name[16];

	(void)objects;
	return code(cu->DeviceGetName(name, sizeof(name), 1000));
}

static const char *total_is_plausible(struct objects *objects)
{
	size_t nbytes = 0;
	bi__cu_result result = cu->DeviceTotalMem(&nbytes, objects->device);

	return say("%s %s", code(result), yes_or_no(nbytes >= (size_t)1 << 20));
}

static const char *total_of_wrong_device(struct objects *objects)
{
	size_t nbytes;

	(void)objects;
	return code(cu->DeviceTotalMem(&nbytes, 1000));
}

static const char *total_to_null(struct objects *objects)
{
	return code(cu->DeviceTotalMem(NULL, objects->device));
}

static const char *attribute_unknown(struct objects *objects)
{
	return ask_attribute(99999, objects->device);
}

static const char *attribute_zero(struct objects *objects)
{
	return ask_attribute(0, objects->device);
}

static const char *attribute_of_wrong_device(struct objects *objects)
{
	(void)objects;
	return ask_attribute(BI__CU_DEVICE_MAJOR, 1000);
}

static const char *attribute_of_negative_device(struct objects *objects)
{
	(void)objects;
	return ask_attribute(BI__CU_DEVICE_MAJOR, -1);
}

static const char *attribute_to_null(struct objects *objects)
{
	return code(cu->DeviceGetAttribute(NULL, BI__CU_DEVICE_MAJOR, objects->device));
}

static const char *max_pitch(struct objects *objects)
{
	return value_of(objects, BI__CU_DEVICE_MAX_PITCH);
}

static const char *unified_addressing(struct objects *objects)
{
	return value_of(objects, BI__CU_DEVICE_UNIFIED_ADDRESSING);
}

static const char *managed_memory(struct objects *objects)
{
	return value_of(objects, BI__CU_DEVICE_MANAGED_MEMORY);
}

static const char *memory_pools(struct objects *objects)
{
	return value_of(objects, BI__CU_DEVICE_MEMORY_POOLS_SUPPORTED);
}

const struct fact devices_facts[] = {
	FACT(there_is_one, assumed),
	FACT(count_to_null, documented),
	FACT(handle_is_ordinal, assumed),
	FACT(ordinal_negative, assumed),
	FACT(ordinal_past_end, documented),
	FACT(get_to_null, documented),
	FACT(name_is_there, documented),
	FACT(name_cut_off, assumed),
	FACT(name_to_null, documented),
	FACT(name_of_wrong_device, documented),
	FACT(total_is_plausible, documented),
	FACT(total_of_wrong_device, documented),
	FACT(total_to_null, documented),
	FACT(attribute_unknown, documented),
	FACT(attribute_zero, assumed),
	FACT(attribute_of_wrong_device, documented),
	FACT(attribute_of_negative_device, documented),
	FACT(attribute_to_null, documented),
	FACT(max_pitch, assumed),
	FACT(unified_addressing, documented),
	FACT(managed_memory, assumed),
	FACT(memory_pools, assumed),
	{ NULL, assumed, NULL },
};
