/* Used by the import and the export of the exchange structure. */
#ifndef BI_INTEROP_EXCHANGE_H
#define BI_INTEROP_EXCHANGE_H

#include "common/runtime/object.h"

/* Returns the view behind a struct that this library filled, borrowed; NULL for a struct of another producer. */
struct bi_view *bi__exchange_own(const struct bi_exchange *exchange);

#endif
