/* Imports struct bi_cai as a view: wraps the memory, and orders later work after the work on the producer's stream. */
#include <stdlib.h>

#include "common/base/sized.h"
#include "common/backend/dispatch.h"
#include "common/runtime/log.h"
#include "common/runtime/memory.h"
#include "interop/cai.h"
#include "interop/place.h"

#define IMPORT_FLAGS ((unsigned)(BI_CAI_UNORDERED | BI_CAI_UNCHECKED | BI_CAI_SAME_STREAM))

/* The arguments of an import and the values derived from them. */
struct import {
	struct bi_context *context;
	const struct bi_cai_import_options *options;
	int is_unordered;
	struct bi__cai_array array, mask;
};

/*
 * The producer of an array and its mask, which are two memories. The producer is released when the second memory is
 * freed.
 */
struct owner {
	atomic_int refs;
	bi_release_fn release;
	void *data;
};

static void release_owner(void *data)
{
	struct owner *owner = data;

	if (atomic_fetch_sub_explicit(&owner->refs, 1, memory_order_acq_rel) != 1)
		return;
	owner->release(owner->data);
	free(owner);
}

static int make_view(const struct import *import, const struct bi__cai_array *array, int readonly,
		     struct bi_stream *stream, struct bi_view **out, struct bi_error *err)
{
	struct bi_foreign foreign = BI_FOREIGN_INIT;
	const struct bi__wrapping wrapping = { &foreign, &array->layout, 0 };

	foreign.kind = BI_HANDLE_CUDA;
	foreign.handle = array->address;
	foreign.nbytes = array->nbytes;
	foreign.stream = stream;
	foreign.flags = bi__place_flags(readonly, import->is_unordered, import->options->flags & BI_CAI_UNCHECKED);
	return bi__place_view(import->context, &wrapping, "C15", out, err);
}

/* Sets *out to the stream on which the producer works, or to NULL. The caller owns the reference. */
static int find_stream(const struct import *import, const struct bi_cai *cai, struct bi_stream **out,
		       struct bi_error *err)
{
	struct bi_context *context = import->context;

	*out = NULL;
	if (import->is_unordered)
		return BI_OK;
	if (import->options->producer_stream) {
		*out = bi_stream_retain(import->options->producer_stream);
		return BI_OK;
	}
	if (cai->stream_kind != BI_CAI_STREAM_GIVEN)
		return BI_OK;
	if (cai->stream == context->stream.queue.native) {
		*out = bi_stream_retain(&context->stream);
		return BI_OK;
	}
	return bi__cite(bi_stream_wrap(context, (uintptr_t)cai->stream, NULL, NULL, out, err), "C6", err);
}

static int import_array(const struct import *import, const struct bi__cai_array *array, const struct bi_cai *cai,
			struct bi_view **out, struct bi_error *err)
{
	struct bi_stream *stream = NULL;
	int rc = array->nbytes ? find_stream(import, cai, &stream, err) : BI_OK;

	if (!rc)
		rc = make_view(import, array, cai->readonly != 0, stream, out, err);
	bi_stream_release(stream);
	return rc;
}

static int import_masked(const struct import *import, const struct bi_cai *cai, struct bi_view **out,
			 struct bi_error *err)
{
	struct bi_view **mask = import->options->mask;
	struct owner *owner = malloc(sizeof(*owner));
	struct bi_error inner;
	int rc;

	if (!owner)
		return bi__fail(err, BI_ENOMEM, "no memory for the owner of an array and its mask");
	atomic_init(&owner->refs, 2);
	owner->release = import->options->release;
	owner->data = import->options->release_data;
	rc = import_array(import, &import->mask, cai->mask, mask, &inner);
	if (rc)
		bi__fail_vendor(err, rc, inner.vendor, "mask: %s", inner.message);
	else
		rc = import_array(import, &import->array, cai, out, err);
	if (rc) {
		bi_view_release(*mask);
		*mask = NULL;
	}
	if (rc || !owner->release) {
		free(owner);
		return rc;
	}
	bi__memory_set_release((*out)->memory, release_owner, owner);
	bi__memory_set_release((*mask)->memory, release_owner, owner);
	return BI_OK;
}

static int import_plain(const struct import *import, const struct bi_cai *cai, struct bi_view **out,
			struct bi_error *err)
{
	int rc = import_array(import, &import->array, cai, out, err);

	if (!rc)
		bi__memory_set_release((*out)->memory, import->options->release, import->options->release_data);
	return rc;
}

/*
 * Checks the struct, then the context and producer_stream. In this order, a wrong struct gives the same error on every
 * device.
 */
static int check_import(struct import *import, const struct bi_cai *cai, struct bi_error *err)
{
	const struct bi_context *context = import->context;
	int rc = bi__cai_read(cai, &import->array, import->options->mask ? &import->mask : NULL, err);

	if (rc)
		return rc;
	if (context->device.backend->handle != BI_HANDLE_CUDA)
		return bi__fail(err, BI_EINVAL, "device %s is not a CUDA device", context->device.info->spec);
	rc = bi__place_check_device(context, import->options->producer_stream, err);
	return rc == BI_EINVAL ? bi__cite(rc, "C7", err) : rc;
}

static void warn_caller(const struct bi_context *context, const struct bi__cai_array *array, const struct bi_cai *cai)
{
	if (array->ignores_descr)
		bi__log(context, BI_LOG_WARNING,
			"descr is ignored: it contradicts typestr \"%s\", which is a simple type [C13]", cai->typestr);
}

int bi_cai_import(struct bi_context *context, const struct bi_cai *cai, const struct bi_cai_import_options *options,
		  struct bi_view **out, struct bi_error *err)
{
	static const struct bi_cai_import_options defaults = BI_CAI_IMPORT_INIT;
	static const struct bi__sized options_size = { "options", sizeof(defaults),
						       BI__SIZED_END(struct bi_cai_import_options, flags) };
	struct bi_cai_import_options known;
	struct import import;
	int rc = bi__check_out(out, 1, "", err);

	if (rc)
		return rc;
	import.context = context;
	import.options = bi__sized_read(&options_size, options ? options : &defaults, &known, err);
	if (!import.options)
		return BI_EINVAL;
	rc = bi__place_check_options(import.options->flags, IMPORT_FLAGS, BI_CAI_UNORDERED,
				     import.options->producer_stream, err);
	if (rc)
		return rc;
	if (import.options->mask)
		*import.options->mask = NULL;
	if (!context || !cai)
		return bi__fail(err, BI_EINVAL, "%s is NULL", context ? "cai" : "context");
	rc = check_import(&import, cai, err);
	if (rc)
		return rc;
	import.is_unordered = import.options->flags & BI_CAI_UNORDERED ||
			      (context->cai_unordered &&
			       (!import.options->producer_stream || import.options->flags & BI_CAI_SAME_STREAM));
	warn_caller(context, &import.array, cai);
	if (cai->mask)
		warn_caller(context, &import.mask, cai->mask);
	return cai->mask ? import_masked(&import, cai, out, err) : import_plain(&import, cai, out, err);
}

int bi_cai_device(const struct bi_cai *cai, int *ordinal, struct bi_error *err)
{
	struct bi__cai_array array, mask;
	struct bi__origin origin;
	const char *name;
	int rc;

	if (ordinal)
		*ordinal = -1;
	if (!cai || !ordinal)
		return bi__fail(err, BI_EINVAL, "%s is NULL", cai ? "ordinal" : "cai");
	rc = bi__cai_read(cai, &array, &mask, err);
	if (rc || !array.nbytes)
		return rc;
	rc = bi__dispatch_locate(BI__OF_MEMORY, BI_HANDLE_CUDA, array.address, &origin, &name, err);
	if (!rc)
		*ordinal = origin.ordinal;
	return rc;
}
