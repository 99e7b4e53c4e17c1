/* The group `launch` of the host backend (common/backend/backend.h). */
#ifndef BI_HOST_PROGRAM_H
#define BI_HOST_PROGRAM_H

#include "common/backend/backend.h"

int bi__host_build(struct bi__device_state *device, struct bi__source *source, uintptr_t *program,
		   struct bi_error *err);
void bi__host_unload(struct bi__device_state *device, uintptr_t program);
int bi__host_get_kernel(struct bi__device_state *device, uintptr_t program, const char *name, struct bi__kernel *out,
			struct bi_error *err);
int bi__host_launch(struct bi__queue *queue, const struct bi__kernel_launch *launch, struct bi_error *err);

#endif
