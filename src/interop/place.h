/* Helpers that the imports and exports share. */
#ifndef BI_INTEROP_PLACE_H
#define BI_INTEROP_PLACE_H

#include "common/base/status.h"
#include "common/view/view.h"

/*
 * Makes a view of foreign memory as bi__view_wrap does. Memory without a handle and without bytes is accepted too, and
 * no driver is called for it. If `rule` is not NULL, the message ends with it when wrapping fails with BI_EINVAL or
 * BI_EBOUNDS.
 */
int bi__place_view(struct bi_context *context, const struct bi__wrapping *wrapping, const char *rule,
		   struct bi_view **out, struct bi_error *err);

/*
 * Returns BI_EINVAL if `flags` has bits that are not in `known`, or has the bit `unordered` although a stream is given.
 * `stream` may be NULL.
 */
static inline int bi__place_check_options(unsigned flags, unsigned known, unsigned unordered,
					  const struct bi_stream *stream, struct bi_error *err)
{
	if (flags & ~known)
		return bi__fail(err, BI_EINVAL, "options->flags 0x%x has unknown bits, not in 0x%x", flags, known);
	if (stream && flags & unordered)
		return bi__fail(err, BI_EINVAL, "options->flags 0x%x says unordered, but producer_stream is given",
				flags);
	return BI_OK;
}

/*
 * Returns BI_EINVAL if `stream` belongs to another native context than `context`. Returns BI_EFORK if the device of the
 * context was opened before a fork. `stream` may be NULL.
 */
int bi__place_check_device(const struct bi_context *context, const struct bi_stream *stream, struct bi_error *err);

/*
 * Returns the view from which this library filled the exchange structure, borrowed. Returns NULL for a structure of
 * another producer.
 */
struct bi_view *bi__exchange_own(const struct bi_exchange *exchange);

/* Returns the flags of struct bi_foreign. Each argument is a condition. */
static inline unsigned bi__place_flags(int is_readonly, int is_unordered, int is_unchecked)
{
	return (is_readonly ? BI_WRAP_READONLY : 0) | (is_unordered ? BI_WRAP_UNORDERED : 0) |
	       (is_unchecked ? BI_WRAP_UNCHECKED : 0);
}

/* Returns true if an element of that many bits is smaller than a byte. In DLPack such elements may be packed. */
static inline int bi__dlpack_is_small(unsigned bits)
{
	return bits < 8;
}

void bi__cite_failure(const char *rule, struct bi_error *err);

/* Returns rc. If rc is a failure, also puts `rule` at the end of its message, in place of a rule that is there. */
static inline int bi__cite(int rc, const char *rule, struct bi_error *err)
{
	if (rc && err)
		bi__cite_failure(rule, err);
	return rc;
}

#endif
