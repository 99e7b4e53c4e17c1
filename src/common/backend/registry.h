/* The backends of this build and the meaning of device strings. registry.c is the only file that names a backend. */
#ifndef BI_COMMON_BACKEND_REGISTRY_H
#define BI_COMMON_BACKEND_REGISTRY_H

#include "common/backend/backend.h"

/* The i-th backend, or NULL. */
const struct bi__backend *bi__registry_backend(size_t i);
const struct bi__backend *bi__registry_host(void);

/* Room for the devices of one machine. */
#define BI__MAX_DEVICES 64

/* Candidates for a device string, the best first. */
struct bi__choice {
	int count;
	int is_auto;
	const struct bi__backend *backend; /* of them all; NULL: each names its own */
	const struct bi_device *devices; /* of the list; without one, a device that lives as long as the process */
	struct bi_device *list; /* or NULL */
};

/*
 * `spec` NULL: environment, else auto. BI_ENODEVICE with the reasons if nothing fits; then there is nothing to forget.
 * Backends are asked for their devices each time, but for a device string that names exactly one, which its backend
 * remembers (bi__backend.recall).
 */
int bi__registry_choose(const char *spec, struct bi__choice *choice, struct bi_error *err);
/* The list goes. */
void bi__registry_forget(struct bi__choice *choice);

/* Backend of a device that was enumerated. */
const struct bi__backend *bi__registry_find(const char *name);

/*
 * Returns the backend, `first` before all others, that names memory to other programs by this handle kind and device
 * type, and in *kind which kind of memory that is. 0 stands for any handle kind or device type. NULL: none does.
 */
const struct bi__backend *bi__registry_exporter(const struct bi__backend *first, uint32_t handle, int32_t device,
						enum bi_memory_kind *kind);
/* Returns 1 if handles of that kind are objects of a driver, not addresses. */
int bi__registry_is_object(enum bi_handle_kind handle);

/* "opencl:1" of adopted contexts: backend and position (-1: not given). */
int bi__registry_adopted(const char *spec, struct bi_device *device, struct bi_error *err);

#endif
