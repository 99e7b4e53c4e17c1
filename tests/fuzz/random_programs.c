/*
 * Runs random programs (programs.h), or files that hold one each.
 *
 *     random_programs DEVICE SEED COUNT     COUNT programs of random bytes, from that seed on
 *     random_programs DEVICE FILE           the program in the file, each step printed
 *
 * A program that goes wrong is written to the file failing-program and named with its seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "support/random.h"

#define MOST_INPUT 1200

static uint8_t input[MOST_INPUT];

static size_t make_input(unsigned long long seed)
{
	struct test_random random = { seed * 0x9e3779b97f4a7c15ull + 1 };
	size_t size = 50 + (size_t)(test_next(&random) % (MOST_INPUT - 50));

	for (size_t i = 0; i < size; i++)
		input[i] = (uint8_t)(test_next(&random) >> 32);
	return size;
}

static int run_file(const char *device, const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t size = file ? fread(input, 1, sizeof(input), file) : 0;
	const char *wrong;

	if (!file) {
		perror(path);
		return 2;
	}
	fclose(file);
	wrong = run_program(device, input, size, 1);
	printf("%s\n", wrong ? wrong : "as the model says");
	close_programs();
	return wrong != NULL;
}

static void keep_input(size_t size)
{
	FILE *file = fopen("failing-program", "wb");

	if (file && fwrite(input, 1, size, file) == size)
		printf("the input is in the file failing-program\n");
	if (file)
		fclose(file);
}

int main(int argc, char **argv)
{
	unsigned long long seed, count;

	if (argc == 3)
		return run_file(argv[1], argv[2]);
	if (argc != 4) {
		fprintf(stderr, "usage: random_programs DEVICE SEED COUNT | DEVICE FILE\n");
		return 2;
	}
	seed = strtoull(argv[2], NULL, 10);
	count = strtoull(argv[3], NULL, 10);
	for (unsigned long long i = 0; i < count; i++) {
		size_t size = make_input(seed + i);
		const char *wrong = run_program(argv[1], input, size, 0);

		if (wrong) {
			printf("program %llu on %s: %s\n", seed + i, argv[1], wrong);
			keep_input(size);
			return 1;
		}
	}
	close_programs();
	printf("%llu random programs on %s\n", count, argv[1]);
	return count == 0;
}
