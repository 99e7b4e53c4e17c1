#include "common/base/sized.h"

#include <string.h>

#include "common/base/status.h"

/* Returns the size without the zero bytes at the end of the struct, but at least `least`. */
static size_t used_bytes(const void *given, size_t size, size_t least)
{
	const unsigned char *bytes = given;

	while (size > least && !bytes[size - 1])
		size--;
	return size;
}

const void *bi__sized_convert(const struct bi__sized *type, const void *given, void *copy, struct bi_error *err)
{
	size_t size = *(const size_t *)given, used;

	if (size < type->least || size > BI__SIZED_MAX || size % sizeof(size_t)) {
		bi__fail(err, BI_EINVAL, "%s->struct_size is %zu, not a multiple of %zu in %zu..%d", type->name, size,
			 sizeof(size_t), type->least, BI__SIZED_MAX);
		return NULL;
	}
	used = used_bytes(given, size, type->least);
	if (used > type->size) {
		bi__fail(err, BI_EINVAL,
			 "%s->struct_size is %zu, and a member behind the %zu bytes that this library knows is not 0",
			 type->name, size, type->size);
		return NULL;
	}
	memset(copy, 0, type->size);
	memcpy(copy, given, used);
	*(size_t *)copy = type->size;
	return copy;
}
