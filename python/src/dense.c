/* Makes dense arrays in C order: new arrays, and copies of views. */
#include "dense.h"
#include "contexts.h"
#include "lifetime.h"
#include "base/errors.h"

int bip_own_context(const struct bi_view *view, struct bi_context **out)
{
	if (bi_memory_is_host(bi_view_memory(view)))
		return bip_context_host(out);
	*out = bi_context_retain(bi_memory_context(bi_view_memory(view)));
	return 0;
}

int bip_new_array(struct bi_context *context, const struct bi_layout *like, struct bi_view **out)
{
	struct bi_memory *memory = NULL;
	struct bi_layout dense;
	struct bi_error err;
	int rc = bi_layout_init(&dense, like->dtype, like->ndim, like->shape, NULL, 0, &err);

	*out = NULL;
	if (!rc) {
		Py_BEGIN_ALLOW_THREADS
		rc = bi_memory_create(context, (size_t)bi_layout_nbytes(&dense), BI_MEMORY_DEFAULT, &memory, &err);
		Py_END_ALLOW_THREADS
	}
	dense.descr = like->descr;
	dense.descr_length = like->descr_length;
	if (!rc)
		rc = bi_view_create(memory, &dense, 0, out, &err);
	bi_memory_release(memory);
	return bip_check(rc, &err, bip_raise);
}

int bip_copy_enqueue(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream)
{
	struct bi_error err;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = bi_copy(dst, src, stream, &err);
	Py_END_ALLOW_THREADS
	return bip_check(rc, &err, bip_raise);
}

int bip_copy_into(struct bi_context *context, const struct bi_view *view, struct bi_stream *stream,
		  struct bi_view **out)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	if (bip_new_array(context, &layout, out))
		return -1;
	if (bip_copy_enqueue(*out, view, stream) == 0)
		return 0;
	bip_release_view(*out);
	*out = NULL;
	return -1;
}

int bip_copy_view(struct bi_view *view, struct bi_stream *stream, struct bi_view **out)
{
	struct bi_context *context;
	int rc = bip_own_context(view, &context);

	*out = NULL;
	if (rc)
		return -1;
	rc = bip_copy_into(context, view, stream, out);
	bi_context_release(context);
	return rc;
}
