/* Kernels: the bytes that a launch touches are checked exactly, and its module must stay loaded until its end. */
#include "kernels/image.h"
#include "kernels/launch.h"
#include "sim_tests.h"

/* Sets every second byte of the 2 * count - 1 from the pointer on. */
static bi__cu_result fill(bi__cu_pointer pointer, int64_t count, bi__cu_module module, bi__cu_stream stream)
{
	const struct bi__plan plan = { .kind = BI_PLAN_STRIDED,
				       .ndim = 1,
				       .unit = 1,
				       .bytes = (uint64_t)count,
				       .shape = { count },
				       .dst_strides = { 2 } };
	const struct bi__launch_limits limits = { .group = 64 };
	bi__cu_pointer base = pointer & ~(bi__cu_pointer)(BI__LAUNCH_ALIGN - 1);
	bi__cu_function function;
	struct bi__launches launches;
	struct bi__launch launch;
	void *arguments[2] = { &base, &launch.arguments };

	bi__launches_fill(&launches, &plan, pointer - base, "\7", &limits);
	assert_true(bi__launches_next(&launches, &launch));
	assert_true(launch.is_last);
	must(cu->ModuleGetFunction(&function, module, bi__kernel_name(launch.kernel)));
	return cu->LaunchKernel(function, launch.groups, 1, 1, launch.threads, 1, 1, 0, stream, arguments, NULL);
}

static bi__cu_module load(void)
{
	bi__cu_module module;

	must(cu->ModuleLoadData(&module, bi__image_ptx));
	return module;
}

static void fill_twice(struct rig *rig, bi__cu_pointer second)
{
	bi__cu_module module = load();

	must(fill(rig->m, 32, module, rig->a));
	must(fill(second, 32, module, rig->b));
	must(cu->CtxSynchronize());
	must(cu->ModuleUnload(module));
}

/* Each launch writes every second byte. No rectangle separates the two. */
static void between_right(struct rig *rig)
{
	fill_twice(rig, rig->m + 1);
}

static void between_wrong(struct rig *rig)
{
	fill_twice(rig, rig->m + 62);
}

static void fill_to(struct rig *rig, int64_t offset, int is_right)
{
	bi__cu_module module = load();
	bi__cu_result result = fill(rig->m + (bi__cu_pointer)offset, SIM_BYTES / 2, module, rig->a);

	assert_true(!is_right || result == BI__CU_SUCCESS);
	must(cu->CtxSynchronize());
	must(cu->ModuleUnload(module));
}

static void last_byte_right(struct rig *rig)
{
	fill_to(rig, 1, 1);
}

static void last_byte_wrong(struct rig *rig)
{
	fill_to(rig, 2, 0);
}

static void unload(struct rig *rig, int is_right)
{
	bi__cu_module module = load();

	must(cu->StreamWaitValue32(rig->a, (uintptr_t)rig->pinned, 1, 0));
	must(fill(rig->m, 32, module, rig->a));
	*(uint32_t *)(void *)rig->pinned = 1;
	if (is_right)
		must(cu->StreamSynchronize(rig->a));
	cu->ModuleUnload(module);
}

static void unloaded_right(struct rig *rig)
{
	unload(rig, 1);
}

static void unloaded_wrong(struct rig *rig)
{
	unload(rig, 0);
}

const struct defect kernel_launch_defects[] = {
	{ "between", between_right, between_wrong, { "race: cuLaunchKernel (call " }, "cuLaunchKernel", 0 },
	{ "last_byte",
	  last_byte_right,
	  last_byte_wrong,
	  { "outside of an allocation: cuLaunchKernel (call " },
	  NULL,
	  0 },
	{ "unloaded", unloaded_right, unloaded_wrong, { "module in use: cuModuleUnload (call " }, NULL, 0 },
};
const size_t kernel_launch_defect_count = COUNT_OF(kernel_launch_defects);

void test_launches_counted(void **state)
{
	const struct cuda_sim_options options = seeded(0);
	bi__cu_module module;
	struct rig rig;

	(void)state;
	sim->begin(&options);
	rig_make(&rig);
	module = load();
	assert_int_equal(counted().live_modules, 1);
	must(fill(rig.m, 32, module, rig.a));
	must(cu->CtxSynchronize());
	assert_int_equal(counted().launches, 1);
	must(cu->ModuleUnload(module));
	rig_take_away(&rig);
	assert_int_equal(sim->end(), 0);
}
