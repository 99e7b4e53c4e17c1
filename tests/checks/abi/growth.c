/*
 * A producer or a caller of the exchange structure, compiled with a header of one version; see growth.sh. The header is
 * included twice, from two folders, as two vendored copies in one file are.
 *     -DPRODUCER, or a caller without it; -DHAS_LATER if the header has the member `later`
 */
#include "buffer_interface/check.h"
#include "vendored/check.h"

/* Writes an array of `count` bytes. Returns 0, or -1 if the caller's version or size is not known. */
int produce(struct bi_exchange *out);

#ifdef PRODUCER

enum { SIZE_OF_FIRST = (int)offsetof(struct bi_exchange, reserved) + 1 }; /* bytes of the first minor version */

static unsigned char bytes[5];
static const int64_t shape[1] = { 5 }, strides[1] = { 1 };

static void release(struct bi_exchange *self)
{
	self->release = NULL;
}

int produce(struct bi_exchange *out)
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
static void call_with(uint32_t size)
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

int main(void)
{
	call_with(sizeof(caller.array));
	call_with(sizeof(caller.array) + 8);
	call_with(8);
	call_with(BI_ABI_SIZE_MAX + 1);
	return 0;
}

#endif
