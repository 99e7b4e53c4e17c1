/* The driver's description of memory that this library did not allocate. */
#include "cuda/cuda.h"

struct facts {
	bi__cu_context context; /* NULL: the memory is from a pool, or was mapped by virtual memory management */
	unsigned type; /* enum CUmemorytype; 0: the driver did not allocate, map or register the memory */
	int ordinal;
	unsigned is_managed;
	void *host;
	bi__cu_pointer
		start; /* `start` and `nbytes`: the range that contains the pointer; 0: the driver reports no range */
	size_t nbytes;
};

/* The number of facts to query. A driver may require a current context for all but the first two. */
enum { FACTS_FOR_DEVICE = 2, ALL_FACTS = 7 };

static bi__cu_result query_facts(bi__cu_pointer pointer, unsigned count, struct facts *facts)
{
	unsigned what[] = { BI__CU_POINTER_MEMORY_TYPE, BI__CU_POINTER_DEVICE_ORDINAL, BI__CU_POINTER_CONTEXT,
			    BI__CU_POINTER_IS_MANAGED,  BI__CU_POINTER_HOST_POINTER,   BI__CU_POINTER_RANGE_START,
			    BI__CU_POINTER_RANGE_SIZE };
	void *values[ALL_FACTS] = { &facts->type, &facts->ordinal, &facts->context, &facts->is_managed,
				    &facts->host, &facts->start,   &facts->nbytes };

	*facts = (struct facts){ .ordinal = -1 };
	return bi__cu->PointerGetAttributes(count, what, values, pointer);
}

static int query_pointer(bi__cu_pointer pointer, unsigned count, struct facts *facts, struct bi_error *err)
{
	return bi__cu_check(query_facts(pointer, count, facts), "cuPointerGetAttributes", err);
}

/* A driver may require a current context. If it refuses the query, the query is repeated with cuda->context current. */
static int query_in_context(const struct bi__cuda *cuda, bi__cu_pointer pointer, struct facts *facts,
			    struct bi_error *err)
{
	bi__cu_result code = query_facts(pointer, ALL_FACTS, facts);
	struct bi__cuda_scope scope;
	int rc;

	if (code != BI__CU_ERROR_INVALID_CONTEXT)
		return bi__cu_check(code, "cuPointerGetAttributes", err);
	rc = bi__cuda_enter(cuda->context, &scope, err);
	if (!rc)
		rc = query_pointer(pointer, ALL_FACTS, facts, err);
	bi__cuda_leave(&scope);
	return rc;
}

/* Returns true if the `nbytes` bytes from `at` on are in the range. */
static int is_within(bi__cu_pointer at, size_t nbytes, bi__cu_pointer start, size_t size)
{
	return at >= start && at - start <= size && nbytes <= size - (size_t)(at - start);
}

/*
 * All bytes must be in the range that the driver reports, in addresses of the CPU or of the device. If the driver
 * reports no range, the last byte must have a type, and its device address must be nbytes - 1 above that of the first
 * byte. Memory without a type is pageable, although some devices have an address for it.
 */
int bi__cuda_reach(const void *host, size_t nbytes, bi__cu_pointer *device, struct bi_error *err)
{
	unsigned what[] = { BI__CU_POINTER_MEMORY_TYPE, BI__CU_POINTER_DEVICE_POINTER, BI__CU_POINTER_RANGE_START,
			    BI__CU_POINTER_RANGE_SIZE };
	bi__cu_pointer first = (bi__cu_pointer)(uintptr_t)host, start = 0, last = 0;
	unsigned type = 0;
	size_t size = 0;
	void *values[] = { &type, device, &start, &size }, *values_of_last[] = { &type, &last };
	int rc;

	*device = 0;
	rc = bi__cu_check(bi__cu->PointerGetAttributes(4, what, values, first), "cuPointerGetAttributes", err);
	if (!type)
		*device = 0;
	if (rc || !*device)
		return rc;
	if (size) {
		if (!is_within(first, nbytes, start, size) && !is_within(*device, nbytes, start, size))
			*device = 0;
		return BI_OK;
	}
	rc = bi__cu_check(bi__cu->PointerGetAttributes(2, what, values_of_last, first + nbytes - 1),
			  "cuPointerGetAttributes", err);
	if (!type || last != *device + nbytes - 1)
		*device = 0;
	return rc;
}

static int refuse_unknown(bi__cu_pointer pointer, struct bi_error *err)
{
	return bi__fail(err, BI_EINVAL, "0x%llx is not memory that CUDA knows [C15]", pointer);
}

/* Returns true for managed, pinned and registered memory. Every device can access it, but see find_address. */
static int is_shared(const struct facts *facts)
{
	return facts->is_managed || facts->type == BI__CU_MEMORY_HOST;
}

static int check_place(const struct bi__cuda *cuda, bi__cu_pointer pointer, const struct facts *facts,
		       struct bi_error *err)
{
	if (!facts->type)
		return refuse_unknown(pointer, err);
	if (is_shared(facts))
		return BI_OK;
	if (facts->context && facts->context != cuda->context && facts->context != cuda->owner)
		return bi__fail(err, BI_EINVAL,
				"the memory at 0x%llx belongs to another CUcontext (cuda:%d) than that of cuda:%d "
				"[C15]",
				pointer, facts->ordinal, cuda->ordinal);
	if (facts->ordinal != cuda->ordinal)
		return bi__fail(err, BI_EINVAL, "the memory at 0x%llx belongs to cuda:%d, not to cuda:%d [C15]",
				pointer, facts->ordinal, cuda->ordinal);
	return BI_OK;
}

static int refuse_end(bi__cu_pointer pointer, size_t there, size_t nbytes, struct bi_error *err)
{
	return bi__fail(err, BI_EBOUNDS, "the memory at 0x%llx ends after %zu of %zu bytes [C15]", pointer, there,
			nbytes);
}

/* Checks the end of memory without a reported range: the last byte must be of the same kind as the first. */
static int check_last(bi__cu_pointer pointer, size_t nbytes, const struct facts *first, struct bi_error *err)
{
	struct facts last;
	int rc = query_pointer(pointer + nbytes - 1, ALL_FACTS, &last, err);

	if (rc || (last.type == first->type && last.is_managed == first->is_managed))
		return rc;
	return bi__fail(err, BI_EBOUNDS, "the memory at 0x%llx ends before %zu bytes [C15]", pointer, nbytes);
}

static int is_not_found(bi__cu_result code)
{
	return code == BI__CU_ERROR_NOT_FOUND || code == BI__CU_ERROR_INVALID_VALUE;
}

/*
 * Returns true if all bytes are in the reported range, and the memory has a context. Without a context the memory may
 * be virtual memory of which only a part is mapped.
 */
static int has_whole_range(bi__cu_pointer pointer, size_t nbytes, const struct facts *facts)
{
	return facts->context && is_within(pointer, nbytes, facts->start, facts->nbytes);
}

/*
 * Checks that the driver reports ranges for all bytes. Device memory may consist of adjacent mapped ranges, and the
 * driver reports one range per call. The context must be current.
 */
static int walk_ranges(bi__cu_pointer pointer, size_t nbytes, const struct facts *facts, struct bi_error *err)
{
	size_t there = 0, size = 0;
	bi__cu_pointer base = 0;
	bi__cu_result code;

	while (there < nbytes) {
		code = bi__cu->MemGetAddressRange(&base, &size, pointer + there);
		if (is_not_found(code) && there == 0 && is_shared(facts))
			return check_last(pointer, nbytes, facts, err);
		if (is_not_found(code))
			return refuse_end(pointer, there, nbytes, err);
		if (code != BI__CU_SUCCESS)
			return bi__cu_check(code, "cuMemGetAddressRange", err);
		if (base > pointer + there || size <= pointer + there - base)
			return refuse_end(pointer, there, nbytes, err);
		there += size - (size_t)(pointer + there - base);
	}
	return BI_OK;
}

/* The driver's description of the last byte. */
struct last {
	unsigned type, is_mapped;
	bi__cu_pointer start; /* of the range that contains the byte */
};

static bi__cu_result query_last(bi__cu_pointer pointer, struct last *last)
{
	unsigned what[] = { BI__CU_POINTER_MEMORY_TYPE, BI__CU_POINTER_RANGE_START, BI__CU_POINTER_MAPPED };
	void *values[] = { &last->type, &last->start, &last->is_mapped };

	return bi__cu->PointerGetAttributes(3, what, values, pointer);
}

/*
 * Returns true if the last byte is mapped, and has the memory type and the range of the first byte. The bytes between
 * the two are not examined: memory may consist of many mappings, and each would need a call.
 */
static int is_one_range(const struct last *last, const struct facts *facts)
{
	return facts->start && last->type == facts->type && last->is_mapped && last->start == facts->start;
}

/*
 * Checks that the bytes are mapped. Examines the attributes first. If they are not enough, enters the context: some
 * drivers report ranges only while the context is current.
 */
static int check_range(const struct bi__cuda *cuda, bi__cu_pointer pointer, size_t nbytes, const struct facts *facts,
		       struct bi_error *err)
{
	struct bi__cuda_scope scope;
	bi__cu_result code;
	struct last last = { .is_mapped = 1 };
	int rc;

	if (has_whole_range(pointer, nbytes, facts))
		return BI_OK;
	code = facts->start ? query_last(pointer + nbytes - 1, &last) : BI__CU_SUCCESS;
	if (is_one_range(&last, facts))
		return BI_OK;
	rc = bi__cuda_enter(cuda->context, &scope, err);
	if (!rc && code == BI__CU_ERROR_INVALID_CONTEXT)
		query_last(pointer + nbytes - 1, &last);
	if (!rc && !is_one_range(&last, facts))
		rc = walk_ranges(pointer, nbytes, facts, err);
	bi__cuda_leave(&scope);
	/* A reported range of virtual memory may include bytes that are not mapped. */
	if (rc || last.is_mapped || facts->context)
		return rc;
	return bi__fail(err, BI_EBOUNDS, "the last of %zu bytes at 0x%llx is not mapped [C15]", nbytes, pointer);
}

/*
 * Sets *address to the device's address of pinned or registered memory. It may differ from the address for the CPU if
 * the memory was registered or is write-combined. There may be none in this context if the memory belongs to another
 * context and is not portable.
 */
static int find_address(const struct bi__cuda *cuda, bi__cu_pointer pointer, size_t nbytes, const struct facts *facts,
			uintptr_t *address, struct bi_error *err)
{
	bi__cu_pointer first = 0, last = 0;
	struct bi__cuda_scope scope;
	int rc = bi__cuda_enter(cuda->context, &scope, err);

	if (!rc)
		rc = bi__cuda_reach((const void *)(uintptr_t)pointer, 1, &first, err);
	if (!rc)
		rc = bi__cuda_reach((const void *)(uintptr_t)(pointer + nbytes - 1), 1, &last, err);
	bi__cuda_leave(&scope);
	*address = (uintptr_t)first;
	if (rc || (first && last == first + nbytes - 1))
		return rc;
	return bi__fail(err, BI_EINVAL,
			"cuda:%d has no address for the %zu bytes of pinned memory at 0x%llx: they were not allocated "
			"or registered in one piece, or belong to another CUcontext (cuda:%d) and are not portable "
			"[C15]",
			cuda->ordinal, nbytes, pointer, facts->ordinal);
}

static int describe_adopted(struct bi__cuda *cuda, bi__cu_pointer pointer, struct bi__block *block,
			    struct bi_error *err)
{
	struct facts facts;
	int rc = bi__cuda_refuse_reset(cuda, err);

	if (!rc)
		rc = query_in_context(cuda, pointer, &facts, err);
	if (!rc)
		rc = check_place(cuda, pointer, &facts, err);
	if (!rc)
		rc = check_range(cuda, pointer, block->nbytes, &facts, err);
	if (rc)
		return rc;
	if (facts.is_managed) {
		block->memory = BI_MEMORY_UNIFIED;
		block->host = cuda->facts.concurrent_managed_access ? (void *)(uintptr_t)pointer : NULL;
	} else if (facts.type == BI__CU_MEMORY_HOST) {
		block->cookie = BI__CUDA_ADOPTED_HOST;
		block->host = facts.host;
		rc = find_address(cuda, pointer, block->nbytes, &facts, &block->handle, err);
	}
	return rc;
}

int bi__cuda_adopt(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		   struct bi_error *err)
{
	if (foreign->kind != BI_HANDLE_CUDA)
		return bi__fail(err, BI_EUNSUPPORTED, "handle kind %d is not memory that CUDA can wrap",
				(int)foreign->kind);
	block->kind = BI_HANDLE_CUDA;
	block->handle = foreign->handle;
	if (!foreign->nbytes || foreign->flags & BI_WRAP_UNCHECKED)
		return BI_OK;
	return describe_adopted(device->state, foreign->handle, block, err);
}

int bi__cuda_locate(uintptr_t handle, struct bi__origin *out, struct bi_error *err)
{
	struct facts facts;
	int rc = bi__cu_open(err);

	if (!rc)
		rc = query_pointer(handle, FACTS_FOR_DEVICE, &facts, err);
	if (!rc && !facts.type)
		rc = refuse_unknown(handle, err);
	if (!rc)
		*out = (struct bi__origin){ facts.ordinal, 0 };
	return rc;
}
