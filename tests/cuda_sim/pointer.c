/* What the driver says about a pointer. */
#include "context.h"
#include "decisions.h"
#include "memory.h"

/* Attributes beside those of types.h. */
enum { BUFFER_ID = 7, RANGE_START = 11, RANGE_SIZE = 12, MAPPED = 13 };

/* CU_DEVICE_INVALID */
#define NO_DEVICE (-2)

/* Live memory, one byte past the end is none. */
static const struct allocation *find(uint64_t pointer)
{
	const struct allocation *allocation = memory_at(pointer);

	return allocation && !allocation->is_freed ? allocation : NULL;
}

static int is_for_cpu(const struct allocation *allocation)
{
	return is_host_memory(allocation) || allocation->kind == MEMORY_MANAGED;
}

/* An answer of any of the types that attributes have. */
struct answer {
	enum { IS_INT, IS_UNSIGNED, IS_ADDRESS, IS_SIZE, IS_CONTEXT, IS_NO_ATTRIBUTE } type;
	uint64_t number;
	int signed_number;
	bi__cu_context context;
	int is_refused; /* cuPointerGetAttribute fails */
};

static void answer_range(const struct allocation *allocation, uint64_t pointer, int wants_start, struct answer *answer)
{
	uint64_t start = allocation ? allocation->start : 0;
	size_t nbytes = allocation ? allocation->nbytes : 0;

	if (allocation && allocation->kind == MEMORY_MAPPED)
		is_reserved(pointer, &start, &nbytes);
	answer->type = wants_start ? IS_ADDRESS : IS_SIZE;
	answer->number = wants_start ? start : nbytes;
}

static struct answer ask(const struct allocation *a, uint64_t pointer, unsigned what)
{
	struct answer answer = { .type = IS_NO_ATTRIBUTE };

	if (what == BI__CU_POINTER_CONTEXT)
		answer = (struct answer){ .type = IS_CONTEXT, .context = a && a->context ? a->context->handle : NULL };
	if (what == BI__CU_POINTER_MEMORY_TYPE)
		answer = (struct answer){ .type = IS_UNSIGNED,
					  .number = !a                  ? 0
						    : is_host_memory(a) ? BI__CU_MEMORY_HOST
									: BI__CU_MEMORY_DEVICE };
	if (what == BI__CU_POINTER_DEVICE_POINTER)
		answer = (struct answer){ .type = IS_ADDRESS, .number = a ? pointer : 0 };
	if (what == BI__CU_POINTER_HOST_POINTER)
		answer = (struct answer){ .type = IS_ADDRESS,
					  .number = a && is_for_cpu(a) ? pointer : 0,
					  .is_refused = a && !is_for_cpu(a) };
	if (what == BI__CU_POINTER_IS_MANAGED)
		answer = (struct answer){ .type = IS_UNSIGNED, .number = a && a->kind == MEMORY_MANAGED };
	if (what == BI__CU_POINTER_DEVICE_ORDINAL)
		answer = (struct answer){ .type = IS_INT, .signed_number = a ? a->device : NO_DEVICE };
	if (what == BUFFER_ID)
		answer = (struct answer){ .type = IS_ADDRESS, .number = a ? a->made.call : 0 };
	if (what == RANGE_START || what == RANGE_SIZE)
		answer_range(a, pointer, what == RANGE_START, &answer);
	if (what == MAPPED)
		answer = (struct answer){ .type = IS_UNSIGNED, .number = a != NULL };
	return answer;
}

static void give(const struct answer *answer, void *value)
{
	if (answer->type == IS_INT)
		*(int *)value = answer->signed_number;
	if (answer->type == IS_UNSIGNED)
		*(unsigned *)value = (unsigned)answer->number;
	if (answer->type == IS_ADDRESS)
		*(bi__cu_pointer *)value = answer->number;
	if (answer->type == IS_SIZE)
		*(size_t *)value = answer->number;
	if (answer->type == IS_CONTEXT)
		*(bi__cu_context *)value = answer->context;
}

static bi__cu_result get_one(void *value, unsigned what, uint64_t pointer)
{
	const struct allocation *allocation = find(pointer);
	struct answer answer = ask(allocation, pointer, what);

	if (!value || answer.type == IS_NO_ATTRIBUTE)
		return BI__CU_ERROR_INVALID_VALUE;
	if (!allocation)
		return (bi__cu_result)DECIDED_ATTRIBUTE_OF_UNKNOWN;
	if (answer.is_refused)
		return (bi__cu_result)DECIDED_HOST_POINTER_OF_DEVICE;
	give(&answer, value);
	return BI__CU_SUCCESS;
}

bi__cu_result cuPointerGetAttribute(void *value, unsigned what, bi__cu_pointer pointer)
{
	bi__cu_result code = ENTER(cuPointerGetAttribute);

	return leave(code ? code : get_one(value, what, pointer));
}

static bi__cu_result get_all(unsigned count, const unsigned *what, void **values, uint64_t pointer)
{
	const struct allocation *allocation = find(pointer);

	if (!count || !what || !values)
		return BI__CU_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if (!values[i] || ask(allocation, pointer, what[i]).type == IS_NO_ATTRIBUTE)
			return BI__CU_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++) {
		struct answer answer = ask(allocation, pointer, what[i]);

		give(&answer, values[i]);
	}
	return allocation ? BI__CU_SUCCESS : (bi__cu_result)DECIDED_ATTRIBUTES_OF_UNKNOWN;
}

bi__cu_result cuPointerGetAttributes(unsigned count, unsigned *what, void **values, bi__cu_pointer pointer)
{
	bi__cu_result code = ENTER(cuPointerGetAttributes);

	return leave(code ? code : get_all(count, what, values, pointer));
}

static bi__cu_result get_range(bi__cu_pointer *base, size_t *nbytes, uint64_t pointer)
{
	const struct allocation *allocation = find(pointer);

	if (!allocation)
		return (bi__cu_result)DECIDED_RANGE_OF_UNKNOWN;
	if (base)
		*base = allocation->start;
	if (nbytes)
		*nbytes = allocation->nbytes;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemGetAddressRange_v2(bi__cu_pointer *base, size_t *nbytes, bi__cu_pointer pointer)
{
	bi__cu_result code = ENTER(cuMemGetAddressRange_v2);

	return leave(code ? code : get_range(base, nbytes, pointer));
}
