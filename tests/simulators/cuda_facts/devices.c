/* Devices and their attributes. */
#include <string.h>

#include "facts.h"

static const char *ask_attribute(unsigned what, bi__cu_device device)
{
	int value;

	return code(cu->DeviceGetAttribute(&value, what, device));
}

static const char *value_of(struct kit *kit, unsigned what)
{
	int value = -1;
	bi__cu_result result = cu->DeviceGetAttribute(&value, what, kit->device);

	return result == BI__CU_SUCCESS ? say("%d", value) : code(result);
}

static const char *there_is_one(struct kit *kit)
{
	int count = 0;
	bi__cu_result result = cu->DeviceGetCount(&count);

	(void)kit;
	return say("%s %s", code(result), yes_or_no(count > 0));
}

static const char *count_to_null(struct kit *kit)
{
	(void)kit;
	return code(cu->DeviceGetCount(NULL));
}

static const char *handle_is_ordinal(struct kit *kit)
{
	return yes_or_no(kit->device == 0);
}

static const char *ordinal_negative(struct kit *kit)
{
	bi__cu_device device;

	(void)kit;
	return code(cu->DeviceGet(&device, -1));
}

static const char *ordinal_past_end(struct kit *kit)
{
	bi__cu_device device;
	int count = 0;

	(void)kit;
	cu->DeviceGetCount(&count);
	return code(cu->DeviceGet(&device, count));
}

static const char *get_to_null(struct kit *kit)
{
	(void)kit;
	return code(cu->DeviceGet(NULL, 0));
}

static const char *name_is_there(struct kit *kit)
{
	char name[256] = "";
	bi__cu_result result = cu->DeviceGetName(name, sizeof(name), kit->device);

	return say("%s %s", code(result), yes_or_no(name[0] && memchr(name, 0, sizeof(name))));
}

static const char *name_cut_off(struct kit *kit)
{
	char name[8] = "xxxxxxx";
	bi__cu_result result = cu->DeviceGetName(name, 4, kit->device);

	return say("%s %s %s", code(result), name[3] == 0 ? "ends" : "does not end",
		   strcmp(name + 4, "xxx") == 0 ? "inside" : "outside");
}

static const char *name_to_null(struct kit *kit)
{
	return code(cu->DeviceGetName(NULL, 16, kit->device));
}

static const char *name_of_wrong_device(struct kit *kit)
{
	char name[16];

	(void)kit;
	return code(cu->DeviceGetName(name, sizeof(name), 1000));
}

static const char *total_is_plausible(struct kit *kit)
{
	size_t nbytes = 0;
	bi__cu_result result = cu->DeviceTotalMem(&nbytes, kit->device);

	return say("%s %s", code(result), yes_or_no(nbytes >= (size_t)1 << 20));
}

static const char *total_of_wrong_device(struct kit *kit)
{
	size_t nbytes;

	(void)kit;
	return code(cu->DeviceTotalMem(&nbytes, 1000));
}

static const char *total_to_null(struct kit *kit)
{
	return code(cu->DeviceTotalMem(NULL, kit->device));
}

static const char *attribute_unknown(struct kit *kit)
{
	return ask_attribute(99999, kit->device);
}

static const char *attribute_zero(struct kit *kit)
{
	return ask_attribute(0, kit->device);
}

static const char *attribute_of_wrong_device(struct kit *kit)
{
	(void)kit;
	return ask_attribute(BI__CU_DEVICE_MAJOR, 1000);
}

static const char *attribute_of_negative_device(struct kit *kit)
{
	(void)kit;
	return ask_attribute(BI__CU_DEVICE_MAJOR, -1);
}

static const char *attribute_to_null(struct kit *kit)
{
	return code(cu->DeviceGetAttribute(NULL, BI__CU_DEVICE_MAJOR, kit->device));
}

static const char *max_pitch(struct kit *kit)
{
	return value_of(kit, BI__CU_DEVICE_MAX_PITCH);
}

static const char *unified_addressing(struct kit *kit)
{
	return value_of(kit, BI__CU_DEVICE_UNIFIED_ADDRESSING);
}

static const char *managed_memory(struct kit *kit)
{
	return value_of(kit, BI__CU_DEVICE_MANAGED_MEMORY);
}

static const char *memory_pools(struct kit *kit)
{
	return value_of(kit, BI__CU_DEVICE_MEMORY_POOLS_SUPPORTED);
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
