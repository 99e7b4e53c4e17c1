/* Helpers of all imports: they find the bytes that a producer describes, and make a view of them. */
#ifndef BI_INTEROP_PLACE_H
#define BI_INTEROP_PLACE_H

#include "common/runtime/object.h"

/*
 * Computes the addresses that a layout covers if its element [0, ..., 0] is at `data`: *nbytes bytes that begin at
 * *address. Changes the layout's offset to count from *address. Without elements *address and *nbytes become 0. Returns
 * BI_EINVAL if `data` is 0 and there are elements. Returns BI_EBOUNDS or BI_EOVERFLOW if some of the bytes are not
 * addressable.
 */
int bi__place_bytes(struct bi_layout *layout, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err);

/*
 * Makes a view of foreign memory as bi__view_wrap does. Also accepts memory with neither handle nor bytes, for which it
 * calls no driver.
 */
int bi__place_view(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		   struct bi_view **out, struct bi_error *err);

/* Returns 1 if exports name the device of the memory by its ordinal (device_id), otherwise 0. */
static inline int bi__place_has_number(const struct bi_memory *memory)
{
	return memory->backend->named_by_ordinal &&
	       memory->backend->exported[memory->block.memory].handle != BI_HANDLE_HOST;
}

void bi__cite_failure(const char *rule, struct bi_error *err);

/* Puts the number of the broken rule at the end of a failure's message, in place of any number there. Returns rc. */
static inline int bi__cite(int rc, const char *rule, struct bi_error *err)
{
	if (rc && err)
		bi__cite_failure(rule, err);
	return rc;
}

#endif
