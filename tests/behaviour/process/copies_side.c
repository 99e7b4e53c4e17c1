#include "copies.h"

#include <stdlib.h>

static int open_context(const char *device, uintptr_t native, struct bi_context **out, struct bi_error *err)
{
	struct bi_options options = BI_OPTIONS_INIT;

	options.device = device;
	options.adopt_context = native;
	return bi_context_open(&options, out, err);
}

static int new_array(struct bi_context *context, struct bi_view **out, struct bi_error *err)
{
	struct bi_dtype dtype;
	int rc = bi_dtype_parse("uint8", &dtype, err);

	return rc ? rc : bi_view_empty(context, dtype, 1, &(int64_t){ COPIES_BYTES }, out, err);
}

static int produce(const char *device, unsigned char value, struct bi_exchange *out, uintptr_t *native,
		   struct bi_error *err)
{
	struct bi_context *context = NULL;
	struct bi_view *view = NULL;
	int rc = open_context(device, 0, &context, err);

	rc = rc ? rc : new_array(context, &view, err);
	rc = rc ? rc : bi_fill(view, &value, NULL, err);
	rc = rc ? rc : bi_view_export(view, 0, out, err);
	*native = rc ? 0 : bi_context_handle(context);
	bi_view_release(view);
	bi_context_release(context);
	return rc;
}

static int sum_of(const struct bi_view *view, uint64_t *sum, struct bi_error *err)
{
	unsigned char *bytes = malloc((size_t)COPIES_BYTES);
	int rc = bytes ? bi_view_read(view, bytes, (size_t)COPIES_BYTES, err) : BI_ENOMEM;

	*sum = 0;
	for (int64_t i = 0; i < COPIES_BYTES && !rc; i++)
		*sum += bytes[i];
	free(bytes);
	return rc;
}

static int consume(const char *device, uintptr_t native, struct bi_exchange *exchange, uint64_t *sum,
		   struct bi_error *err)
{
	struct bi_view *view = NULL, *dense = NULL;
	struct bi_context *context = NULL;
	int rc = open_context(device, native, &context, err);

	rc = rc ? rc : new_array(context, &dense, err);
	rc = rc ? rc : bi_view_import(context, exchange, 0, &view, err);
	rc = rc ? rc : bi_copy(dense, view, NULL, err);
	/* The other copy of the library frees the memory while this one's copy may be pending. */
	bi_view_release(view);
	rc = rc ? rc : sum_of(dense, sum, err);
	bi_view_release(dense);
	bi_context_release(context);
	return rc;
}

const struct copies_side *copies_side(void)
{
	static const struct copies_side side = { produce, consume };

	return &side;
}
