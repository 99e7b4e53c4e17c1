#ifdef __linux__
#define _GNU_SOURCE /* dladdr, dl_iterate_phdr */
#include <link.h>
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE /* dladdr */
#endif
#include "common/base/dl.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#include <stdio.h>
#include <string.h>

#include "common/base/environment.h"

#ifdef _WIN32
#define RTLD_LAZY 0
#define RTLD_NOW 0
#define RTLD_LOCAL 0
#define dlsym(library, name) ((void *)(uintptr_t)GetProcAddress(library, name))
#define dlclose(library) FreeLibrary(library)

/* Does not search the current folder for a name without a folder. */
static void *dlopen(const char *name, int flags)
{
	(void)flags;
	return LoadLibraryExA(name, NULL, strpbrk(name, "/\\") ? 0 : LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
}

static const char *dlerror(void)
{
	DWORD code = GetLastError();

	return code == ERROR_MOD_NOT_FOUND    ? "this library, or one that it needs, was not found"
	       : code == ERROR_BAD_EXE_FORMAT ? "no library for this processor"
					      : NULL;
}
#endif

/* Appends "name: reason" to `tried`, cut to its capacity. The text of dlerror may begin with the name already. */
static void append_reason(char *tried, size_t capacity, const char *name)
{
	size_t used = strlen(tried), length = strlen(name);
	const char *reason = dlerror();

	if (!reason)
		reason = "not loadable";
	if (strncmp(reason, name, length) == 0 && strncmp(reason + length, ": ", 2) == 0)
		reason += length + 2;
	snprintf(tried + used, capacity - used, "%s%s: %s", used ? "; " : "", name, reason);
}

int bi__dl_loads(const char *name, char *reason, size_t capacity)
{
	*reason = '\0';
	if (dlopen(name, RTLD_LAZY | RTLD_LOCAL))
		return 1;
	append_reason(reason, capacity, name);
	return 0;
}

/* Returns the name of the first required symbol that the library lacks, or NULL. */
static const char *find_missing(void *library, const struct bi__symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (symbols[i].required && !dlsym(library, symbols[i].name))
			return symbols[i].name;
	return NULL;
}

#ifdef __linux__
/* The search for libraries of the process whose file may have a longer name, such as "libOpenCL-1a2b3c.so.1.0.0". */
struct search {
	const char *name; /* "libOpenCL.so.1" */
	size_t stem; /* bytes of "libOpenCL" */
	int skip; /* libraries that are passed over, because they were opened before */
	char path[1024]; /* receives the path of the library */
};

static int is_searched(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	const char *slash = strrchr(info->dlpi_name, '/'), *file = slash ? slash + 1 : "";
	const char *ending = search->name + search->stem, *rest;

	(void)size;
	if (strncmp(file, search->name, search->stem) != 0)
		return 0;
	rest = file + search->stem + (file[search->stem] == '-' ? strcspn(file + search->stem, ".") : 0);
	if (strncmp(rest, ending, strlen(ending)) != 0 || (rest[strlen(ending)] && rest[strlen(ending)] != '.'))
		return 0;
	if (search->skip-- > 0)
		return 0;
	return (size_t)snprintf(search->path, sizeof(search->path), "%s", info->dlpi_name) < sizeof(search->path);
}

/*
 * Opens the first library of the process with such a name and all required symbols. Python packages load one from a
 * folder of their own. The name of another library may match: that of libnvrtc-builtins matches libnvrtc.
 */
static void *open_loaded(const char *name, const struct bi__symbol *symbols, size_t count)
{
	struct search search = { .name = name, .stem = strcspn(name, ".") };

	for (int i = 0; search.skip = i, dl_iterate_phdr(is_searched, &search); i++) {
		void *library = dlopen(search.path, RTLD_NOW | RTLD_NOLOAD);

		if (library && !find_missing(library, symbols, count))
			return library;
		if (library)
			dlclose(library);
	}
	return NULL;
}
#else
static void *open_loaded(const char *name, const struct bi__symbol *symbols, size_t count)
{
	(void)name;
	(void)symbols;
	(void)count;
	return NULL;
}
#endif

/* Opens the first of the names that loads, and sets *name to it. */
static void *open_first(const char *const *names, const char **name, char *tried, size_t capacity)
{
	for (; (*name = *names); names++) {
		void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);

		if (library)
			return library;
		append_reason(tried, capacity, *name);
	}
	return NULL;
}

/*
 * Keeps the code of this library loaded until the process ends. A driver may call this code at any time: at the end of
 * a buffer that the caller still holds, or to run a native kernel. If this library is linked into another library, that
 * library stays loaded. If this library is linked into the program, dlopen fails, which does no harm.
 */
static void keep_own_code_loaded(void)
{
	static const char own = 0;
#ifdef _WIN32
	HMODULE module;

	GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, &own, &module);
#else
	Dl_info info;

	if (dladdr(&own, &info) && info.dli_fname)
		(void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

int bi__dl_open(const char *variable, const char *const *names, const struct bi__symbol *symbols, size_t count,
		void *table, struct bi_error *err)
{
	char tried[4608] = ""; /* a path of 4095 bytes and the reason fit */
	const char *chosen = bi__environment(variable);
	int is_chosen = chosen && *chosen;
	void *library = is_chosen ? NULL : open_loaded(names[0], symbols, count);
	const char *missing, *name = names[0];

	if (!library)
		library = open_first(is_chosen ? (const char *const[]){ chosen, NULL } : names, &name, tried,
				     sizeof(tried));
	if (!library)
		return bi__fail(err, BI_ENODEVICE, "no driver library (%s names another): %s", variable, tried);
	missing = find_missing(library, symbols, count);
	if (missing) {
		dlclose(library);
		return bi__fail(err, BI_ENODEVICE, "the driver library %s lacks %s; %s names another", name, missing,
				variable);
	}
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, symbols[i].name);

		memcpy((char *)table + symbols[i].slot, &address, sizeof(address));
	}
	memcpy(table, &library, sizeof(library));
	keep_own_code_loaded();
	return BI_OK;
}

bi_function *bi__dl_symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);
	bi_function *function;

	memcpy(&function, &address, sizeof(function));
	return function;
}

int bi__dl_open_once(struct bi__dl_once *once, int (*open)(struct bi_error *err), struct bi_error *err)
{
	int rc = BI_OK;

	if (atomic_load_explicit(&once->is_open, memory_order_acquire))
		return BI_OK;
	pthread_mutex_lock(&once->lock);
	if (!once->is_open) {
		rc = open(err);
		once->is_open = rc == BI_OK;
	}
	pthread_mutex_unlock(&once->lock);
	return rc;
}
