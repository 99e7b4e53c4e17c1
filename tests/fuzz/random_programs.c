/*
 * Runs random programs (programs.h).
 *
 *     random_programs DEVICE SEED COUNT [trace]
 *
 * Programs of one block (PROGRAMS_PER_BLOCK) share a context, so a failing program is named with the first seed of its
 * block: the same command from that seed on fails again. `trace` prints each call.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"
#include "support/random.h"

#define MOST_INPUT 500
/* A program that takes longer counts as hanging. */
#define SECONDS_PER_PROGRAM 100

static uint8_t input[MOST_INPUT];
static char hanging[200];

static size_t make_input(unsigned long long seed)
{
	struct test_random random = { seed * 0x9e3779b97f4a7c15ull + 1 };
	size_t size = 50 + (size_t)(test_next(&random) % (MOST_INPUT - 50));

	for (size_t i = 0; i < size; i++)
		input[i] = (uint8_t)(test_next(&random) >> 32);
	return size;
}

static void hang(int number)
{
	(void)number;
	if (write(STDOUT_FILENO, hanging, strlen(hanging)) < 0)
		_exit(4);
	_exit(3);
}

static int run_one(const char *device, unsigned long long seed, int trace)
{
	unsigned long long first = seed - seed % PROGRAMS_PER_BLOCK;
	size_t size = make_input(seed);
	const char *wrong;

	snprintf(hanging, sizeof(hanging), "program %llu on %s hangs; again: %s %llu %llu\n", seed, device, device,
		 first, seed - first + 1);
	alarm(SECONDS_PER_PROGRAM);
	if (trace)
		printf("program %llu\n", seed);
	wrong = run_program(device, seed, input, size, trace);
	if (wrong)
		printf("program %llu on %s: %s\nagain: %s %llu %llu trace\n", seed, device, wrong, device, first,
		       seed - first + 1);
	return wrong != NULL;
}

int main(int argc, char **argv)
{
	unsigned long long seed, count;
	const char *wrong;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: random_programs DEVICE SEED COUNT [trace]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, hang);
	seed = strtoull(argv[2], NULL, 10);
	count = strtoull(argv[3], NULL, 10);
	for (unsigned long long i = 0; i < count; i++)
		if (run_one(argv[1], seed + i, argc == 5))
			return 1;
	wrong = close_programs();
	if (wrong)
		printf("at the end of programs %llu to %llu: %s\n", seed, seed + count - 1, wrong);
	printf("%llu random programs on %s\n", count, argv[1]);
	return count == 0 || wrong;
}
