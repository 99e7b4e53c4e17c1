/*
 * Fuzzes the imports of DLPack tensors, with and without a version, and of struct bi_exchange. A refused struct must
 * not be released. An accepted struct must be released once, and its elements must be inside of the memory. Host memory
 * must survive an export and an import. The address of the elements may be any, because no element is read. Pointers to
 * shape and strides are valid or NULL, because an import cannot check them.
 *
 * The input: a byte that chooses the struct, a number whose bits say which of the first members follow (the others have
 * a usual value), and the members. The environment variable BI_FUZZ_DEVICE names another device than the host. On a
 * CUDA device, pointers of CUDA memory lead into an allocation.
 */
#include "buffer_interface/binding.h"
#include "buffer_interface/dlpack.h"
#include "fuzz/target.h"

#define MEMORY 4096

static int released;
static char memory[MEMORY];
/* In memory of the CUDA device, or NULL. */
static struct bi_view *device_array;

static void delete_versioned(struct bi_dl_managed_versioned *self)
{
	(void)self;
	released++;
}

static void delete_plain(struct bi_dl_managed *self)
{
	(void)self;
	released++;
}

static void release_exchange(struct bi_exchange *self)
{
	self->release = NULL;
	released++;
}

static int accept_back(struct bi_exchange *self, uint32_t order_kind, uint64_t stream, uint64_t event)
{
	(void)order_kind;
	(void)stream;
	(void)event;
	require(self->release && !released, "memory is handed back after its release");
	return 0;
}

static int refuse_back(struct bi_exchange *self, uint32_t order_kind, uint64_t stream, uint64_t event)
{
	return accept_back(self, order_kind, stream, event) - 1;
}

/* Takes a number that is small, negative, a power of two, or any. */
static uint64_t take_number(struct input *in)
{
	const uint64_t head = take(in, 1), small = head >> 2;
	const uint64_t numbers[] = { small, -small, UINT64_C(1) << small, (head & 3) == 3 ? take(in, 8) : 0 };

	return numbers[head & 3];
}

static int64_t *take_axes(struct input *in, int count, int is_missing)
{
	int64_t axes[BI_MAX_NDIM];

	count = count < 0 || count > BI_MAX_NDIM ? 0 : count;
	for (int i = 0; i < count; i++)
		axes[i] = (int64_t)take_number(in);
	return is_missing ? NULL : copy_exactly(axes, (size_t)count * sizeof(*axes));
}

static uintptr_t take_pointer(struct input *in, int is_cuda)
{
	struct bi_native native = { .handle = (uintptr_t)memory };
	const uint64_t head = take(in, 1);
	uintptr_t start;

	if (is_cuda && device_array)
		bi_view_native(device_array, &native);
	start = native.handle;
	return head & 1 ? start + head : head & 2 ? (uintptr_t)take_number(in) : start + MEMORY / 2;
}

/* Takes a member if the next bit of *is_given is set. Otherwise returns `usual`. */
static uint64_t take_member(struct input *in, uint64_t *is_given, size_t nbytes, uint64_t usual)
{
	const uint64_t value = *is_given & 1 ? take(in, nbytes) : usual;

	*is_given >>= 1;
	return value;
}

static void round_trip_unversioned(struct bi_context *context, struct bi_view *view)
{
	struct bi_dl_managed *tensor = NULL;
	struct bi_error err = { 0, 0, "" };
	struct bi_view *again = NULL;
	int rc = bi_dlpack_export_unversioned(view, bi_view_flags(view) & BI_VIEW_READONLY ? BI_DL_READONLY : 0,
					      &tensor, &err);

	if (rc)
		check_refusal(rc, &err);
	else
		require(!bi_dlpack_import_unversioned(context, tensor, NULL, &again, &err), err.message);
	bi_view_release(again);
}

/*
 * Exports the view as DLPack and as struct bi_exchange, and imports the results. If an export succeeds, its import must
 * succeed. That of struct bi_exchange must have the same layout.
 */
static void round_trip(struct bi_context *context, struct bi_view *view)
{
	struct bi_dl_managed_versioned *tensor = NULL;
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_error err = { 0, 0, "" };
	struct bi_layout before, after;
	struct bi_view *again = NULL;
	int rc = bi_dlpack_export(view, 0, &tensor, &err);

	if (rc)
		check_refusal(rc, &err);
	else
		require(!bi_dlpack_import(context, tensor, NULL, &again, &err), err.message);
	bi_view_release(again);
	round_trip_unversioned(context, view);
	rc = bi_view_export(view, 0, &exchange, &err);
	if (rc) {
		check_refusal(rc, &err);
		return;
	}
	require(!bi_view_import(context, &exchange, 0, &again, &err), err.message);
	bi_view_layout(view, &before);
	bi_view_layout(again, &after);
	require(bi_layout_size(&before) == bi_layout_size(&after), "the size has changed");
	require(!bi_layout_size(&before) || bi_layout_equal(&before, &after), "the layout has changed");
	bi_view_release(again);
}

/* Work on the memory is pending when it is released. */
static void fill(struct bi_view *view)
{
	static const char element[MEMORY];
	struct bi_error err = { 0, 0, "" };
	int rc = bi_view_dtype(view).item_size <= MEMORY ? bi_fill(view, element, NULL, &err) : BI_OK;

	if (rc)
		check_refusal(rc, &err);
}

static void check_import(struct bi_context *context, int rc, const struct bi_error *err, struct bi_view *view,
			 int has_release)
{
	struct bi_layout layout;
	int64_t first, end;

	fuzz_refused = rc != BI_OK;
	if (rc) {
		check_refusal(rc, err);
		require(!view && !released, "a failure leaves a view behind, or released the struct");
		return;
	}
	bi_view_layout(view, &layout);
	bi_layout_extent(&layout, &first, &end);
	require(!bi_layout_size(&layout) || (first >= 0 && (uint64_t)end <= bi_memory_nbytes(bi_view_memory(view))),
		"an element is outside of the memory");
	if (bi_memory_is_host(bi_view_memory(view)))
		round_trip(context, view);
	else
		fill(view);
	require(!released, "the struct is released too early");
	bi_view_release(view);
	/* Memory of a device is released when the work of its producer is done. */
	require(!bi_stream_synchronize(bi_context_stream(context), NULL), "the stream has failed");
	bi_context_trim(context, SIZE_MAX, NULL);
	require(released == has_release, "the struct is not released once");
}

static void fuzz_dlpack(struct bi_context *context, struct input *in, int is_plain)
{
	struct bi_dlpack_import_options options = BI_DLPACK_IMPORT_INIT;
	struct bi_dl_managed_versioned versioned = { 0 };
	struct bi_dl_managed plain = { 0 };
	struct bi_dl_tensor *tensor = is_plain ? &plain.tensor : &versioned.tensor;
	struct bi_error err = { 0, 0, "" };
	struct bi_view *view;
	uint64_t given = take(in, 2);
	const int has_release = !(given & 1);
	int rc;

	given >>= 1;
	versioned.deleter = has_release ? delete_versioned : NULL;
	plain.deleter = has_release ? delete_plain : NULL;
	versioned.version.major = (uint32_t)take_member(in, &given, 4, 1);
	versioned.version.minor = (uint32_t)take_member(in, &given, 4, 0);
	versioned.flags = take_member(in, &given, 8, 0);
	tensor->device.device_type = (int32_t)take_member(in, &given, 4, 1);
	tensor->device.device_id = (int32_t)take_member(in, &given, 4, 0);
	tensor->dtype.lanes = (uint16_t)take_member(in, &given, 2, 1);
	options.flags = (unsigned)take_member(in, &given, 1, 0) & 31;
	if (tensor->device.device_type == 4) /* the import would use any number as a cl_mem */
		options.flags &= ~(unsigned)BI_DLPACK_TRUSTED;
	tensor->ndim = (int32_t)take_member(in, &given, 4, take(in, 1) % (BI_MAX_NDIM + 1));
	tensor->dtype.code = (uint8_t)take(in, 1);
	tensor->dtype.bits = (uint8_t)take(in, 1);
	tensor->data = (void *)take_pointer(in, tensor->device.device_type == BI_EXCHANGE_DEVICE_CUDA);
	tensor->byte_offset = take_number(in);
	tensor->shape = take_axes(in, tensor->ndim, given & 1);
	tensor->strides = take_axes(in, tensor->ndim, given & 2);
	options.producer_stream = given & 4 ? bi_context_stream(context) : NULL;
	rc = is_plain ? bi_dlpack_import_unversioned(context, &plain, &options, &view, &err)
		      : bi_dlpack_import(context, &versioned, &options, &view, &err);
	check_import(context, rc, &err, view, has_release);
	free(tensor->shape);
	free(tensor->strides);
}

static void fuzz_exchange(struct bi_context *context, struct input *in)
{
	struct bi_exchange exchange = BI_EXCHANGE_INIT, *passed;
	struct bi_error err = { 0, 0, "" };
	struct bi_view *view;
	uint64_t given = take(in, 3);
	unsigned flags;
	int rc;

	exchange.version = (uint32_t)take_member(in, &given, 4, BI_ABI_VERSION);
	exchange.struct_size = (uint32_t)take_member(in, &given, 2, sizeof(exchange));
	exchange.flags = (uint32_t)take_member(in, &given, 4, 0);
	exchange.device_type = (int32_t)take_member(in, &given, 4, BI_EXCHANGE_DEVICE_CPU);
	exchange.device_id = (int32_t)take_member(in, &given, 4, 0);
	exchange.handle_kind = (uint8_t)take_member(in, &given, 1, BI_HANDLE_HOST);
	exchange.order_kind = (uint8_t)take_member(in, &given, 1, BI_ORDER_NONE);
	exchange.reserved = (uint8_t)take_member(in, &given, 1, 0);
	exchange.context = take_member(in, &given, 8, 0);
	exchange.stream = take_member(in, &given, 8, 0);
	exchange.event = take_member(in, &given, 8, 0);
	exchange.type_lanes = (uint16_t)take_member(in, &given, 2, 1);
	exchange.item_size = (uint32_t)take_member(in, &given, 4, take(in, 1));
	flags = (unsigned)take_member(in, &given, 1, 0) & 3;
	exchange.release = given & 1 ? NULL : release_exchange;
	exchange.type_code = (uint8_t)take(in, 1);
	exchange.type_bits = (uint8_t)take(in, 1);
	exchange.ndim = (uint8_t)take(in, 1);
	exchange.handle = take_pointer(in, exchange.handle_kind == BI_HANDLE_CUDA);
	exchange.offset = take_number(in);
	exchange.size = take_number(in);
	/* The import would use any number as an object, but checks pointers of CUDA. */
	if (exchange.handle_kind != BI_HANDLE_HOST && exchange.handle_kind != BI_HANDLE_CUDA)
		exchange.handle_kind = (uint8_t)(exchange.handle_kind % 3 + 6);
	/* The import would use any number as a stream or an event, too. */
	if (bi_context_handle(context) && exchange.order_kind != BI_ORDER_NONE) {
		exchange.stream = bi_stream_handle(bi_context_stream(context));
		exchange.event = 0;
	}
	exchange.shape = take_axes(in, exchange.ndim, given & 2);
	exchange.strides = take_axes(in, exchange.ndim, given & 4);
	exchange.done = given & 16 ? (given & 32 ? refuse_back : accept_back) : NULL;
	exchange.descr = given & 8 ? copy_string(in->data, in->size) : NULL;
	passed = calloc(1, sizeof(exchange) + UINT16_MAX); /* as large as struct_size may say */
	require(passed != NULL, "no memory");
	memcpy(passed, &exchange, sizeof(exchange));
	rc = bi_view_import(context, passed, flags, &view, &err);
	require(rc || !passed->release, "an accepted struct was not moved");
	check_import(context, rc, &err, view, 1);
	free(passed);
	free((void *)(uintptr_t)exchange.descr);
	free((void *)(uintptr_t)exchange.shape);
	free((void *)(uintptr_t)exchange.strides);
}

static struct bi_context *open_device(const char *device)
{
	static const int64_t shape[1] = { MEMORY };
	struct bi_error err = { 0, 0, "" };
	struct bi_context *context;

	require(!bi_context_shared(device, &context, &err), err.message);
	if (strncmp(device, "cuda", 4) == 0)
		require(!bi_view_empty(context, (struct bi_dtype){ 1, 1, BI_UINT8, 0 }, 1, shape, &device_array, &err),
			err.message);
	return context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *device = getenv("BI_FUZZ_DEVICE");
	static struct bi_context *context; /* a device takes long to open */
	struct input in = { data, size };
	const uint64_t choice = take(&in, 1) % 3;

	released = 0;
	if (!context)
		context = open_device(device ? device : "host");
	if (choice == 2)
		fuzz_exchange(context, &in);
	else
		fuzz_dlpack(context, &in, (int)choice);
	return 0;
}
