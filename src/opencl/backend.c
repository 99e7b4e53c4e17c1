/* The function table of the OpenCL backend. */
#include "opencl/opencl.h"

extern const struct bi__backend bi__opencl_backend;

const struct bi__backend bi__opencl_backend = {
	.name = "opencl",
	.numbers = 2,
	.handle = BI_HANDLE_CL_MEM,
	.exported = {
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_MEM, BI__FORM_OBJECT, 0 },
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_MEM, BI__FORM_OBJECT, 0 },
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_MEM, BI__FORM_OBJECT, 0 },
		/* DLPack has no name for SVM: the data of OpenCL memory is a cl_mem there. */
		{ BI_EXCHANGE_DEVICE_OPENCL, BI_HANDLE_CL_SVM, BI__FORM_BASE, 1 },
	},
	.stream_kinds = 1u << BI_ORDER_OPENCL,
	.fails_by_event = 1,
	.streams_stand_alone = 1,
	.above_limit = CL_INVALID_BUFFER_SIZE,
	.devices.symbol = bi__cl_symbol,
	BI__OPENCL_OPERATIONS(BI__OPERATION_ENTRY)
};
