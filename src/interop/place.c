#include "interop/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/layout/layout.h"
#include "common/view/view.h"

/* Messages may quote the producer's text, and are one line all the same. */
static size_t flatten(char *message)
{
	size_t length = 0;

	for (; message[length]; length++)
		if ((unsigned char)message[length] < ' ')
			message[length] = '?';
	return length;
}

/* The length without a number that stands at the end: " [C15]". */
static size_t uncited(const char *message, size_t length)
{
	const char *start = strrchr(message, '[');
	size_t digits;

	if (!start || start == message || start[-1] != ' ' || start[1] < 'A' || start[1] > 'Z')
		return length;
	digits = strspn(start + 2, "0123456789");
	return digits && strcmp(start + 2 + digits, "]") == 0 ? (size_t)(start - 1 - message) : length;
}

void bi__cite_failure(const char *rule, struct bi_error *err)
{
	size_t length = uncited(err->message, flatten(err->message));
	size_t last = sizeof(err->message) - sizeof(" []") - strlen(rule);

	if (length > last)
		length = last;
	snprintf(err->message + length, sizeof(err->message) - length, " [%s]", rule);
}

/* The pointer is that of element [0, ..., 0]; negative strides reach below it. */
int bi__place_bytes(struct bi_layout *layout, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err)
{
	int64_t first, end;
	int rc;

	bi_layout_extent(layout, &first, &end);
	rc = bi__layout_place(first, end, data, address, nbytes, err);
	if (rc)
		return rc;
	if (!*nbytes)
		*address = 0;
	layout->offset = -first;
	return BI_OK;
}

/* A memory without bytes, for what has neither handle nor bytes. */
static int view_nothing(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
			struct bi_view **out, struct bi_error *err)
{
	unsigned flags = foreign->flags & BI_WRAP_READONLY ? BI_VIEW_READONLY : 0;
	enum bi_memory_kind kind = foreign->kind == BI_HANDLE_HOST ? BI_MEMORY_HOST : BI_MEMORY_DEVICE;
	struct bi_memory *memory;
	int rc = bi_memory_create(context, 0, kind, &memory, err);

	if (rc)
		return rc;
	rc = bi__view_take(memory, layout, flags, out, err);
	if (rc)
		bi_memory_release(memory);
	return rc;
}

int bi__place_view(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		   struct bi_view **out, struct bi_error *err)
{
	if (foreign->handle || foreign->nbytes)
		return bi__view_wrap(context, foreign, layout, out, err);
	return view_nothing(context, foreign, layout, out, err);
}
