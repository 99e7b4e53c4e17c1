/* Between the device and host memory that it reaches: strided copies as they are, by the driver or by a kernel. */
#include <stdlib.h>

#include "raw.h"
#include "scenarios.h"

#define BYTES ((size_t)40000)
#define PAGE ((size_t)4096)

/* Host memory of the scenario's, which has the pattern. */
static struct array *wrap_bytes(struct trial *trial, struct bi_context *context, unsigned char *bytes)
{
	const int64_t shape[1] = { (int64_t)BYTES };
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	struct bi_memory *memory = NULL;
	struct bi_view *whole = NULL;
	struct bi_layout layout;
	struct bi_dtype byte;
	struct array *array;

	foreign.handle = (uintptr_t)bytes;
	foreign.nbytes = BYTES;
	TRY(trial, bi_dtype_make(BI_UINT8, 1, 0, &byte, trial->err));
	TRY(trial, bi_layout_init(&layout, byte, 1, shape, NULL, 0, trial->err));
	TRY(trial, bi_memory_wrap(context, &foreign, &memory, trial->err));
	TRY(trial, bi_view_create(memory, &layout, 0, &whole, trial->err));
	bi_memory_release(memory);
	array = trial_adopt(trial, whole, BYTES);
	fill_pattern(array->expected, BYTES);
	return array;
}

static struct array *pinned_host(struct trial *trial, struct bi_context *context, uintptr_t primary)
{
	unsigned char *bytes = (unsigned char *)(uintptr_t)raw_memory(trial, primary, RAW_PINNED, BYTES);

	if (bytes) {
		trial_touch(bytes, BYTES, 1);
		fill_pattern(bytes, BYTES);
	}
	return wrap_bytes(trial, context, bytes);
}

static void unregister(uintptr_t bytes, uintptr_t context)
{
	raw_enter(context);
	(void)RAW_AGAIN(cuda_driver()->MemHostUnregister((void *)bytes));
	raw_leave();
	free((void *)bytes);
}

/* The driver knows the first page alone. */
static struct array *registered_host(struct trial *trial, struct bi_context *context, uintptr_t primary)
{
	unsigned char *bytes = NULL;

	if (!trial->rc) {
		bytes = aligned_alloc(PAGE, 10 * PAGE);
		fill_pattern(bytes, BYTES);
		raw_enter(primary);
		RAW(trial, MemHostRegister, (bytes, PAGE, 0));
		raw_leave();
		if (trial->rc)
			free(bytes);
		else
			trial_keep(&trial->driver, unregister, (uintptr_t)bytes, primary);
	}
	return wrap_bytes(trial, context, trial->rc ? NULL : bytes);
}

/* The layouts of the two sides. */
struct form {
	const char *type;
	int ndim;
	int64_t shape[3], device[3], host[3], host_offset;
};

/* A kernel, cuMemcpy2D, cuMemcpy3D, tiles. */
static const struct form forms[] = {
	{ "int32", 1, { 900 }, { 12 }, { -8 }, 8000 },
	{ "uint8", 2, { 30, 300 }, { 400, 1 }, { 1000, 1 }, 3 },
	{ "uint8", 3, { 4, 5, 256 }, { 2400, 300, 1 }, { 4200, 600, 1 }, 1 },
	{ "int32", 2, { 40, 36 }, { 144, 4 }, { 4, 160 }, 0 },
};

static struct bi_view *view_of(struct trial *trial, const struct array *array, const struct form *form, int is_host)
{
	return trial_view(trial, array, form->type, form->ndim, form->shape, is_host ? form->host : form->device,
			  is_host ? form->host_offset : 0);
}

static void move(struct trial *trial, const struct form *form, struct array *to, int to_host, const struct array *from,
		 struct bi_stream *stream)
{
	struct bi_view *dst = view_of(trial, to, form, to_host), *src = view_of(trial, from, form, !to_host);

	trial_copy(trial, to, dst, from, src, stream);
}

void pinned_upload(struct trial *trial)
{
	uintptr_t primary = raw_primary(trial, 0);
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *host = pinned_host(trial, context, primary);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, BYTES);

	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++)
		move(trial, &forms[i], array, 0, host,
		     i + 1 == ARRAY_LENGTH(forms) ? trial_stream(trial, context) : NULL);
	trial_consume(trial, array);
	trial_consume(trial, host);
}

void pinned_download(struct trial *trial)
{
	uintptr_t primary = raw_primary(trial, 0);
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *host = pinned_host(trial, context, primary);
	struct array *array = trial_pattern(trial, context, BI_MEMORY_DEVICE, BYTES);

	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++)
		move(trial, &forms[i], host, 1, array,
		     i + 1 == ARRAY_LENGTH(forms) ? trial_stream(trial, context) : NULL);
	trial_fill_all(trial, array, 0x61, NULL);
	trial_consume(trial, array);
	trial_consume(trial, host);
}

/* What the device does not reach in whole is packed. */
void registered_in_part(struct trial *trial)
{
	uintptr_t primary = raw_primary(trial, 0);
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *host = registered_host(trial, context, primary);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, BYTES);

	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
		move(trial, &forms[i], array, 0, host, NULL);
		move(trial, &forms[i], host, 1, array, NULL);
	}
	trial_consume(trial, array);
	trial_check(trial, host);
}

/* Nothing is packed, so a graph can hold it. */
void capture_pinned(struct trial *trial)
{
	uintptr_t primary = raw_primary(trial, 0), stream;
	struct bi_context *context = trial_open(trial, "cuda:0");
	struct array *host = pinned_host(trial, context, primary);
	struct array *array = trial_array(trial, context, BI_MEMORY_DEVICE, BYTES);

	stream = trial->rc ? 0 : bi_stream_handle(bi_context_stream(context));
	raw_capture(trial, primary, stream);
	for (size_t i = 0; i < ARRAY_LENGTH(forms); i++)
		move(trial, &forms[i], array, 0, host, NULL);
	raw_launch(trial, primary, stream, 2);
	trial_consume(trial, array);
}
