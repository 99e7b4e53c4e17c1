/* What both directions of DLPack know. */
#ifndef BI_INTEROP_DLPACK_H
#define BI_INTEROP_DLPACK_H

#include "buffer_interface/dlpack.h"

/* The view behind a tensor that this library exported, borrowed; NULL for those of others. */
struct bi_view *bi__dlpack_own(const struct bi_dl_managed_versioned *tensor);
struct bi_view *bi__dlpack_own_unversioned(const struct bi_dl_managed *tensor);

/* 1 if elements of that type are less than a byte in DLPack, where they may be packed. */
static inline int bi__dlpack_is_small(unsigned bits)
{
	return bits < 8;
}

#endif
