/* The function table of the OpenCL backend. */
#include "opencl/opencl.h"

extern const struct bi__backend bi__opencl_backend;

const struct bi__backend bi__opencl_backend = {
	.name = "opencl",
	.numbers = 2,
	.handle = BI_HANDLE_CL_MEM,
	.copy_marks = 1,
	.exported = {
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_MEM, BI__FORM_OBJECT, 0 },
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_MEM, BI__FORM_OBJECT, 0 },
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_MEM, BI__FORM_OBJECT, 0 },
		/* In DLPack, the data of OpenCL memory is a cl_mem, so there is no name for SVM. */
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_SVM, BI__FORM_BASE, 1 },
	},
	.stream_kinds = 1u << BI_ORDER_OPENCL,
	.fails_by_event = 1,
	.devices = {
		.enumerate = bi__opencl_enumerate,
		.open = bi__opencl_open,
		.close = bi__opencl_close,
		.locate = bi__opencl_locate,
		.locate_queue = bi__opencl_locate_queue,
		.symbol = bi__cl_symbol,
		.drop_caches = bi__opencl_drop_caches,
		.cache_state = bi__opencl_cache_state,
	},
	.memory = {
		.alloc = bi__opencl_alloc,
		.adopt = bi__opencl_adopt,
		.free = bi__opencl_free,
	},
	.order = {
		.stream_open = bi__opencl_stream_open,
		.stream_close = bi__opencl_stream_close,
		.follow = bi__opencl_follow,
		.record = bi__opencl_record,
		.wait = bi__opencl_wait,
		.poll = bi__opencl_poll,
		.finish = bi__opencl_finish,
		.event_wrap = bi__opencl_event_wrap,
		.event_retain = bi__opencl_event_retain,
		.event_release = bi__opencl_event_release,
	},
	.move = {
		.copy = bi__opencl_copy,
		.takes = bi__opencl_takes,
		.elapsed = bi__opencl_elapsed,
		.map = bi__opencl_map,
		.unmap = bi__opencl_unmap,
	},
	.launch = {
		.build = bi__opencl_build,
		.unload = bi__opencl_unload,
		.get = bi__opencl_get_kernel,
		.put = bi__opencl_put_kernel,
		.enqueue = bi__opencl_launch_kernel,
	},
};
