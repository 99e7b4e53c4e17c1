/* Used by all imports: finds the bytes that a producer describes, and makes a view of them. */
#ifndef BI_INTEROP_PLACE_H
#define BI_INTEROP_PLACE_H

#include "common/runtime/object.h"

/*
 * Computes the range of addresses of a layout whose element [0, ..., 0] is at `data`: *nbytes bytes from *address on.
 * The layout's offset is changed to count from *address. Without elements both become 0. Returns BI_EINVAL if data is 0
 * although there are elements, BI_EBOUNDS or BI_EOVERFLOW if some of the bytes are not addressable.
 */
int bi__place_bytes(struct bi_layout *layout, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err);

/* bi__view_wrap, which also accepts memory without a handle and without bytes, for which no driver is needed. */
int bi__place_view(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		   struct bi_view **out, struct bi_error *err);

/* Returns 1 if consumers of the exchange structure find the device of the memory by its ordinal. */
static inline int bi__place_has_number(const struct bi_memory *memory)
{
	return memory->backend->named_by_ordinal && bi__exported_of(memory)->handle != BI_HANDLE_HOST;
}

void bi__cite_failure(const char *rule, struct bi_error *err);

/*
 * Puts the number of the broken rule at the end of a failure's message, replacing a number that is there. Returns rc.
 */
static inline int bi__cite(int rc, const char *rule, struct bi_error *err)
{
	if (rc && err)
		bi__cite_failure(rule, err);
	return rc;
}

#endif
