/* Finds the device string and the context to open for memory and queues that other code made. */
#include <stdio.h>
#include <string.h>

#include "buffer_interface/binding.h"
#include "common/backend/dispatch.h"

static int locate(enum bi__handle_of of, uint32_t kind, uintptr_t handle, struct bi_location *out, struct bi_error *err)
{
	struct bi__origin origin;
	const char *name;
	int rc;

	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	memset(out, 0, sizeof(*out));
	if (!handle)
		return bi__fail(err, BI_EINVAL, "handle is 0");
	if (of == BI__OF_MEMORY && kind == BI_HANDLE_HOST)
		return bi__fail(err, BI_EUNSUPPORTED, "handle kind %u: host memory belongs to no device", kind);
	rc = bi__dispatch_locate(of, kind, handle, &origin, &name, err);
	if (rc)
		return rc;
	snprintf(out->device, sizeof(out->device), "%s:%d", name, origin.ordinal);
	out->context = origin.native;
	return BI_OK;
}

int bi_locate_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_location *out, struct bi_error *err)
{
	return locate(BI__OF_MEMORY, (uint32_t)kind, handle, out, err);
}

int bi_locate_queue(enum bi_order_kind kind, uintptr_t queue, struct bi_location *out, struct bi_error *err)
{
	return locate(BI__OF_QUEUE, (uint32_t)kind, queue, out, err);
}
