/* Buffers: allocating, sharing with the CPU, wrapping and freeing. */
#include "opencl/opencl.h"

#include <stdlib.h>

#include "common/base/large_pages.h"

static int create_buffer(const struct bi__opencl *opencl, cl_mem_flags flags, size_t nbytes, void *host, cl_mem *out,
			 struct bi_error *err)
{
	cl_ulong most = 0;
	cl_int code;

	*out = bi__cl->CreateBuffer(opencl->context, flags, nbytes, host, &code);
	if (code == CL_INVALID_BUFFER_SIZE)
		bi__cl->GetDeviceInfo(opencl->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
	if (!most)
		return bi__cl_check(code, "clCreateBuffer", err);
	return bi__fail_vendor(err, BI_ENOMEM, code,
			       "the largest buffer of the device has %llu bytes, not %zu: %s (%d)",
			       (unsigned long long)most, nbytes, bi__cl_name(code), code);
}

/* Shared virtual memory (SVM) that a buffer uses. "Shared memory" below means this. */
struct shared {
	cl_context context; /* retained, because buffers of some drivers do not retain their context */
	void *bytes;
};

static void free_shared(struct shared *shared)
{
	bi__cl->SVMFree(shared->context, shared->bytes);
	bi__cl->ReleaseContext(shared->context);
	free(shared);
}

/* Allocates shared memory. Returns NULL on failure. */
static struct shared *alloc_shared(const struct bi__opencl *opencl, size_t nbytes)
{
	struct shared *shared = malloc(sizeof(*shared));

	if (!shared)
		return NULL;
	shared->context = opencl->context;
	shared->bytes = bi__cl->SVMAlloc(opencl->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, nbytes, 0);
	if (shared->bytes && bi__cl->RetainContext(shared->context) == CL_SUCCESS) {
		if (opencl->shares_memory)
			bi__request_large_pages(shared->bytes, nbytes);
		return shared;
	}
	if (shared->bytes)
		bi__cl->SVMFree(shared->context, shared->bytes);
	free(shared);
	return NULL;
}

static void CL_CALLBACK buffer_is_gone(cl_mem buffer, void *data)
{
	(void)buffer;
	free_shared(data);
}

/*
 * Creates a buffer that uses shared memory. The driver calls buffer_is_gone when the buffer is destroyed, which is
 * after the last command on it. This callback frees the memory. clEnqueueSVMFree would wait for the commands of one
 * queue only, while other queues may still use the buffer. Takes ownership of `shared`, also on failure.
 */
static int create_over_shared(const struct bi__opencl *opencl, struct shared *shared, size_t nbytes, cl_mem *out,
			      struct bi_error *err)
{
	int rc = create_buffer(opencl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, nbytes, shared->bytes, out, err);

	if (rc) {
		free_shared(shared);
		return rc;
	}
	rc = bi__cl_check(bi__cl->SetMemObjectDestructorCallback(*out, buffer_is_gone, shared),
			  "clSetMemObjectDestructorCallback", err);
	if (rc) {
		bi__cl->ReleaseMemObject(*out);
		free_shared(shared);
	}
	return rc;
}

/*
 * The most buffers of a context that use shared memory, without those of BI_MEMORY_UNIFIED. PoCL searches a list of all
 * shared memory when a buffer over host memory is created, and when shared memory is freed. Concurrent allocations may
 * exceed the limit slightly.
 */
#define MOST_SHARED 256

static int may_share(const struct bi__opencl *opencl, const struct bi__block *block)
{
	return opencl->shares_memory && block->memory == BI_MEMORY_DEVICE &&
	       atomic_load_explicit(&opencl->shared_blocks, memory_order_relaxed) < MOST_SHARED;
}

/*
 * Allocates a buffer. Where may_share allows it, the buffer uses shared memory, so that the library can access it from
 * the CPU without commands. If there is no shared memory, an ordinary buffer is created.
 */
static int alloc_buffer(struct bi__opencl *opencl, size_t nbytes, struct bi__block *block, struct bi_error *err)
{
	const int is_unified = block->memory == BI_MEMORY_UNIFIED;
	const cl_mem_flags pinned = block->memory == BI_MEMORY_PINNED ? CL_MEM_ALLOC_HOST_PTR : 0;
	struct shared *shared = is_unified || may_share(opencl, block) ? alloc_shared(opencl, nbytes) : NULL;
	char *bytes = shared ? shared->bytes : NULL;
	cl_mem buffer;
	int rc;

	if (is_unified && !shared)
		return bi__fail(err, BI_ENOMEM, "clSVMAlloc gave no %zu bytes", nbytes);
	rc = shared ? create_over_shared(opencl, shared, nbytes, &buffer, err)
		    : create_buffer(opencl, CL_MEM_READ_WRITE | pinned, nbytes, NULL, &buffer, err);
	if (rc)
		return rc;
	block->kind = is_unified ? BI_HANDLE_CL_SVM : BI_HANDLE_CL_MEM;
	block->handle = is_unified ? (uintptr_t)bytes : (uintptr_t)buffer;
	block->cookie = (uintptr_t)buffer;
	block->host = is_unified ? bytes + block->origin : NULL;
	block->private_host = bytes && opencl->shares_memory ? bytes + block->origin : NULL;
	if (bytes && !is_unified)
		atomic_fetch_add_explicit(&opencl->shared_blocks, 1, memory_order_relaxed);
	return BI_OK;
}

int bi__opencl_alloc(struct bi__device_state *device, struct bi__block *block, struct bi_error *err)
{
	struct bi__opencl *opencl = device->state;

	block->free_follows = 1;
	return alloc_buffer(opencl, block->origin + block->nbytes, block, err);
}

/* The driver's description of a buffer. */
struct facts {
	cl_mem_object_type type;
	cl_context context;
	size_t nbytes;
	cl_mem root; /* the parent of a sub-buffer; NULL: the driver names no valid parent */
	size_t offset; /* bytes from the start of the root; 0 without a root */
};

static int query_buffer(cl_mem buffer, struct facts *facts, struct bi_error *err)
{
	const struct {
		cl_mem_info what;
		size_t size;
		void *out;
	} questions[] = {
		{ CL_MEM_TYPE, sizeof(facts->type), &facts->type },
		{ CL_MEM_CONTEXT, sizeof(facts->context), &facts->context },
		{ CL_MEM_SIZE, sizeof(facts->nbytes), &facts->nbytes },
		{ CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(facts->root), &facts->root },
	};
	cl_mem_object_type type;
	cl_int code = CL_SUCCESS;

	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions) && code == CL_SUCCESS; i++)
		code = bi__cl->GetMemObjectInfo(buffer, questions[i].what, questions[i].size, questions[i].out, NULL);
	/* For a buffer over shared memory, Intel's CPU driver names a parent that is no cl_mem (docs/opencl.md). */
	if (code == CL_SUCCESS && facts->root &&
	    bi__cl->GetMemObjectInfo(facts->root, CL_MEM_TYPE, sizeof(type), &type, NULL) == CL_INVALID_MEM_OBJECT)
		facts->root = NULL;
	if (code == CL_SUCCESS && facts->root)
		code = bi__cl->GetMemObjectInfo(buffer, CL_MEM_OFFSET, sizeof(facts->offset), &facts->offset, NULL);
	return bi__cl_check(code, "clGetMemObjectInfo", err);
}

static int check_buffer(const struct facts *facts, uintptr_t context, size_t nbytes, struct bi_error *err)
{
	if (facts->type != CL_MEM_OBJECT_BUFFER)
		return bi__fail(err, BI_EUNSUPPORTED,
				"the cl_mem is no buffer (type 0x%x): copy its contents into a buffer (an image: by "
				"clEnqueueCopyImageToBuffer), and wrap that",
				facts->type);
	if ((uintptr_t)facts->context != context)
		return bi__fail(err, BI_EINVAL, "the cl_mem belongs to another cl_context [O6]");
	if (facts->nbytes < nbytes)
		return bi__fail(err, BI_EBOUNDS, "the cl_mem has %zu bytes, not %zu", facts->nbytes, nbytes);
	return BI_OK;
}

/*
 * Gives the library a reference to the root: `buffer` itself, or its parent if it is a sub-buffer. If `steal` is 1, the
 * call takes the caller's reference to `buffer`. If `buffer` is the root, the library keeps this reference. If it is a
 * sub-buffer, the library retains the root and releases this reference. After a failure the caller still has it.
 */
static int retain_root(cl_mem buffer, cl_mem root, int steal, struct bi_error *err)
{
	int rc;

	if (steal && buffer == root)
		return BI_OK;
	rc = bi__cl_check(bi__cl->RetainMemObject(root), "clRetainMemObject", err);
	if (!rc && steal)
		bi__cl->ReleaseMemObject(buffer);
	return rc;
}

static int adopt_buffer(uintptr_t context, const struct bi_foreign *foreign, struct bi__block *block,
			struct bi_error *err)
{
	cl_mem buffer = (cl_mem)foreign->handle, root;
	struct facts facts = { 0 };
	int rc = query_buffer(buffer, &facts, err);

	if (!rc)
		rc = check_buffer(&facts, context, foreign->nbytes, err);
	if (rc)
		return rc;
	root = facts.root ? facts.root : buffer;
	rc = retain_root(buffer, root, foreign->flags & BI_WRAP_STEAL, err);
	if (rc)
		return rc;
	block->kind = BI_HANDLE_CL_MEM;
	block->handle = block->cookie = (uintptr_t)root;
	block->origin = facts.root ? facts.offset : 0;
	block->nbytes = foreign->nbytes ? foreign->nbytes : facts.nbytes;
	return BI_OK;
}

static int adopt_shared(const struct bi__opencl *opencl, const struct bi_foreign *foreign, struct bi__block *block,
			struct bi_error *err)
{
	cl_bool is_shared = CL_FALSE;
	cl_mem buffer;
	cl_int code;
	int rc;

	if (!foreign->nbytes)
		return bi__fail(err, BI_EINVAL,
				"nbytes is 0, but OpenCL has no query for the size of an SVM pointer; set nbytes");
	rc = create_buffer(opencl, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, foreign->nbytes, (void *)foreign->handle,
			   &buffer, err);
	if (rc)
		return rc;
	code = bi__cl->GetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof(is_shared), &is_shared, NULL);
	if (code == CL_INVALID_VALUE) /* the driver is older than OpenCL 2.0 */
		rc = bi__fail_vendor(err, BI_EUNSUPPORTED, code, "the driver has no shared virtual memory");
	else if (code != CL_SUCCESS)
		rc = bi__cl_fail(code, "clGetMemObjectInfo", err);
	else if (!is_shared)
		rc = bi__fail(err, BI_EINVAL, "the handle is no SVM pointer of this cl_context");
	if (rc) {
		bi__cl->ReleaseMemObject(buffer);
		return rc;
	}
	block->kind = BI_HANDLE_CL_SVM;
	block->memory = BI_MEMORY_UNIFIED;
	block->handle = foreign->handle;
	block->cookie = (uintptr_t)buffer;
	return BI_OK;
}

int bi__opencl_adopt(struct bi__device_state *device, const struct bi_foreign *foreign, struct bi__block *block,
		     struct bi_error *err)
{
	if (foreign->kind == BI_HANDLE_CL_MEM)
		return adopt_buffer(device->native, foreign, block, err);
	if (foreign->kind == BI_HANDLE_CL_SVM)
		return adopt_shared(device->state, foreign, block, err);
	return bi__fail(err, BI_EUNSUPPORTED, "handle kind %d is not memory that OpenCL can wrap", (int)foreign->kind);
}

static atomic_ullong releases;

unsigned long long bi__opencl_releases(void)
{
	return atomic_load_explicit(&releases, memory_order_relaxed);
}

void bi__opencl_free(struct bi__device_state *device, struct bi__block *block)
{
	struct bi__opencl *opencl = device->state;

	atomic_fetch_add_explicit(&releases, 1, memory_order_relaxed);
	if (block->private_host && block->kind == BI_HANDLE_CL_MEM)
		atomic_fetch_sub_explicit(&opencl->shared_blocks, 1, memory_order_relaxed);
	bi__cl->ReleaseMemObject((cl_mem)block->cookie);
}

/* The ordinal is 0, because a buffer belongs to all devices of its context. */
int bi__opencl_locate(uintptr_t handle, struct bi__origin *out, struct bi_error *err)
{
	cl_context context = NULL;
	int rc = bi__cl_open(err);

	if (!rc)
		rc = bi__cl_check(
			bi__cl->GetMemObjectInfo((cl_mem)handle, CL_MEM_CONTEXT, sizeof(context), &context, NULL),
			"clGetMemObjectInfo", err);
	if (!rc)
		*out = (struct bi__origin){ 0, (uintptr_t)context };
	return rc;
}
