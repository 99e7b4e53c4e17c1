/*
 * Replays files through a fuzz target where there is no fuzzer: the main program of the tests. The target refuses no
 * file whose name begins with "valid_", and refuses each one whose name begins with "bad_". On a CUDA device
 * (BI_FUZZ_DEVICE) it also refuses no file whose name begins with "cuda_".
 */
#include "fuzz/target.h"

static int is_named(const char *path, const char *beginning)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, beginning, strlen(beginning)) == 0;
}

static int is_on_cuda(void)
{
	const char *device = getenv("BI_FUZZ_DEVICE");

	return device && strncmp(device, "cuda", 4) == 0;
}

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
		perror(path);
		return 1;
	}
	data = malloc((size_t)size + !size);
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
		perror(path);
		return 1;
	}
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	fclose(file);
	if (!is_named(path, fuzz_refused ? "valid_" : "bad_") &&
	    !(fuzz_refused && is_on_cuda() && is_named(path, "cuda_")))
		return 0;
	fprintf(stderr, "%s: is %s\n", path, fuzz_refused ? "refused" : "not refused");
	return 1;
}

int main(int count, char **paths)
{
	int failed = count < 2;

	for (int i = 1; i < count; i++)
		failed |= replay(paths[i]);
	printf("%d files replayed\n", count - 1);
	return failed;
}
