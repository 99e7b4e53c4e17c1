/*
 * Compares the shipped check of the exchange structure with a reference that computes with 128 bits, and with the
 * import of the library, on random structs.
 *     exchange_check SEED CASES IMPORTS
 * Numbers are mostly near a limit, because a sum that wraps is wrong only there.
 */
#include <buffer_interface.h>
#include <buffer_interface/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

static uint64_t seed;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint64_t below(uint64_t count)
{
	return next() % count;
}

/* A number near a power of two, a small one, or any. */
static uint64_t number(void)
{
	switch (below(4)) {
	case 0:
		return ((uint64_t)1 << below(64)) + below(5) - 2;
	case 1:
		return 0 - below(40);
	case 2:
		return next() >> below(64);
	default:
		return below(24);
	}
}

struct array {
	struct bi_exchange x;
	int64_t shape[64], strides[64];
};

static void release(struct bi_exchange *self)
{
	self->release = NULL;
}

static int never(struct bi_exchange *self, uint32_t kind, uint64_t stream, uint64_t event)
{
	(void)self;
	(void)kind;
	(void)stream;
	(void)event;
	return 1;
}

/* Bytes that the library may be told about: it does not read elements during an import. */
static unsigned char bytes[4096];

static void lay_out(struct array *a)
{
	int64_t stride = a->x.item_size;
	int is_fortran = below(3) == 0;

	for (int n = 0; n < a->x.ndim && n < 64; n++) {
		int i = is_fortran ? n : a->x.ndim - 1 - n;

		a->shape[i] = below(8) ? (int64_t)below(5) + (below(6) ? 1 : 0) : (int64_t)number();
		a->strides[i] = below(6) ? stride : (int64_t)(below(2) ? number() : 0 - number());
		if (below(5) == 0)
			a->strides[i] = (int64_t)(0 - (uint64_t)a->strides[i]);
		stride = (int64_t)((uint64_t)stride * (uint64_t)a->shape[i]);
	}
}

/* A struct of host memory that keeps the rules, but for its layout. */
static void make_good(struct array *a)
{
	memset(&a->x, 0, sizeof(a->x));
	a->x.version = BI_ABI_VERSION;
	a->x.struct_size = sizeof(a->x);
	a->x.release = release;
	a->x.shape = a->shape;
	a->x.strides = a->strides;
	a->x.handle = (uintptr_t)bytes;
	a->x.size = below(3) ? below(sizeof(bytes)) : number();
	a->x.offset = below(3) ? below(200) : number();
	if (below(8) == 0) {
		a->x.handle = 1 + below(4);
		a->x.size = 0 - (uint64_t)6 - below(8);
		a->x.offset = below(2) ? INT64_MAX - below(8) : number();
	}
	a->x.flags =
		(uint32_t)(below(2) * BI_READONLY | below(3) / 2 * BI_C_CONTIGUOUS | below(3) / 2 * BI_F_CONTIGUOUS);
	a->x.device_type = BI_EXCHANGE_DEVICE_CPU;
	a->x.handle_kind = BI_HANDLE_HOST;
	a->x.type_code = (uint8_t)below(2);
	a->x.type_bits = (uint8_t)(8u << below(4));
	a->x.type_lanes = (uint16_t)(below(4) ? 1 : below(5));
	a->x.item_size = a->x.type_bits / 8u * a->x.type_lanes;
	a->x.ndim = (uint8_t)below(5);
	lay_out(a);
}

static void spoil_type(struct array *a)
{
	static const char *const words[] = { "\">i2\"", "\"|S5\"", "[[\"a\", \"<f4\"]]" };
	static const uint32_t sizes[] = { 2, 5, 4 };
	uint64_t word = below(3);

	switch (below(4)) {
	case 0:
		a->x.item_size = (uint32_t)number();
		break;
	case 1:
		a->x.type_lanes = (uint16_t)number();
		break;
	case 2:
		a->x.type_bits = (uint8_t)number();
		break;
	default:
		a->x.type_code = 3;
		a->x.descr = words[word];
		a->x.item_size = sizes[word];
		a->x.type_bits = 8;
		a->x.type_lanes = (uint16_t)(sizes[word] + (below(4) == 0));
	}
}

static void spoil(struct array *a)
{
	switch (below(15)) {
	case 0:
		a->x.version = (uint32_t)below(5);
		break;
	case 1:
		a->x.struct_size = (uint32_t)below(8192);
		break;
	case 2:
		a->x.flags ^= 1u << below(32);
		break;
	case 3:
		a->x.handle_kind = (uint8_t)below(8);
		if (below(2)) {
			a->x.device_type = a->x.handle_kind == 2 ? 2 : 4;
			a->x.context = a->x.handle_kind > 2;
		}
		break;
	case 4:
		a->x.device_type = (int32_t)below(20);
		break;
	case 5:
		a->x.context = below(2);
		break;
	case 6:
		a->x.order_kind = (uint8_t)below(6);
		a->x.stream = below(4);
		break;
	case 7:
		a->x.event = below(2);
		a->x.done = below(2) ? never : NULL;
		break;
	case 8:
		a->x.reserved = (uint8_t)below(3);
		break;
	case 9:
		a->x.ndim = (uint8_t)number();
		break;
	case 10:
		a->x.device_id = (int32_t)below(4) - 1;
		break;
	case 11:
		a->x.handle = number();
		break;
	case 12:
		a->x.shape = NULL;
		break;
	default:
		spoil_type(a);
	}
}

/* The reference. Each part is written from the text, without a look at the check. */
static int has_good_members(const struct bi_exchange *x)
{
	static const struct {
		int kind, device, has_context;
	} places[] = { { 1, 1, 0 }, { 1, 3, 0 }, { 2, 2, -1 }, { 2, 13, -1 }, { 3, 4, 1 }, { 4, 4, 1 }, { 5, 4, 1 } };
	int fits = 0;

	if (x->version != 2 || x->struct_size < 128 || x->struct_size > 4096 || !x->release || x->reserved)
		return 0;
	for (int bit = 1; bit < 16; bit++)
		if (x->flags >> bit & 1)
			return 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (x->handle_kind == places[i].kind && x->device_type == places[i].device)
			fits = places[i].has_context < 0 || (x->context != 0) == places[i].has_context;
	return fits && x->device_id >= 0 && (x->handle_kind != 1 || x->device_id == 0);
}

static int has_good_order(const struct bi_exchange *x)
{
	if (x->order_kind == 0)
		return !x->stream && !x->event;
	if (x->order_kind > 3 || (!x->stream && !x->event))
		return 0;
	if (x->order_kind == 1 && x->stream == 2)
		return 0;
	if (x->order_kind == 2 || (x->handle_kind == 2 && x->order_kind != 1) ||
	    (x->handle_kind > 2 && x->order_kind != 3))
		return 0;
	return x->stream || x->done;
}

static int has_good_type(const struct bi_exchange *x)
{
	wide lanes = x->type_lanes, bits = x->type_bits;

	if (x->type_code == 3)
		return x->descr && bits == 8 && lanes == (x->item_size > 65535 ? 0 : x->item_size);
	if (x->descr || lanes < 1 || bits < 1)
		return 0;
	return x->item_size == (lanes * bits + 7) / 8 || x->item_size == lanes * ((bits + 7) / 8);
}

static int is_dense(const struct bi_exchange *x, int is_fortran)
{
	wide stride = x->item_size;

	for (int n = 0; n < x->ndim; n++) {
		int i = is_fortran ? n : x->ndim - 1 - n;

		if (x->shape[i] == 1)
			continue;
		if (x->strides[i] != stride)
			return 0;
		stride *= x->shape[i];
	}
	return 1;
}

static int has_good_layout(const struct bi_exchange *x)
{
	wide lowest = x->offset, highest = x->offset, count = 1, most = INT64_MAX, low = 0, high = 0;
	int is_empty = 0;

	if ((wide)x->handle + x->size > (wide)UINT64_MAX)
		return 0;
	if (x->ndim > 64 || (x->ndim > 0 && (x->shape == NULL || x->strides == NULL)))
		return 0;
	for (int i = 0; i < x->ndim; i++) {
		if (x->shape[i] < 0)
			return 0;
		if (x->shape[i] == 0)
			is_empty = 1;
	}
	if (is_empty)
		return 1;
	for (int i = 0; i < x->ndim; i++) {
		wide reach = (wide)(x->shape[i] - 1) * x->strides[i];

		count *= x->shape[i];
		if (reach < 0)
			low -= reach;
		else
			high += reach;
		if (count > most || low > most || high > most)
			return 0;
	}
	lowest -= low;
	highest += high + x->item_size;
	if (!x->handle || x->offset > INT64_MAX || lowest < 0 || highest > x->size)
		return 0;
	return (!(x->flags & BI_C_CONTIGUOUS) || is_dense(x, 0)) && (!(x->flags & BI_F_CONTIGUOUS) || is_dense(x, 1));
}

static int is_good(const struct bi_exchange *x)
{
	return has_good_members(x) && has_good_order(x) && has_good_type(x) && has_good_layout(x);
}

static void fail(const struct bi_exchange *x, uint64_t at, const char *said, const char *other)
{
	printf("case %llu: the check says '%s', but %s\n", (unsigned long long)at, said ? said : "good", other);
	printf("ndim %u offset %llu size %llu item %u handle 0x%llx flags 0x%x code %u bits %u lanes %u kind %u\n",
	       x->ndim, (unsigned long long)x->offset, (unsigned long long)x->size, x->item_size,
	       (unsigned long long)x->handle, x->flags, x->type_code, x->type_bits, x->type_lanes, x->handle_kind);
	for (int i = 0; x->shape && i < x->ndim && i < 64; i++)
		printf("  %lld by %lld\n", (long long)x->shape[i], (long long)x->strides[i]);
	exit(1);
}

/* The library and the check must accept the same structs of host memory. */
static void import(struct bi_context *context, struct bi_exchange *x, const char *said, uint64_t at)
{
	struct bi_exchange copy = *x;
	struct bi_view *view;
	struct bi_error err;
	int rc;

	if (x->handle_kind != BI_HANDLE_HOST || x->order_kind != BI_ORDER_NONE || x->struct_size != sizeof(*x))
		return;
	rc = bi_view_import(context, &copy, 0, &view, &err);
	if (!rc && said)
		fail(x, at, said, "the library takes it");
	/* Packed elements, and memory beyond half the address space, are not for this library. */
	if (rc && !said && rc != BI_EDTYPE && rc != BI_EOVERFLOW)
		fail(x, at, said, err.message);
	if (!rc)
		bi_view_release(view);
}

int main(int argc, char **argv)
{
	struct bi_options options = BI_OPTIONS_INIT;
	struct bi_context *context;
	uint64_t cases, imports, good = 0;
	struct array a;

	if (argc != 4)
		return 2;
	seed = strtoull(argv[1], NULL, 10) * 2 + 0x9e3779b97f4a7c15u;
	cases = strtoull(argv[2], NULL, 10);
	imports = strtoull(argv[3], NULL, 10);
	options.device = "host";
	if (bi_context_open(&options, &context, NULL))
		return 2;
	for (uint64_t at = 0; at < cases; at++) {
		const char *said;

		make_good(&a);
		for (uint64_t i = below(3); i > 0; i--)
			spoil(&a);
		said = bi_exchange_check(&a.x);
		if ((said == NULL) != is_good(&a.x))
			fail(&a.x, at, said, said ? "the reference takes it" : "the reference refuses it");
		good += !said;
		if (at < imports)
			import(context, &a.x, said, at);
	}
	bi_context_release(context);
	printf("%llu cases, %llu of them good\n", (unsigned long long)cases, (unsigned long long)good);
	return good < cases / 50;
}
