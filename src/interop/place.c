#include "interop/place.h"

#include <stdio.h>
#include <string.h>

#include "common/backend/dispatch.h"
#include "common/runtime/memory.h"

/* Returns the length of the message without the rule number at its end, such as " [C15]". */
static size_t length_without_rule(const char *message)
{
	const char *start = strrchr(message, '[');
	size_t digits, length = strlen(message);

	if (!start || start == message || start[-1] != ' ' || start[1] < 'A' || start[1] > 'Z')
		return length;
	digits = strspn(start + 2, "0123456789");
	return digits && strcmp(start + 2 + digits, "]") == 0 ? (size_t)(start - 1 - message) : length;
}

void bi__cite_failure(const char *rule, struct bi_error *err)
{
	size_t length = length_without_rule(err->message);
	size_t last = sizeof(err->message) - sizeof(" []") - strlen(rule);

	if (length > last)
		length = last;
	snprintf(err->message + length, sizeof(err->message) - length, " [%s]", rule);
}

/* Makes a view of a new memory of 0 bytes, for a producer that gave no handle and no bytes. */
static int view_no_bytes(struct bi_context *context, const struct bi__wrapping *wrapping, struct bi_view **out,
			 struct bi_error *err)
{
	unsigned flags = wrapping->foreign->flags & BI_WRAP_READONLY ? BI_VIEW_READONLY : 0;
	int is_host = wrapping->foreign->kind == BI_HANDLE_HOST;
	struct bi_memory *memory;
	int rc = is_host ? BI_OK : bi__dispatch_alive(&context->device, err);

	if (!rc)
		rc = bi__memory_new(context, 0, is_host ? BI_MEMORY_HOST : BI_MEMORY_DEVICE, wrapping->kept, &memory,
				    err);
	if (rc)
		return rc;
	rc = bi__view_take(memory, wrapping->layout, flags, out, err);
	if (rc)
		bi_memory_release(memory);
	return rc;
}

int bi__place_view(struct bi_context *context, const struct bi__wrapping *wrapping, const char *rule,
		   struct bi_view **out, struct bi_error *err)
{
	int rc;

	if (!wrapping->foreign->handle && !wrapping->foreign->nbytes)
		return view_no_bytes(context, wrapping, out, err);
	rc = bi__view_wrap(context, wrapping, out, err);
	return rule && (rc == BI_EINVAL || rc == BI_EBOUNDS) ? bi__cite(rc, rule, err) : rc;
}

int bi__place_check_device(const struct bi_context *context, const struct bi_stream *stream, struct bi_error *err)
{
	if (stream && !bi__same_space(stream->context, context))
		return bi__fail(err, BI_EINVAL, "producer_stream belongs to device %s, not to the context of %s",
				stream->context->device.info->spec, context->device.info->spec);
	return bi__dispatch_alive(&context->device, err);
}
