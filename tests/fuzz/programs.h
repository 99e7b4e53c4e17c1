/*
 * Random programs: sequences of public calls on one device, beside a model of plain bytes.
 *
 * An input is a string of bytes; each decision of the program takes one or more of them, 0 when they are used up. So a
 * fuzzer can drive it, a failing input can be kept as a file, and random bytes make a random program.
 */
#ifndef BI_TESTS_FUZZ_PROGRAMS_H
#define BI_TESTS_FUZZ_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Runs the program that the bytes describe on the device. Returns NULL, or a sentence that says what is wrong; it stays
 * valid until the next call. `trace` prints each step.
 */
const char *run_program(const char *device, const uint8_t *data, size_t size, int trace);

/* Releases what is kept between programs: the open context. */
void close_programs(void);

#endif
