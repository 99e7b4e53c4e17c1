#include "check_cases.h"

#include <string.h>

#define SET(member, number) \
	{ \
		offsetof(struct bi_exchange, member), sizeof(((struct bi_exchange *)0)->member), number \
	}
#define LEGAL(text, axes) .name = text, .ndim = axes
#define PERMITTED(text, number) .name = text, .permits = number, .ndim = 1, .strides = { 1 }
#define ILLEGAL(text, number) .name = text, .rule = number, .ndim = -1
#define DESCRIBED SET(type_code, 3), SET(type_bits, 8)

const struct case_type case_types[] = { { "float32", 2, 32 }, { "float64", 2, 64 }, { "int32", 0, 32 },
					{ "int64", 0, 64 },   { "uint8", 1, 8 },    { "int8", 0, 8 },
					{ "uint16", 1, 16 },  { "int16", 0, 16 },   { "uint32", 1, 32 },
					{ "uint64", 1, 64 },  { NULL, 0, 0 } };

const struct check_case check_cases[] = {
	{ LEGAL("two dimensions", 2), .shape = { 2, 3 }, .strides = { 3, 1 } },
	{ LEGAL("one dimension", 1), .shape = { 6 }, .strides = { 1 } },
	{ LEGAL("no dimensions", 0) },
	{ LEGAL("an offset", -1), .offset = 2 },
	{ LEGAL("an extent of 0", 3), .shape = { 2, 0, 3 }, .strides = { 3, 3, 1 } },
	{ LEGAL("one extent, which is 0", 1), .shape = { 0 }, .strides = { 1 } },
	{ PERMITTED("an extent of 0 and the handle 0", "B-22"), .changes = { SET(handle, 0), SET(size, 0) } },
	{ PERMITTED("an extent of 0 and an offset of 2^63", "B-22"), .changes = { SET(offset, (uint64_t)1 << 63) } },
	{ LEGAL("an extent of 1 with an odd stride", 2), .shape = { 1, 3 }, .strides = { 4096, 1 } },
	{ LEGAL("one extent, which is 1, with an odd stride", 1), .shape = { 1 }, .strides = { -4096 } },
	{ LEGAL("Fortran order", 2), .shape = { 2, 3 }, .strides = { 1, 2 } },
	{ LEGAL("gaps between rows", 2), .shape = { 2, 3 }, .strides = { 6, 1 } },
	{ LEGAL("a stride of 2 elements", 1), .shape = { 6 }, .strides = { 2 } },
	{ LEGAL("a stride of 0", 2), .shape = { 2, 3 }, .strides = { 0, 1 } },
	{ LEGAL("one stride, which is 0", 1), .shape = { 6 } },
	{ LEGAL("negative strides", 2), .shape = { 2, 3 }, .strides = { -3, -1 }, .offset = 5 },
	{ LEGAL("a negative stride", 1), .shape = { 6 }, .strides = { -1 }, .offset = 5 },
	{ LEGAL("elements that are not aligned", -1), .shift = 1 },
	{ LEGAL("six dimensions", 6), .shape = { 1, 2, 1, 3, 1, 2 }, .strides = { 12, 6, 6, 2, 2, 1 } },
	{ LEGAL("read-only memory", -1), .changes = { SET(flags, BI_READONLY) } },
	{ LEGAL("an unknown flag above bit 15", -1), .changes = { SET(flags, 1u << 30) } },
	{ LEGAL("a true flag of contiguity", -1), .changes = { SET(flags, BI_C_CONTIGUOUS) } },
	{ LEGAL("a longer structure", -1), .changes = { SET(struct_size, sizeof(struct bi_exchange) + 64) } },
	{ .name = "a longer structure with a member that is not known",
	  .permits = "B-10",
	  .ndim = -1,
	  .changes = { SET(struct_size, sizeof(struct bi_exchange) + 64), { sizeof(struct bi_exchange) + 8, 8, 7 } } },
	{ ILLEGAL("version 9.0", "B-9"), .changes = { SET(version, 0x90000) } },
	{ ILLEGAL("a struct_size of one byte less", "B-9"),
	  .changes = { SET(struct_size, sizeof(struct bi_exchange) - 1) } },
	{ ILLEGAL("a struct_size of 4097", "B-9"), .changes = { SET(struct_size, BI_ABI_SIZE_MAX + 1) } },
	{ ILLEGAL("an unknown flag below bit 16", "B-11"), .changes = { SET(flags, 1u << 9) } },
	{ ILLEGAL("a reserved member of 1", "B-11"), .changes = { SET(reserved, 1) } },
	{ ILLEGAL("65 dimensions", "B-14"), .changes = { SET(ndim, 65) } },
	{ ILLEGAL("shape NULL", "B-14"), .changes = { SET(shape, 0) } },
	{ ILLEGAL("strides NULL", "B-14"), .changes = { SET(strides, 0) } },
	{ ILLEGAL("memory beyond the last address", "B-14"), .changes = { SET(size, UINT64_MAX) } },
	{ ILLEGAL("a negative extent", "B-15"), .shape = { -2 } },
	{ ILLEGAL("elements that reach further than 2^63 bytes", "B-16"), .shape = { INT64_MAX }, .strides = { 4 } },
	{ ILLEGAL("more elements than the memory has", "B-17"), .shape = { 100 } },
	{ ILLEGAL("elements below the memory", "B-17"), .strides = { -3 } },
	{ ILLEGAL("an offset of 2^64 - 8", "B-17"), .changes = { SET(offset, (uint64_t)0 - 8) } },
	{ ILLEGAL("a handle of 0", "B-17"), .changes = { SET(handle, 0) } },
	{ ILLEGAL("a size of 4 bytes", "B-17"), .changes = { SET(size, 4) } },
	{ ILLEGAL("an untrue flag of contiguity", "B-18"), .strides = { 4 },
	  .changes = { SET(flags, BI_C_CONTIGUOUS) } },
	{ ILLEGAL("the device type of CUDA for an address of the host", "B-21"), .changes = { SET(device_type, 2) } },
	{ ILLEGAL("an unknown kind of handle", "B-21"), .changes = { SET(handle_kind, 77) } },
	{ ILLEGAL("a context for host memory", "B-21"), .changes = { SET(context, 8) } },
	{ .name = "a context for host memory, and an extent of 0",
	  .rule = "B-21",
	  .ndim = 1,
	  .strides = { 1 },
	  .changes = { SET(context, 8) } },
	{ ILLEGAL("a negative device_id", "B-23"), .changes = { SET(device_id, (uint32_t)-1) } },
	{ ILLEGAL("the device_id 1 for host memory", "B-23"), .changes = { SET(device_id, 1) } },
	{ ILLEGAL("the unknown type code 99", "B-25"), .changes = { SET(type_code, 99) } },
	{ ILLEGAL("a type of 0 bits", "B-26"), .changes = { SET(type_bits, 0) } },
	{ ILLEGAL("type code 3 without descr", "B-26"), .changes = { DESCRIBED } },
	{ ILLEGAL("descr beside a type of the table", "B-26"), .descr = "\"|V3\"" },
	{ ILLEGAL("an item_size of 3", "B-27"), .changes = { SET(item_size, 3) } },
	{ ILLEGAL("a descr that is no JSON", "B-28"), .descr = "[[\"a\", \"<i4\"]", .changes = { DESCRIBED } },
	{ ILLEGAL("a descr of 3 bytes", "B-29"), .descr = "\"|V3\"", .changes = { DESCRIBED } },
	{ ILLEGAL("a stream without a kind of order", "B-32"), .changes = { SET(stream, 8) } },
	{ ILLEGAL("a kind of order without a stream", "B-32"), .changes = { SET(order_kind, BI_ORDER_OPENCL) } },
	{ ILLEGAL("the order of HIP", "B-32"), .changes = { SET(order_kind, BI_ORDER_HIP), SET(stream, 8) } },
	{ ILLEGAL("stream 2 of CUDA", "B-32"), .changes = { SET(order_kind, BI_ORDER_CUDA), SET(stream, 2) } },
	{ ILLEGAL("an event without a stream and without done", "B-32"),
	  .changes = { SET(order_kind, BI_ORDER_OPENCL), SET(event, 8) } },
	{ .name = NULL },
};

void case_write_integer(void *at, size_t size, uint64_t value)
{
	const uint16_t one = 1;
	const int is_little = *(const uint8_t *)&one;

	memcpy(at, (const char *)&value + (is_little ? 0 : sizeof(value) - size), size);
}

void case_write_number(const struct case_type *type, void *at, int number)
{
	const float single = (float)number;
	const double wide = number;

	if (type->code != 2)
		case_write_integer(at, type->bits / 8, (uint64_t)number);
	else
		memcpy(at, type->bits == 32 ? (const void *)&single : (const void *)&wide, type->bits / 8);
}

int case_read_number(const struct case_type *type, const void *at)
{
	unsigned char bytes[CASE_ITEM_MAX];

	for (int number = 1; number <= CASE_COUNT; number++) {
		case_write_number(type, bytes, number);
		if (!memcmp(bytes, at, type->bits / 8))
			return number;
	}
	return -1;
}
