/* Modules: valid and invalid images, and images for other devices. */
#include <stdlib.h>

#include "facts.h"
#include "kernels/image.h"

#define HEAD(version, target) ".version " version "\n.target " target "\n.address_size 64\n"
#define KERNEL ".visible .entry nothing()\n{\n\tret;\n}\n"

static const char *load(const void *image)
{
	bi__cu_module module;
	bi__cu_result result = cu->ModuleLoadData(&module, image);

	if (result == BI__CU_SUCCESS)
		cu->ModuleUnload(module);
	return code(result);
}

static int major_of(const struct objects *objects)
{
	int major = 0;

	cu->DeviceGetAttribute(&major, BI__CU_DEVICE_MAJOR, objects->device);
	return major;
}

static const char *of_null(struct objects *objects)
{
	(void)objects;
	return load(NULL);
}

static const char *to_null(struct objects *objects)
{
	(void)objects;
	return code(cu->ModuleLoadData(NULL, HEAD("6.0", "sm_50") KERNEL));
}

static const char *of_empty_text(struct objects *objects)
{
	(void)objects;
	return load("");
}

static const char *of_other_text(struct objects *objects)
{
	(void)objects;
	return load("This is no image.\n");
}

static const char *of_ptx(struct objects *objects)
{
	(void)objects;
	return load(HEAD("6.0", "sm_50") KERNEL);
}

static const char *of_ptx_with_mistake(struct objects *objects)
{
	(void)objects;
	return load(HEAD("6.0", "sm_50") ".visible .entry nothing()\n{\n\tthere is no such instruction;\n}\n");
}

static const char *of_ptx_of_the_future(struct objects *objects)
{
	(void)objects;
	return load(HEAD("99.0", "sm_50") KERNEL);
}

static const char *of_ptx_for_newer_device(struct objects *objects)
{
	return major_of(objects) >= 12 ? "not asked: this is the newest" : load(HEAD("8.7", "sm_120") KERNEL);
}

static const char *of_own_ptx(struct objects *objects)
{
	(void)objects;
	return load(bi__image_ptx);
}

static const char *load_code(int major, int minor)
{
	size_t nbytes;
	void *image = bi__image_load(major, minor, &nbytes);
	const char *answer = image ? load(image) : "not asked: no image";

	free(image);
	return answer;
}

static const char *of_own_code(struct objects *objects)
{
	int minor = 0;

	cu->DeviceGetAttribute(&minor, BI__CU_DEVICE_MINOR, objects->device);
	return load_code(major_of(objects), minor);
}

static const char *of_code_for_older_device(struct objects *objects)
{
	return major_of(objects) == 7 ? "not asked: this is the oldest" : load_code(7, 5);
}

static const char *of_code_for_newer_device(struct objects *objects)
{
	return major_of(objects) >= 12 ? "not asked: this is the newest" : load_code(12, 0);
}

static const char *unload_null(struct objects *objects)
{
	(void)objects;
	return code(cu->ModuleUnload(NULL));
}

static const char *find(const char *name, int with_module)
{
	bi__cu_module module;
	bi__cu_function function;
	const char *answer;

	if (cu->ModuleLoadData(&module, bi__image_ptx) != BI__CU_SUCCESS)
		return "fails";
	answer = code(cu->ModuleGetFunction(&function, with_module ? module : NULL, name));
	cu->ModuleUnload(module);
	return answer;
}

static const char *function_there(struct objects *objects)
{
	(void)objects;
	return find("bi__fill_1", 1);
}

static const char *function_not_there(struct objects *objects)
{
	(void)objects;
	return find("bi__no_such_kernel", 1);
}

static const char *function_empty_name(struct objects *objects)
{
	(void)objects;
	return find("", 1);
}

static const char *function_null_name(struct objects *objects)
{
	(void)objects;
	return find(NULL, 1);
}

static const char *function_of_null_module(struct objects *objects)
{
	(void)objects;
	return find("bi__fill_1", 0);
}

const struct fact modules_facts[] = {
	FACT(of_null, documented),
	FACT(to_null, documented),
	FACT(of_empty_text, assumed),
	FACT(of_other_text, assumed),
	FACT(of_ptx, documented),
	FACT(of_ptx_with_mistake, documented),
	FACT(of_ptx_of_the_future, documented),
	FACT(of_ptx_for_newer_device, assumed),
	FACT(of_own_ptx, documented),
	FACT(of_own_code, documented),
	FACT(of_code_for_older_device, documented),
	FACT(of_code_for_newer_device, documented),
	FACT(unload_null, documented),
	FACT(function_there, documented),
	FACT(function_not_there, documented),
	FACT(function_empty_name, assumed),
	FACT(function_null_name, documented),
	FACT(function_of_null_module, documented),
	{ NULL, assumed, NULL },
};
