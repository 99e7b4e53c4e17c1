#include "cuda/nvrtc.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/dl.h"
#include "cuda/api.h"

typedef struct nvrtc_program *nvrtc_program;

/* X(name without "nvrtc", parameters). Each function returns 0, or a code. NVRTC 11.2 is the first with all of them. */
#define API(X) \
	X(CreateProgram, (nvrtc_program * program, const char *text, const char *name, int headers, \
			  const char *const *texts, const char *const *names)) \
	X(DestroyProgram, (nvrtc_program * program)) \
	X(CompileProgram, (nvrtc_program program, int count, const char *const *options)) \
	X(GetProgramLogSize, (nvrtc_program program, size_t * nbytes)) \
	X(GetProgramLog, (nvrtc_program program, char *log)) \
	X(GetPTXSize, (nvrtc_program program, size_t * nbytes)) \
	X(GetPTX, (nvrtc_program program, char *ptx)) \
	X(GetCUBINSize, (nvrtc_program program, size_t * nbytes)) \
	X(GetCUBIN, (nvrtc_program program, char *code)) \
	X(GetNumSupportedArchs, (int *count)) \
	X(GetSupportedArchs, (int *archs))

#define INVALID_OPTION 5 /* NVRTC_ERROR_INVALID_OPTION */
#define REFUSED 6 /* NVRTC_ERROR_COMPILATION */
#define MOST_OPTIONS 64
#define MOST_ARCHS 128

static struct api {
	void *library;
#define MEMBER(name, parameters) int(*name) parameters;
	API(MEMBER)
#undef MEMBER
} api;

/* A driver may refuse the output of a compiler of a newer major version, so such compilers come after the others. */
static int open_library_locked(struct bi_error *err)
{
	static const char *const of_13[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
					     NULL };
	static const char *const of_12[] = { "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", "libnvrtc.so.13",
					     NULL };
	static const char *const of_11[] = { "libnvrtc.so.11.2", "libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.13",
					     NULL };
	const char *const *names = bi__cu_version() >= 13000 ? of_13 : bi__cu_version() >= 12000 ? of_12 : of_11;
	static const struct bi__symbol symbols[] = {
#define SYMBOL(name, parameters) { offsetof(struct api, name), "nvrtc" #name, 1 },
		API(SYMBOL)
#undef SYMBOL
	};
	struct bi_error reason;
	int rc = bi__dl_open("BI_NVRTC_LIBRARY", names, symbols, sizeof(symbols) / sizeof(*symbols), &api, &reason);

	return rc ? bi__fail(err, BI_EUNSUPPORTED, "CUDA source needs NVRTC, or set source.image: %s", reason.message)
		  : BI_OK;
}

/* Sets *best to the newest architecture that the compiler supports up to the capability of the device. */
static int choose_arch(int capability, int *best, struct bi_error *err)
{
	int archs[MOST_ARCHS], count = 0, code = api.GetNumSupportedArchs(&count);

	if (code)
		return bi__fail_vendor(err, BI_EDRIVER, code, "nvrtcGetNumSupportedArchs failed (%d)", code);
	if (count > MOST_ARCHS)
		return bi__fail(err, BI_EUNSUPPORTED,
				"NVRTC supports %d architectures, but at most %d are read: set source.image", count,
				MOST_ARCHS);
	code = api.GetSupportedArchs(archs);
	if (code)
		return bi__fail_vendor(err, BI_EDRIVER, code, "nvrtcGetSupportedArchs failed (%d)", code);
	*best = 0;
	for (int i = 0; i < count; i++)
		if (archs[i] <= capability && archs[i] > *best)
			*best = archs[i];
	return *best ? BI_OK
		     : bi__fail(err, BI_EUNSUPPORTED,
				"NVRTC supports no architecture up to sm_%d: set source.image, or name another library "
				"with BI_NVRTC_LIBRARY",
				capability);
}

/*
 * Reads the text or the code that `get` gives; `size` gives its size. Returns the code of the compiler's failure, or 0.
 * *out is NULL after a failure, if there is no memory, and if the size is 0.
 */
static int read_result(nvrtc_program program, int (*size)(nvrtc_program, size_t *), int (*get)(nvrtc_program, char *),
		       char **out)
{
	size_t nbytes = 0;
	int code = size(program, &nbytes);

	*out = code || !nbytes ? NULL : malloc(nbytes);
	if (*out)
		code = get(program, *out);
	if (code) {
		free(*out);
		*out = NULL;
	}
	return code;
}

/* Refuses an option that selects the architecture, because compile_program selects it. */
static int check_option(const char *option, struct bi_error *err)
{
	if (strncmp(option, "-arch", 5) && strncmp(option, "--gpu-architecture", 18))
		return BI_OK;
	return bi__fail(err, BI_EINVAL, "source.options has %s, but the device decides on the architecture",
			bi__quote(option, strlen(option)).text);
}

/* Splits the caller's options at white space, in place, and appends them to `options`. */
static int split_options(char *text, const char **options, int *count, struct bi_error *err)
{
	static const char space[] = " \t\r\n";
	int rc = BI_OK;

	for (char *word = text + strspn(text, space); *word && !rc; word += strspn(word, space)) {
		if (*count == MOST_OPTIONS)
			return bi__fail(err, BI_EINVAL, "source.options has more than %d words", MOST_OPTIONS - 1);
		options[(*count)++] = word;
		word += strcspn(word, space);
		if (*word)
			*word++ = '\0';
		rc = check_option(options[*count - 1], err);
	}
	return rc;
}

static int compile_program(nvrtc_program program, struct bi__source *source, int capability,
			   struct bi__nvrtc_image *out, struct bi_error *err)
{
	int arch, count = 1, code = 0, rc = choose_arch(capability, &arch, err);
	const char *options[MOST_OPTIONS];
	char target[64], *text;

	if (rc)
		return rc;
	snprintf(target, sizeof(target), "--gpu-architecture=%s_%d", arch == capability ? "sm" : "compute", arch);
	options[0] = target;
	text = malloc(strlen(source->options) + 1);
	if (!text)
		return bi__fail(err, BI_ENOMEM, "no memory for the options");
	strcpy(text, source->options);
	rc = split_options(text, options, &count, err);
	if (!rc)
		code = api.CompileProgram(program, count, options);
	free(text);
	if (rc)
		return rc;
	read_result(program, api.GetProgramLogSize, api.GetProgramLog, &source->log);
	source->is_refused = code == REFUSED || code == INVALID_OPTION;
	if (code)
		return bi__fail_vendor(err, BI_EDRIVER, code, "nvrtcCompileProgram failed (%d)", code);
	code = read_result(program, api.GetPTXSize, api.GetPTX, &out->ptx);
	if (code)
		return bi__fail_vendor(err, BI_EDRIVER, code, "nvrtcGetPTX failed (%d)", code);
	if (arch == capability)
		read_result(program, api.GetCUBINSize, api.GetCUBIN, &out->code);
	if (!out->ptx)
		return bi__fail(err, BI_ENOMEM, "no memory for the compiled source");
	return *out->ptx ? BI_OK
			 : bi__fail(err, BI_EINVAL,
				    "the compiler made no PTX: source.options asks for another output, "
				    "such as -dlto");
}

int bi__nvrtc_compile(struct bi__source *source, int capability, struct bi__nvrtc_image *out, struct bi_error *err)
{
	static struct bi__dl_once once = BI__DL_ONCE_INIT;
	nvrtc_program program;
	int rc = bi__dl_open_once(&once, open_library_locked, err), code;

	*out = (struct bi__nvrtc_image){ NULL, NULL };
	if (rc)
		return rc;
	code = api.CreateProgram(&program, source->text, "source", 0, NULL, NULL);
	if (code)
		return bi__fail_vendor(err, BI_EDRIVER, code, "nvrtcCreateProgram failed (%d)", code);
	rc = compile_program(program, source, capability, out, err);
	api.DestroyProgram(&program);
	return rc;
}
