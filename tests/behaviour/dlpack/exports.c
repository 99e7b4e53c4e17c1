/* The rules for a producer. */
#include "tensors.h"

#define ROUNDS 300

static const int64_t cube[] = { 2, 3, 4 };

static void release(struct bi_dl_managed_versioned *tensor)
{
	tensor->deleter(tensor);
}

static struct bi_view *read_only(const struct bi_view *view)
{
	const int64_t *shape = bi_view_shape(view);
	struct bi_view *out;

	OK(bi_view_broadcast(view, bi_view_ndim(view), shape, &out, &error));
	return out;
}

static void dlpack_D3_read_only_needs_a_version(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *locked = read_only(view);
	struct bi_dl_managed_versioned *tensor;
	struct bi_dl_managed *plain;

	(void)state;
	REFUSED_FOR(BI_EREADONLY, "[D3]", bi_dlpack_export_unversioned(locked, 0, &plain, &error));
	assert_null(plain);
	OK(bi_dlpack_export(locked, 0, &tensor, &error));
	assert_int_equal(tensor->version.major, 1);
	assert_int_equal(tensor->version.minor, 3);
	assert_int_equal(tensor->flags, BI_DL_READONLY);
	release(tensor);
	OK(bi_dlpack_export_unversioned(view, 0, &plain, &error));
	assert_int_equal(plain->tensor.ndim, 3);
	plain->deleter(plain);
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	assert_int_equal(tensor->flags, 0);
	release(tensor);
	bi_view_release(locked);
	bi_view_release(view);
}

static void dlpack_D4_strides_are_elements(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct bi_view *view = random_view();
		const int64_t *shape = bi_view_shape(view), *strides = bi_view_strides(view);
		int64_t item = bi_view_dtype(view).item_size;
		struct bi_dl_tensor tensor;

		OK(bi_dlpack_describe(view, &tensor, &error));
		assert_int_equal(tensor.ndim, bi_view_ndim(view));
		for (int i = 0; i < tensor.ndim; i++) {
			assert_int_equal(tensor.shape[i], shape[i]);
			assert_int_equal(tensor.strides[i], shape[i] < 2 ? 1 : strides[i] / item);
		}
		bi_view_release(view);
	}
}

static struct bi_view *with_stride(const char *dtype, int64_t extent, int64_t stride)
{
	const int64_t room[] = { 96 };
	struct bi_view *bytes = numbered("|u1", 1, room, BI_MEMORY_DEFAULT), *view;
	struct bi_layout layout;

	OK(bi_layout_init(&layout, dtype_of(dtype), 1, &extent, &stride, stride < 0 ? 48 : 0, &error));
	OK(bi_view_with_layout(bytes, &layout, &view, &error));
	bi_view_release(bytes);
	return view;
}

static void refuse_stride(const char *dtype, int64_t stride)
{
	struct bi_view *view = with_stride(dtype, 4, stride);
	struct bi_dl_managed_versioned *tensor;
	struct bi_dl_tensor plain;

	REFUSED_FOR(BI_EUNSUPPORTED, "[D4]", bi_dlpack_describe(view, &plain, &error));
	assert_null(plain.data);
	REFUSED_FOR(BI_EUNSUPPORTED, "[D4]", bi_dlpack_export(view, 0, &tensor, &error));
	assert_null(tensor);
	bi_view_release(view);
	/* Where there is nothing to step over, the stride does not count. */
	view = with_stride(dtype, 1, stride);
	OK(bi_dlpack_describe(view, &plain, &error));
	assert_int_equal(plain.strides[0], 1);
	bi_view_release(view);
}

static void dlpack_D4_other_strides_are_refused(void **state)
{
	struct bi_view *view;
	struct bi_dl_tensor tensor;

	(void)state;
	refuse_stride("<f4", 6);
	refuse_stride("<f4", -6);
	refuse_stride("<f4", -2);
	refuse_stride("float32x3", 16);
	refuse_stride("float32x3", -8);
	view = with_stride("float32x3", 4, -12);
	OK(bi_dlpack_describe(view, &tensor, &error));
	assert_int_equal(tensor.strides[0], -1);
	bi_view_release(view);
}

static void dlpack_D5_no_dimension_has_no_arrays(void **state)
{
	struct bi_view *view = numbered("<f8", 0, NULL, BI_MEMORY_DEFAULT);
	struct bi_dl_tensor tensor;

	(void)state;
	OK(bi_dlpack_describe(view, &tensor, &error));
	assert_int_equal(tensor.ndim, 0);
	assert_null(tensor.shape);
	assert_null(tensor.strides);
	assert_non_null(tensor.data);
	bi_view_release(view);
}

static void dlpack_D6_no_element_has_no_data(void **state)
{
	const struct bi_index items[] = { { BI_INDEX_SLICE, 1, 1, 1 } };
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT), *empty;
	struct bi_dl_tensor tensor;

	(void)state;
	OK(bi_view_index(view, items, 1, &empty, &error));
	OK(bi_dlpack_describe(empty, &tensor, &error));
	assert_null(tensor.data);
	assert_int_equal(tensor.byte_offset, 0);
	assert_int_equal(tensor.shape[0], 0);
	assert_int_equal(tensor.shape[1], 3);
	bi_view_release(empty);
	bi_view_release(view);
}

/* What a consumer finds at data and byte_offset is element [0, ..., 0]. */
static void dlpack_D7_D8_data_is_the_element(void **state)
{
	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct bi_view *view = random_view();
		struct bi_native native;
		struct bi_dl_tensor tensor;

		bi_view_native(view, &native);
		OK(bi_dlpack_describe(view, &tensor, &error));
		if (!tensor.data) {
			bi_view_release(view);
			continue;
		}
		if (is_backend("opencl")) {
			assert_true((uintptr_t)tensor.data == native.handle);
			assert_int_equal(tensor.byte_offset, native.offset);
		} else {
			assert_true((uintptr_t)tensor.data == native.handle + native.offset);
			assert_int_equal(tensor.byte_offset, 0);
		}
		bi_view_release(view);
	}
}

static void dlpack_D8_shared_virtual_memory_is_no_cl_mem(void **state)
{
	struct bi_view *view;
	struct bi_dl_tensor tensor;

	(void)state;
	if (!is_backend("opencl") || !(bi_context_device(fixture.context)->capabilities & BI_CAP_SVM))
		return;
	view = numbered("<f4", 3, cube, BI_MEMORY_UNIFIED);
	REFUSED_FOR(BI_EUNSUPPORTED, "[D8]", bi_dlpack_describe(view, &tensor, &error));
	assert_int_equal(bi_dlpack_device(view).device_type, BI_EXCHANGE_DEVICE_OPENCL);
	bi_view_release(view);
}

static void export_type(struct bi_dtype dtype)
{
	const int64_t shape[] = { 3 };
	struct bi_dl_managed_versioned *tensor;
	struct bi_dl_managed *plain;
	struct bi_dl_tensor described;
	struct bi_view *view;
	uint8_t code, bits;
	uint16_t lanes;

	OK(bi_view_empty(fixture.context, dtype, 1, shape, &view, &error));
	if (bi_dtype_to_dlpack(dtype, &code, &bits, &lanes, NULL) != BI_OK) {
		REFUSED_FOR(BI_EDTYPE, "[D9]", bi_dlpack_describe(view, &described, &error));
		REFUSED_FOR(BI_EDTYPE, "[D9]", bi_dlpack_export(view, 0, &tensor, &error));
		bi_view_release(view);
		return;
	}
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	assert_int_equal(tensor->tensor.dtype.code, code);
	assert_int_equal(tensor->tensor.dtype.bits, bits);
	assert_int_equal(tensor->tensor.dtype.lanes, lanes);
	assert_int_equal(tensor->flags, bits < 8 ? BI_DL_PADDED : 0);
	release(tensor);
	if (bits < 8) {
		REFUSED_FOR(BI_EDTYPE, "[D9]", bi_dlpack_describe(view, &described, &error));
		REFUSED_FOR(BI_EDTYPE, "[D9]", bi_dlpack_export_unversioned(view, 0, &plain, &error));
	} else {
		OK(bi_dlpack_describe(view, &described, &error));
	}
	bi_view_release(view);
}

static void dlpack_D9_every_type(void **state)
{
	struct bi_dtype dtype;

	(void)state;
	for (int type = 0; type < BI_TYPE_COUNT; type++) {
		OK(bi_dtype_make((enum bi_type)type, 1, type >= BI_BYTES ? 8 : 0, &dtype, &error));
		export_type(dtype);
		if (type >= BI_BYTES)
			continue;
		OK(bi_dtype_make((enum bi_type)type, 4, 0, &dtype, &error));
		export_type(dtype);
	}
	export_type(dtype_of(">f4"));
	export_type(dtype_of("|V12"));
}

static void see_device(enum bi_memory_kind kind, int type, int id)
{
	struct bi_view *view = numbered("<f4", 3, cube, kind);
	struct bi_dl_device device = bi_dlpack_device(view);
	struct bi_dl_tensor tensor;

	assert_int_equal(device.device_type, type);
	assert_int_equal(device.device_id, id);
	OK(bi_dlpack_describe(view, &tensor, &error));
	assert_memory_equal(&tensor.device, &device, sizeof(device));
	bi_view_release(view);
}

static void dlpack_D10_device(void **state)
{
	const struct bi_device *device = bi_context_device(fixture.context);

	(void)state;
	see_device(BI_MEMORY_HOST, BI_EXCHANGE_DEVICE_CPU, 0);
	if (is_backend("opencl")) {
		see_device(BI_MEMORY_DEVICE, BI_EXCHANGE_DEVICE_OPENCL, 0);
		see_device(BI_MEMORY_PINNED, BI_EXCHANGE_DEVICE_OPENCL, 0);
	} else if (is_backend("cuda")) {
		see_device(BI_MEMORY_DEVICE, BI_EXCHANGE_DEVICE_CUDA, device->ordinal);
		see_device(BI_MEMORY_PINNED, BI_EXCHANGE_DEVICE_CUDA_HOST, 0);
		if (device->capabilities & BI_CAP_SVM)
			see_device(BI_MEMORY_UNIFIED, BI_EXCHANGE_DEVICE_CUDA_MANAGED, 0);
	}
}

static void dlpack_D12_copied_is_the_callers_word(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT);
	struct bi_dl_managed_versioned *tensor;

	(void)state;
	OK(bi_dlpack_export(view, BI_DL_COPIED, &tensor, &error));
	assert_int_equal(tensor->flags, BI_DL_COPIED);
	release(tensor);
	REFUSED_FOR(BI_EINVAL, "flags", bi_dlpack_export(view, BI_DL_READONLY, &tensor, &error));
	REFUSED_FOR(BI_EINVAL, "flags", bi_dlpack_export(view, BI_DL_PADDED, &tensor, &error));
	REFUSED_FOR(BI_EINVAL, "flags", bi_dlpack_export(view, UINT64_C(1) << 40, &tensor, &error));
	assert_null(tensor);
	bi_view_release(view);
}

/* The tensor alone keeps the memory. */
static void dlpack_D13_a_tensor_is_a_reference(void **state)
{
	static unsigned char bytes[24];
	atomic_int released = 0;
	struct bi_dl_managed_versioned *tensor;
	struct bi_dl_managed *plain;
	struct bi_view *view;

	(void)state;
	OK(bi_view_wrap_host(fixture.context, bytes, dtype_of("|u1"), 3, cube, count_release, &released, &view,
			     &error));
	OK(bi_dlpack_export(view, 0, &tensor, &error));
	OK(bi_dlpack_export_unversioned(view, 0, &plain, &error));
	assert_ptr_equal(bi_dlpack_view(tensor), view);
	assert_ptr_equal(bi_dlpack_view_unversioned(plain), view);
	bi_view_release(view);
	assert_ptr_equal(tensor->tensor.data, bytes);
	release(tensor);
	assert_int_equal(released, 0);
	assert_int_equal(plain->tensor.shape[2], 4);
	plain->deleter(plain);
	assert_int_equal(released, 1);
}

/* Whoever else made a tensor, what its manager_ctx is nobody can know. */
static void dlpack_view_of_a_tensor_of_others(void **state)
{
	struct bi_dl_managed_versioned tensor = { .manager_ctx = &tensor, .deleter = release };
	struct bi_dl_managed plain = { .manager_ctx = &plain };

	(void)state;
	assert_null(bi_dlpack_view(&tensor));
	assert_null(bi_dlpack_view_unversioned(&plain));
}

/* Those that are there at once are apart, whichever goes first; the last one lets the view go. */
static void dlpack_tensors_of_one_view(void **state)
{
	(void)state;
	for (int first = 0; first < 3; first++) {
		struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT);
		struct bi_dl_managed_versioned *tensors[3];

		for (int i = 0; i < 3; i++)
			OK(bi_dlpack_export(view, i == 1 ? BI_DL_COPIED : 0, &tensors[i], &error));
		release(tensors[first]);
		OK(bi_dlpack_export(view, first == 1 ? BI_DL_COPIED : 0, &tensors[first], &error));
		bi_view_release(view);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(tensors[i]->flags, i == 1 ? BI_DL_COPIED : 0);
			assert_ptr_equal(bi_dlpack_view(tensors[i]), view);
			assert_memory_equal(tensors[i]->tensor.shape, cube, sizeof(cube));
		}
		for (int i = 0; i < 3; i++) {
			assert_ptr_not_equal(tensors[i], tensors[(i + 1) % 3]);
			release(tensors[(first + i) % 3]);
		}
	}
}

static void dlpack_arguments_of_exports(void **state)
{
	struct bi_view *view = numbered("<f4", 3, cube, BI_MEMORY_DEFAULT);
	struct bi_dl_managed_versioned *tensor;
	struct bi_dl_managed *plain;
	struct bi_dl_tensor described;

	(void)state;
	REFUSED_FOR(BI_EINVAL, "NULL", bi_dlpack_describe(NULL, &described, &error));
	REFUSED_FOR(BI_EINVAL, "NULL", bi_dlpack_describe(view, NULL, &error));
	REFUSED_FOR(BI_EINVAL, "NULL", bi_dlpack_export(NULL, 0, &tensor, &error));
	REFUSED_FOR(BI_EINVAL, "NULL", bi_dlpack_export(view, 0, NULL, &error));
	REFUSED_FOR(BI_EINVAL, "NULL", bi_dlpack_export_unversioned(NULL, 0, &plain, &error));
	REFUSED_FOR(BI_EINVAL, "NULL", bi_dlpack_export_unversioned(view, 0, NULL, &error));
	REFUSED_FOR(BI_EINVAL, "0x10", bi_dlpack_export(view, 16, &tensor, &error));
	REFUSED_FOR(BI_EINVAL, "0x1 ", bi_dlpack_export(view, BI_DL_READONLY, &tensor, &error));
	REFUSED_FOR(BI_EINVAL, "0x10", bi_dlpack_export_unversioned(view, 16, &plain, &error));
	REFUSED_FOR(BI_EINVAL, "0x4 ", bi_dlpack_export_unversioned(view, BI_DL_PADDED, &plain, &error));
	OK(bi_dlpack_export_unversioned(view, BI_DL_READONLY | BI_DL_COPIED, &plain, &error));
	plain->deleter(plain);
	bi_view_release(view);
}

int exports_group(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, fixture_open_contexts, fixture_close_contexts)
	const struct CMUnitTest tests[] = {
		CASE(dlpack_D3_read_only_needs_a_version),
		CASE(dlpack_D4_strides_are_elements),
		CASE(dlpack_D4_other_strides_are_refused),
		CASE(dlpack_D5_no_dimension_has_no_arrays),
		CASE(dlpack_D6_no_element_has_no_data),
		CASE(dlpack_D7_D8_data_is_the_element),
		CASE(dlpack_D8_shared_virtual_memory_is_no_cl_mem),
		CASE(dlpack_D9_every_type),
		CASE(dlpack_D10_device),
		CASE(dlpack_D12_copied_is_the_callers_word),
		CASE(dlpack_D13_a_tensor_is_a_reference),
		CASE(dlpack_view_of_a_tensor_of_others),
		CASE(dlpack_tensors_of_one_view),
		CASE(dlpack_arguments_of_exports),
	};
#undef CASE

	return cmocka_run_group_tests_name("dlpack exports", tests, NULL, NULL);
}
