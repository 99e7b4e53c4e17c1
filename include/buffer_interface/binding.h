/*
 * BufferInterface for authors of language bindings
 *
 * A binding wraps views in objects of another language: Python, Julia, Lua. Programs in C and C++ need nothing of this
 * header; all that it offers can be had from buffer_interface.h, with more calls or more allocations. The functions
 * here exist because a binding makes and exports thousands of small objects per second, and because its runtime has
 * rules of its own about locks and threads. The Python package (python/src) uses all of them.
 *
 * Importing by address
 *   Producers in other languages name the address of the first element and strides of any sign. bi_view_wrap_at derives
 *   the range of bytes from them.
 *
 * Waiting without the lock of the runtime
 *   A thread that blocks in the library should not hold the lock of the runtime, but dropping that lock is expensive.
 *   bi_view_is_idle (buffer_interface.h) and bi_view_release_is_immediate tell in advance whether a call can block.
 *
 * Consumers that know one stream
 *   Some protocols let a consumer ask for one stream per device, once, and never name the stream of an array.
 *   bi_view_switch_to_context_stream makes an array ready for them.
 *
 * The rules of buffer_interface.h about errors, ownership, threads and NULL hold here as well.
 */
#ifndef BUFFER_INTERFACE_BINDING_H
#define BUFFER_INTERFACE_BINDING_H

#include "buffer_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns 1 if releasing the last view of the memory would not wait for work: the memory is idle, or it is foreign
 * memory whose home stream is still the stream that its producer named. Otherwise returns 0. Queries no driver. The
 * answer does not cover the release of the last reference to a context, which blocks while the context closes.
 */
BI_API int bi_view_release_is_immediate(const struct bi_view *view);

/*
 * Makes a view of memory whose producer names the address of element [0, ..., 0], without a copy. `data` is that
 * address. The memory is the range that the layout reaches from there; it starts below `data` if strides are negative.
 * In all else the function is like bi_view_wrap.
 *
 * Overwrites foreign->handle, foreign->nbytes and layout->offset with the derived values, even on failure.
 * BI_EBOUNDS, BI_EOVERFLOW: the range is not a range of addresses. BI_EINVAL: `data` is 0 although there are elements,
 * or the handle is a cl_mem, which has no address. Owned.
 */
BI_API int bi_view_wrap_at(struct bi_context *context, uint64_t data, struct bi_foreign *foreign,
			   struct bi_layout *layout, struct bi_view **out, struct bi_error *err);

/*
 * Makes the context stream the home stream of the memory, and makes it wait for the work that is pending on the memory.
 * Serves consumers that know no stream except the context stream: from now on the memory counts as pending, because
 * they may enqueue work there. At the last release, the stream that the producer named waits for that work. Does
 * nothing for host memory and for memory that was wrapped with BI_WRAP_UNORDERED. docs/ordering.md, row 35.
 */
BI_API int bi_view_switch_to_context_stream(const struct bi_view *view, struct bi_error *err);

#ifdef __cplusplus
}
#endif

#endif
