/*
 * The kernels of strided.h as CUDA C++, for scripts/make-kernels. clang compiles them to PTX, nvcc to machine code. No
 * header is included, so neither compiler needs a CUDA header.
 */
typedef unsigned char bi__u8;
typedef unsigned short bi__u16;
typedef unsigned bi__u32;
typedef unsigned long long bi__u64;
typedef int bi__i32;
typedef long long bi__i64;
/*
 * A vector type for clang, because clang would keep an array of structs in memory instead of registers. A struct for
 * nvcc, which has vector types only in a header.
 */
#ifdef __clang__
typedef bi__u64 bi__u128 __attribute__((ext_vector_type(2)));
#else
struct __attribute__((aligned(16))) bi__u128 {
	bi__u64 low, high;
};
#endif

#define bi__kernel extern "C" __attribute__((global))
#define bi__device static inline __attribute__((device, always_inline))
#define bi__global
#define bi__shared
#define bi__shared_array __attribute__((shared))
#define bi__once _Pragma("unroll 1")

#ifdef __clang__
#define bi__group_id ((bi__u32)__nvvm_read_ptx_sreg_ctaid_x())
#define bi__group_size ((bi__u32)__nvvm_read_ptx_sreg_ntid_x())
#define bi__thread_x ((bi__u32)__nvvm_read_ptx_sreg_tid_x())
#define bi__thread_y ((bi__u32)__nvvm_read_ptx_sreg_tid_y())
#define bi__barrier __nvvm_bar_sync(0)
#else
#define bi__group_id blockIdx.x
#define bi__group_size blockDim.x
#define bi__thread_x threadIdx.x
#define bi__thread_y threadIdx.y
#define bi__barrier __syncthreads()
#endif

#include "kernels/strided.h"

BI__KERNEL_TYPES
BI__KERNEL_FUNCTIONS
BI__UNITS(BI__KERNEL_PHASES)
BI__WORDS(BI__WORD_PHASES)
BI__UNITS(BI__KERNEL_ENTRIES)
BI__WORDS(BI__WORD_ENTRIES)
