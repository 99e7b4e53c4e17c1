/* Our structs and numbers are those of the published header, whatever version of 1.x it has. Compiling is the test. */
#include <dlpack/dlpack.h>

#include "buffer_interface/dlpack.h"

#define SAME(theirs, ours) _Static_assert((theirs) == (ours), #theirs " is not " #ours)
#define SAME_SIZE(theirs, ours) SAME(sizeof(theirs), sizeof(struct ours))
#define SAME_PLACE(theirs, member, ours, our_member) \
	SAME(offsetof(theirs, member), offsetof(struct ours, our_member)); \
	SAME(sizeof(((theirs *)0)->member), sizeof(((struct ours *)0)->our_member))

SAME(DLPACK_MAJOR_VERSION, BI_DLPACK_MAJOR);
SAME(DLPACK_FLAG_BITMASK_READ_ONLY, BI_DL_READONLY);
SAME(DLPACK_FLAG_BITMASK_IS_COPIED, BI_DL_COPIED);

SAME((int)kDLCPU, (int)BI_EXCHANGE_DEVICE_CPU);
SAME((int)kDLCUDA, (int)BI_EXCHANGE_DEVICE_CUDA);
SAME((int)kDLCUDAHost, (int)BI_EXCHANGE_DEVICE_CUDA_HOST);
SAME((int)kDLOpenCL, (int)BI_EXCHANGE_DEVICE_OPENCL);
SAME((int)kDLCUDAManaged, (int)BI_EXCHANGE_DEVICE_CUDA_MANAGED);

SAME_SIZE(DLDevice, bi_dl_device);
SAME_PLACE(DLDevice, device_type, bi_dl_device, device_type);
SAME_PLACE(DLDevice, device_id, bi_dl_device, device_id);

SAME_SIZE(DLDataType, bi_dl_type);
SAME_PLACE(DLDataType, code, bi_dl_type, code);
SAME_PLACE(DLDataType, bits, bi_dl_type, bits);
SAME_PLACE(DLDataType, lanes, bi_dl_type, lanes);

SAME_SIZE(DLTensor, bi_dl_tensor);
SAME_PLACE(DLTensor, data, bi_dl_tensor, data);
SAME_PLACE(DLTensor, device, bi_dl_tensor, device);
SAME_PLACE(DLTensor, ndim, bi_dl_tensor, ndim);
SAME_PLACE(DLTensor, dtype, bi_dl_tensor, dtype);
SAME_PLACE(DLTensor, shape, bi_dl_tensor, shape);
SAME_PLACE(DLTensor, strides, bi_dl_tensor, strides);
SAME_PLACE(DLTensor, byte_offset, bi_dl_tensor, byte_offset);

SAME_SIZE(DLManagedTensor, bi_dl_managed);
SAME_PLACE(DLManagedTensor, dl_tensor, bi_dl_managed, tensor);
SAME_PLACE(DLManagedTensor, manager_ctx, bi_dl_managed, manager_ctx);
SAME_PLACE(DLManagedTensor, deleter, bi_dl_managed, deleter);

SAME_SIZE(DLPackVersion, bi_dl_version);
SAME_PLACE(DLPackVersion, major, bi_dl_version, major);
SAME_PLACE(DLPackVersion, minor, bi_dl_version, minor);

SAME_SIZE(DLManagedTensorVersioned, bi_dl_managed_versioned);
SAME_PLACE(DLManagedTensorVersioned, version, bi_dl_managed_versioned, version);
SAME_PLACE(DLManagedTensorVersioned, manager_ctx, bi_dl_managed_versioned, manager_ctx);
SAME_PLACE(DLManagedTensorVersioned, deleter, bi_dl_managed_versioned, deleter);
SAME_PLACE(DLManagedTensorVersioned, flags, bi_dl_managed_versioned, flags);
SAME_PLACE(DLManagedTensorVersioned, dl_tensor, bi_dl_managed_versioned, tensor);

#if DLPACK_MINOR_VERSION >= 1
SAME(DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED, BI_DL_PADDED);
#define NAMED_DLPACK_0 kDLInt
#define NAMED_DLPACK_1 kDLUInt
#define NAMED_DLPACK_2 kDLFloat
#define NAMED_DLPACK_4 kDLBfloat
#define NAMED_DLPACK_5 kDLComplex
#define NAMED_DLPACK_6 kDLBool
#define NAMED_DLPACK_7 kDLFloat8_e3m4
#define NAMED_DLPACK_8 kDLFloat8_e4m3
#define NAMED_DLPACK_9 kDLFloat8_e4m3b11fnuz
#define NAMED_DLPACK_10 kDLFloat8_e4m3fn
#define NAMED_DLPACK_11 kDLFloat8_e4m3fnuz
#define NAMED_DLPACK_12 kDLFloat8_e5m2
#define NAMED_DLPACK_13 kDLFloat8_e5m2fnuz
#define NAMED_DLPACK_14 kDLFloat8_e8m0fnu
#define NAMED_DLPACK_15 kDLFloat6_e2m3fn
#define NAMED_DLPACK_16 kDLFloat6_e3m2fn
#define NAMED_DLPACK_17 kDLFloat4_e2m1fn
#define SAME_CODE(code) SAME((int)NAMED_DLPACK_##code, code);
SAME_CODE(0)
SAME_CODE(1)
SAME_CODE(2)
SAME_CODE(4) SAME_CODE(5) SAME_CODE(6) SAME_CODE(7) SAME_CODE(8) SAME_CODE(9) SAME_CODE(10) SAME_CODE(11) SAME_CODE(12)
	SAME_CODE(13) SAME_CODE(14) SAME_CODE(15) SAME_CODE(16) SAME_CODE(17)
#endif

		int main(void)
{
	return 0;
}
