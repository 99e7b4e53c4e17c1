/* Copies and fills: sizes of zero, places outside, alignment, pitches. */
#include <limits.h>
#include <string.h>

#include "facts.h"

/* More than device 0 takes as a pitch, less than a size_t holds. */
#define LARGE_PITCH ((size_t)INT_MAX + 1)

static const char *zero_bytes(struct kit *kit)
{
	return code(cu->MemcpyAsync(kit->memory, kit->memory + 16, 0, kit->stream));
}

static const char *zero_bytes_from_null(struct kit *kit)
{
	return code(cu->MemcpyAsync(kit->memory, 0, 0, kit->stream));
}

static const char *zero_bytes_to_device(struct kit *kit)
{
	return code(cu->MemcpyHtoDAsync(kit->memory, kit->pinned, 0, kit->stream));
}

static const char *zero_bytes_to_host(struct kit *kit)
{
	return code(cu->MemcpyDtoHAsync(kit->pinned, kit->memory, 0, kit->stream));
}

static const char *zero_items_set(struct kit *kit)
{
	return code(cu->MemsetD8Async(kit->memory, 1, 0, kit->stream));
}

static const char *zero_bytes_at_end(struct kit *kit)
{
	return code(cu->MemcpyAsync(kit->memory + KIT_BYTES, kit->memory, 0, kit->stream));
}

static const char *set_at_null(struct kit *kit)
{
	return code(cu->MemsetD8Async(0, 1, 16, kit->stream));
}

/* Bytes that a round trip brings back. */
static const char *round_trip(struct kit *kit, unsigned char *host, bi__cu_stream stream)
{
	bi__cu_result there, back;

	memset(host, 7, 64);
	there = cu->MemcpyHtoDAsync(kit->memory, host, 64, stream);
	cu->StreamSynchronize(stream);
	memset(host, 0, 64);
	back = cu->MemcpyDtoHAsync(host, kit->memory, 64, stream);
	cu->StreamSynchronize(stream);
	return say("%s %s %s", code(there), code(back), yes_or_no(host[0] == 7 && host[63] == 7));
}

static const char *round_trip_pinned(struct kit *kit)
{
	return round_trip(kit, kit->pinned, kit->stream);
}

static const char *round_trip_pageable(struct kit *kit)
{
	return round_trip(kit, kit->pageable, kit->stream);
}

static const char *round_trip_on_legacy(struct kit *kit)
{
	return round_trip(kit, kit->pinned, BI__CU_STREAM_LEGACY);
}

static const char *round_trip_synchronous(struct kit *kit)
{
	bi__cu_result there, back;

	memset(kit->pageable, 7, 64);
	there = cu->MemcpyHtoD(kit->memory, kit->pageable, 64);
	memset(kit->pageable, 0, 64);
	back = cu->MemcpyDtoH(kit->pageable, kit->memory, 64);
	return say("%s %s %s", code(there), code(back), yes_or_no(kit->pageable[63] == 7));
}

static const char *any_to_any(struct kit *kit)
{
	bi__cu_result result;

	memset(kit->pinned, 9, 16);
	cu->MemcpyAsync(kit->memory, (uintptr_t)kit->pinned, 16, kit->stream);
	result = cu->MemcpyAsync((uintptr_t)kit->pinned + 16, kit->memory, 16, kit->stream);
	cu->StreamSynchronize(kit->stream);
	return say("%s %s", code(result), yes_or_no(kit->pinned[31] == 9));
}

static const char *any_to_pageable(struct kit *kit)
{
	bi__cu_result result = cu->MemcpyAsync((uintptr_t)kit->pageable, kit->memory, 16, kit->stream);

	cu->StreamSynchronize(kit->stream);
	return code(result);
}

static const char *pageable_as_device(struct kit *kit)
{
	return code(cu->MemcpyHtoDAsync((uintptr_t)kit->pageable, kit->pinned, 16, kit->stream));
}

static const char *device_as_host(struct kit *kit)
{
	return code(cu->MemcpyHtoDAsync(kit->memory, (void *)(uintptr_t)(kit->memory + 64), 16, kit->stream));
}

static const char *pinned_as_device(struct kit *kit)
{
	return code(cu->MemsetD8Async((uintptr_t)kit->pinned, 1, 16, kit->stream));
}

static const char *set_pageable(struct kit *kit)
{
	return code(cu->MemsetD8Async((uintptr_t)kit->pageable, 1, 16, kit->stream));
}

/* A byte more than there is; what follows is still the device's, which allocates in larger pieces. */
static const char *past_end(struct kit *kit)
{
	return code(cu->MemcpyDtoHAsync(kit->pinned, kit->memory + 1, KIT_BYTES, kit->stream));
}

static const char *set_16_unaligned(struct kit *kit)
{
	return code(cu->MemsetD16Async(kit->memory + 1, 1, 4, kit->stream));
}

static const char *set_32_unaligned(struct kit *kit)
{
	return code(cu->MemsetD32Async(kit->memory + 2, 1, 4, kit->stream));
}

static const char *set_32_aligned(struct kit *kit)
{
	return code(cu->MemsetD32Async(kit->memory + 4, 1, 4, kit->stream));
}

static const char *peer_to_other(struct kit *kit)
{
	return code(cu->MemcpyPeerAsync(kit->other_memory, kit->other, kit->memory, kit->context, 64, kit->stream));
}

static const char *peer_to_same(struct kit *kit)
{
	return code(cu->MemcpyPeerAsync(kit->memory + 64, kit->context, kit->memory, kit->context, 64, kit->stream));
}

static const char *peer_on_stream_of_other(struct kit *kit)
{
	cu->CtxPushCurrent(kit->other);
	return code(
		cu->MemcpyPeerAsync(kit->other_memory, kit->other, kit->memory, kit->context, 64, kit->other_stream));
}

/* Four rows of sixteen bytes from one half of the memory to the other, which can be copied as they stand. */
static struct bi__cu_copy_2d rows_of(const struct kit *kit)
{
	return (struct bi__cu_copy_2d){
		.src_memory = BI__CU_MEMORY_DEVICE,
		.src_device = kit->memory,
		.src_pitch = 64,
		.dst_memory = BI__CU_MEMORY_DEVICE,
		.dst_device = kit->memory + KIT_BYTES / 2,
		.dst_pitch = 32,
		.width = 16,
		.height = 4,
	};
}

static const char *copy_rows(struct kit *kit, const struct bi__cu_copy_2d *copy)
{
	bi__cu_result result = cu->Memcpy2DAsync(copy, kit->stream);

	cu->StreamSynchronize(kit->stream);
	return code(result);
}

static const char *rows(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	return copy_rows(kit, &copy);
}

static const char *rows_unified(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.dst_memory = BI__CU_MEMORY_UNIFIED;
	copy.dst_device = (uintptr_t)kit->pinned;
	return copy_rows(kit, &copy);
}

static const char *rows_to_pageable(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.dst_memory = BI__CU_MEMORY_HOST;
	copy.dst_host = kit->pageable;
	return copy_rows(kit, &copy);
}

static const char *rows_of_no_width(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.width = 0;
	return copy_rows(kit, &copy);
}

static const char *rows_of_no_height(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.height = 0;
	return copy_rows(kit, &copy);
}

static const char *rows_of_unknown_memory(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.src_memory = 0;
	return copy_rows(kit, &copy);
}

static const char *rows_pitch_below_width(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.src_pitch = 8;
	return copy_rows(kit, &copy);
}

static const char *rows_pitch_below_x(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.src_x = 50;
	return copy_rows(kit, &copy);
}

static const char *rows_pitch_zero(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.src_pitch = 0;
	return copy_rows(kit, &copy);
}

static const char *row_pitch_zero(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);

	copy.src_pitch = 0;
	copy.dst_pitch = 0;
	copy.height = 1;
	return copy_rows(kit, &copy);
}

static const char *row_pitch_max(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);
	int max = 0;

	cu->DeviceGetAttribute(&max, BI__CU_DEVICE_MAX_PITCH, kit->device);
	copy.src_pitch = (size_t)max;
	copy.height = 1;
	return copy_rows(kit, &copy);
}

static const char *row_pitch_above_max(struct kit *kit)
{
	struct bi__cu_copy_2d copy = rows_of(kit);
	int max = 0;

	cu->DeviceGetAttribute(&max, BI__CU_DEVICE_MAX_PITCH, kit->device);
	copy.src_pitch = (size_t)max + 1;
	copy.height = 1;
	return copy_rows(kit, &copy);
}

/* Two planes of four rows of sixteen bytes. */
static struct bi__cu_copy_3d planes_of(const struct kit *kit)
{
	return (struct bi__cu_copy_3d){
		.src_memory = BI__CU_MEMORY_DEVICE,
		.src_device = kit->memory,
		.src_pitch = 64,
		.src_height = 5,
		.dst_memory = BI__CU_MEMORY_DEVICE,
		.dst_device = kit->memory + KIT_BYTES / 2,
		.dst_pitch = 32,
		.dst_height = 4,
		.width = 16,
		.height = 4,
		.depth = 2,
	};
}

static const char *copy_planes(struct kit *kit, const struct bi__cu_copy_3d *copy)
{
	bi__cu_result result = cu->Memcpy3DAsync(copy, kit->stream);

	cu->StreamSynchronize(kit->stream);
	return code(result);
}

static const char *planes(struct kit *kit)
{
	struct bi__cu_copy_3d copy = planes_of(kit);

	return copy_planes(kit, &copy);
}

static const char *planes_height_below(struct kit *kit)
{
	struct bi__cu_copy_3d copy = planes_of(kit);

	copy.src_height = 3;
	return copy_planes(kit, &copy);
}

static const char *plane_height_zero(struct kit *kit)
{
	struct bi__cu_copy_3d copy = planes_of(kit);

	copy.src_height = 0;
	copy.dst_height = 0;
	copy.depth = 1;
	return copy_planes(kit, &copy);
}

static const char *planes_of_no_depth(struct kit *kit)
{
	struct bi__cu_copy_3d copy = planes_of(kit);

	copy.depth = 0;
	return copy_planes(kit, &copy);
}

static const char *plane_pitch_above_max(struct kit *kit)
{
	struct bi__cu_copy_3d copy = planes_of(kit);

	copy.src_pitch = LARGE_PITCH;
	copy.height = 1;
	copy.depth = 1;
	return copy_planes(kit, &copy);
}

const struct fact copies_facts[] = {
	FACT(zero_bytes, assumed),
	FACT(zero_bytes_from_null, assumed),
	FACT(zero_bytes_to_device, assumed),
	FACT(zero_bytes_to_host, assumed),
	FACT(zero_items_set, assumed),
	FACT(zero_bytes_at_end, assumed),
	FACT(set_at_null, assumed),
	FACT(round_trip_pinned, documented),
	FACT(round_trip_pageable, documented),
	FACT(round_trip_on_legacy, documented),
	FACT(round_trip_synchronous, documented),
	FACT(any_to_any, documented),
	FACT(any_to_pageable, documented),
	FACT(pageable_as_device, assumed),
	FACT(device_as_host, assumed),
	FACT(pinned_as_device, documented),
	FACT(set_pageable, assumed),
	FACT(past_end, assumed),
	FACT(set_16_unaligned, assumed),
	FACT(set_32_unaligned, assumed),
	FACT(set_32_aligned, documented),
	FACT(peer_to_other, documented),
	FACT(peer_to_same, assumed),
	FACT(peer_on_stream_of_other, documented),
	FACT(rows, documented),
	FACT(rows_unified, documented),
	FACT(rows_to_pageable, documented),
	FACT(rows_of_no_width, assumed),
	FACT(rows_of_no_height, assumed),
	FACT(rows_of_unknown_memory, assumed),
	FACT(rows_pitch_below_width, documented),
	FACT(rows_pitch_below_x, documented),
	FACT(rows_pitch_zero, assumed),
	FACT(row_pitch_zero, assumed),
	FACT(row_pitch_max, documented),
	FACT(row_pitch_above_max, documented),
	FACT(planes, documented),
	FACT(planes_height_below, documented),
	FACT(plane_height_zero, documented),
	FACT(planes_of_no_depth, assumed),
	FACT(plane_pitch_above_max, documented),
	{ NULL, assumed, NULL },
};
