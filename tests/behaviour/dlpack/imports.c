/* The rules for a consumer. */
#define _POSIX_C_SOURCE 200809L
#include "tensors.h"

#include <pthread.h>

#define ROUNDS 200

static const int64_t cube[] = { 2, 3, 4 };

/* An import that is refused leaves the tensor as it was. */
static void refused(struct tensor *tensor, int status, const char *reason, unsigned flags)
{
	struct bi_dlpack_import_options options = trusting();
	struct bi_dl_managed_versioned before = tensor->versioned;
	struct bi_view *view = (struct bi_view *)tensor;

	options.flags |= flags;
	REFUSED_FOR(status, reason, bi_dlpack_import(fixture.context, &tensor->versioned, &options, &view, &error));
	assert_null(view);
	assert_int_equal(tensor->deleted, 0);
	assert_memory_equal(&before, &tensor->versioned, sizeof(before));
}

/* A tensor of a dense array of the device; `change` makes it wrong. */
static void refuse(void (*change)(struct bi_dl_managed_versioned *), int status, const char *reason)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT);
	struct tensor tensor;

	make_tensor(&tensor, view);
	change(&tensor.versioned);
	refused(&tensor, status, reason, 0);
	drop_tensor(&tensor);
	bi_view_release(view);
}

/* Pointers that nobody may follow. */
static void make_future(struct bi_dl_managed_versioned *tensor)
{
	memset(&tensor->tensor, 0x5a, sizeof(tensor->tensor));
	tensor->flags = ~UINT64_C(0);
	tensor->version.major = 2;
}

static void make_ancient(struct bi_dl_managed_versioned *tensor)
{
	make_future(tensor);
	tensor->version.major = 0;
}

static void dlpack_E2_another_major_version_is_not_looked_at(void **state)
{
	(void)state;
	refuse(make_future, BI_EVERSION, "[E2]");
	refuse(make_ancient, BI_EVERSION, "[E2]");
}

static void dlpack_E2_another_minor_version_is_taken(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct tensor tensor;

	(void)state;
	make_tensor(&tensor, view);
	tensor.versioned.version.minor = 99;
	taken = imported(&tensor, 0);
	assert_same_bytes(view, taken);
	let_view_go(taken);
	drop_tensor(&tensor);
	bi_view_release(view);
}

static void dlpack_E3_the_deleter_may_be_missing(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct bi_dlpack_import_options options = trusting();
	struct tensor tensor;

	(void)state;
	make_tensor(&tensor, view);
	tensor.versioned.deleter = NULL;
	tensor.plain.deleter = NULL;
	taken = imported(&tensor, 0);
	assert_same_bytes(view, taken);
	let_view_go(taken);
	OK(bi_dlpack_import_unversioned(fixture.context, &tensor.plain, &options, &taken, &error));
	assert_same_bytes(view, taken);
	let_view_go(taken);
	drop_tensor(&tensor);
	bi_view_release(view);
}

/* The layout comes back, of the same bytes; the producer's arrays are as they were; he is told once. */
static void round_trip(struct bi_view *view)
{
	int64_t shape[BI_MAX_NDIM], strides[BI_MAX_NDIM];
	struct bi_view *taken;
	struct bi_dl_tensor again;
	struct tensor tensor;

	make_tensor(&tensor, view);
	memcpy(shape, tensor.shape, sizeof(shape));
	memcpy(strides, tensor.strides, sizeof(strides));
	taken = imported(&tensor, 0);
	assert_memory_equal(shape, tensor.shape, sizeof(shape));
	assert_memory_equal(strides, tensor.strides, sizeof(strides));
	assert_true(bi_dtype_equal(bi_view_dtype(taken), bi_view_dtype(view)));
	assert_same_bytes(view, taken);
	OK(bi_dlpack_describe(taken, &again, &error));
	assert_memory_equal(&again.dtype, &tensor.versioned.tensor.dtype, sizeof(again.dtype));
	assert_ptr_equal(again.data, tensor.versioned.tensor.data);
	assert_int_equal(again.byte_offset, tensor.versioned.tensor.byte_offset);
	assert_int_equal(again.device.device_type, tensor.versioned.tensor.device.device_type);
	assert_memory_equal(again.shape ? again.shape : shape, shape, (size_t)again.ndim * sizeof(*shape));
	assert_memory_equal(again.strides ? again.strides : strides, strides, (size_t)again.ndim * sizeof(*strides));
	let_view_go(taken);
	assert_int_equal(tensor.deleted, 1);
	drop_tensor(&tensor);
}

static void dlpack_E5_round_trip_of_random_arrays(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct bi_view *view = random_view();

		round_trip(view);
		bi_view_release(view);
	}
}

static void dlpack_E5_no_strides_are_C_order(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct tensor tensor;

	(void)state;
	make_tensor(&tensor, view);
	tensor.versioned.tensor.strides = NULL;
	taken = imported(&tensor, 0);
	assert_int_equal(bi_view_strides(taken)[0], 48);
	assert_int_equal(bi_view_strides(taken)[1], 16);
	assert_int_equal(bi_view_strides(taken)[2], 4);
	assert_same_bytes(view, taken);
	let_view_go(taken);
	drop_tensor(&tensor);
	bi_view_release(view);
}

/* On every device: the same elements, said with data and byte_offset in another way. */
static void dlpack_E6_byte_offset_counts(void **state)
{
	const struct bi_index items[] = { { BI_INDEX_SLICE, 1, BI_OMITTED, 1 } };
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *half, *taken;
	struct tensor tensor;

	(void)state;
	OK(bi_view_index(view, items, 1, &half, &error));
	make_tensor(&tensor, view);
	tensor.shape[0] = 1;
	tensor.versioned.tensor.byte_offset += 48;
	taken = imported(&tensor, 0);
	assert_same_bytes(half, taken);
	let_view_go(taken);
	drop_tensor(&tensor);
	bi_view_release(half);
	bi_view_release(view);
}

static void negative_ndim(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.ndim = -1;
}

static void too_many_dimensions(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.ndim = BI_MAX_NDIM + 1;
}

static void no_shape(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.shape = NULL;
}

static void negative_extent(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.shape[1] = -3;
}

static void no_data(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.data = NULL;
}

static void huge_extent(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.shape[0] = INT64_MAX / 8;
}

static void huge_stride(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.strides[0] = INT64_MAX / 2;
}

static void huge_offset(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.byte_offset = UINT64_MAX - 3;
}

static void unknown_device(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.device.device_type = 10;
}

static void dlpack_E7_what_does_not_fit_is_refused(void **state)
{
	(void)state;
	refuse(negative_ndim, BI_EINVAL, "[E7]");
	refuse(too_many_dimensions, BI_EINVAL, "[E7]");
	refuse(no_shape, BI_EINVAL, "[E7]");
	refuse(negative_extent, BI_EINVAL, "[E7]");
	refuse(no_data, BI_EINVAL, "[E7]");
	refuse(huge_extent, BI_EOVERFLOW, "[E7]");
	refuse(huge_stride, BI_EOVERFLOW, "[E7]");
	refuse(huge_offset, BI_EOVERFLOW, "[E6]");
	refuse(unknown_device, BI_EUNSUPPORTED, "device type 10");
}

static void beyond_the_end(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.shape[0] = 1 << 20;
}

/* Host memory says nothing of its size; device memory is asked for it. */
static void dlpack_E7_device_memory_is_checked(void **state)
{
	(void)state;
	if (!is_backend("host"))
		refuse(beyond_the_end, BI_EBOUNDS, "[E7]");
}

static void dlpack_E7_no_element_needs_no_pointer(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct tensor tensor;

	(void)state;
	for (int i = 0; i < 2; i++) {
		make_tensor(&tensor, view);
		tensor.shape[1] = 0;
		tensor.versioned.tensor.data = i ? (void *)(uintptr_t)0x1234 : NULL;
		tensor.versioned.tensor.byte_offset = i ? UINT64_MAX : 0;
		taken = imported(&tensor, 0);
		assert_int_equal(bi_view_shape(taken)[1], 0);
		bi_view_release(taken);
		assert_int_equal(tensor.deleted, 1);
		drop_tensor(&tensor);
	}
	bi_view_release(view);
}

static unsigned flags_of_unversioned(const struct bi_view *view, unsigned flags)
{
	struct bi_dlpack_import_options options = trusting();
	struct bi_view *taken;
	struct tensor tensor;
	unsigned found;

	options.flags |= flags;
	make_tensor(&tensor, view);
	OK(bi_dlpack_import_unversioned(fixture.context, &tensor.plain, &options, &taken, &error));
	found = bi_view_flags(taken);
	assert_same_bytes(view, taken);
	let_view_go(taken);
	assert_int_equal(tensor.deleted, 1);
	drop_tensor(&tensor);
	return found;
}

static void dlpack_E8_without_a_version_it_is_read_only(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT);

	(void)state;
	assert_int_equal(flags_of_unversioned(view, 0), BI_VIEW_READONLY);
	assert_int_equal(flags_of_unversioned(view, BI_DLPACK_WRITABLE), 0);
	bi_view_release(view);
}

static void dlpack_E8_with_one_it_is_what_it_says(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct tensor tensor;

	(void)state;
	for (int flags = 0; flags < 4; flags++) {
		make_tensor(&tensor, view);
		tensor.versioned.flags = (uint64_t)flags;
		taken = imported(&tensor, BI_DLPACK_WRITABLE);
		assert_int_equal(bi_view_flags(taken), flags & BI_DL_READONLY ? BI_VIEW_READONLY : 0);
		let_view_go(taken);
		drop_tensor(&tensor);
	}
	bi_view_release(view);
}

static void another_device(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.device.device_id++;
}

/* Its own word, and the driver's. */
static void dlpack_E9_another_device_is_refused(void **state)
{
	struct bi_dlpack_import_options options = trusting();
	struct bi_view *view, *taken;
	struct tensor tensor;

	(void)state;
	if (!is_backend("cuda") || !fixture.second)
		return;
	refuse(another_device, BI_EINVAL, "[E9]");
	view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT);
	make_tensor(&tensor, view);
	tensor.versioned.tensor.device.device_id = bi_context_device(fixture.second)->ordinal;
	REFUSED_FOR(BI_EINVAL, "[E7]", bi_dlpack_import(fixture.second, &tensor.versioned, &options, &taken, &error));
	drop_tensor(&tensor);
	bi_view_release(view);
}

static void on_cuda(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.device.device_type = BI_EXCHANGE_DEVICE_CUDA;
}

static void on_opencl(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.device.device_type = BI_EXCHANGE_DEVICE_OPENCL;
}

static void managed(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.device.device_type = BI_EXCHANGE_DEVICE_CUDA_MANAGED;
}

static void dlpack_E7_another_backend_is_refused(void **state)
{
	(void)state;
	if (!is_backend("cuda")) {
		refuse(on_cuda, BI_EINVAL, "cannot be reached");
		refuse(managed, BI_EINVAL, "cannot be reached");
	}
	if (!is_backend("opencl"))
		refuse(on_opencl, BI_EINVAL, "cannot be reached");
}

/* A cl_mem that is a struct of somebody else's crashes the driver. */
static void dlpack_a_cl_mem_is_taken_on_trust(void **state)
{
	struct bi_view *view, *taken;
	struct tensor tensor;

	(void)state;
	if (!is_backend("opencl"))
		return;
	view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT);
	make_tensor(&tensor, view);
	REFUSED_FOR(BI_EUNSUPPORTED, "BI_DLPACK_TRUSTED",
		    bi_dlpack_import(fixture.context, &tensor.versioned, NULL, &taken, &error));
	assert_null(taken);
	drop_tensor(&tensor);
	bi_view_release(view);
}

static void unknown_flags(struct bi_dl_managed_versioned *tensor)
{
	tensor->flags |= 8;
}

static void high_flags(struct bi_dl_managed_versioned *tensor)
{
	tensor->flags |= UINT64_C(1) << 63;
}

static void packed(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.dtype = (struct bi_dl_type){ 17, 4, 1 };
}

static void packed_lanes(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.dtype = (struct bi_dl_type){ 17, 4, 2 };
}

static void unknown_type(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.dtype = (struct bi_dl_type){ 0, 4, 1 };
}

static void opaque_type(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.dtype.code = 3;
}

static void no_lanes(struct bi_dl_managed_versioned *tensor)
{
	tensor->tensor.dtype.lanes = 0;
}

static void dlpack_E11_what_is_not_understood_is_refused(void **state)
{
	(void)state;
	refuse(unknown_flags, BI_EUNSUPPORTED, "[E11]");
	refuse(high_flags, BI_EUNSUPPORTED, "[E11]");
	refuse(packed, BI_EUNSUPPORTED, "[E11]");
	refuse(packed_lanes, BI_EUNSUPPORTED, "[E11]");
	refuse(unknown_type, BI_EDTYPE, "[D9]");
	refuse(opaque_type, BI_EDTYPE, "[D9]");
	refuse(no_lanes, BI_EDTYPE, "[D9]");
}

static void dlpack_E11_padded_elements_take_a_byte(void **state)
{
	struct bi_view *view = numbered("float4_e2m1fn", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct tensor tensor;

	(void)state;
	make_tensor(&tensor, view);
	assert_int_equal(tensor.versioned.flags, BI_DL_PADDED);
	tensor.versioned.flags &= ~(uint64_t)BI_DL_PADDED;
	refused(&tensor, BI_EUNSUPPORTED, "[E11]", 0);
	tensor.versioned.flags |= BI_DL_PADDED;
	taken = imported(&tensor, 0);
	assert_int_equal(bi_view_dtype(taken).type, BI_FLOAT4_E2M1FN);
	assert_int_equal(bi_view_strides(taken)[2], 1);
	assert_same_bytes(view, taken);
	let_view_go(taken);
	drop_tensor(&tensor);
	bi_view_release(view);
}

static void dlpack_E12_lanes_stay(void **state)
{
	struct bi_view *view = numbered("float32x4", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct bi_dl_tensor again;
	struct tensor tensor;

	(void)state;
	make_tensor(&tensor, view);
	taken = imported(&tensor, 0);
	assert_int_equal(bi_view_dtype(taken).lanes, 4);
	assert_int_equal(bi_view_strides(taken)[2], 16);
	OK(bi_dlpack_describe(taken, &again, &error));
	assert_int_equal(again.dtype.lanes, 4);
	assert_int_equal(again.ndim, 3);
	let_view_go(taken);
	drop_tensor(&tensor);
	bi_view_release(view);
}

static void see_kind(enum bi_memory_kind kind, int type_again)
{
	struct bi_view *view = numbered("<f4", 3, cube, kind), *taken;
	struct tensor tensor;

	make_tensor(&tensor, view);
	taken = imported(&tensor, 0);
	assert_same_bytes(view, taken);
	assert_int_equal(bi_dlpack_device(taken).device_type, type_again);
	assert_int_equal(bi_dlpack_device(taken).device_id, 0);
	let_view_go(taken);
	drop_tensor(&tensor);
	bi_view_release(view);
}

/* Pinned memory is host memory, managed memory is the device's. */
static void dlpack_other_kinds_of_memory(void **state)
{
	(void)state;
	see_kind(BI_MEMORY_HOST, BI_EXCHANGE_DEVICE_CPU);
	if (!is_backend("cuda"))
		return;
	see_kind(BI_MEMORY_PINNED, BI_EXCHANGE_DEVICE_CPU);
	if (bi_context_device(fixture.context)->capabilities & BI_CAP_SVM)
		see_kind(BI_MEMORY_UNIFIED, BI_EXCHANGE_DEVICE_CUDA_MANAGED);
}

/* Without trust, and writable without a version: what it is is known. */
static void dlpack_own_exports_come_back(void **state)
{
	const struct bi_index items[] = { { BI_INDEX_SLICE, 1, BI_OMITTED, 1 } };
	struct bi_view *all = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *view, *taken;
	struct bi_dl_managed_versioned *tensor;
	struct bi_dl_managed *plain;

	(void)state;
	OK(bi_view_index(all, items, 1, &view, &error));
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	OK(bi_dlpack_import(fixture.context, tensor, NULL, &taken, &error));
	assert_ptr_equal(bi_view_memory(taken), bi_view_memory(all));
	assert_same_bytes(view, taken);
	bi_view_release(taken);
	OK(bi_dlpack_export_unversioned(view, 0, &plain, &error));
	OK(bi_dlpack_import_unversioned(fixture.context, plain, NULL, &taken, &error));
	assert_ptr_equal(bi_view_memory(taken), bi_view_memory(all));
	assert_int_equal(bi_view_flags(taken), 0);
	bi_view_release(view);
	bi_view_release(all);
	bi_view_release(taken);
}

static void dlpack_own_exports_stay_where_they_are(void **state)
{
	struct bi_view *view, *taken;
	struct bi_dl_managed_versioned *tensor;

	(void)state;
	if (!fixture.second)
		return;
	view = numbered("<f4", 3, cube, BI_MEMORY_DEVICE);
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	REFUSED_FOR(BI_EINVAL, is_backend("cuda") ? "[E9]" : "[E7]",
		    bi_dlpack_import(fixture.second, tensor, NULL, &taken, &error));
	tensor->deleter(tensor);
	bi_view_release(view);
}

static void *release_view(void *view)
{
	bi_view_release(view);
	return NULL;
}

/* The last reference may go on any thread. */
static void dlpack_D14_let_go_on_another_thread(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_HOST), *taken, *part;
	struct tensor tensor;
	pthread_t thread;

	(void)state;
	make_tensor(&tensor, view);
	taken = imported(&tensor, 0);
	OK(bi_view_flip(taken, 0, &part, &error));
	bi_view_release(taken);
	assert_int_equal(tensor.deleted, 0);
	assert_int_equal(pthread_create(&thread, NULL, release_view, part), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(tensor.deleted, 1);
	drop_tensor(&tensor);
	bi_view_release(view);
}

static void dlpack_arguments_of_imports(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *taken;
	struct bi_dlpack_import_options options = BI_DLPACK_IMPORT_INIT;
	struct tensor tensor;

	(void)state;
	make_tensor(&tensor, view);
	REFUSED_FOR(BI_EINVAL, "context", bi_dlpack_import(NULL, &tensor.versioned, NULL, &taken, &error));
	REFUSED_FOR(BI_EINVAL, "tensor", bi_dlpack_import(fixture.context, NULL, NULL, &taken, &error));
	REFUSED_FOR(BI_EINVAL, "out", bi_dlpack_import(fixture.context, &tensor.versioned, NULL, NULL, &error));
	REFUSED_FOR(BI_EINVAL, "tensor", bi_dlpack_import_unversioned(fixture.context, NULL, NULL, &taken, &error));
	refused(&tensor, BI_EINVAL, "flags", 1u << 20);
	options.struct_size--;
	REFUSED_FOR(BI_EINVAL, "struct_size",
		    bi_dlpack_import(fixture.context, &tensor.versioned, &options, &taken, &error));
	options = trusting();
	options.flags |= BI_DLPACK_UNORDERED;
	options.producer_stream = bi_context_stream(fixture.context);
	REFUSED_FOR(BI_EINVAL, "producer_stream",
		    bi_dlpack_import(fixture.context, &tensor.versioned, &options, &taken, &error));
	drop_tensor(&tensor);
	bi_view_release(view);
}

int imports_group(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, fixture_open_contexts, fixture_close_contexts)
	const struct CMUnitTest tests[] = {
		CASE(dlpack_E2_another_major_version_is_not_looked_at),
		CASE(dlpack_E2_another_minor_version_is_taken),
		CASE(dlpack_E3_the_deleter_may_be_missing),
		CASE(dlpack_E5_round_trip_of_random_arrays),
		CASE(dlpack_E5_no_strides_are_C_order),
		CASE(dlpack_E6_byte_offset_counts),
		CASE(dlpack_E7_what_does_not_fit_is_refused),
		CASE(dlpack_E7_device_memory_is_checked),
		CASE(dlpack_E7_no_element_needs_no_pointer),
		CASE(dlpack_E7_another_backend_is_refused),
		CASE(dlpack_E8_without_a_version_it_is_read_only),
		CASE(dlpack_E8_with_one_it_is_what_it_says),
		CASE(dlpack_E9_another_device_is_refused),
		CASE(dlpack_E11_what_is_not_understood_is_refused),
		CASE(dlpack_E11_padded_elements_take_a_byte),
		CASE(dlpack_E12_lanes_stay),
		CASE(dlpack_a_cl_mem_is_taken_on_trust),
		CASE(dlpack_other_kinds_of_memory),
		CASE(dlpack_own_exports_come_back),
		CASE(dlpack_own_exports_stay_where_they_are),
		CASE(dlpack_D14_let_go_on_another_thread),
		CASE(dlpack_arguments_of_imports),
	};
#undef CASE

	return cmocka_run_group_tests_name("dlpack imports", tests, NULL, NULL);
}
