/* The exchange structure, member by member, on 64-bit and 32-bit systems. A change here is a new version. */
#include "buffer_interface/abi.h"

#if UINTPTR_MAX == UINT64_MAX
#define AT(member, wide, narrow) \
	_Static_assert(offsetof(struct bi_exchange, member) == (wide), #member " is not at byte " #wide)
_Static_assert(sizeof(struct bi_exchange) == 128, "sizeof(struct bi_exchange) is not 128");
#else
#define AT(member, wide, narrow) \
	_Static_assert(offsetof(struct bi_exchange, member) == (narrow), #member " is not at byte " #narrow)
_Static_assert(sizeof(struct bi_exchange) == 104, "sizeof(struct bi_exchange) is not 104");
#endif

_Static_assert(BI_ABI_VERSION == 2, "this is the layout of version 0.2");

AT(version, 0, 0);
AT(struct_size, 4, 4);
AT(release, 8, 8);
AT(done, 16, 12);
AT(owner, 24, 16);
AT(descr, 32, 20);
AT(shape, 40, 24);
AT(strides, 48, 28);
AT(handle, 56, 32);
AT(offset, 64, 40);
AT(size, 72, 48);
AT(context, 80, 56);
AT(stream, 88, 64);
AT(event, 96, 72);
AT(flags, 104, 80);
AT(device_type, 108, 84);
AT(device_id, 112, 88);
AT(item_size, 116, 92);
AT(type_code, 120, 96);
AT(type_bits, 121, 97);
AT(type_lanes, 122, 98);
AT(ndim, 124, 100);
AT(handle_kind, 125, 101);
AT(order_kind, 126, 102);
AT(reserved, 127, 103);
