/* The function table of the CUDA backend. */
#include "cuda/cuda.h"

extern const struct bi__backend bi__cuda_backend;

const struct bi__backend bi__cuda_backend = {
	.name = "cuda",
	.numbers = 1,
	.handle = BI_HANDLE_CUDA,
	.has_peers = 1,
	.copy_marks = 1,
	.exported = {
		{ BI_EXCHANGE_DEVICE_CUDA, BI_HANDLE_CUDA, BI__FORM_ELEMENT, 0 },
		{ BI_EXCHANGE_DEVICE_CUDA, BI_HANDLE_CUDA, BI__FORM_ELEMENT, 0 },
		{ BI_EXCHANGE_DEVICE_CUDA_HOST, BI_HANDLE_HOST, BI__FORM_ELEMENT, 0 },
		{ BI_EXCHANGE_DEVICE_CUDA_MANAGED, BI_HANDLE_CUDA, BI__FORM_ELEMENT, 0 },
	},
	.named_by_ordinal = 1,
	.stream_kinds = 1u << BI_ORDER_CUDA,
	.devices = {
		.enumerate = bi__cuda_enumerate,
		.open = bi__cuda_open,
		.enter = bi__cuda_enter_device,
		.leave = bi__cuda_leave_device,
		.begin = bi__cuda_begin,
		.end = bi__cuda_end,
		.close = bi__cuda_close,
		.locate = bi__cuda_locate,
		.symbol = bi__cu_symbol,
		.drop_caches = bi__cuda_drop_caches,
		.cache_state = bi__cuda_cache_state,
	},
	.memory = {
		.alloc = bi__cuda_alloc,
		.adopt = bi__cuda_adopt,
		.free = bi__cuda_free,
	},
	.order = {
		.stream_open = bi__cuda_stream_open,
		.stream_close = bi__cuda_stream_close,
		.follow = bi__cuda_follow,
		.record = bi__cuda_record,
		.wait = bi__cuda_wait,
		.poll = bi__cuda_poll,
		.finish = bi__cuda_finish,
		.event_wrap = bi__cuda_event_wrap,
		.event_retain = bi__cuda_event_retain,
		.event_release = bi__cuda_event_release,
		.event_handle = bi__cuda_event_handle,
		.capture = bi__cuda_capture,
	},
	.move = {
		.copy = bi__cuda_copy,
		.takes = bi__cuda_takes,
		.elapsed = bi__cuda_elapsed,
	},
	.launch = {
		.build = bi__cuda_build,
		.unload = bi__cuda_unload,
		.get = bi__cuda_get_kernel,
		.enqueue = bi__cuda_launch_kernel,
	},
};
