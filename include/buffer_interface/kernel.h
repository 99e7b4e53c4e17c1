/*
 * Kernels that one source text defines for OpenCL C 1.2, CUDA C++ and C11 with the extensions of GCC and Clang.
 *
 * The library puts this header in front of the text that bi_program_build compiles. A program that also runs its
 * kernels on the host includes this header, and then the same text, in a C file; in C++ it is an error. launch.h has an
 * example.
 *
 *     BI_KERNEL(scale, (BI_IN(float, from), BI_OUT(float, to), BI_VALUE(float, factor)))
 *     {
 *             bi_i64 i = BI_GLOBAL_ID(x);
 *
 *             BI_DATA(to)[i] = factor * BI_DATA(from)[i];
 *     }
 *
 * Parameters: 1 to 32, with names of at most 39 characters. The name of an array alone does not compile: BI_DATA adds
 * the offset of the view. Two parameters may be views of one array under a condition that bi_launch names.
 *   BI_IN, BI_OUT, BI_INOUT(type, name)           a dense array in C order; the kernel reads, writes, or does both
 *   BI_STRIDED_IN, _OUT, _INOUT(type, rank, name) an array of 1 to 6 dimensions with any strides; BI_AT1(name, i) to
 *                                                 BI_AT6(name, i, j, ...) are its elements
 *   BI_VALUE(type, name)                          a number, or a struct, by value; no pointer, image or sampler
 *                                                 (checked on OpenCL). `type` may be const
 *   BI_LOCAL_PARAMETER(type, name)                local memory whose size is chosen at the launch; a pointer
 *
 * Items: BI_GLOBAL_ID(x) is the number of the item, from 0 to BI_GLOBAL_SIZE(x) - 1, of type bi_i64. x is the last
 * extent of the grid, y the one before, z the one before that.
 *
 * Groups: a kernel with barriers or local memory is a BI_GROUP_KERNEL, and all code that uses items stands in blocks
 * BI_ITEMS { ... }. BI_BARRIER separates two such blocks; it orders accesses to local and to global memory. The
 * variables of a block end with the block. A value that a later block needs is stored in local memory. No return,
 * break, continue or goto may leave a block, because on the host a block is a loop over the items of a group.
 *   BI_LOCAL(type, name, count)                   local memory of the group; outside of BI_ITEMS
 *   BI_LOCAL_ID, BI_LOCAL_SIZE, BI_GROUP_ID, BI_GROUP_COUNT(axis)
 *
 * Functions: BI_FUNCTION int f(BI_GLOBAL const float *data, BI_SHARED float *local) { ... }
 *
 * Types: bi_i64, bi_u64 and bi_bool (8 bits). BI_HAS_DOUBLE is 1 if the device has double. Not portable: vector types,
 * <stdint.h>, designated initialisers, printf, and names that OpenCL C or C++ reserves. The host accepts some of these
 * names, such as half, uint, kernel, global, local, event_t, class and new.
 */
#ifndef BUFFER_INTERFACE_KERNEL_H
#define BUFFER_INTERFACE_KERNEL_H

#define bi__axis_x 0
#define bi__axis_y 1
#define bi__axis_z 2

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)

typedef long bi_i64;
typedef ulong bi_u64;
typedef uchar bi_bool;

#ifdef cl_khr_fp64
#define BI_HAS_DOUBLE 1
#else
#define BI_HAS_DOUBLE 0
#endif

#define BI_FUNCTION static inline
#define BI_GLOBAL __global
#define BI_SHARED __local
#define BI_LOCAL(type, name, count) __local type name[count]
#define BI_BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define BI_ITEMS
#define BI_GLOBAL_ID(axis) ((bi_i64)get_global_id(bi__axis_##axis))
#define BI_GLOBAL_SIZE(axis) ((bi_i64)get_global_size(bi__axis_##axis))
#define BI_LOCAL_ID(axis) ((bi_i64)get_local_id(bi__axis_##axis))
#define BI_LOCAL_SIZE(axis) ((bi_i64)get_local_size(bi__axis_##axis))
#define BI_GROUP_ID(axis) ((bi_i64)get_group_id(bi__axis_##axis))
#define BI_GROUP_COUNT(axis) ((bi_i64)get_num_groups(bi__axis_##axis))

/* The library reads the kinds of the kernel and of its parameters from these names, and the access from const. */
#define BI_KERNEL(name, parameters) __kernel void bi_kernel_##name parameters
#define BI_GROUP_KERNEL(name, parameters) __kernel void bi_group_kernel_##name parameters
#define BI_IN(type, name) __global const type *bi__base_##name, bi_i64 bi__offset_##name
#define BI_OUT(type, name) __global type *bi__base_##name, bi_i64 bi__offset_##name
#define BI_INOUT(type, name) __global type *bi__base_##name, bi_i64 bi__offset_##name
#define BI_STRIDED_IN(type, rank, name) BI_IN(type, name), struct bi_strides_##rank bi__strides_##name
#define BI_STRIDED_OUT(type, rank, name) BI_OUT(type, name), struct bi_strides_##rank bi__strides_##name
#define BI_STRIDED_INOUT(type, rank, name) BI_INOUT(type, name), struct bi_strides_##rank bi__strides_##name
#define BI_VALUE(type, name) type name
#define BI_LOCAL_PARAMETER(type, name) __local type *name

#define BI__MOVED(pointer, bytes) ((__typeof__(pointer))((__global char *)(pointer) + (bytes)))
#define BI_DATA(name) BI__MOVED(bi__base_##name, bi__offset_##name)
#define BI__ELEMENT(name, bytes) (*BI__MOVED(bi__base_##name, bi__offset_##name + (bytes)))

#else /* CUDA C++ and C */

#if defined(__cplusplus) && !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#error "Host kernels are compiled as C11: include buffer_interface/kernel.h in a C file, not in C++."
#endif

#ifdef __CUDACC_RTC__
typedef long long bi_i64;
typedef unsigned long long bi_u64;
typedef unsigned int bi__u32;
#else
#include <stdint.h>
typedef int64_t bi_i64;
typedef uint64_t bi_u64;
typedef uint32_t bi__u32;
#endif
typedef unsigned char bi_bool;

#define BI_HAS_DOUBLE 1

/* The kind of a parameter. */
enum bi_parameter_kind { BI_PARAMETER_ARRAY = 1, BI_PARAMETER_STRIDED, BI_PARAMETER_VALUE, BI_PARAMETER_LOCAL };

/*
 * One parameter of a kernel. A table ends with an entry of kind 0, whose size is 1 for a BI_GROUP_KERNEL, otherwise 0.
 */
struct bi_parameter {
	char name[40];
	bi__u32 size;                   /* bytes of the type */
	unsigned char kind;             /* enum bi_parameter_kind */
	unsigned char access;           /* enum bi_access */
	unsigned char rank;             /* of STRIDED */
	char type_class;                /* 'f' for float and double, 'i' for integers, 0 for others */
};

#define BI__LIST(...) __VA_ARGS__
#define BI__NTH(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, \
	a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, n, ...) \
	BI__EACH_##n
#define BI__EACH_LISTED(...) BI__NTH(__VA_ARGS__, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
	32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, \
	17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__)
#define BI__EACH(m, parameters) BI__EACH_LISTED(m, BI__LIST parameters)
#define BI__EACH_MANY(m, ...) a_kernel_has_at_most_32_parameters /* undeclared, so that the compiler prints this name */
#define BI__EACH_1(m, a) m a
#define BI__EACH_2(m, a, ...) m a BI__EACH_1(m, __VA_ARGS__)
#define BI__EACH_3(m, a, ...) m a BI__EACH_2(m, __VA_ARGS__)
#define BI__EACH_4(m, a, ...) m a BI__EACH_3(m, __VA_ARGS__)
#define BI__EACH_5(m, a, ...) m a BI__EACH_4(m, __VA_ARGS__)
#define BI__EACH_6(m, a, ...) m a BI__EACH_5(m, __VA_ARGS__)
#define BI__EACH_7(m, a, ...) m a BI__EACH_6(m, __VA_ARGS__)
#define BI__EACH_8(m, a, ...) m a BI__EACH_7(m, __VA_ARGS__)
#define BI__EACH_9(m, a, ...) m a BI__EACH_8(m, __VA_ARGS__)
#define BI__EACH_10(m, a, ...) m a BI__EACH_9(m, __VA_ARGS__)
#define BI__EACH_11(m, a, ...) m a BI__EACH_10(m, __VA_ARGS__)
#define BI__EACH_12(m, a, ...) m a BI__EACH_11(m, __VA_ARGS__)
#define BI__EACH_13(m, a, ...) m a BI__EACH_12(m, __VA_ARGS__)
#define BI__EACH_14(m, a, ...) m a BI__EACH_13(m, __VA_ARGS__)
#define BI__EACH_15(m, a, ...) m a BI__EACH_14(m, __VA_ARGS__)
#define BI__EACH_16(m, a, ...) m a BI__EACH_15(m, __VA_ARGS__)
#define BI__EACH_17(m, a, ...) m a BI__EACH_16(m, __VA_ARGS__)
#define BI__EACH_18(m, a, ...) m a BI__EACH_17(m, __VA_ARGS__)
#define BI__EACH_19(m, a, ...) m a BI__EACH_18(m, __VA_ARGS__)
#define BI__EACH_20(m, a, ...) m a BI__EACH_19(m, __VA_ARGS__)
#define BI__EACH_21(m, a, ...) m a BI__EACH_20(m, __VA_ARGS__)
#define BI__EACH_22(m, a, ...) m a BI__EACH_21(m, __VA_ARGS__)
#define BI__EACH_23(m, a, ...) m a BI__EACH_22(m, __VA_ARGS__)
#define BI__EACH_24(m, a, ...) m a BI__EACH_23(m, __VA_ARGS__)
#define BI__EACH_25(m, a, ...) m a BI__EACH_24(m, __VA_ARGS__)
#define BI__EACH_26(m, a, ...) m a BI__EACH_25(m, __VA_ARGS__)
#define BI__EACH_27(m, a, ...) m a BI__EACH_26(m, __VA_ARGS__)
#define BI__EACH_28(m, a, ...) m a BI__EACH_27(m, __VA_ARGS__)
#define BI__EACH_29(m, a, ...) m a BI__EACH_28(m, __VA_ARGS__)
#define BI__EACH_30(m, a, ...) m a BI__EACH_29(m, __VA_ARGS__)
#define BI__EACH_31(m, a, ...) m a BI__EACH_30(m, __VA_ARGS__)
#define BI__EACH_32(m, a, ...) m a BI__EACH_31(m, __VA_ARGS__)

/* These macros write a parameter as (kind, type, name, access, rank). BI__EACH passes that to the macros below. */
#define BI_IN(type, name) (ARRAY, const type, name, 1, 0)
#define BI_OUT(type, name) (ARRAY, type, name, 2, 0)
#define BI_INOUT(type, name) (ARRAY, type, name, 3, 0)
#define BI_STRIDED_IN(type, rank, name) (STRIDED, const type, name, 1, rank)
#define BI_STRIDED_OUT(type, rank, name) (STRIDED, type, name, 2, rank)
#define BI_STRIDED_INOUT(type, rank, name) (STRIDED, type, name, 3, rank)
#define BI_VALUE(type, name) (VALUE, type, name, 0, 0)
#define BI_LOCAL_PARAMETER(type, name) (LOCAL, type, name, 0, 0)

#define BI__DESCRIBE(kind, type, name, access, rank) \
	{ #name, (bi__u32)sizeof(type), BI_PARAMETER_##kind, access, rank, BI__CLASS(type) },
#define BI__TABLE(parameters, is_group) { BI__EACH(BI__DESCRIBE, parameters) { "", is_group, 0, 0, 0, 0 } }

#define BI__DECLARE(kind, type, name, access, rank) BI__DECLARE_##kind(type, name, rank)
#define BI__DECLARE_ARRAY(type, name, rank) type *bi__data_##name,
#define BI__DECLARE_STRIDED(type, name, rank) type *bi__data_##name, struct bi_strides_##rank bi__strides_##name,
#define BI__DECLARE_VALUE(type, name, rank) type name,
#define BI__DECLARE_LOCAL(type, name, rank) type *name,

#define BI__PASS(kind, type, name, access, rank) BI__PASS_##kind(type, name)
#define BI__PASS_ARRAY(type, name) bi__data_##name,
#define BI__PASS_STRIDED(type, name) bi__data_##name, bi__strides_##name,
#define BI__PASS_VALUE(type, name) name,

#define BI_DATA(name) bi__data_##name
#define BI__ELEMENT(name, bytes) (*BI__MOVED(bi__data_##name, bytes))

#ifdef __CUDACC__

#define BI_FUNCTION static __device__ inline
#define BI_GLOBAL
#define BI_SHARED
#define BI_LOCAL(type, name, count) __shared__ type name[count]
#define BI_BARRIER __syncthreads()
#define BI_ITEMS
#define BI_GLOBAL_ID(axis) ((bi_i64)blockIdx.axis * blockDim.axis + threadIdx.axis)
#define BI_GLOBAL_SIZE(axis) bi__size.axis
#define BI_LOCAL_ID(axis) ((bi_i64)threadIdx.axis)
#define BI_LOCAL_SIZE(axis) ((bi_i64)blockDim.axis)
#define BI_GROUP_ID(axis) ((bi_i64)blockIdx.axis)
#define BI_GROUP_COUNT(axis) ((bi_i64)gridDim.axis)

struct bi_extent {
	bi_i64 x, y, z;
};

__host__ __device__ constexpr char bi__class_of(const volatile void *) { return 0; }
__host__ __device__ constexpr char bi__class_of(const float *) { return 'f'; }
__host__ __device__ constexpr char bi__class_of(const double *) { return 'f'; }
__host__ __device__ constexpr char bi__class_of(const signed char *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const unsigned char *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const char *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const short *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const unsigned short *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const int *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const unsigned *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const long *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const unsigned long *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const long long *) { return 'i'; }
__host__ __device__ constexpr char bi__class_of(const unsigned long long *) { return 'i'; }
#define BI__CLASS(type) bi__class_of((type *)nullptr)

#define BI__MOVED(pointer, bytes) ((decltype(pointer))((char *)(pointer) + (bytes)))

/* The __global__ function takes a local parameter as an offset in the dynamic shared memory. */
#define BI__ENTRY(kind, type, name, access, rank) BI__ENTRY_##kind(type, name, rank)
#define BI__ENTRY_ARRAY BI__DECLARE_ARRAY
#define BI__ENTRY_STRIDED BI__DECLARE_STRIDED
#define BI__ENTRY_VALUE BI__DECLARE_VALUE
#define BI__ENTRY_LOCAL(type, name, rank) unsigned bi__local_##name,
#define BI__PASS_LOCAL(type, name) (type *)((char *)bi__dynamic + bi__local_##name),

/* Items beyond the grid do nothing: the last groups may be larger than the rest of the grid. */
#define BI__DEVICE_KERNEL(name, parameters, is_group) \
	static __device__ __forceinline__ void bi__body_##name(BI__EACH(BI__DECLARE, parameters) bi_extent bi__size); \
	extern "C" __device__ bi_parameter bi_parameters_##name[] = BI__TABLE(parameters, is_group); \
	extern "C" __global__ void bi_kernel_##name(BI__EACH(BI__ENTRY, parameters) bi_extent bi__size) \
	{ \
		extern __shared__ __align__(16) long long bi__dynamic[]; \
		(void)bi__dynamic; \
		if (BI_GLOBAL_ID(x) < bi__size.x && BI_GLOBAL_ID(y) < bi__size.y && BI_GLOBAL_ID(z) < bi__size.z) \
			bi__body_##name(BI__EACH(BI__PASS, parameters) bi__size); \
	} \
	static __device__ __forceinline__ void bi__body_##name(BI__EACH(BI__DECLARE, parameters) bi_extent bi__size)
#define BI_KERNEL(name, parameters) BI__DEVICE_KERNEL(name, parameters, 0)
#define BI_GROUP_KERNEL(name, parameters) BI__DEVICE_KERNEL(name, parameters, 1)

#else /* C: a kernel is a function that runs over a box of items, or of groups */

#if defined(__GNUC__)
#define BI__UNUSED __attribute__((unused))
#define BI__INLINE static inline __attribute__((always_inline, unused))
#else
#define BI__UNUSED
#define BI__INLINE static inline
#endif

#define BI_FUNCTION BI__UNUSED static inline
#define BI_GLOBAL
#define BI_SHARED
#define BI_LOCAL(type, name, count) type name[count]
/* Macros of groups use bi__group, which a BI_KERNEL does not have, so they do not compile there. */
#define BI_BARRIER ((void)bi__group)
#define BI_GLOBAL_ID(axis) bi__##axis
#define BI_GLOBAL_SIZE(axis) (bi__box->size[bi__axis_##axis])
#define BI_LOCAL_ID(axis) (bi__##axis - bi__group->first[bi__axis_##axis])
#define BI_LOCAL_SIZE(axis) ((void)bi__group, bi__box->group[bi__axis_##axis])
#define BI_GROUP_ID(axis) (bi__group->number[bi__axis_##axis])
#define BI_GROUP_COUNT(axis) (bi__box->size[bi__axis_##axis] / BI_LOCAL_SIZE(axis))

/* The items, or the groups, that one call runs: [first, end). Indexed by x, y, z. */
struct bi_host_box {
	bi_i64 first[3], end[3];
	bi_i64 size[3];                 /* of the whole grid, in items */
	bi_i64 group[3];                /* items of a group */
};

/* The items [first, end) of one group. */
struct bi_host_group {
	bi_i64 first[3], end[3];
	bi_i64 number[3];
};

struct bi_host_argument {
	void *data;                     /* the first element, the value, or the local memory */
	const bi_i64 *strides;          /* of STRIDED, in bytes */
};

/* A kernel as a C function. In C11, BI_KERNEL(name, ...) defines the static object bi_kernel_<name> of this type. */
struct bi_host_kernel {
	const char *name;
	const struct bi_parameter *parameters;
	int has_groups;
	void (*run)(const struct bi_host_box *box, const struct bi_host_argument *arguments);
};

static inline struct bi_host_group bi__host_group(const struct bi_host_box *box, bi_i64 x, bi_i64 y, bi_i64 z)
{
	struct bi_host_group group;
	int i;

	group.number[0] = x;
	group.number[1] = y;
	group.number[2] = z;
	for (i = 0; i < 3; i++) {
		group.first[i] = group.number[i] * box->group[i];
		group.end[i] = group.first[i] + box->group[i];
	}
	return group;
}

#define BI__CLASS(type) \
	_Generic(*(type *)0, float: 'f', double: 'f', char: 'i', signed char: 'i', unsigned char: 'i', short: 'i', \
		unsigned short: 'i', int: 'i', unsigned: 'i', long: 'i', unsigned long: 'i', long long: 'i', \
		unsigned long long: 'i', default: 0)

#define BI__MOVED(pointer, bytes) ((__typeof__(pointer))((uintptr_t)(pointer) + (uintptr_t)(bytes)))

#define BI__PASS_LOCAL(type, name) name,

#define BI__LOAD(kind, type, name, access, rank) BI__LOAD_##kind(type, name, rank)
#define BI__LOAD_ARRAY(type, name, rank) type *const bi__data_##name = (type *)(bi__argument++)->data;
#define BI__LOAD_STRIDED(type, name, rank) \
	const struct bi_strides_##rank bi__strides_##name = \
		*(const struct bi_strides_##rank *)(const void *)bi__argument->strides; \
	BI__LOAD_ARRAY(type, name, rank)
/* The caller's bytes need not be aligned. The type may be const, so the variable is initialised and not assigned. */
#define BI__LOAD_VALUE(type, name, rank) \
	struct __attribute__((may_alias)) bi__value_##name { \
		type value; \
	}; \
	_Alignas(struct bi__value_##name) char bi__bytes_##name[sizeof(struct bi__value_##name)]; \
	__builtin_memcpy(bi__bytes_##name, (bi__argument++)->data, sizeof(bi__bytes_##name)); \
	type name = ((const struct bi__value_##name *)(const void *)bi__bytes_##name)->value;
#define BI__LOAD_LOCAL(type, name, rank) type *const name = (type *)(bi__argument++)->data;

#define BI__CHECK_NAME(kind, type, name, access, rank) \
	_Static_assert(sizeof(#name) <= 40, "the parameter " #name " has a name of more than 39 characters");

#define BI__LOOP(axis, from, to) for (bi_i64 bi__##axis = (from)[bi__axis_##axis]; bi__##axis < (to)[bi__axis_##axis]; bi__##axis++)
#define BI__LOOPS(from, to) BI__LOOP(z, from, to) BI__LOOP(y, from, to) BI__LOOP(x, from, to)
#define BI_ITEMS BI__LOOPS(bi__group->first, bi__group->end)

#define BI__HOST_KERNEL(name, parameters, is_group, prepare, call, ...) \
	BI__INLINE void bi__body_##name(BI__EACH(BI__DECLARE, parameters) __VA_ARGS__); \
	BI__EACH(BI__CHECK_NAME, parameters) \
	static void bi__run_##name(const struct bi_host_box *bi__box, const struct bi_host_argument *bi__argument) \
	{ \
		BI__EACH(BI__LOAD, parameters) \
		BI__LOOPS(bi__box->first, bi__box->end) \
		{ \
			prepare \
			bi__body_##name(BI__EACH(BI__PASS, parameters) call); \
		} \
	} \
	static const struct bi_parameter bi__parameters_##name[] = BI__TABLE(parameters, is_group); \
	BI__UNUSED static const struct bi_host_kernel bi_kernel_##name = { #name, bi__parameters_##name, is_group, \
									    bi__run_##name }; \
	BI__INLINE void bi__body_##name(BI__EACH(BI__DECLARE, parameters) __VA_ARGS__)

#define BI__ITEM_ARGUMENTS bi__x, bi__y, bi__z, bi__box
#define BI_KERNEL(name, parameters) \
	BI__HOST_KERNEL(name, parameters, 0, , BI__ITEM_ARGUMENTS, BI__UNUSED const bi_i64 bi__x, \
			BI__UNUSED const bi_i64 bi__y, BI__UNUSED const bi_i64 bi__z, \
			BI__UNUSED const struct bi_host_box *const bi__box)
#define BI__GROUP_ARGUMENTS &bi__this_group, bi__box
#define BI_GROUP_KERNEL(name, parameters) \
	BI__HOST_KERNEL(name, parameters, 1, \
			const struct bi_host_group bi__this_group = bi__host_group(bi__box, bi__x, bi__y, bi__z);, \
			BI__GROUP_ARGUMENTS, const struct bi_host_group *const bi__group, \
			BI__UNUSED const struct bi_host_box *const bi__box)

#endif /* __CUDACC__ */
#endif /* OpenCL */

struct bi_strides_1 {
	bi_i64 at[1];
};
struct bi_strides_2 {
	bi_i64 at[2];
};
struct bi_strides_3 {
	bi_i64 at[3];
};
struct bi_strides_4 {
	bi_i64 at[4];
};
struct bi_strides_5 {
	bi_i64 at[5];
};
struct bi_strides_6 {
	bi_i64 at[6];
};

#define BI__STRIDE(name, axis, i) (bi_i64)(i) * bi__strides_##name.at[axis]
#define BI_AT1(name, i) BI__ELEMENT(name, BI__STRIDE(name, 0, i))
#define BI_AT2(name, i, j) BI__ELEMENT(name, BI__STRIDE(name, 0, i) + BI__STRIDE(name, 1, j))
#define BI_AT3(name, i, j, k) \
	BI__ELEMENT(name, BI__STRIDE(name, 0, i) + BI__STRIDE(name, 1, j) + BI__STRIDE(name, 2, k))
#define BI_AT4(name, i, j, k, l) \
	BI__ELEMENT(name, BI__STRIDE(name, 0, i) + BI__STRIDE(name, 1, j) + BI__STRIDE(name, 2, k) + \
				  BI__STRIDE(name, 3, l))
#define BI_AT5(name, i, j, k, l, m) \
	BI__ELEMENT(name, BI__STRIDE(name, 0, i) + BI__STRIDE(name, 1, j) + BI__STRIDE(name, 2, k) + \
				  BI__STRIDE(name, 3, l) + BI__STRIDE(name, 4, m))
#define BI_AT6(name, i, j, k, l, m, n) \
	BI__ELEMENT(name, BI__STRIDE(name, 0, i) + BI__STRIDE(name, 1, j) + BI__STRIDE(name, 2, k) + \
				  BI__STRIDE(name, 3, l) + BI__STRIDE(name, 4, m) + BI__STRIDE(name, 5, n))

#endif
