#include "cuda/api.h"

#include "common/base/dl.h"

enum necessity { optional, required };

/* The oldest CUDA version that is accepted. It is the first with stream-ordered allocation (cuMemAllocAsync). */
#define OLDEST 11020

static struct bi__cu_api api;
static int version;

const struct bi__cu_api *const bi__cu = &api;

static int open_symbols(const struct bi__symbol *symbols, size_t count, struct bi_error *err)
{
	static const char *const names[] = { BI__DL_NAMES("libcuda.so.1", "nvcuda.dll", "libcuda.dylib"),
					     BI__DL_NAMES("libcuda.so", NULL, NULL), NULL };

	return bi__dl_open("BI_CUDA_LIBRARY", names, symbols, count, &api, err);
}

/* Refuses a driver that is older than OLDEST. Without this check the message would only name a missing function. */
static int check_version(struct bi_error *err)
{
	static const struct bi__symbol symbols[] = {
		{ offsetof(struct bi__cu_api, DriverGetVersion), "cuDriverGetVersion", required },
	};
	int rc = open_symbols(symbols, 1, err);

	if (!rc)
		rc = bi__cu_check(api.DriverGetVersion(&version), "cuDriverGetVersion", err);
	if (rc || version >= OLDEST)
		return rc;
	return bi__fail(err, BI_ENODEVICE, "the CUDA driver is for CUDA %d.%d, but %d.%d is needed", version / 1000,
			version % 1000 / 10, OLDEST / 1000, OLDEST % 1000 / 10);
}

static int open_library_locked(struct bi_error *err)
{
	static const struct bi__symbol symbols[] = {
#define SYMBOL(name, symbol, necessity, parameters) { offsetof(struct bi__cu_api, name), #symbol, necessity },
		BI__CU_API(SYMBOL)
#undef SYMBOL
	};
	int rc = check_version(err);

	if (!rc)
		rc = open_symbols(symbols, sizeof(symbols) / sizeof(*symbols), err);
	return rc ? rc : bi__cu_check(api.Init(0), "cuInit", err);
}

int bi__cu_open(struct bi_error *err)
{
	static struct bi__dl_once once = BI__DL_ONCE_INIT;

	return bi__dl_open_once(&once, open_library_locked, err);
}

bi_function *bi__cu_symbol(const char *name)
{
	return bi__dl_symbol(api.library, name);
}

int bi__cu_version(void)
{
	return version;
}

static const struct code {
	bi__cu_result code;
	int status;
	const char *name;
} codes[] = {
#define CODE(name, number, status) { number, status, "CUDA_" #name },
	BI__CU_CODES(CODE)
#undef CODE
};

/* Returns the entry of an error code, or NULL if the list does not have the code. */
static const struct code *find_code(bi__cu_result code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

const char *bi__cu_name(bi__cu_result code)
{
	const struct code *found = find_code(code);
	const char *name = NULL;

	if (found)
		return found->name;
	if (api.GetErrorName)
		api.GetErrorName(code, &name); /* name stays NULL for a code that it lacks */
	return name ? name : "unknown code";
}

int bi__cu_check(bi__cu_result code, const char *call, struct bi_error *err)
{
	const struct code *found;

	if (code == BI__CU_SUCCESS)
		return BI_OK;
	found = find_code(code);
	return bi__fail_vendor(err, found ? found->status : BI_EDRIVER, (int)code, "%s failed: %s (%u)", call,
			       bi__cu_name(code), code);
}
