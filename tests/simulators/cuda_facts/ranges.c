/* cuMemGetAddressRange: where an allocation begins and how long it is. */
#include "kinds.h"

/* Compares the range that the driver gives for a byte with the piece that contains the byte. */
static const char *range_at(const struct piece *piece, bi__cu_pointer pointer)
{
	bi__cu_pointer base = 0;
	size_t nbytes = 0;
	bi__cu_result result = cu->MemGetAddressRange(&base, &nbytes, pointer);

	if (result)
		return code(result);
	return say("%s, %s", base == piece->pointer ? "its base" : "another base",
		   nbytes == piece->nbytes  ? "its size"
		   : nbytes > piece->nbytes ? "more"
					    : "less");
}

static const char *at(struct objects *objects, enum kind kind, size_t offset)
{
	struct piece piece;
	const char *answer = piece_make(objects, kind, &piece);

	if (answer)
		return answer;
	if (offset == LAST)
		offset = piece.nbytes - 1;
	answer = range_at(&piece, piece.pointer + offset);
	piece_free(objects, &piece);
	return answer;
}

#define ASK_KIND(kind, source) \
	static const char *first_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 0); \
	} \
	static const char *last_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, LAST); \
	}
KINDS(ASK_KIND)
#undef ASK_KIND

/* The byte may belong to another allocation, but not to this one. */
static const char *past_end_of_device(struct objects *objects)
{
	bi__cu_pointer base = 0;
	size_t nbytes;
	bi__cu_result result = cu->MemGetAddressRange(&base, &nbytes, objects->memory + OBJECT_BYTES);

	return result == BI__CU_SUCCESS && base == objects->memory ? "inside" : "outside";
}

static const char *of_null(struct objects *objects)
{
	bi__cu_pointer base;
	size_t nbytes;

	(void)objects;
	return code(cu->MemGetAddressRange(&base, &nbytes, 0));
}

static const char *base_only(struct objects *objects)
{
	bi__cu_pointer base = 0;
	bi__cu_result result = cu->MemGetAddressRange(&base, NULL, objects->memory + 5);

	return say("%s %s", code(result), yes_or_no(base == objects->memory));
}

static const char *size_only(struct objects *objects)
{
	size_t nbytes = 0;
	bi__cu_result result = cu->MemGetAddressRange(NULL, &nbytes, objects->memory + 5);

	return say("%s %s", code(result), yes_or_no(nbytes == OBJECT_BYTES));
}

static const char *of_other_context(struct objects *objects)
{
	bi__cu_pointer base = 0;
	bi__cu_result result = cu->MemGetAddressRange(&base, NULL, objects->other_memory + 5);

	return say("%s %s", code(result), yes_or_no(base == objects->other_memory));
}

/* Queries the ranges of two adjacent segments: of the last byte of the first one, and the first byte of the second. */
static const char *two_segments(const struct piece *reserved, uint64_t first, uint64_t second)
{
	size_t nbytes = reserved->nbytes;
	struct piece behind = { .pointer = reserved->pointer + nbytes, .nbytes = nbytes };
	const char *answer = "fails";

	if (cu->MemMap(reserved->pointer, nbytes, 0, first, 0))
		return answer;
	if (cu->MemMap(behind.pointer, nbytes, 0, second, 0) == BI__CU_SUCCESS) {
		if (cu->MemSetAccess(reserved->pointer, 2 * nbytes, &segment_access, 1) == BI__CU_SUCCESS)
			answer = say("first: %s; second: %s", range_at(reserved, reserved->pointer + nbytes - 1),
				     range_at(&behind, behind.pointer));
		cu->MemUnmap(behind.pointer, nbytes);
	}
	cu->MemUnmap(reserved->pointer, nbytes);
	return answer;
}

static const char *of_two_segments(struct objects *objects)
{
	struct piece reserved = { .nbytes = segment_granularity() };
	uint64_t first, second;
	const char *answer = "fails";

	(void)objects;
	if (!reserved.nbytes || !cu->MemCreate)
		return "not asked: no virtual memory";
	if (cu->MemAddressReserve(&reserved.pointer, 2 * reserved.nbytes, 0, 0, 0))
		return answer;
	if (cu->MemCreate(&first, reserved.nbytes, &segment_properties, 0) == BI__CU_SUCCESS) {
		if (cu->MemCreate(&second, reserved.nbytes, &segment_properties, 0) == BI__CU_SUCCESS) {
			answer = two_segments(&reserved, first, second);
			cu->MemRelease(second);
		}
		cu->MemRelease(first);
	}
	cu->MemAddressFree(reserved.pointer, 2 * reserved.nbytes);
	return answer;
}

static const char *of_reserved_only(struct objects *objects)
{
	struct piece reserved = { .nbytes = segment_granularity() };
	const char *answer;

	(void)objects;
	if (!reserved.nbytes || !cu->MemAddressReserve)
		return "not asked: no virtual memory";
	if (cu->MemAddressReserve(&reserved.pointer, reserved.nbytes, 0, 0, 0))
		return "fails";
	answer = range_at(&reserved, reserved.pointer);
	cu->MemAddressFree(reserved.pointer, reserved.nbytes);
	return answer;
}

#define KIND_FACTS(kind, source) FACT(first_of_##kind, assumed), FACT(last_of_##kind, assumed),

const struct fact ranges_facts[] = {
	KINDS(KIND_FACTS) FACT(past_end_of_device, documented),
	FACT(of_null, assumed),
	FACT(base_only, documented),
	FACT(size_only, documented),
	FACT(of_other_context, assumed),
	FACT(of_two_segments, assumed),
	FACT(of_reserved_only, assumed),
	{ NULL, assumed, NULL },
};
