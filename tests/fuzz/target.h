/*
 * Functions that the fuzz targets share: they read the input and check results. libFuzzer has a main function; replay.c
 * has another one, which replays the files that the command line names.
 */
#ifndef BI_TESTS_FUZZ_TARGET_H
#define BI_TESTS_FUZZ_TARGET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer_interface.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

/* 1: the target has refused the last input. replay.c compares this with the name of a seed. */
__attribute__((weak)) int fuzz_refused;

/* Checks that a failure has its status and a message of one line. */
static inline void check_refusal(int rc, const struct bi_error *err)
{
	require(err->status == rc && *err->message, "a failure says nothing");
	for (const char *c = err->message; *c; c++)
		require((unsigned char)*c >= ' ' && *c != 0x7f, "a message has control characters");
}

/* Returns a copy in an allocation of exactly its size, so that a sanitizer detects a read beyond it. */
static inline void *copy_exactly(const void *bytes, size_t size)
{
	void *copy = malloc(size + !size);

	require(copy != NULL, "no memory");
	return size ? memcpy(copy, bytes, size) : copy;
}

/* Returns such a copy that ends with a NUL. */
static inline char *copy_string(const void *bytes, size_t size)
{
	char *copy = malloc(size + 1);

	require(copy != NULL, "no memory");
	if (size)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}

struct input {
	const uint8_t *data;
	size_t size;
};

/* Takes a number of `nbytes` bytes in little endian. Missing bytes are 0. */
static inline uint64_t take(struct input *in, size_t nbytes)
{
	uint64_t number = 0;

	for (size_t i = 0; i < nbytes && in->size; i++, in->size--)
		number |= (uint64_t)*in->data++ << 8 * i;
	return number;
}

#endif
