/* The exchange structure, member by member, where pointers have 64 bits. A change here is a new version. */
#include "buffer_interface/abi.h"

#define AT(member, place) \
	_Static_assert(offsetof(struct bi_exchange, member) == (place), #member " is not at byte " #place)

_Static_assert(BI_ABI_VERSION == 1, "this is the layout of version 0.1");
_Static_assert(sizeof(void *) != 8 || sizeof(struct bi_exchange) == 208, "sizeof(struct bi_exchange) is not 208");

#if UINTPTR_MAX == UINT64_MAX
AT(version, 0);
AT(struct_size, 4);
AT(release, 8);
AT(owner, 16);
AT(device_type, 24);
AT(device_id, 28);
AT(handle_kind, 32);
AT(flags, 36);
AT(handle, 40);
AT(offset, 48);
AT(nbytes, 56);
AT(context, 64);
AT(type_code, 72);
AT(type_bits, 73);
AT(type_lanes, 74);
AT(item_size, 76);
AT(type_kind, 80);
AT(byte_order, 81);
AT(reserved_type, 82);
AT(descr, 88);
AT(ndim, 96);
AT(shape, 104);
AT(strides, 112);
AT(element_strides, 120);
AT(stream_kind, 128);
AT(reserved_stream, 132);
AT(stream, 136);
AT(event, 144);
AT(mask, 152);
AT(reserved, 160);
#endif
