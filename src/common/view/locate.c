/* Finds the device string and the context to open for memory and queues that other code made. */
#include <stdio.h>
#include <string.h>

#include "buffer_interface/binding.h"
#include "common/backend/dispatch.h"

static int check_handle(uintptr_t handle, struct bi_location *out, struct bi_error *err)
{
	if (!out)
		return bi__fail(err, BI_EINVAL, "out is NULL");
	memset(out, 0, sizeof(*out));
	return handle ? BI_OK : bi__fail(err, BI_EINVAL, "handle is 0");
}

static int set_location(const struct bi__origin *origin, const char *name, struct bi_location *out)
{
	snprintf(out->device, sizeof(out->device), "%s:%d", name, origin->ordinal);
	out->context = origin->native;
	return BI_OK;
}

int bi_locate_memory(enum bi_handle_kind kind, uintptr_t handle, struct bi_location *out, struct bi_error *err)
{
	struct bi__origin origin = { 0, 0 };
	const char *name = NULL;
	int rc = check_handle(handle, out, err);

	if (!rc && kind == BI_HANDLE_HOST)
		rc = bi__fail(err, BI_EUNSUPPORTED, "handle kind %d: host memory belongs to no device", (int)kind);
	if (!rc)
		rc = bi__dispatch_locate(kind, handle, &origin, &name, err);
	return rc ? rc : set_location(&origin, name, out);
}

int bi_locate_queue(enum bi_order_kind kind, uintptr_t queue, struct bi_location *out, struct bi_error *err)
{
	struct bi__origin origin = { 0, 0 };
	const char *name = NULL;
	int rc = check_handle(queue, out, err);

	if (!rc)
		rc = bi__dispatch_locate_queue((uint32_t)kind, queue, &origin, &name, err);
	return rc ? rc : set_location(&origin, name, out);
}
