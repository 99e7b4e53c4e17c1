/* Copies and fills: sizes of zero, places outside, alignment, pitches. */
#include <limits.h>
#include <string.h>

#include "facts.h"

/* More than device 0 takes as a pitch, less than a size_t holds. */
#define LARGE_PITCH ((size_t)INT_MAX + 1)

static const char *zero_bytes(struct objects *objects)
{
	return code(cu->MemcpyAsync(objects->memory, objects->memory + 16, 0, objects->stream));
}

static const char *zero_bytes_from_null(struct objects *objects)
{
	return code(cu->MemcpyAsync(objects->memory, 0, 0, objects->stream));
}

static const char *zero_bytes_to_device(struct objects *objects)
{
	return code(cu->MemcpyHtoDAsync(objects->memory, objects->pinned, 0, objects->stream));
}

static const char *zero_bytes_to_host(struct objects *objects)
{
	return code(cu->MemcpyDtoHAsync(objects->pinned, objects->memory, 0, objects->stream));
}

static const char *zero_items_set(struct objects *objects)
{
	return code(cu->MemsetD8Async(objects->memory, 1, 0, objects->stream));
}

static const char *zero_bytes_at_end(struct objects *objects)
{
	return code(cu->MemcpyAsync(objects->memory + OBJECT_BYTES, objects->memory, 0, objects->stream));
}

static const char *set_at_null(struct objects *objects)
{
	return code(cu->MemsetD8Async(0, 1, 16, objects->stream));
}

/* Copies bytes to the device and back, and reports whether they are the same. */
static const char *round_trip(struct objects *objects, unsigned char *host, bi__cu_stream stream)
{
	bi__cu_result there, back;

	memset(host, 7, 64);
	there = cu->MemcpyHtoDAsync(objects->memory, host, 64, stream);
	cu->StreamSynchronize(stream);
	memset(host, 0, 64);
	back = cu->MemcpyDtoHAsync(host, objects->memory, 64, stream);
	cu->StreamSynchronize(stream);
	return say("%s %s %s", code(there), code(back), yes_or_no(host[0] == 7 && host[63] == 7));
}

static const char *round_trip_pinned(struct objects *objects)
{
	return round_trip(objects, objects->pinned, objects->stream);
}

static const char *round_trip_pageable(struct objects *objects)
{
	return round_trip(objects, objects->pageable, objects->stream);
}

static const char *round_trip_on_legacy(struct objects *objects)
{
	return round_trip(objects, objects->pinned, BI__CU_STREAM_LEGACY);
}

static const char *round_trip_synchronous(struct objects *objects)
{
	bi__cu_result there, back;

	memset(objects->pageable, 7, 64);
	there = cu->MemcpyHtoD(objects->memory, objects->pageable, 64);
	memset(objects->pageable, 0, 64);
	back = cu->MemcpyDtoH(objects->pageable, objects->memory, 64);
	return say("%s %s %s", code(there), code(back), yes_or_no(objects->pageable[63] == 7));
}

static const char *any_to_any(struct objects *objects)
{
	bi__cu_result result;

	memset(objects->pinned, 9, 16);
	cu->MemcpyAsync(objects->memory, (uintptr_t)objects->pinned, 16, objects->stream);
	result = cu->MemcpyAsync((uintptr_t)objects->pinned + 16, objects->memory, 16, objects->stream);
	cu->StreamSynchronize(objects->stream);
	return say("%s %s", code(result), yes_or_no(objects->pinned[31] == 9));
}

static const char *any_to_pageable(struct objects *objects)
{
	bi__cu_result result = cu->MemcpyAsync((uintptr_t)objects->pageable, objects->memory, 16, objects->stream);

	cu->StreamSynchronize(objects->stream);
	return code(result);
}

static const char *pageable_as_device(struct objects *objects)
{
	return code(cu->MemcpyHtoDAsync((uintptr_t)objects->pageable, objects->pinned, 16, objects->stream));
}

static const char *device_as_host(struct objects *objects)
{
	return code(
		cu->MemcpyHtoDAsync(objects->memory, (void *)(uintptr_t)(objects->memory + 64), 16, objects->stream));
}

static const char *pinned_as_device(struct objects *objects)
{
	return code(cu->MemsetD8Async((uintptr_t)objects->pinned, 1, 16, objects->stream));
}

static const char *set_pageable(struct objects *objects)
{
	return code(cu->MemsetD8Async((uintptr_t)objects->pageable, 1, 16, objects->stream));
}

/* Copies one byte behind the memory. The device has that byte too, because it allocates in larger pieces. */
static const char *past_end(struct objects *objects)
{
	return code(cu->MemcpyDtoHAsync(objects->pinned, objects->memory + 1, OBJECT_BYTES, objects->stream));
}

static const char *set_16_unaligned(struct objects *objects)
{
	return code(cu->MemsetD16Async(objects->memory + 1, 1, 4, objects->stream));
}

static const char *set_32_unaligned(struct objects *objects)
{
	return code(cu->MemsetD32Async(objects->memory + 2, 1, 4, objects->stream));
}

static const char *set_32_aligned(struct objects *objects)
{
	return code(cu->MemsetD32Async(objects->memory + 4, 1, 4, objects->stream));
}

static const char *peer_to_other(struct objects *objects)
{
	return code(cu->MemcpyPeerAsync(objects->other_memory, objects->other, objects->memory, objects->context, 64,
					objects->stream));
}

static const char *peer_from_pinned(struct objects *objects)
{
	return code(cu->MemcpyPeerAsync(objects->other_memory, objects->other, (uintptr_t)objects->pinned,
					objects->context, 16, objects->stream));
}

static const char *to_pinned_from_other(struct objects *objects)
{
	return code(cu->MemcpyAsync((uintptr_t)objects->pinned, objects->other_memory, 16, objects->stream));
}

static const char *peer_to_same(struct objects *objects)
{
	return code(cu->MemcpyPeerAsync(objects->memory + 64, objects->context, objects->memory, objects->context, 64,
					objects->stream));
}

static const char *peer_on_stream_of_other(struct objects *objects)
{
	cu->CtxPushCurrent(objects->other);
	return code(cu->MemcpyPeerAsync(objects->other_memory, objects->other, objects->memory, objects->context, 64,
					objects->other_stream));
}

/* Returns a valid copy of four rows of sixteen bytes, from one half of the memory to the other. */
static struct bi__cu_copy_2d rows_of(const struct objects *objects)
{
	return (struct bi__cu_copy_2d){
		.src_memory = BI__CU_MEMORY_DEVICE,
		.src_device = objects->memory,
		.src_pitch = 64,
		.dst_memory = BI__CU_MEMORY_DEVICE,
		.dst_device = objects->memory + OBJECT_BYTES / 2,
		.dst_pitch = 32,
		.width = 16,
		.height = 4,
	};
}

static const char *copy_rows(struct objects *objects, const struct bi__cu_copy_2d *copy)
{
	bi__cu_result result = cu->Memcpy2DAsync(copy, objects->stream);

	cu->StreamSynchronize(objects->stream);
	return code(result);
}

static const char *rows(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	return copy_rows(objects, &copy);
}

static const char *rows_unified(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.dst_memory = BI__CU_MEMORY_UNIFIED;
	copy.dst_device = (uintptr_t)objects->pinned;
	return copy_rows(objects, &copy);
}

static const char *rows_to_pageable(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.dst_memory = BI__CU_MEMORY_HOST;
	copy.dst_host = objects->pageable;
	return copy_rows(objects, &copy);
}

static const char *rows_of_no_width(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.width = 0;
	return copy_rows(objects, &copy);
}

static const char *rows_of_no_height(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.height = 0;
	return copy_rows(objects, &copy);
}

static const char *rows_of_unknown_memory(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.src_memory = 0;
	return copy_rows(objects, &copy);
}

static const char *rows_pitch_below_width(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.src_pitch = 8;
	return copy_rows(objects, &copy);
}

static const char *rows_pitch_below_x(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.src_x = 50;
	return copy_rows(objects, &copy);
}

static const char *rows_pitch_zero(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.src_pitch = 0;
	return copy_rows(objects, &copy);
}

static const char *row_pitch_zero(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);

	copy.src_pitch = 0;
	copy.dst_pitch = 0;
	copy.height = 1;
	return copy_rows(objects, &copy);
}

static const char *row_pitch_max(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);
	int max = 0;

	cu->DeviceGetAttribute(&max, BI__CU_DEVICE_MAX_PITCH, objects->device);
	copy.src_pitch = (size_t)max;
	copy.height = 1;
	return copy_rows(objects, &copy);
}

static const char *row_pitch_above_max(struct objects *objects)
{
	struct bi__cu_copy_2d copy = rows_of(objects);
	int max = 0;

	cu->DeviceGetAttribute(&max, BI__CU_DEVICE_MAX_PITCH, objects->device);
	copy.src_pitch = (size_t)max + 1;
	copy.height = 1;
	return copy_rows(objects, &copy);
}

/* Returns a valid copy of two planes of four rows of sixteen bytes. */
static struct bi__cu_copy_3d planes_of(const struct objects *objects)
{
	return (struct bi__cu_copy_3d){
		.src_memory = BI__CU_MEMORY_DEVICE,
		.src_device = objects->memory,
		.src_pitch = 64,
		.src_height = 5,
		.dst_memory = BI__CU_MEMORY_DEVICE,
		.dst_device = objects->memory + OBJECT_BYTES / 2,
		.dst_pitch = 32,
		.dst_height = 4,
		.width = 16,
		.height = 4,
		.depth = 2,
	};
}

static const char *copy_planes(struct objects *objects, const struct bi__cu_copy_3d *copy)
{
	bi__cu_result result = cu->Memcpy3DAsync(copy, objects->stream);

	cu->StreamSynchronize(objects->stream);
	return code(result);
}

static const char *planes(struct objects *objects)
{
	struct bi__cu_copy_3d copy = planes_of(objects);

	return copy_planes(objects, &copy);
}

static const char *planes_height_below(struct objects *objects)
{
	struct bi__cu_copy_3d copy = planes_of(objects);

	copy.src_height = 3;
	return copy_planes(objects, &copy);
}

static const char *plane_height_zero(struct objects *objects)
{
	struct bi__cu_copy_3d copy = planes_of(objects);

	copy.src_height = 0;
	copy.dst_height = 0;
	copy.depth = 1;
	return copy_planes(objects, &copy);
}

static const char *planes_of_no_depth(struct objects *objects)
{
	struct bi__cu_copy_3d copy = planes_of(objects);

	copy.depth = 0;
	return copy_planes(objects, &copy);
}

static const char *plane_pitch_above_max(struct objects *objects)
{
	struct bi__cu_copy_3d copy = planes_of(objects);

	copy.src_pitch = LARGE_PITCH;
	copy.height = 1;
	copy.depth = 1;
	return copy_planes(objects, &copy);
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
	FACT(peer_from_pinned, assumed),
	FACT(to_pinned_from_other, documented),
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
