/*
 * bi_exchange_check: the check that each consumer of the exchange structure needs. It calls no driver and reads no
 * element. It leaves out B-20, the table of B-25, whether descr names a type of that table (B-26), B-28, B-29, the
 * contexts of B-33, and whether the device of device_id exists.
 * docs/specification.md, section 9, says what a consumer needs beside it.
 */
#ifndef BUFFER_INTERFACE_CHECK_H
#define BUFFER_INTERFACE_CHECK_H
#include "abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds (extent - 1) * |stride| to *sum. Returns 1, or 0 if the sum would be above 2^63 - 1. */
static inline int bi_exchange_add_reach(uint64_t *sum, uint64_t extent, int64_t stride)
{
	uint64_t step = stride < 0 ? 0 - BI__CAST(uint64_t, stride) : BI__CAST(uint64_t, stride);
	if (step && extent - 1 > (INT64_MAX - *sum) / step)
		return 0;
	*sum += (extent - 1) * step;
	return 1;
}

/* Returns 1 if the array is dense. `first` is the innermost axis; `step`, 1 or -1, leads to the next outer axis. */
static inline int bi_exchange_is_dense(const struct bi_exchange *x, int first, int step)
{
	uint64_t stride = x->item_size;
	int i, n;
	for (n = 0, i = first; n < x->ndim; stride *= BI__CAST(uint64_t, x->shape[i]), n++, i += step)
		if (x->shape[i] != 1 && (x->strides[i] < 0 || BI__CAST(uint64_t, x->strides[i]) != stride))
			return 0;
	return 1;
}

static inline const char *bi_exchange_check_layout(const struct bi_exchange *x)
{
	uint64_t below = 0, above = 0, count = 1;
	int i, is_empty = 0;
	if (x->ndim > 64 || (x->ndim && (!x->shape || !x->strides)) || x->handle + x->size < x->handle)
		return "ndim is above 64, shape or strides is NULL, or the memory has no end [B-14]";
	for (i = 0; i < x->ndim; is_empty |= x->shape[i] == 0, i++)
		if (x->shape[i] < 0)
			return "an extent is negative [B-15]";
	for (i = 0; i < x->ndim && !is_empty; i++) {
		if (BI__CAST(uint64_t, x->shape[i]) > INT64_MAX / count ||
		    !bi_exchange_add_reach(x->strides[i] < 0 ? &below : &above, BI__CAST(uint64_t, x->shape[i]),
					   x->strides[i]))
			return "the elements are more than 2^63 - 1, or reach further [B-16]";
		count *= BI__CAST(uint64_t, x->shape[i]);
	}
	if (is_empty)
		return BI__NULL;
	if ((!x->handle && (below || above || x->item_size)) || x->offset > INT64_MAX ||
	    x->offset < below || x->offset > x->size || x->size - x->offset < above ||
	    x->size - x->offset - above < x->item_size)
		return "an element lies outside of the memory [B-17]";
	if ((x->flags & BI_C_CONTIGUOUS && !bi_exchange_is_dense(x, x->ndim - 1, -1)) ||
	    (x->flags & BI_F_CONTIGUOUS && !bi_exchange_is_dense(x, 0, 1)))
		return "a flag of contiguity is not true [B-18]";
	return BI__NULL;
}

/* Returns NULL if the members agree and all elements lie in the memory, otherwise a sentence with the broken rule. */
static inline const char *bi_exchange_check(const struct bi_exchange *x)
{
	int is_host = x->handle_kind == BI_HANDLE_HOST, is_cuda = x->handle_kind == BI_HANDLE_CUDA;
	uint32_t lanes = x->type_lanes, bits = x->type_bits;
	if (!BI_ABI_KNOWS(x->version) || x->struct_size < sizeof(*x) || x->struct_size > BI_ABI_SIZE_MAX)
		return "the version or the size is not known [B-9]";
	if (!x->release)
		return "the structure was released [B-39]";
	if (x->reserved || x->flags & 0xffff & ~BI_READONLY)
		return "a reserved member, or an unknown critical flag [B-11]";
	if (x->device_id < 0 || (is_host && x->device_id))
		return "device_id is negative, or not 0 on the host [B-23]";
	if (is_host ? (x->device_type != 1 && x->device_type != 3) || x->context
	    : is_cuda ? x->device_type != 2 && x->device_type != 13
		      : x->handle_kind > BI_HANDLE_CL_USM || !x->handle_kind || x->device_type != 4 || !x->context)
		return "handle_kind, device_type and context do not agree [B-21]";
	if (!x->order_kind != (!x->stream && !x->event) || x->order_kind > BI_ORDER_OPENCL || x->order_kind == BI_ORDER_HIP ||
	    (x->order_kind && !is_host && x->order_kind != (is_cuda ? BI_ORDER_CUDA : BI_ORDER_OPENCL)) ||
	    (x->event && !x->stream && !x->done) || (x->order_kind == BI_ORDER_CUDA && x->stream == 2))
		return "order_kind, stream, event and done do not agree [B-32]";
	if ((x->type_code == 3) == !x->descr || !bits)
		return "the type has no name, or two [B-26]";
	if (x->descr && (bits != 8 || lanes != (x->item_size > 65535 ? 0 : x->item_size)))
		return "beside descr, bits and lanes are not those of bytes [B-26]";
	if (!x->descr && (!lanes || ((lanes * bits + 7) / 8 != x->item_size && lanes * ((bits + 7) / 8) != x->item_size)))
		return "item_size does not go with the type [B-27]";
	return bi_exchange_check_layout(x);
}

#ifdef __cplusplus
}
#endif

#endif
