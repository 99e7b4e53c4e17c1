#include "tensors.h"

#include <stdio.h>

int is_backend(const char *name)
{
	return strcmp(bi_context_device(fixture.context)->backend, name) == 0;
}

int between(int low, int high)
{
	return (int)test_between(&fixture.random, low, high);
}

static struct bi_view *allocate(struct bi_dtype dtype, int ndim, const int64_t *shape, enum bi_memory_kind kind)
{
	struct bi_layout layout;
	struct bi_memory *memory;
	struct bi_view *view;

	OK(bi_layout_init(&layout, dtype, ndim, shape, NULL, 0, &error));
	OK(bi_memory_create(fixture.context, (size_t)bi_layout_nbytes(&layout), kind, &memory, &error));
	OK(bi_view_create(memory, &layout, 0, &view, &error));
	bi_memory_release(memory);
	return view;
}

static void write_bytes(const struct bi_view *view, int is_random)
{
	struct bi_layout layout;
	size_t nbytes;
	unsigned char *bytes;

	bi_view_layout(view, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	bytes = malloc(nbytes + 1);
	assert_non_null(bytes);
	for (size_t i = 0; i < nbytes; i++)
		bytes[i] = (unsigned char)(is_random ? test_next(&fixture.random) : i);
	OK(bi_view_write(view, bytes, nbytes, &error));
	free(bytes);
}

struct bi_view *numbered(const char *dtype, int ndim, const int64_t *shape, enum bi_memory_kind kind)
{
	struct bi_view *view = allocate(dtype_of(dtype), ndim, shape, kind);

	write_bytes(view, 0);
	return view;
}

static void random_slice(struct bi_layout *layout, int axis)
{
	struct bi_index items[BI_MAX_NDIM];
	int64_t extent = layout->shape[axis];

	for (int i = 0; i <= axis; i++)
		items[i] = (struct bi_index){ BI_INDEX_SLICE, BI_OMITTED, BI_OMITTED, 1 };
	items[axis].step = between(0, 1) ? between(1, 3) : -between(1, 3);
	if (between(0, 2) == 0)
		items[axis].start = between(0, (int)extent);
	OK(bi_layout_index(layout, items, axis + 1, &error));
}

static void random_change(struct bi_layout *layout)
{
	const struct bi_index new_axis[] = { { BI_INDEX_NEWAXIS, 0, 0, 1 } };

	switch (between(0, 3)) {
	case 0:
		OK(bi_layout_permute(layout, NULL, &error));
		break;
	case 1:
		if (layout->ndim < 6)
			OK(bi_layout_index(layout, new_axis, 1, &error));
		break;
	default:
		if (layout->ndim)
			random_slice(layout, between(0, layout->ndim - 1));
	}
}

struct bi_view *random_view(void)
{
	static const char *const dtypes[] = { "bool",     "int8",          "uint16",    "<f4",       "<c16",
					      "bfloat16", "float8_e5m2",   "float32x3", "complex64", "uint64",
					      "int16x4",  "float8_e4m3fn", "float64" };
	int64_t shape[BI_MAX_NDIM];
	struct bi_layout layout;
	struct bi_view *dense, *view;
	int ndim = between(0, 4);

	for (int i = 0; i < ndim; i++)
		shape[i] = between(between(0, 5) ? 1 : 0, 6);
	dense = allocate(dtype_of(dtypes[between(0, ARRAY_LENGTH(dtypes) - 1)]), ndim, shape, BI_MEMORY_DEFAULT);
	write_bytes(dense, 1);
	bi_view_layout(dense, &layout);
	for (int i = between(0, 5); i > 0; i--)
		random_change(&layout);
	OK(bi_view_with_layout(dense, &layout, &view, &error));
	bi_view_release(dense);
	return view;
}

void assert_same_bytes(const struct bi_view *a, const struct bi_view *b)
{
	struct bi_layout layout;
	size_t nbytes;
	unsigned char *bytes;

	bi_view_layout(a, &layout);
	nbytes = (size_t)bi_layout_nbytes(&layout);
	bytes = calloc(2, nbytes + 1);
	assert_non_null(bytes);
	OK(bi_view_read(a, bytes, nbytes, &error));
	OK(bi_view_read(b, bytes + nbytes, nbytes, &error));
	if (nbytes)
		assert_memory_equal(bytes, bytes + nbytes, nbytes);
	free(bytes);
}

static void let_go(struct tensor *tensor)
{
	atomic_fetch_add(&tensor->deleted, 1);
	bi_view_release(tensor->kept);
	tensor->kept = NULL;
}

static void delete_versioned(struct bi_dl_managed_versioned *self)
{
	let_go(self->manager_ctx);
}

static void delete_plain(struct bi_dl_managed *self)
{
	let_go(self->manager_ctx);
}

void make_tensor(struct tensor *tensor, const struct bi_view *view)
{
	struct bi_dl_managed_versioned *made;
	struct bi_dl_tensor *copy = &tensor->versioned.tensor;

	OK(bi_view_synchronize(view, &error));
	OK(bi_dlpack_export(view, 0, &made, &error));
	memset(tensor, 0, sizeof(*tensor));
	tensor->versioned = *made;
	memcpy(tensor->shape, made->tensor.shape ? made->tensor.shape : tensor->shape,
	       (size_t)made->tensor.ndim * sizeof(int64_t));
	memcpy(tensor->strides, made->tensor.strides ? made->tensor.strides : tensor->strides,
	       (size_t)made->tensor.ndim * sizeof(int64_t));
	if (copy->ndim) {
		copy->shape = tensor->shape;
		copy->strides = tensor->strides;
	}
	tensor->kept = made->manager_ctx;
	bi_view_retain(tensor->kept);
	made->deleter(made);
	tensor->versioned.manager_ctx = tensor->plain.manager_ctx = tensor;
	tensor->versioned.deleter = delete_versioned;
	tensor->plain.tensor = *copy;
	tensor->plain.deleter = delete_plain;
}

void drop_tensor(struct tensor *tensor)
{
	if (!tensor->deleted)
		let_go(tensor);
	assert_int_equal(tensor->deleted, 1);
}

void let_view_go(struct bi_view *view)
{
	OK(bi_view_synchronize(view, &error));
	bi_view_release(view);
}

struct bi_dlpack_import_options trusting(void)
{
	struct bi_dlpack_import_options options = BI_DLPACK_IMPORT_INIT;

	options.flags = BI_DLPACK_TRUSTED;
	return options;
}

struct bi_view *imported(struct tensor *tensor, unsigned flags)
{
	struct bi_dlpack_import_options options = trusting();
	struct bi_view *view;

	options.flags |= flags;
	OK(bi_dlpack_import(fixture.context, &tensor->versioned, &options, &view, &error));
	return view;
}
