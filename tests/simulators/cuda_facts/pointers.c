/* Attributes of pointers of every kind of memory. */
#include <stdlib.h>

#include "kinds.h"

/*
 * Attributes of a pointer. ask() sets most to values that no attribute has, to detect those that a call does not write.
 */
struct attributes {
	bi__cu_context context;
	unsigned type;
	bi__cu_pointer device_pointer;
	void *host_pointer;
	unsigned is_managed;
	int ordinal;
};

static bi__cu_result ask(struct attributes *found, bi__cu_pointer pointer)
{
	unsigned what[] = { BI__CU_POINTER_CONTEXT,      BI__CU_POINTER_MEMORY_TYPE, BI__CU_POINTER_DEVICE_POINTER,
			    BI__CU_POINTER_HOST_POINTER, BI__CU_POINTER_IS_MANAGED,  BI__CU_POINTER_DEVICE_ORDINAL };
	void *values[] = { &found->context,      &found->type,       &found->device_pointer,
			   &found->host_pointer, &found->is_managed, &found->ordinal };

	*found = (struct attributes){ .type = 77, .device_pointer = 77, .is_managed = 77, .ordinal = 77 };
	return cu->PointerGetAttributes(sizeof(what) / sizeof(*what), what, values, pointer);
}

typedef const char *describer(const struct objects *objects, const struct attributes *found, bi__cu_pointer asked);

static const char *describe_type(const struct objects *objects, const struct attributes *found, bi__cu_pointer asked)
{
	static const char *const types[] = { "0", "host", "device", "array", "unified" };

	(void)objects;
	(void)asked;
	return found->type < 5 ? types[found->type] : say("%u", found->type);
}

static const char *describe_context(const struct objects *objects, const struct attributes *found, bi__cu_pointer asked)
{
	(void)asked;
	if (!found->context)
		return "NULL";
	return found->context == objects->context ? "current" : "another";
}

static const char *describe_address(bi__cu_pointer address, bi__cu_pointer asked)
{
	if (!address)
		return "NULL";
	return address == asked ? "same" : "another";
}

static const char *describe_device_pointer(const struct objects *objects, const struct attributes *found,
					   bi__cu_pointer asked)
{
	(void)objects;
	return describe_address(found->device_pointer, asked);
}

static const char *describe_host_pointer(const struct objects *objects, const struct attributes *found,
					 bi__cu_pointer asked)
{
	(void)objects;
	return describe_address((uintptr_t)found->host_pointer, asked);
}

static const char *describe_managed(const struct objects *objects, const struct attributes *found, bi__cu_pointer asked)
{
	(void)objects;
	(void)asked;
	return say("%u", found->is_managed);
}

static const char *describe_ordinal(const struct objects *objects, const struct attributes *found, bi__cu_pointer asked)
{
	(void)asked;
	return found->ordinal == objects->device ? "device" : say("%d", found->ordinal);
}

/* Returns the attribute of the byte at the offset, or the code of the call. */
static const char *at(struct objects *objects, enum kind kind, size_t offset, describer *describe)
{
	struct attributes found;
	struct piece piece;
	const char *answer = piece_make(objects, kind, &piece);
	bi__cu_result result;

	if (answer)
		return answer;
	if (offset == LAST)
		offset = piece.nbytes - 1;
	result = ask(&found, piece.pointer + offset);
	answer = result ? code(result) : describe(objects, &found, piece.pointer + offset);
	piece_free(objects, &piece);
	return answer;
}

#define ASK_KIND(kind, source) \
	static const char *type_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 0, describe_type); \
	} \
	static const char *type_inside_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, KIND_BYTES / 2, describe_type); \
	} \
	static const char *type_of_last_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, LAST, describe_type); \
	} \
	static const char *context_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 0, describe_context); \
	} \
	static const char *device_pointer_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 0, describe_device_pointer); \
	} \
	static const char *device_pointer_inside_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 100, describe_device_pointer); \
	} \
	static const char *host_pointer_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 0, describe_host_pointer); \
	} \
	static const char *host_pointer_inside_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 100, describe_host_pointer); \
	} \
	static const char *managed_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 0, describe_managed); \
	} \
	static const char *ordinal_of_##kind(struct objects *objects) \
	{ \
		return at(objects, KIND_##kind, 0, describe_ordinal); \
	}
KINDS(ASK_KIND)
#undef ASK_KIND

/* Asks for one attribute by cuPointerGetAttribute, which has other rules for memory that the driver does not know. */
static const char *alone(struct objects *objects, enum kind kind, unsigned what)
{
	bi__cu_pointer value = 0; /* large enough for each of these attributes */
	struct piece piece;
	const char *answer = piece_make(objects, kind, &piece);

	if (answer)
		return answer;
	answer = code(cu->PointerGetAttribute(&value, what, piece.pointer));
	piece_free(objects, &piece);
	return answer;
}

static const char *alone_foreign(struct objects *objects)
{
	return alone(objects, KIND_foreign, BI__CU_POINTER_MEMORY_TYPE);
}

static const char *alone_host_pointer_of_device(struct objects *objects)
{
	return alone(objects, KIND_device, BI__CU_POINTER_HOST_POINTER);
}

static const char *alone_context_of_pool(struct objects *objects)
{
	return alone(objects, KIND_pool, BI__CU_POINTER_CONTEXT);
}

static const char *alone_unknown(struct objects *objects)
{
	return alone(objects, KIND_device, 9999);
}

static const char *alone_null_pointer(struct objects *objects)
{
	unsigned type;

	(void)objects;
	return code(cu->PointerGetAttribute(&type, BI__CU_POINTER_MEMORY_TYPE, 0));
}

static const char *null_pointer(struct objects *objects)
{
	struct attributes found;
	bi__cu_result result = ask(&found, 0);

	return result ? code(result) : describe_type(objects, &found, 0);
}

static const char *none_asked(struct objects *objects)
{
	unsigned what = BI__CU_POINTER_MEMORY_TYPE;
	void *value = &what;

	return code(cu->PointerGetAttributes(0, &what, &value, objects->memory));
}

static const char *unknown_asked(struct objects *objects)
{
	unsigned what = 9999;
	bi__cu_pointer place = 0;
	void *value = &place;

	return code(cu->PointerGetAttributes(1, &what, &value, objects->memory));
}

/* An address is no handle, so a query of a former address is allowed. */
static const char *type_after_free(struct objects *objects, enum kind kind)
{
	struct attributes found;
	struct piece piece;
	const char *answer = piece_make(objects, kind, &piece);
	bi__cu_result result;

	if (answer)
		return answer;
	piece_free(objects, &piece);
	result = ask(&found, piece.pointer);
	return result ? code(result) : describe_type(objects, &found, piece.pointer);
}

static const char *type_of_freed_device(struct objects *objects)
{
	return type_after_free(objects, KIND_device);
}

static const char *type_of_freed_managed(struct objects *objects)
{
	return type_after_free(objects, KIND_managed);
}

static const char *type_of_unmapped(struct objects *objects)
{
	return type_after_free(objects, KIND_mapped);
}

static const char *type_of_other_context(struct objects *objects)
{
	struct attributes found;
	bi__cu_result result = ask(&found, objects->other_memory);

	if (result)
		return code(result);
	return say("%s, context %s", describe_type(objects, &found, objects->other_memory),
		   found.context == objects->other ? "its own" : "wrong");
}

#define KIND_FACTS(kind, source) \
	FACT(type_of_##kind, source), FACT(type_inside_##kind, source), FACT(type_of_last_of_##kind, source), \
		FACT(context_of_##kind, source), FACT(device_pointer_of_##kind, source), \
		FACT(device_pointer_inside_##kind, assumed), FACT(host_pointer_of_##kind, source), \
		FACT(host_pointer_inside_##kind, assumed), FACT(managed_##kind, source), \
		FACT(ordinal_of_##kind, source),

const struct fact pointers_facts[] = {
	KINDS(KIND_FACTS) FACT(alone_foreign, documented),
	FACT(alone_host_pointer_of_device, documented),
	FACT(alone_context_of_pool, assumed),
	FACT(alone_unknown, documented),
	FACT(alone_null_pointer, assumed),
	FACT(null_pointer, assumed),
	FACT(none_asked, assumed),
	FACT(unknown_asked, documented),
	FACT(type_of_freed_device, assumed),
	FACT(type_of_freed_managed, assumed),
	FACT(type_of_unmapped, assumed),
	FACT(type_of_other_context, documented),
	{ NULL, assumed, NULL },
};
