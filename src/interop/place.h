/* What the descriptions of producers have in common: where the bytes are, and how they become a view. */
#ifndef BI_INTEROP_PLACE_H
#define BI_INTEROP_PLACE_H

#include "common/runtime/object.h"

/*
 * The bytes that a layout reaches whose element [0, ..., 0] is at `data`: *nbytes from *address on, and the layout's
 * offset counts from there. Without elements all are 0, whatever `data` is. BI_EINVAL: data is 0 all the same;
 * BI_EBOUNDS, BI_EOVERFLOW: they are not all addresses.
 */
int bi__place_bytes(struct bi_layout *layout, uint64_t data, uintptr_t *address, size_t *nbytes, struct bi_error *err);

/*
 * bi__view_wrap, where memory that has neither handle nor bytes is reached by nobody and needs no driver.
 */
int bi__place_view(struct bi_context *context, const struct bi_foreign *foreign, const struct bi_layout *layout,
		   struct bi_view **out, struct bi_error *err);

/* Returns 1 if consumers of the exchange structure find the device of the memory by its ordinal. */
static inline int bi__place_has_number(const struct bi_memory *memory)
{
	return memory->backend->named_by_ordinal && bi__exported_of(memory)->handle != BI_HANDLE_HOST;
}

void bi__cite_failure(const char *rule, struct bi_error *err);

/*
 * Ends the message of a failure with the number of the rule that refuses, whoever wrote it, in place of the number that
 * it ends with. Returns rc.
 */
static inline int bi__cite(int rc, const char *rule, struct bi_error *err)
{
	if (rc && err)
		bi__cite_failure(rule, err);
	return rc;
}

#endif
