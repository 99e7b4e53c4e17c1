/* The function table of the CUDA backend. */
#include "cuda/cuda.h"

extern const struct bi__backend bi__cuda_backend;

const struct bi__backend bi__cuda_backend = {
	.name = "cuda",
	.numbers = 1,
	.handle = BI_HANDLE_CUDA,
	.has_peers = 1,
	.exported = {
		{ BI_EXCHANGE_DEVICE_CUDA, BI_HANDLE_CUDA, BI__FORM_ELEMENT, 0 },
		{ BI_EXCHANGE_DEVICE_CUDA, BI_HANDLE_CUDA, BI__FORM_ELEMENT, 0 },
		{ BI_EXCHANGE_DEVICE_CUDA_HOST, BI_HANDLE_HOST, BI__FORM_ELEMENT, 0 },
		{ BI_EXCHANGE_DEVICE_CUDA_MANAGED, BI_HANDLE_CUDA, BI__FORM_ELEMENT, 0 },
	},
	.named_by_ordinal = 1,
	.stream_kinds = 1u << BI_ORDER_CUDA,
	.devices.symbol = bi__cu_symbol,
	BI__CUDA_OPERATIONS(BI__OPERATION_ENTRY)
};
