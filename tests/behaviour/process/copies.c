/*
 * Two copies of the library in one process exchange arrays: one is shared and linked with this program, the other is
 * static inside of a shared object.
 *
 *     copies MODULE DEVICE
 */
#include "copies.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#define ROUNDS 50

static int pass_on(const struct copies_side *from, const struct copies_side *to, const char *device, int round)
{
	unsigned char value = (unsigned char)(1 + round % 200);
	struct bi_exchange exchange = BI_EXCHANGE_INIT;
	struct bi_error err;
	uintptr_t native;
	uint64_t sum;

	if (from->produce(device, value, &exchange, &native, &err) ||
	    to->consume(device, native, &exchange, &sum, &err)) {
		printf("wrong: %s\n", err.message);
		return 1;
	}
	if (sum == (uint64_t)COPIES_BYTES * value && !exchange.release)
		return 0;
	printf("wrong: the sum of the bytes is not %d times their number\n", value);
	return 1;
}

int main(int argc, char **argv)
{
	void *module = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	const struct copies_side *own = copies_side(), *other;
	union {
		void *found;
		__typeof__(&copies_side) function;
	} symbol = { module ? dlsym(module, "copies_side") : NULL };

	if (!symbol.found) {
		printf("usage: copies MODULE DEVICE\n");
		return 2;
	}
	other = symbol.function();
	if (other == own) {
		printf("wrong: there is one copy only\n");
		return 1;
	}
	alarm(60);
	for (int round = 0; round < ROUNDS; round++)
		if (pass_on(own, other, argv[2], round) || pass_on(other, own, argv[2], round))
			return 1;
	printf("%d arrays each way\n", ROUNDS);
	return 0;
}
