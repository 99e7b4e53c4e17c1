/* A compiler that only tells its version, as the code of a failure: MAJOR is that of the file name. */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define UNUSED(name) \
	EXPORT int name(void); \
	int name(void) \
	{ \
		return 0; \
	}
UNUSED(nvrtcCreateProgram)
UNUSED(nvrtcDestroyProgram)
UNUSED(nvrtcGetPTXSize)
UNUSED(nvrtcGetPTX)
UNUSED(nvrtcGetCUBINSize)
UNUSED(nvrtcGetCUBIN)

EXPORT int nvrtcGetProgramLogSize(void *program, size_t *nbytes);
EXPORT int nvrtcGetProgramLog(void *program, char *text);
EXPORT int nvrtcGetNumSupportedArchs(int *count);
EXPORT int nvrtcGetSupportedArchs(int *archs);
EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *options);

static const char said[] = "source(3): warning: no error here\nptxas error   : too much shared data\n1 error\n";

int nvrtcGetProgramLogSize(void *program, size_t *nbytes)
{
	(void)program;
	*nbytes = sizeof(said);
	return 0;
}

int nvrtcGetProgramLog(void *program, char *text)
{
	(void)program;
	memcpy(text, said, sizeof(said));
	return 0;
}

int nvrtcGetNumSupportedArchs(int *count)
{
	*count = 1;
	return 0;
}

int nvrtcGetSupportedArchs(int *archs)
{
	*archs = 50;
	return 0;
}

int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
	(void)program;
	(void)count;
	(void)options;
	return 1000 + MAJOR;
}
