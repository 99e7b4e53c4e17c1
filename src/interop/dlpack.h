/* Helpers of the import and the export of DLPack. */
#ifndef BI_INTEROP_DLPACK_H
#define BI_INTEROP_DLPACK_H

#include "buffer_interface/dlpack.h"

/* Returns true if an element of that many bits is smaller than a byte. In DLPack such elements may be packed. */
static inline int bi__dlpack_is_small(unsigned bits)
{
	return bits < 8;
}

#endif
