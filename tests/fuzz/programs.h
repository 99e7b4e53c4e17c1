/*
 * Random programs: sequences of public calls on one device, beside a model of plain bytes. A program has up to three
 * threads, forks, and has work of a driver between the calls of the library.
 *
 * An input is a string of bytes; each decision of the program takes one or more of them, 0 when they are used up. So a
 * fuzzer can drive it, a failing input can be kept as a file, and random bytes make a random program.
 */
#ifndef BI_TESTS_FUZZ_PROGRAMS_H
#define BI_TESTS_FUZZ_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

/* So many programs, whose seeds have one quotient, share a context; the next block opens another, with other options.
 */
#define PROGRAMS_PER_BLOCK 256

/*
 * Runs the program that the bytes describe on the device. Returns NULL, or a sentence that says what is wrong; it stays
 * valid until the next call. `trace` prints each call.
 */
const char *run_program(const char *device, unsigned long long seed, const uint8_t *data, size_t size, int trace);

/* Closes the context that is kept between programs. Returns what is wrong then, or NULL. */
const char *close_programs(void);

#endif
