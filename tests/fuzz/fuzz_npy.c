/*
 * Fuzzes the reader of NumPy files. An accepted file must be consistent. Its header must survive being written and read
 * again.
 */
#include "buffer_interface/npy.h"
#include "fuzz/target.h"
#include "interop/npy_header.h"

struct file {
	const uint8_t *bytes;
	size_t size, position;
	size_t header; /* bytes before the elements; 0: the header was not accepted */
};

static int read_file(void *data, void *bytes, size_t nbytes, size_t *got, struct bi_error *err)
{
	struct file *file = data;

	(void)err;
	*got = nbytes < file->size - file->position ? nbytes : file->size - file->position;
	memcpy(bytes, file->bytes + file->position, *got);
	file->position += *got;
	return BI_OK;
}

static void check_round_trip(const struct bi_layout *layout)
{
	struct bi_layout again;
	unsigned char *bytes;
	struct bi_error err;
	size_t size;
	char *descr;

	require(bi__npy_format(layout, &bytes, &size, &err) == BI_OK, "a header that was read cannot be written");
	require(size % 64 == 0, "a header is not aligned");
	require(bi__npy_parse(bytes, size, &again, &descr, &err) == BI_OK, "a header that was written cannot be read");
	require(bi_dtype_equal(layout->dtype, again.dtype), "the type has changed");
	require(layout->ndim == again.ndim, "the number of dimensions has changed");
	require(!memcmp(layout->shape, again.shape, (size_t)again.ndim * sizeof(again.shape[0])),
		"the shape has changed");
	require(bi_layout_nbytes(layout) == bi_layout_nbytes(&again), "the size has changed");
	require(bi_layout_equal(layout, &again), "the order has changed");
	require(!layout->descr == !again.descr && (!again.descr || !strcmp(layout->descr, again.descr)),
		"descr has changed");
	free(descr);
	free(bytes);
}

static int check_header(void *data, const struct bi_layout *layout, struct bi_error *err)
{
	struct file *file = data;

	(void)err;
	file->header = file->position;
	require(layout->ndim >= 0 && layout->ndim <= BI_MAX_NDIM, "ndim is out of range");
	require(bi_layout_is_contiguous(layout, 'C') || bi_layout_is_contiguous(layout, 'F'), "the array is not dense");
	check_round_trip(layout);
	return BI_OK;
}

static void check_view(const struct file *file, const struct bi_view *view)
{
	struct bi_layout layout;

	bi_view_layout(view, &layout);
	require(file->position == file->header + (size_t)bi_layout_nbytes(&layout),
		"other bytes than the array's were read");
	require(bi_view_host_pointer(view) != NULL || bi_layout_nbytes(&layout) == 0, "the array has no memory");
	require(!bi_layout_nbytes(&layout) || !memcmp(bi_view_host_pointer(view), file->bytes + file->header,
						      (size_t)bi_layout_nbytes(&layout)),
		"the elements are not those of the file");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file file = { data, size, 0, 0 };
	struct bi_npy_source source = { read_file, check_header, &file, (int64_t)size };
	struct bi_error err = { 0, 0, "" };
	struct bi_context *host;
	struct bi_view *view;
	int rc;

	require(bi_context_shared("host", &host, &err) == BI_OK, "the host cannot be opened");
	rc = bi_npy_read(host, &source, &view, &err);
	fuzz_refused = rc != BI_OK;
	if (rc == BI_OK) {
		check_view(&file, view);
		bi_view_release(view);
	} else {
		check_refusal(rc, &err);
		require(!view, "a failure leaves a view behind");
	}
	bi_context_release(host);
	return 0;
}
