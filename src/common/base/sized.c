#include "common/base/sized.h"

#include <string.h>

#include "common/base/status.h"

static int is_zero(const void *given, size_t first, size_t end)
{
	const unsigned char *bytes = given;

	while (first < end && !bytes[first])
		first++;
	return first >= end;
}

const void *bi__sized_convert(const struct bi__sized *type, const void *given, void *copy, struct bi_error *err)
{
	size_t size = *(const size_t *)given;

	if (size < type->least || size > BI__SIZED_MAX || size % sizeof(size_t)) {
		bi__fail(err, BI_EINVAL,
			 "%s->struct_size is %zu, not a multiple of %zu in %zu..%d: start from its _INIT macro",
			 type->name, size, sizeof(size_t), type->least, BI__SIZED_MAX);
		return NULL;
	}
	if (!is_zero(given, type->size, size)) {
		bi__fail(err, BI_EINVAL,
			 "%s->struct_size is %zu, and a member behind the %zu bytes that this library knows is not 0",
			 type->name, size, type->size);
		return NULL;
	}
	memset(copy, 0, type->size);
	memcpy(copy, given, size < type->size ? size : type->size);
	*(size_t *)copy = type->size;
	return copy;
}
