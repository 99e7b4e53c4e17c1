/*
 * Fuzzes the reader of NumPy headers. What it accepts must be consistent, and must survive being written and read
 * again.
 *
 * libFuzzer brings a main of its own; replay.c has one that replays the files named on the command line.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "fuzz_npy: %s\n", what);
	abort();
}

static void check_round_trip(const struct npy *npy)
{
	struct npy again;
	unsigned char *bytes;
	struct bi_error err;
	size_t size;

	require(npy_format(npy, &bytes, &size, &err) == BI_OK, "a header that was read cannot be written");
	require(size % 64 == 0, "a header is not aligned");
	require(npy_parse(bytes, size, &again, &err) == BI_OK, "a header that was written cannot be read");
	require(bi_dtype_equal(npy->dtype, again.dtype), "the type has changed");
	require(npy->ndim == again.ndim, "the number of dimensions has changed");
	require(!memcmp(npy->shape, again.shape, (size_t)npy->ndim * sizeof(npy->shape[0])), "the shape has changed");
	require(npy->nbytes == again.nbytes, "the size has changed");
	require(!npy->descr == !again.descr && (!npy->descr || !strcmp(npy->descr, again.descr)), "descr has changed");
	npy_clear(&again);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bi_error err = { 0, 0, "" };
	struct npy npy;
	int rc = npy_parse(data, size, &npy, &err);

	if (rc == BI_OK) {
		require(npy.ndim >= 0 && npy.ndim <= BI_MAX_NDIM, "ndim is out of range");
		check_round_trip(&npy);
		npy_clear(&npy);
	} else {
		require(err.status == rc && *err.message, "a failure says nothing");
		require(!npy.descr, "a failure leaves memory behind");
	}
	return 0;
}
