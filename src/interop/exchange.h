/* What both directions of the exchange structure know. */
#ifndef BI_INTEROP_EXCHANGE_H
#define BI_INTEROP_EXCHANGE_H

#include "common/runtime/object.h"

/* The view behind a struct that this library filled, borrowed; NULL for those of others. */
struct bi_view *bi__exchange_own(const struct bi_exchange *exchange);

#endif
