#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "context.h"
#include "scheduler.h"
#include "user_kernels.h"

static uint64_t live;

uint64_t modules_live(void)
{
	return live;
}

static void free_module(struct module *module, int is_destroyed)
{
	while (module->functions) {
		struct function *function = module->functions;

		module->functions = function->next;
		if (is_destroyed)
			handle_destroy(function->handle);
		free(function);
	}
	if (is_destroyed)
		handle_destroy(module->handle);
	clock_clear(&module->launches);
	free(module->image);
	free(module);
	live--;
}

void modules_destroy_of(struct context *context)
{
	while (context->modules) {
		struct module *module = context->modules;

		context->modules = module->next;
		report(REPORT_LEFT, "a module, when its context was destroyed");
		free_module(module, 1);
	}
}

void modules_forget_of(struct context *context)
{
	while (context->modules) {
		struct module *module = context->modules;

		context->modules = module->next;
		report(REPORT_LEFT, "a module");
		free_module(module, 0);
	}
}

static bi__cu_result load(bi__cu_module *out, const void *image)
{
	struct context *context = thread_top();
	struct module *module;
	bi__cu_result code;
	size_t nbytes;

	if (!out || !image)
		return BI__CU_ERROR_INVALID_VALUE;
	image = image_content(image);
	if (!image)
		return BI__CU_ERROR_INVALID_IMAGE;
	code = image_check(image, &nbytes);
	/* Seen on an H100 with driver 580.159.04: the call waits. That would hide an ignored wait. */
	if (!code && !sim.options.drop_wait)
		code = context_drain(context);
	if (code)
		return code;
	module = must_alloc(1, sizeof(*module));
	module->context = context;
	module->nbytes = nbytes;
	module->image = memcpy(must_alloc(nbytes, 1), image, nbytes);
	module->handle = handle_make(OBJECT_MODULE, module);
	module->next = context->modules;
	context->modules = module;
	live++;
	*out = module->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuModuleLoadData(bi__cu_module *module, const void *image)
{
	bi__cu_result code = ENTER(cuModuleLoadData);

	return leave(code ? code : load(module, image));
}

static struct module *find(bi__cu_module handle, bi__cu_result *code)
{
	struct module *module = handle_find(OBJECT_MODULE, handle, code);

	if (!module || module->context == thread_top())
		return module;
	report(REPORT_WRONG_CONTEXT, "the module was loaded into another context than the current one");
	*code = BI__CU_ERROR_INVALID_CONTEXT;
	return NULL;
}

/* The code must not be unloaded while a kernel runs. */
static bi__cu_result unload(bi__cu_module handle)
{
	bi__cu_result code;
	struct module *module = find(handle, &code);
	struct module **place;
	int is_complete;

	if (!module)
		return code;
	is_complete = clock_covers(&host_clock, &module->launches);
	if (!is_complete)
		report(REPORT_UNLOADED, "kernels of the module are not known to be complete");
	if (!is_complete || !switched(SWITCH_work_lost))
		code = wait_for_context(module->context);
	if (code)
		return code;
	place = &module->context->modules;
	while (*place != module)
		place = &(*place)->next;
	*place = module->next;
	free_module(module, 1);
	return BI__CU_SUCCESS;
}

bi__cu_result cuModuleUnload(bi__cu_module module)
{
	bi__cu_result code = ENTER(cuModuleUnload);

	return leave(code ? code : unload(module));
}

static void set_limits(struct function *function, const char *name)
{
	const char *image = function->module->image;
	int threads = image_number(image, name, ".maxntid", '\0'), shared = image_number(image, name, ".shared", '[');

	function->most_threads = threads ? threads : MOST_THREADS;
	function->shared = shared ? shared : (int)function->kernel->shared;
}

static bi__cu_result get_function(bi__cu_function *out, bi__cu_module handle, const char *name)
{
	bi__cu_result code;
	struct module *module = handle_find(OBJECT_MODULE, handle, &code);
	const struct sim_kernel *kernel;
	struct function *function;

	if (!module)
		return code;
	if (!out || !name || !*name)
		return BI__CU_ERROR_INVALID_VALUE;
	/* With lazy loading the code of the kernel is loaded now, so it is a call like cuModuleLoadData. */
	code = capture_admits_unsafe();
	if (code)
		return code;
	kernel = image_has_entry(module->image, module->nbytes, name) ? sim_kernel_find(name) : NULL;
	if (!kernel && image_has_entry(module->image, module->nbytes, name))
		kernel = user_kernel_find(name);
	if (!kernel)
		return BI__CU_ERROR_NOT_FOUND;
	for (function = module->functions; function; function = function->next)
		if (function->kernel == kernel)
			break;
	if (!function) {
		function = must_alloc(1, sizeof(*function));
		*function = (struct function){ module->functions, NULL, module, kernel, 0, 0 };
		set_limits(function, name);
		function->handle = handle_make(OBJECT_FUNCTION, function);
		module->functions = function;
	}
	*out = function->handle;
	return BI__CU_SUCCESS;
}

bi__cu_result cuModuleGetFunction(bi__cu_function *function, bi__cu_module module, const char *name)
{
	bi__cu_result code = ENTER(cuModuleGetFunction);

	return leave(code ? code : get_function(function, module, name));
}

static bi__cu_result get_attribute(int *value, unsigned what, bi__cu_function handle)
{
	bi__cu_result code;
	const struct function *function = handle_find(OBJECT_FUNCTION, handle, &code);

	if (!function)
		return code;
	if (!value || (what != BI__CU_FUNCTION_MAX_THREADS && what != BI__CU_FUNCTION_SHARED))
		return BI__CU_ERROR_INVALID_VALUE;
	*value = what == BI__CU_FUNCTION_SHARED ? function->shared : function->most_threads;
	return BI__CU_SUCCESS;
}

bi__cu_result cuFuncGetAttribute(int *value, unsigned what, bi__cu_function function)
{
	bi__cu_result code = ENTER(cuFuncGetAttribute);

	return leave(code ? code : get_attribute(value, what, function));
}
