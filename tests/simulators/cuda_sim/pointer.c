/* Queries of pointers. */
#include "context.h"
#include "decisions.h"
#include "memory.h"

/* Attributes beside those of types.h. */
enum { BUFFER_ID = 7 };

/* CU_DEVICE_INVALID */
#define NO_DEVICE (-2)

/* Returns the allocation that contains the byte and is not freed, or NULL. */
static const struct allocation *find(uint64_t pointer)
{
	const struct allocation *allocation = memory_at(pointer);

	return allocation && !allocation->is_freed ? allocation : NULL;
}

static int is_for_cpu(const struct allocation *allocation)
{
	return is_host_memory(allocation) || allocation->kind == MEMORY_MANAGED;
}

/* Returns 1 if there is such an attribute. */
static int is_attribute(unsigned what)
{
	static const unsigned char are[] = {
		[BI__CU_POINTER_CONTEXT] = 1,
		[BI__CU_POINTER_MEMORY_TYPE] = 1,
		[BI__CU_POINTER_DEVICE_POINTER] = 1,
		[BI__CU_POINTER_HOST_POINTER] = 1,
		[BI__CU_POINTER_IS_MANAGED] = 1,
		[BI__CU_POINTER_DEVICE_ORDINAL] = 1,
		[BI__CU_POINTER_RANGE_START] = 1,
		[BI__CU_POINTER_RANGE_SIZE] = 1,
		[BUFFER_ID] = 1,
		[BI__CU_POINTER_MAPPED] = 1,
	};

	return what < sizeof(are) && are[what];
}

static unsigned type_of(const struct allocation *a)
{
	if (!a)
		return 0;
	return is_host_memory(a) ? BI__CU_MEMORY_HOST : BI__CU_MEMORY_DEVICE;
}

/*
 * The range of mapped memory (cuMemMap) is the reserved range, also for a reserved address that is not mapped. The
 * start is an address for devices, also if the pointer is that for the CPU: "for the allocation referenced by the
 * device pointer".
 */
static void find_range(const struct allocation *a, uint64_t pointer, uint64_t *start, size_t *nbytes)
{
	*start = a ? device_address(a, a->start) : 0;
	*nbytes = a ? a->nbytes : 0;
	if (!a || a->kind == MEMORY_MAPPED)
		is_reserved(pointer, start, nbytes);
}

/* The host pointer of memory that the driver does not know is the pointer itself. */
static int has_host_pointer(const struct allocation *a, uint64_t pointer)
{
	return a ? is_for_cpu(a) : !arena_at(pointer);
}

/* Returns true if devices can use all memory of the process, and this address is not memory of the driver. */
static int is_pageable_for_device(uint64_t pointer)
{
	return switched(SWITCH_hmm) && pointer && !arena_at(pointer);
}

/* Returns 1 for registered memory of another context that is not portable, under registered_apart. */
static int is_kept_apart(const struct allocation *a)
{
	return switched(SWITCH_registered_apart) && a && a->kind == MEMORY_REGISTERED && !a->is_portable &&
	       a->context != thread_top();
}

/* Writes an answer in the type that the attribute has; `a` may be NULL. */
static void answer(const struct allocation *a, uint64_t pointer, unsigned what, void *value)
{
	uint64_t start;
	size_t nbytes;

	switch (what) {
	case BI__CU_POINTER_CONTEXT:
		*(bi__cu_context *)value = a && a->context ? a->context->handle : NULL;
		break;
	case BI__CU_POINTER_MEMORY_TYPE:
		*(unsigned *)value = type_of(a);
		break;
	case BI__CU_POINTER_DEVICE_POINTER:
		*(bi__cu_pointer *)value = a && !is_kept_apart(a)            ? device_address(a, pointer)
					   : is_pageable_for_device(pointer) ? pointer
									     : 0;
		break;
	case BI__CU_POINTER_HOST_POINTER:
		*(bi__cu_pointer *)value = has_host_pointer(a, pointer) ? host_address(pointer) : 0;
		break;
	case BI__CU_POINTER_IS_MANAGED:
		*(unsigned *)value = a && a->kind == MEMORY_MANAGED;
		break;
	case BI__CU_POINTER_DEVICE_ORDINAL:
		*(int *)value = a ? a->device : NO_DEVICE;
		break;
	case BI__CU_POINTER_RANGE_START:
		find_range(a, pointer, &start, &nbytes);
		*(bi__cu_pointer *)value = start;
		break;
	case BI__CU_POINTER_RANGE_SIZE:
		find_range(a, pointer, &start, &nbytes);
		*(size_t *)value = nbytes;
		break;
	case BUFFER_ID:
		*(bi__cu_pointer *)value = a ? a->made.call : 0;
		break;
	case BI__CU_POINTER_MAPPED:
		*(unsigned *)value = a != NULL;
		break;
	}
}

/*
 * Returns true if no context is current, and the attribute depends on one. Programs query the others to find out which
 * context to enter (seen: nixl 227).
 */
static int lacks_context(unsigned what)
{
	static const unsigned char are_independent[BI__CU_POINTER_MAPPED + 1] = {
		[BI__CU_POINTER_CONTEXT] = 1,
		[BI__CU_POINTER_MEMORY_TYPE] = 1,
		[BI__CU_POINTER_IS_MANAGED] = 1,
		[BI__CU_POINTER_DEVICE_ORDINAL] = 1,
	};

	return !thread_top() &&
	       (what == BI__CU_POINTER_DEVICE_POINTER || (switched(SWITCH_context_needed) && !are_independent[what]));
}

static bi__cu_result get_one(void *value, unsigned what, uint64_t pointer)
{
	const struct allocation *allocation = find(pointer);

	if (!value || !is_attribute(what))
		return BI__CU_ERROR_INVALID_VALUE;
	if (lacks_context(what))
		return BI__CU_ERROR_INVALID_CONTEXT;
	if (!allocation)
		return (bi__cu_result)DECIDED_ATTRIBUTE_OF_UNKNOWN;
	if (what == BI__CU_POINTER_HOST_POINTER && !is_for_cpu(allocation))
		return (bi__cu_result)DECIDED_HOST_POINTER_OF_DEVICE;
	answer(allocation, pointer, what, value);
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
		if (!values[i] || !is_attribute(what[i]))
			return BI__CU_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if (lacks_context(what[i]))
			return (bi__cu_result)DECIDED_DEVICE_POINTER_WITHOUT_CONTEXT;
	for (unsigned i = 0; i < count; i++)
		answer(allocation, pointer, what[i], values[i]);
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
	uint64_t start;
	size_t size;

	if (!allocation)
		return (bi__cu_result)DECIDED_RANGE_OF_UNKNOWN;
	start = device_address(allocation, allocation->start);
	size = allocation->nbytes;
	if (switched(SWITCH_mapped_ranges))
		find_range(allocation, pointer, &start, &size);
	if (base)
		*base = start;
	if (nbytes)
		*nbytes = size;
	return BI__CU_SUCCESS;
}

bi__cu_result cuMemGetAddressRange_v2(bi__cu_pointer *base, size_t *nbytes, bi__cu_pointer pointer)
{
	bi__cu_result code = ENTER(cuMemGetAddressRange_v2);

	return leave(code ? code : get_range(base, nbytes, pointer));
}
