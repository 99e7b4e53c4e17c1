/*
 * Random programs: sequences of public calls on one device, whose results are compared with a model of plain bytes. A
 * program has up to three threads, may fork, and may enqueue work by the driver between the calls of the library.
 *
 * The input is a string of bytes. Each decision of the program takes up to two bytes; missing bytes are 0. So a fuzzer
 * can choose the decisions, a failing input can be kept as a file, and random bytes make a random program.
 */
#ifndef BI_TESTS_FUZZ_PROGRAMS_H
#define BI_TESTS_FUZZ_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

/* Number of programs with consecutive seeds, a block, that share a context. The next block has other options. */
#define PROGRAMS_PER_BLOCK 256

/*
 * Runs the program that the bytes describe on the device. Returns NULL, or a sentence that says what is wrong; it stays
 * valid until the next call. `trace` prints each call.
 */
const char *run_program(const char *device, unsigned long long seed, const uint8_t *data, size_t size, int trace);

/* Closes the context that is kept between programs. Returns what is wrong then, or NULL. */
const char *close_programs(void);

#endif
