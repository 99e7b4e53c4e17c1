/* Calls of the driver's compiler. */
#include "opencl/opencl.h"

#include <stdlib.h>

cl_int bi__opencl_compile(const struct bi__opencl *opencl, const struct bi__opencl_source *source, const char *more,
			  cl_program *out)
{
	const char *texts[] = { source->text, more };
	cl_int code;

	*out = bi__cl->CreateProgramWithSource(opencl->context, 2, texts, NULL, &code);
	if (code != CL_SUCCESS) {
		*out = NULL;
		return code;
	}
	return bi__cl->BuildProgram(*out, 1, &opencl->device, source->options, NULL, NULL);
}

char *bi__opencl_build_log(cl_program program, cl_device_id device)
{
	size_t size = 0;
	char *log;

	bi__cl->GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
	log = size ? calloc(1, size + 1) : NULL;
	if (log)
		bi__cl->GetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
	return log;
}
