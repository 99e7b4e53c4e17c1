/*
 * A bi_copy that forgets the last byte of what it copies; with BENCH_FORGETS set, all of it. Preloaded before the
 * library: bench/run must notice.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include <buffer_interface.h>

typedef int copy_fn(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream,
		    struct bi_error *err);

BI_API int bi_copy(const struct bi_view *dst, const struct bi_view *src, struct bi_stream *stream, struct bi_error *err)
{
	unsigned char *bytes = bi_view_host_pointer(dst), last = 0;
	struct bi_layout layout;
	copy_fn *copy;
	size_t end;
	int rc;

	if (getenv("BENCH_FORGETS"))
		return BI_OK;
	*(void **)&copy = dlsym(RTLD_NEXT, "bi_copy");
	bi_view_layout(dst, &layout);
	end = (size_t)bi_layout_nbytes(&layout);
	if (bytes && end)
		last = bytes[end - 1];
	rc = copy(dst, src, stream, err);
	if (bytes && end)
		bytes[end - 1] = last;
	return rc;
}
