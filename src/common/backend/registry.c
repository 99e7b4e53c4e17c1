#include "common/backend/registry.h"

#include <string.h>

#include "buffer_interface/binding.h"

/*
 * Adding a backend is one line here. Devices of one rank are listed in this order, and the host comes last. A build for
 * tests adds backends by BI_EXTRA_BACKENDS (CMakeLists.txt).
 */
#ifndef BI_EXTRA_BACKENDS
#define BI_EXTRA_BACKENDS
#endif
#define BACKENDS \
	BACKEND(cuda) \
	BACKEND(opencl) \
	BI_EXTRA_BACKENDS \
	BACKEND(host)

#define BACKEND(name) extern const struct bi__backend bi__##name##_backend;
BACKENDS
#undef BACKEND

static const struct bi__backend *const backends[] = {
#define BACKEND(name) &bi__##name##_backend,
	BACKENDS
#undef BACKEND
};

#define BACKEND_COUNT (sizeof(backends) / sizeof(*backends))

const struct bi__backend *bi__registry_backend(size_t i)
{
	return i < BACKEND_COUNT ? backends[i] : NULL;
}

size_t bi__registry_count(void)
{
	return BACKEND_COUNT;
}

int bi_backend_at(int position, struct bi_backend *out)
{
	const struct bi__backend *backend = position < 0 ? NULL : bi__registry_backend((size_t)position);

	if (!backend || !out)
		return 0;
	*out = (struct bi_backend){ backend->name, backend->numbers, backend->handle, backend->stream_kinds,
				    backend->named_by_ordinal };
	return 1;
}

const struct bi__backend *bi__registry_host(void)
{
	return &bi__host_backend;
}

const struct bi__backend *bi__registry_find(const char *name, size_t length)
{
	for (size_t i = 0; i < BACKEND_COUNT; i++)
		if (strlen(backends[i]->name) == length && memcmp(backends[i]->name, name, length) == 0)
			return backends[i];
	return NULL;
}

/*
 * Returns 1 and sets *kind to a kind of memory that has this handle kind and this device type in exports, or returns 0
 * if the backend has no such memory. 0 stands for any handle kind or any device type.
 */
static int exports_as(const struct bi__backend *backend, uint32_t handle, int32_t device, enum bi_memory_kind *kind)
{
	for (int i = BI_MEMORY_DEVICE; i < BI_MEMORY_HOST; i++) {
		const struct bi__exported *exported = &backend->exported[i];

		if (!exported->device || (handle && exported->handle != handle) ||
		    (device && (int32_t)exported->device != device))
			continue;
		*kind = (enum bi_memory_kind)i;
		return 1;
	}
	return 0;
}

const struct bi__backend *bi__registry_exporter(const struct bi__backend *first, uint32_t handle, int32_t device,
						enum bi_memory_kind *kind)
{
	if (first && exports_as(first, handle, device, kind))
		return first;
	for (size_t i = 0; i < BACKEND_COUNT; i++)
		if (exports_as(backends[i], handle, device, kind))
			return backends[i];
	return NULL;
}

int bi__registry_is_object(enum bi_handle_kind handle)
{
	enum bi_memory_kind kind;
	const struct bi__backend *backend = bi__registry_exporter(NULL, handle, 0, &kind);

	return backend && backend->exported[kind].form == BI__FORM_OBJECT;
}
