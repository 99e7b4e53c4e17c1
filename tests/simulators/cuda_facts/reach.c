/* Host memory that is not pinned, or only in part, and segments that are mapped side by side. */
#include <stdlib.h>

#include "kinds.h"

/* Attributes of devices that the library does not use. */
enum { PAGEABLE_MEMORY_ACCESS = 88, USES_HOST_PAGE_TABLES = 100 };
enum { PAGE = 4096 };

static const char *type_at(bi__cu_pointer pointer)
{
	unsigned what[2] = { BI__CU_POINTER_MEMORY_TYPE, BI__CU_POINTER_DEVICE_POINTER }, type = 99;
	bi__cu_pointer device = 0;
	void *values[2] = { &type, &device };
	bi__cu_result result = cu->PointerGetAttributes(2, what, values, pointer);

	return say("%s, type %u, %s", code(result), type,
		   !device             ? "no device pointer"
		   : device == pointer ? "the same device pointer"
				       : "another device pointer");
}

static const char *device_attribute(struct objects *objects, unsigned what)
{
	int value = -1;
	bi__cu_result result = cu->DeviceGetAttribute(&value, what, objects->device);

	return say("%s %d", code(result), value);
}

static const char *device_reaches_it(struct objects *objects)
{
	return device_attribute(objects, PAGEABLE_MEMORY_ACCESS);
}

static const char *uses_host_page_tables(struct objects *objects)
{
	return device_attribute(objects, USES_HOST_PAGE_TABLES);
}

static const char *of_malloc(struct objects *objects)
{
	void *memory = malloc(PAGE);
	const char *answer = type_at((uintptr_t)memory);

	(void)objects;
	free(memory);
	return answer;
}

static const char *of_stack(struct objects *objects)
{
	char byte = 0;

	(void)objects;
	return type_at((uintptr_t)&byte);
}

static const char *of_constant(struct objects *objects)
{
	static const char byte = 0;

	(void)objects;
	return type_at((uintptr_t)&byte);
}

const struct fact pageable_facts[] = {
	FACT(device_reaches_it, assumed), FACT(uses_host_page_tables, assumed), FACT(of_malloc, assumed),
	FACT(of_stack, assumed),          FACT(of_constant, assumed),           { NULL, assumed, NULL },
};

/* A question about two pages, of which the first one is registered. */
typedef const char *partly_question(struct objects *objects, unsigned char *pages);

static const char *with_pages(struct objects *objects, partly_question *ask)
{
	unsigned char *pages = aligned_alloc(PAGE, 2 * PAGE);
	bi__cu_result result;
	const char *answer;

	if (!pages)
		return "not asked: no memory";
	result = cu->MemHostRegister(pages, PAGE, 0);
	answer = result ? say("not asked: %s", code(result)) : ask(objects, pages);
	cu->StreamSynchronize(objects->stream);
	if (!result)
		cu->MemHostUnregister(pages);
	free(pages);
	return answer;
}

static const char *ask_first(struct objects *objects, unsigned char *pages)
{
	(void)objects;
	return type_at((uintptr_t)pages);
}

static const char *ask_behind(struct objects *objects, unsigned char *pages)
{
	(void)objects;
	return type_at((uintptr_t)(pages + PAGE));
}

/* Returns the start of OBJECT_BYTES bytes, of which each page contains one half. */
static unsigned char *across(unsigned char *pages)
{
	return pages + PAGE - OBJECT_BYTES / 2;
}

static const char *ask_to_device(struct objects *objects, unsigned char *pages)
{
	return code(cu->MemcpyHtoDAsync(objects->memory, across(pages), OBJECT_BYTES, objects->stream));
}

static const char *ask_from_device(struct objects *objects, unsigned char *pages)
{
	return code(cu->MemcpyDtoHAsync(across(pages), objects->memory, OBJECT_BYTES, objects->stream));
}

static const char *ask_any_to_any(struct objects *objects, unsigned char *pages)
{
	return code(cu->MemcpyAsync(objects->memory, (uintptr_t)across(pages), OBJECT_BYTES, objects->stream));
}

#define PARTLY_QUESTIONS(X) X(first) X(behind) X(to_device) X(from_device) X(any_to_any)
#define PARTLY_QUESTION(name) \
	static const char *partly_##name(struct objects *objects) \
	{ \
		return with_pages(objects, ask_##name); \
	}
PARTLY_QUESTIONS(PARTLY_QUESTION)
#undef PARTLY_QUESTION

#define PARTLY_FACT(name) { #name, assumed, partly_##name },

const struct fact partly_facts[] = { PARTLY_QUESTIONS(PARTLY_FACT){ NULL, assumed, NULL } };

/* Addresses for three segments: two are mapped side by side, the third one is not. */
enum { SEGMENTS = 3, MAPPED_SEGMENTS = 2 };

struct segments {
	bi__cu_pointer base;
	size_t nbytes; /* of one */
	uint64_t handles[MAPPED_SEGMENTS];
	int count;
};

static bi__cu_result map_segments(struct segments *made)
{
	bi__cu_result result = cu->MemAddressReserve(&made->base, SEGMENTS * made->nbytes, 0, 0, 0);

	for (; !result && made->count < MAPPED_SEGMENTS; made->count++) {
		uint64_t *handle = &made->handles[made->count];

		result = cu->MemCreate(handle, made->nbytes, &segment_properties, 0);
		if (!result)
			result = cu->MemMap(made->base + (unsigned)made->count * made->nbytes, made->nbytes, 0, *handle,
					    0);
	}
	return result ? result : cu->MemSetAccess(made->base, MAPPED_SEGMENTS * made->nbytes, &segment_access, 1);
}

static void unmap_segments(const struct segments *made)
{
	for (int i = 0; i < made->count; i++) {
		cu->MemUnmap(made->base + (unsigned)i * made->nbytes, made->nbytes);
		cu->MemRelease(made->handles[i]);
	}
	if (made->base)
		cu->MemAddressFree(made->base, SEGMENTS * made->nbytes);
}

typedef const char *segments_question(struct objects *objects, const struct segments *made);

static const char *with_segments(struct objects *objects, segments_question *ask)
{
	struct segments made = { .nbytes = segment_granularity() };
	bi__cu_result result;
	const char *answer;

	if (!made.nbytes || !cu->MemCreate)
		return "not asked: no virtual memory";
	result = map_segments(&made);
	answer = result ? say("not asked: %s", code(result)) : ask(objects, &made);
	cu->StreamSynchronize(objects->stream);
	unmap_segments(&made);
	return answer;
}

/* Returns the range that the attributes of a pointer name. */
static const char *range_by_attributes(const struct segments *made, size_t offset)
{
	unsigned what[2] = { BI__CU_POINTER_RANGE_START, BI__CU_POINTER_RANGE_SIZE };
	bi__cu_pointer start = 0;
	size_t nbytes = 0;
	void *values[2] = { &start, &nbytes };
	bi__cu_result result = cu->PointerGetAttributes(2, what, values, made->base + offset);

	if (result || !start)
		return say("%s, none", code(result));
	return say("from segment %d, %zu of them", (int)((start - made->base) / made->nbytes), nbytes / made->nbytes);
}

static const char *ask_range_of_first(struct objects *objects, const struct segments *made)
{
	(void)objects;
	return range_by_attributes(made, 0);
}

static const char *ask_range_of_second(struct objects *objects, const struct segments *made)
{
	(void)objects;
	return range_by_attributes(made, 2 * made->nbytes - 1);
}

static const char *ask_range_of_hole(struct objects *objects, const struct segments *made)
{
	(void)objects;
	return range_by_attributes(made, 2 * made->nbytes);
}

static const char *ask_type_of_second(struct objects *objects, const struct segments *made)
{
	(void)objects;
	return type_at(made->base + 2 * made->nbytes - 1);
}

static const char *ask_type_of_hole(struct objects *objects, const struct segments *made)
{
	(void)objects;
	return type_at(made->base + 2 * made->nbytes);
}

static const char *ask_set_across(struct objects *objects, const struct segments *made)
{
	return code(cu->MemsetD8Async(made->base + made->nbytes - 8, 1, 16, objects->stream));
}

static const char *ask_copy_across(struct objects *objects, const struct segments *made)
{
	bi__cu_pointer middle = made->base + made->nbytes - 8;

	return code(cu->MemcpyAsync(objects->memory, middle, 16, objects->stream));
}

#define MAPPED_QUESTIONS(X) \
	X(range_of_first) \
	X(range_of_second) \
	X(range_of_hole) \
	X(type_of_second) \
	X(type_of_hole) \
	X(set_across) \
	X(copy_across)
#define MAPPED_QUESTION(name) \
	static const char *mapped_##name(struct objects *objects) \
	{ \
		return with_segments(objects, ask_##name); \
	}
MAPPED_QUESTIONS(MAPPED_QUESTION)
#undef MAPPED_QUESTION

#define MAPPED_FACT(name) { #name, assumed, mapped_##name },

const struct fact mapped_facts[] = { MAPPED_QUESTIONS(MAPPED_FACT){ NULL, assumed, NULL } };
