/* Converts struct bi_cai to a layout, with the checks of a consumer that need no driver. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/checked.h"
#include "common/layout/descr.h"
#include "common/layout/dtype.h"
#include "common/layout/layout.h"
#include "interop/cai.h"
#include "interop/place.h"

static int check_version(const struct bi_cai *cai, struct bi_error *err)
{
	if (cai->version >= 0 && cai->version <= BI_CAI_VERSION)
		return BI_OK;
	return bi__fail(err, BI_EVERSION, "version %" PRId32 " of the CUDA Array Interface is not in 0..%d [C1]",
			cai->version, BI_CAI_VERSION);
}

static int check_stream(const struct bi_cai *cai, struct bi_error *err)
{
	if (cai->stream_kind < BI_CAI_STREAM_ABSENT || cai->stream_kind > BI_CAI_STREAM_GIVEN)
		return bi__fail(err, BI_EINVAL, "stream_kind %" PRId32 " is not in %d..%d [C6]", cai->stream_kind,
				BI_CAI_STREAM_ABSENT, BI_CAI_STREAM_GIVEN);
	if (cai->stream_kind != BI_CAI_STREAM_GIVEN)
		return BI_OK;
	if (!cai->stream)
		return bi__fail(err, BI_EINVAL,
				"stream is 0, which the interface forbids: the legacy default stream is 1, the "
				"per-thread one 2 [C6]");
	return bi__cite(bi__check_handle("stream", cai->stream, err), "C6", err);
}

/*
 * Checks that the typestr is printable and ends with a NUL. The other checks of the type come after this one, because
 * their messages quote the typestr.
 */
static int check_text(const char *typestr, size_t *length, struct bi_error *err)
{
	size_t i = 0;

	for (; i < BI_CAI_TYPESTR && typestr[i]; i++)
		if (typestr[i] < ' ' || typestr[i] > '~')
			return bi__fail(err, BI_EDTYPE, "typestr: byte %zu is 0x%02x, not a character of ASCII [C12]",
					i, (unsigned char)typestr[i]);
	*length = i;
	if (i == BI_CAI_TYPESTR)
		return bi__fail(err, BI_EDTYPE, "typestr \"%.*s...\" has no NUL in its %d bytes [C12]", BI_CAI_TYPESTR,
				typestr, BI_CAI_TYPESTR);
	return BI_OK;
}

static int read_type(const struct bi_cai *cai, struct bi_dtype *out, struct bi_error *err)
{
	size_t length;
	int rc = check_text(cai->typestr, &length, err);

	if (rc)
		return rc;
	if (!bi__dtype_is_order(cai->typestr[0]))
		return bi__fail(err, BI_EDTYPE, "typestr \"%s\" does not begin with one of < > | = [C12]",
				cai->typestr);
	if (cai->typestr[1] == 't')
		return bi__fail(
			err, BI_EUNSUPPORTED,
			"typestr \"%s\": bit fields are used for masks only, and such masks are not supported [C12]",
			cai->typestr);
	rc = bi__dtype_parse_typestr(cai->typestr, length, out, err);
	if (rc)
		return bi__cite(rc, "C12", err);
	if (out->swapped)
		return bi__fail(
			err, BI_EDTYPE,
			"typestr \"%s\" has the other byte order than this machine and is not reinterpreted [C12]",
			cai->typestr);
	return BI_OK;
}

/* Returns true if the text means the descr that NumPy writes for this simple type: one field without a name. */
static int is_descr_of_simple(const char *text, size_t length, struct bi_dtype dtype)
{
	char typestr[BI_DTYPE_TEXT], simple[BI_DTYPE_TEXT + 16], printed[sizeof(simple)];
	size_t room = sizeof(printed);
	const char *at = text;
	uint32_t size;

	if (bi__descr_size(text, length, &size, NULL) || bi_dtype_typestr(dtype, typestr, NULL) ||
	    bi__descr_print(&at, text + length, printed, &room, &size, NULL))
		return 0;
	snprintf(simple, sizeof(simple), "[('', '%s')]", typestr);
	return room == strlen(simple) && memcmp(printed, simple, room) == 0;
}

/*
 * Reads the descr. For BI_VOID, its size must equal the item size. For other types it is not used: ignores_descr notes
 * whether it differs from the typestr.
 */
static int read_descr(const struct bi_cai *cai, struct bi__cai_array *out, struct bi_error *err)
{
	uint32_t size;
	int rc;

	out->ignores_descr = 0;
	if (!cai->descr)
		return BI_OK;
	if (out->layout.dtype.type != BI_VOID) {
		out->ignores_descr = !is_descr_of_simple(cai->descr, cai->descr_length, out->layout.dtype);
		return BI_OK;
	}
	rc = bi__descr_size(cai->descr, cai->descr_length, &size, err);
	if (rc)
		return bi__cite(rc, "C13", err);
	if (size != out->layout.dtype.item_size)
		return bi__fail(err, BI_EDTYPE,
				"descr adds up to %" PRIu32 " bytes, typestr \"%s\" has %" PRIu32 " [C13]", size,
				cai->typestr, out->layout.dtype.item_size);
	out->layout.descr = cai->descr;
	out->layout.descr_length = (uint32_t)cai->descr_length;
	return BI_OK;
}

static int read_array(const struct bi_cai *cai, struct bi__cai_array *out, struct bi_error *err)
{
	struct bi_dtype dtype;
	int rc = check_version(cai, err);

	if (!rc)
		rc = check_stream(cai, err);
	if (!rc)
		rc = read_type(cai, &dtype, err);
	if (rc)
		return rc;
	rc = bi_layout_init(&out->layout, dtype, cai->ndim, cai->shape, cai->strides, 0, err);
	if (rc)
		return bi__cite(rc, "C11", err);
	rc = bi__layout_place(&out->layout, cai->data, &out->address, &out->nbytes, err);
	if (!rc && !out->nbytes)
		out->address = 0; /* the array covers no byte, so it needs no memory of the producer */
	return rc ? bi__cite(rc, rc == BI_EINVAL ? "C4" : "C11", err) : read_descr(cai, out, err);
}

/*
 * Checks that the mask can be broadcast to the array: an extent of 1 is repeated, and a missing leading dimension
 * counts as an extent of 1.
 */
static int check_broadcast(const struct bi_layout *to, const struct bi_layout *mask, struct bi_error *err)
{
	int added = to->ndim - mask->ndim;

	if (added < 0)
		return bi__fail(err, BI_EINVAL, "mask: ndim %" PRId32 " is above the array's %" PRId32 " [C3]",
				mask->ndim, to->ndim);
	for (int i = 0; i < mask->ndim; i++)
		if (mask->shape[i] != 1 && mask->shape[i] != to->shape[added + i])
			return bi__fail(err, BI_EINVAL,
					"mask: shape[%d] is %" PRId64 ", neither 1 nor the array's %" PRId64 " [C3]", i,
					mask->shape[i], to->shape[added + i]);
	return BI_OK;
}

/*
 * Refuses a mask whose elements are neither boolean nor numeric, because consumers test whether an element is nonzero.
 */
static int check_truth(struct bi_dtype dtype, struct bi_error *err)
{
	char name[BI_DTYPE_TEXT];

	if (strchr("biufc", bi_dtype_kind(dtype)))
		return BI_OK;
	bi_dtype_name(dtype, name);
	return bi__fail(err, BI_EDTYPE, "mask: elements of type %s are neither true nor false [C3]", name);
}

static int read_mask(const struct bi_cai *cai, const struct bi__cai_array *array, struct bi__cai_array *mask,
		     struct bi_error *err)
{
	struct bi_error inner;
	int rc;

	if (!mask)
		return bi__fail(err, BI_EUNSUPPORTED,
				"the array is masked; pass a place for its mask in the options [C3]");
	if (cai->mask->mask)
		return bi__fail(err, BI_EUNSUPPORTED, "the mask is masked itself [C3]");
	rc = read_array(cai->mask, mask, &inner);
	if (rc)
		return bi__fail(err, rc, "mask: %s", inner.message);
	rc = check_truth(mask->layout.dtype, err);
	return rc ? rc : check_broadcast(&array->layout, &mask->layout, err);
}

int bi__cai_read(const struct bi_cai *cai, struct bi__cai_array *array, struct bi__cai_array *mask,
		 struct bi_error *err)
{
	int rc = read_array(cai, array, err);

	return rc || !cai->mask ? rc : read_mask(cai, array, mask, err);
}
