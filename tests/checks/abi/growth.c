/*
 * A producer and a caller of the exchange structure, compiled with a header of one version, and the program that
 * combines all of them; see growth.sh. The header is included twice, from two folders, as two vendored copies in one
 * file are. -DPRODUCER=NAME or -DCALLER=NAME; -DHAS_LATER if the header has the member `later`
 *     -DVERSIONS=V(0x00000002)…: the program
 */
#ifdef VERSIONS

#include <stdio.h>

struct bi_exchange;
typedef int produce_fn(struct bi_exchange *out);
typedef void call_fn(produce_fn *produce);

#define V(version) \
	produce_fn produce_##version; \
	call_fn call_##version;
VERSIONS
#undef V

static const struct {
	const char *version;
	produce_fn *produce;
	call_fn *call;
} versions[] = {
#define V(version) { #version, produce_##version, call_##version },
	VERSIONS
};

int main(void)
{
	const size_t count = sizeof(versions) / sizeof(versions[0]);

	for (size_t i = 0; i < count * count; i++) {
		printf("%s %s ", versions[i / count].version, versions[i % count].version);
		versions[i / count].call(versions[i % count].produce);
		printf("\n");
	}
	return 0;
}

#else

#include "buffer_interface/check.h"
#include "vendored/check.h"

/* Writes an array of 5 bytes. Returns 0, or -1 if the caller's version or size is not known. */
typedef int produce_fn(struct bi_exchange *out);

#ifdef PRODUCER

produce_fn PRODUCER;

enum { SIZE_OF_FIRST = (int)offsetof(struct bi_exchange, reserved) + 1 }; /* bytes of the first minor version */

static unsigned char bytes[5];
static const int64_t shape[1] = { 5 }, strides[1] = { 1 };

static void release(struct bi_exchange *self)
{
	self->release = NULL;
}

int PRODUCER(struct bi_exchange *out)
{
	struct bi_exchange array = BI_EXCHANGE_INIT;
	const uint32_t size = out->struct_size;

	out->release = NULL;
	if (!BI_ABI_KNOWS(out->version) || size < SIZE_OF_FIRST || size > BI_ABI_SIZE_MAX)
		return -1;
	array.struct_size = size;
	array.release = release;
	array.shape = shape;
	array.strides = strides;
	array.handle = (uintptr_t)bytes;
	array.size = sizeof(bytes);
	array.device_type = BI_EXCHANGE_DEVICE_CPU;
	array.handle_kind = BI_HANDLE_HOST;
	array.item_size = array.type_lanes = array.type_code = array.ndim = 1;
	array.type_bits = 8;
#ifdef HAS_LATER
	array.later = 77;
#endif
	for (uint32_t i = 0; i < size; i++)
		((unsigned char *)out)[i] = i < sizeof(array) ? ((const unsigned char *)&array)[i] : 0;
	return 0;
}

#else

#include <stdio.h>
#include <string.h>

/* The struct of the caller, and bytes behind it that no producer may write. */
static union {
	struct bi_exchange array;
	unsigned char room[BI_ABI_SIZE_MAX + 64];
} caller;

/* Calls the producer with that size. Prints "refused", "version" if check.h refuses the version, or "ok LATER". */
static void call_with(produce_fn *produce, uint32_t size)
{
	const char *why;

	memset(&caller, 0xA5, sizeof(caller));
	caller.array.version = BI_ABI_VERSION;
	caller.array.struct_size = size;
	if (produce(&caller.array)) {
		printf("%s ", caller.array.release ? "not NULL" : "refused");
		return;
	}
	for (size_t i = size; i < sizeof(caller); i++)
		if (caller.room[i] != 0xA5)
			printf("byte %zu was written ", i);
	why = bi_exchange_check(&caller.array);
	if (why)
		printf("%s ", strstr(why, "[B-9]") ? "version" : why);
	else {
#ifdef HAS_LATER
		printf("ok %d ", (int)caller.array.later);
#else
		printf("ok ");
#endif
		caller.array.release(&caller.array);
	}
}

void CALLER(produce_fn *produce);

void CALLER(produce_fn *produce)
{
	call_with(produce, sizeof(caller.array));
	call_with(produce, sizeof(caller.array) + 8);
	call_with(produce, 8);
	call_with(produce, BI_ABI_SIZE_MAX + 1);
}

#endif
#endif
