/*
 * The kernels of strided.h as CUDA C++, for scripts/make-kernels. clang compiles them to PTX without any header of CUDA;
 * ptxas compiles the PTX to machine code.
 */
typedef unsigned char bi__u8;
typedef unsigned short bi__u16;
typedef unsigned bi__u32;
typedef unsigned long long bi__u64;
typedef int bi__i32;
typedef long long bi__i64;
typedef bi__u32 bi__u128 __attribute__((ext_vector_type(4)));

#define bi__kernel extern "C" __attribute__((global))
#define bi__device static inline __attribute__((device, always_inline))
#define bi__global
#define bi__shared
#define bi__shared_array __attribute__((shared))
#define bi__once _Pragma("unroll 1")

#define bi__word(a, b, c, d) ((bi__u128){ a, b, c, d })
#define bi__group_id ((bi__u32)__nvvm_read_ptx_sreg_ctaid_x())
#define bi__group_size ((bi__u32)__nvvm_read_ptx_sreg_ntid_x())
#define bi__thread_x ((bi__u32)__nvvm_read_ptx_sreg_tid_x())
#define bi__barrier __nvvm_bar_sync(0)

#include "kernels/strided.h"

BI__KERNEL_TYPES
BI__KERNEL_FUNCTIONS
BI__UNITS(BI__KERNEL_PHASES)
BI__UNITS(BI__TILE_LOAD)
BI__UNITS(BI__TILE_PHASES)
BI__UNITS(BI__KERNEL_ENTRIES)
