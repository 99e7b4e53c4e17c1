/* Helpers of the import and the export of the exchange structure (struct bi_exchange). */
#ifndef BI_INTEROP_EXCHANGE_H
#define BI_INTEROP_EXCHANGE_H

#include "common/runtime/object.h"

/*
 * Returns the view from which this library filled the struct, borrowed. Returns NULL for a struct of another producer.
 */
struct bi_view *bi__exchange_own(const struct bi_exchange *exchange);

#endif
