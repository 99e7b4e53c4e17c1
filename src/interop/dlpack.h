/* Used by the import and the export of DLPack. */
#ifndef BI_INTEROP_DLPACK_H
#define BI_INTEROP_DLPACK_H

#include "buffer_interface/dlpack.h"

/* Returns true if elements of that type have less than a byte in DLPack, where they may be packed. */
static inline int bi__dlpack_is_small(unsigned bits)
{
	return bits < 8;
}

#endif
